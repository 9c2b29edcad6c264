"""Helpers of the annotator's pages: progress, links, and rendering."""

from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect

from annotation import queries, rules
from annotation.access import is_claimed, page_url
from annotation.models import Assignment, Enrollment, SurplusReason, Vote, WorkSession
from annotation.requests import extended
from tomannot.cache import local as cache

COMMENT = "_comment"
"""The field of a comment in a vote's form. No question has this key (``KEY_PATTERN``)."""
COUNT_SECONDS = 60
"""The lifetime of the cached number of stories that an annotator can still answer."""
MOST_COUNTED = 10_000
"""Open stories are counted up to this number for each annotator."""


def progress(enrollment: Enrollment, session: WorkSession | None = None) -> dict[str, Any]:
    """Return the numbers of stories that the annotator has answered and can really still answer (``left``).

    ``all`` is their sum. In a work session, both are of the session, and ``asked`` is its limit (else None).
    """
    asked: int | None
    if session:
        done, asked = session.stories_submitted, session.story_limit
        left = max(0, session.story_limit - done)
    else:
        done, asked = enrollment.stories_submitted, None
        left = _left(enrollment, under_cap=max(0, enrollment.study.story_cap - done))
    milestone = rules.milestone(done, left)
    return {"done": done, "left": left, "all": done + left, "asked": asked, "milestone": milestone}


def _left(enrollment: Enrollment, *, under_cap: int) -> int:
    """Count the stories that the annotator can still answer, every minute; what they answer is subtracted."""
    done = enrollment.stories_submitted
    counted = cache.get(f"stories-left-{enrollment.pk}")
    left = counted[0] - (done - counted[1]) if counted else 0
    if left <= 0 < under_cap:
        left = queries.stories_and_checks_left(enrollment, at_most=MOST_COUNTED)
        cache.set(f"stories-left-{enrollment.pk}", (left, done), COUNT_SECONDS)
    return min(under_cap, max(0, left))


def receipt_context(vote: Vote, *, differs: bool = False) -> dict[str, Any]:
    """Describe a saved answer for the page."""
    note = ""
    if differs:
        note = _("You had already answered this story. Your first answers were kept.")
    elif vote.surplus_reason == SurplusReason.LATE:
        note = _(
            "Your time for this story had run out, and no more answers were needed by then. Your answer is "
            "kept and credited to you, but doesn’t decide about the story."
        )
    elif vote.surplus_reason:
        note = _(
            "Your participation had been paused or had ended. Your answer is kept and credited to "
            "you, but doesn’t decide about the story."
        )
    elif vote.revision > 1:
        note = _("Your change is saved.")
    return _receipt(vote.submitted_at, note)


def skip_receipt(assignment: Assignment) -> dict[str, Any] | None:
    """Describe a skip for the page; None if the story is neither skipped nor answered."""
    if assignment.state != Assignment.State.SKIPPED:
        vote = assignment.votes.order_by("revision").first()
        return receipt_context(vote, differs=True) if vote else None
    note = _("You skipped a story. It counts as an answered story.")
    if not assignment.skip.credited:
        note = _("You skipped a story. It doesn’t count as an answered story: you had no skips left.")
    return _receipt(assignment.skip.skipped_at, note)


def _receipt(saved_at: datetime, note: str) -> dict[str, Any]:
    local = timezone.localtime(saved_at)
    return {"saved_at": local, "iso": local.isoformat(), "time": f"{local:%H:%M:%S %Z}", "note": note}


def continue_link(request: HttpRequest, label: str = "") -> dict[str, str]:
    """Return the link back to the stories."""
    return {"url": page_url(request, "annotation:stories"), "label": label or _("Continue")}


def closing_url(request: HttpRequest) -> str:
    """Return the address of the closing question, which leads back to this page."""
    return f"{page_url(request, 'annotation:closing')}?{urlencode({'next': request.get_full_path()})}"


def back_from(request: HttpRequest) -> str:
    """Return the page of this visit that the request names as the next one, or else the first."""
    home, back = page_url(request, "annotation:home"), request.POST.get("next") or request.GET.get("next", "")
    return back if back.startswith(home) else home


def go(request: HttpRequest, url: str) -> HttpResponse:
    """Redirect, for htmx by the browser."""
    return HttpResponseClientRedirect(url) if extended(request).htmx else redirect(url)


def dropping_draft(response: HttpResponse, draft: str, *, stored: bool = True) -> HttpResponse:
    """Tell the device to drop this draft: it is stored, or never can be."""
    response["X-Stored-Assignment" if stored else "X-Unknown-Assignment"] = draft
    return response


def message(
    request: HttpRequest, enrollment: Enrollment, heading: str, text: str, *, status: int
) -> HttpResponse:
    """Render a message with a link back to the stories."""
    context = {"heading": heading, "text": text, "actions": [continue_link(request)]}
    return page(request, enrollment, "pages/message.html", context, status=status)


def page(
    request: HttpRequest, enrollment: Enrollment, template: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    """Render a page of the visit; for htmx only the part that is swapped."""
    if extended(request).htmx and template.startswith("annotation/"):
        template += "#work"
    shared = {
        "study": enrollment.study,
        "enrollment": enrollment,
        "own_url": "" if is_claimed(request) else page_url(request, "annotation:own"),
        "stories_url": page_url(request, "annotation:stories"),
        "language_url": page_url(request, "annotation:language"),
    }
    return render(request, template, context | shared, status=status)
