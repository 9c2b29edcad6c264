"""What the pages about a person's part show of this room. They stand in rooms below this one."""

from __future__ import annotations

from typing import Any

from django import template

from annotation.models import Enrollment, Study
from recruitment.links import personal_link
from recruitment.models import JoinLink
from recruitment.queries import completion_of, way_out_of

register = template.Library()


@register.inclusion_tag("recruitment/_completion.html")
def completion(enrollment: Enrollment) -> dict[str, Any]:
    """The person's completion code and the way back to the platform, in studies that have them."""
    return {"completion": completion_of(enrollment), "more_to_come": _more_to_come(enrollment)}


@register.inclusion_tag("recruitment/_completion.html")
def way_out(enrollment: Enrollment) -> dict[str, Any]:
    """The same where the way ends or waits: somebody without a code is told how to get back, too."""
    found = completion_of(enrollment)
    return {
        "completion": found,
        "way_out": None if found else way_out_of(enrollment),
        "more_to_come": _more_to_come(enrollment),
    }


@register.inclusion_tag("recruitment/_personal_link.html")
def own_link(enrollment: Enrollment) -> dict[str, Any]:
    """The person's own link to the study, to be copied or kept."""
    joins = JoinLink.objects.filter(study=enrollment.study_id).exists()
    return {"link": personal_link(enrollment), "joins": joins}


def _more_to_come(enrollment: Enrollment) -> bool:
    """Whether the person may still answer a first story, after which their code is another one."""
    may_go_on = (
        enrollment.state == Enrollment.State.QUALIFIED and enrollment.study.state != Study.State.CLOSED
    )
    return may_go_on and not enrollment.stories_submitted
