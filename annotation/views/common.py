"""What the annotator's pages share: how far a person is, where links lead, how a page is rendered."""

from __future__ import annotations

import math
from typing import Any

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from annotation.access import is_claimed, page_url
from annotation.models import Enrollment, Story, SurplusReason, Vote, WorkSession

COUNT_SECONDS = 60
"""How long the number of stories that a study still needs may be out of date."""


def progress(enrollment: Enrollment, session: WorkSession | None = None) -> dict[str, int]:
    """How many stories the person has answered, may still answer, and the study still needs.

    ``left`` is the smaller of the last two: no more can come to the person. In a work session, only how
    many it asks for (``asked``) and how many were answered in it.
    """
    if session:
        return {"asked": session.story_limit, "done": session.stories_submitted, "cap": session.story_limit}
    done, cap, needed = enrollment.stories_submitted, enrollment.study.story_cap, _needed(enrollment)
    under_cap = max(0, cap - done)
    return {
        "done": done,
        "cap": cap,
        "left_under_cap": under_cap,
        "left": min(under_cap, needed),
        "needed": needed,
    }


ROUNDED_TO = 10
"""In a study with hidden checks; how many are left would tell that a story took no place of one of them."""


def _needed(enrollment: Enrollment) -> int:
    """Stories of the study that want answers; in a study with hidden checks rounded up."""
    count = _with_free_slot(enrollment)
    return math.ceil(count / ROUNDED_TO) * ROUNDED_TO if enrollment.study.check_every else count


def _with_free_slot(enrollment: Enrollment) -> int:
    """Stories of the study with a free slot. Counting grows with the study, so it is done rarely."""
    key = f"stories-needed-{enrollment.study_id}"
    known: int | None = cache.get(key)
    if known is not None:
        return known
    count = Story.objects.filter(study=enrollment.study_id, has_free_slot=True).count()
    cache.set(key, count, COUNT_SECONDS)
    return count


def receipt_context(vote: Vote, *, differs: bool = False) -> dict[str, Any]:
    """When an answer was saved, and what there is to know about it."""
    note = ""
    if differs:
        note = _("You had answered this story before; your first answers were kept.")
    elif vote.surplus_reason == SurplusReason.LATE:
        note = _(
            "It came after your time for this story had run out and somebody else had answered it. "
            "It is kept and credited to you, but does not decide about the story."
        )
    elif vote.surplus_reason:
        note = _(
            "It came after your part in the study had been paused or had ended. "
            "It is kept and credited to you, but does not decide about the story."
        )
    return {"saved_at": vote.submitted_at, "note": note}


def continue_link(request: HttpRequest, label: str = "") -> dict[str, str]:
    """The way back to the stories."""
    return {"url": page_url(request, "annotation:stories"), "label": label or _("Continue")}


def number(text: str | None) -> int:
    """A row's number from a form or address; 0, which no row has, for anything else."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 18 else 0


def message(
    request: HttpRequest, enrollment: Enrollment, heading: str, text: str, *, status: int
) -> HttpResponse:
    """A page that says one thing and leads back to the stories."""
    context = {"heading": heading, "text": text, "actions": [continue_link(request)]}
    return page(request, enrollment, "pages/message.html", context, status=status)


def page(
    request: HttpRequest, enrollment: Enrollment, template: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """A page of the visit; for htmx only the part of it that is swapped in."""
    if request.htmx and template.startswith("annotation/"):  # type: ignore[attr-defined]
        template += "#work"
    shared = {
        "study": enrollment.study,
        "enrollment": enrollment,
        "own_url": "" if is_claimed(request) else page_url(request, "annotation:own"),
        "stories_url": page_url(request, "annotation:stories"),
    }
    return render(request, template, context | shared, status=status)
