"""What the pages at the end of a session show of this room. They stand in rooms below this one."""

from __future__ import annotations

from typing import Any

from django import template

from annotation.models import Enrollment
from recruitment.queries import completion_of

register = template.Library()


@register.inclusion_tag("recruitment/_completion.html")
def completion(enrollment: Enrollment) -> dict[str, Any]:
    """The person's completion code and the way back to the platform, in studies that have them."""
    return {"completion": completion_of(enrollment)}
