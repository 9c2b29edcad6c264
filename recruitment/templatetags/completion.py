"""What the pages about a person's part show of this room. They stand in rooms below this one."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context
from django.utils import timezone

from annotation.access import page_url, work_session
from annotation.models import Enrollment, Study
from recruitment.links import personal_link
from recruitment.models import JoinLink
from recruitment.queries import completion_of, visit_of, way_out_of
from recruitment.unpaid import unpaid_of
from recruitment.ways_back import ending_of, outcome_of

register = template.Library()


@register.inclusion_tag("recruitment/_completion.html", takes_context=True)
def completion(context: Context, enrollment: Enrollment) -> dict[str, Any]:
    """What the person takes back to the place they came from: their work, or their code and the way there."""
    offer = _offer(context)
    if offer:
        return offer
    return {"completion": completion_of(enrollment), "more_to_come": _more_to_come(enrollment)}


@register.inclusion_tag("recruitment/_completion.html", takes_context=True)
def way_out(context: Context, enrollment: Enrollment) -> dict[str, Any]:
    """The same where the way ends or waits: somebody without a code is told how to get back, too."""
    offer = _offer(context)
    if offer:
        return offer
    found = completion_of(enrollment)
    return {
        "completion": found,
        "way_out": None if found else way_out_of(enrollment),
        "more_to_come": _more_to_come(enrollment),
    }


@register.inclusion_tag("recruitment/_personal_link.html", takes_context=True)
def own_link(context: Context, enrollment: Enrollment) -> dict[str, Any]:
    """The person's own link to the study, to be copied or kept.

    None in a visit that a platform pays by the piece: who has only typed an id would get hold of somebody's
    place, and work by the link would not be paid there.
    """
    if work_session(context["request"]):
        return {"by_platform": True}
    joins = JoinLink.objects.filter(study=enrollment.study_id).exists()
    return {"link": personal_link(enrollment), "joins": joins}


@register.inclusion_tag("recruitment/_unpaid.html")
def unpaid(enrollment: Enrollment) -> dict[str, Any]:
    """What a platform has still to pay the person, which nobody could have paid once they are forgotten."""
    return {"unpaid": unpaid_of(enrollment.annotator)}


def _offer(context: Context) -> dict[str, Any] | None:
    """How the visit of somebody from a platform ends; None for a visit that is not paid by the piece."""
    request = context["request"]
    session = work_session(request)
    visit = visit_of(session) if session else None
    if visit is None:
        return None
    outcome = outcome_of(visit)
    return {
        "visit": visit,
        "session": session,
        "outcome": outcome.value if outcome else "",
        "ending": ending_of(visit, now=timezone.now()).value,
        "hand_in_url": page_url(request, "link:hand_in"),
    }


def _more_to_come(enrollment: Enrollment) -> bool:
    """Whether the person may still answer a first story, after which their code is another one."""
    may_go_on = (
        enrollment.state == Enrollment.State.QUALIFIED and enrollment.study.state != Study.State.CLOSED
    )
    return may_go_on and not enrollment.stories_submitted
