"""This room's parts of pages that belong to rooms below it."""

from typing import Any

from django import template
from django.template import Context
from django.utils.translation import ngettext

from annotation.access import page_url, work_session
from annotation.models import Enrollment
from recruitment import queries
from recruitment.links import personal_link
from recruitment.models import Campaign, JoinLink
from recruitment.platforms import platform_of
from recruitment.visit_endings import UNFINISHED, ending_of, outcome_of
from tomannot import clock

register = template.Library()


@register.inclusion_tag("recruitment/_finish.html", takes_context=True)
def finish(
    context: Context, enrollment: Enrollment, *, way_out: bool = False, quiet: bool = False
) -> dict[str, Any]:
    """Show the button that hands the work in or leads to the code, where either is due.

    ``way_out``: else show the way back for people without a code. ``quiet``: it isn't the main step here.
    """
    offer = _offer(context)
    if offer:
        return offer
    found = queries.completion_of(enrollment)
    return {
        "completion": found,
        "enrollment": enrollment,
        "quiet": quiet,
        "way_out": queries.leave_address_of(enrollment) if way_out and not found else None,
        "finish_url": page_url(context["request"], "link:hand_in"),
    }


@register.simple_tag
def gives_code(enrollment: Enrollment) -> int:
    """Return how many stories complete the study for a completion code; 0 in studies without one."""
    return queries.stories_to_complete(enrollment.study_id)


@register.simple_tag
def may_owe_code(enrollment: Enrollment) -> bool:
    """Return True if the study gives codes, or the person came from a campaign, where work is handed in."""
    return bool(gives_code(enrollment)) or enrollment.visits.filter(campaign__isnull=False).exists()


@register.simple_tag(takes_context=True)
def screening_campaign(context: Context) -> Campaign | None:
    """Return the campaign of this visit if it pays less for a test that is not passed, else None."""
    visit = queries.visit_of(work_session(context["request"]))
    return visit.campaign if visit and visit.campaign and visit.campaign.screen_out_reward else None


@register.inclusion_tag("recruitment/_finish_early.html", takes_context=True)
def finish_early(context: Context, enrollment: Enrollment) -> dict[str, Any]:
    """Show the button above a story, once something is due. Reads no table after the first story."""
    request = context["request"]
    session, stories = work_session(request), enrollment.stories_submitted
    if session:
        url = f"{page_url(request, 'link:hand_in')}?{UNFINISHED}" if session.stories_submitted else ""
        return {"finish_url": url, "hands_in": True}
    least = queries.stories_to_complete(enrollment.study_id)
    if not least or not (stories or queries.has_tested(enrollment)):
        return {"finish_url": ""}
    missing = max(0, least - stories)
    too_few = missing > context["progress"]["left"]
    return {"finish_url": page_url(request, "link:hand_in"), "missing": missing, "too_few": too_few}


@register.inclusion_tag("recruitment/_personal_link.html", takes_context=True)
def own_link(context: Context, enrollment: Enrollment) -> dict[str, Any]:
    """Show the person's own link to the study, to be copied or kept.

    Hide it in a platform's visit: somebody who typed another person's id would get that person's link, and
    the platform would not pay work by it.
    """
    if work_session(context["request"]):
        return {"by_platform": True}
    joins = JoinLink.objects.filter(study=enrollment.study_id).exists()
    return {"link": personal_link(enrollment), "joins": joins}


@register.inclusion_tag("recruitment/_unpaid.html")
def unpaid(enrollment: Enrollment) -> dict[str, Any]:
    """Show what a platform still owes the person: it cannot be paid after their data are deleted."""
    return {"unpaid": queries.unpaid_of(enrollment.annotator)}


@register.filter
def give_back(campaign: Campaign) -> str:
    return str(platform_of(campaign).words.give_back)


@register.filter
def minutes(number: int) -> str:
    return ngettext("%(minutes)s minute", "%(minutes)s minutes", number) % {"minutes": number}


def _offer(context: Context) -> dict[str, Any] | None:
    """Return how the visit ends; None for a visit that is not paid by the submission."""
    request = context["request"]
    session = work_session(request)
    visit = queries.visit_of(session)
    if visit is None or visit.campaign is None:
        return None
    outcome = outcome_of(visit)
    return {
        "visit": visit,
        "session": session,
        "outcome": outcome.value if outcome else "",
        "ending": ending_of(visit, now=clock.now()).value,
        "hand_in_url": page_url(request, "link:hand_in"),
        "unfinished": UNFINISHED,
        "has_return_page": platform_of(visit.campaign).return_link(visit.campaign) is not None,
    }
