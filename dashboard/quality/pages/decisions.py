"""Experts' decisions: the list, and one story after the other without its votes."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation import actions
from annotation.actions.reviews import LONGEST_STATEMENT
from annotation.errors import AnnotationError
from annotation.models import Adjudication, Story, Study
from annotation.rights import Right, by_and_now, form_page, read_page
from dashboard.csv_files import csv_file
from dashboard.quality.decisions import QUEUES, Queue, decided, next_to_decide, sums
from dashboard.responses import ErrorsAsMessages
from dashboard.stories.queries import OUTCOMES, standing_decisions
from publishing.filters import Outcome

SHOWN = 50
"""Decisions on the page, the newest first; the file has all."""
COLUMNS = ("story_id", "decision", "filter", "filter_reason", "reason", "by", "at")
BUTTONS = (
    (Adjudication.Verdict.VALID, "1", gettext_lazy("Valid")),
    (Adjudication.Verdict.INVALID, "2", gettext_lazy("Not valid")),
)
"""Decision, keyboard key, button label."""


@read_page()
def decisions(request: HttpRequest, study: Study) -> HttpResponse:
    """List the experts' decisions beside the filter's verdicts, and the queues."""
    counted = sums(study)
    number = standing_decisions(study).count()
    dropped = next(row for row in counted if row[0] is Outcome.DROPPED)
    context = {
        "sums": [(OUTCOMES[outcome], valid, invalid) for outcome, valid, invalid in counted],
        "dropped": dropped[1] + dropped[2],
        "restored": dropped[1],
        "rows": [(one, OUTCOMES[one.row.verdict.outcome]) for one in decided(study, most=SHOWN)],
        "more": max(0, number - SHOWN),
        "queues": QUEUES.items(),
    }
    return render(request, "dashboard/quality/decisions.html", context)


@read_page()
def decisions_file(request: HttpRequest, study: Study) -> HttpResponse:
    """Return every standing decision as CSV, beside the filter's verdict so far."""
    rows = [
        {
            "story_id": one.row.story.story_id,
            "decision": one.decision.verdict,
            "filter": one.row.verdict.outcome.value,
            "filter_reason": one.row.verdict.reason,
            "reason": one.decision.reason,
            "by": one.decision.by.get_username() if one.decision.by else "",
            "at": one.decision.at.isoformat(),
        }
        for one in decided(study)
    ]
    return csv_file(f"{study.slug}-decisions", COLUMNS, rows)


@read_page(Right.REVIEW)
def next_decision(request: HttpRequest, study: Study) -> HttpResponse:
    """Redirect to the next story of a queue, or offer to search further."""
    queue, after = _queue(request), request.GET.get("after", "")
    if queue is None or "\0" in after:  # PostgreSQL takes no such text
        return redirect("dashboard:decisions", slug=study.slug)
    step = next_to_decide(study, queue, after=after)
    if step.story:
        here = reverse("dashboard:decide_story", args=[study.slug, step.story.story_id])
        return redirect(f"{here}?{urlencode({'queue': queue})}")
    context = {
        "queue": QUEUES[queue],
        "further": "?" + urlencode({"queue": queue, "after": step.further}) if step.further else "",
    }
    return render(request, "dashboard/quality/no_decision.html", context)


@form_page(Right.REVIEW)
def decide_story(request: HttpRequest, study: Study, story_id: str) -> HttpResponse:
    """Show a story without its votes. A POST records the decision."""
    if "\0" in story_id:  # PostgreSQL takes no such text
        raise Http404
    story = get_object_or_404(Story.objects.main(), study=study, story_id=story_id)
    story.study = study
    if request.method == "POST":
        return _decide(request, story)
    protocol, queue = study.protocol, _queue(request)
    standing = list(Adjudication.objects.filter(story=story).select_related("by").order_by("-pk"))
    context = {
        "story": story,
        "parts": protocol.parts(protocol.parse(story.content)),
        "adjudications": standing,
        "seen": standing[0].pk if standing else 0,
        "buttons": BUTTONS,
        "longest": LONGEST_STATEMENT,
        "next": _next(study, queue, story_id) if queue else "",
    }
    return render(request, "dashboard/quality/decide.html", context)


def _decide(request: HttpRequest, story: Story) -> HttpResponse:
    queue, study = _queue(request), story.study
    with ErrorsAsMessages(request, AnnotationError, ValueError):
        actions.adjudicate(
            story=story,
            verdict=Adjudication.Verdict(request.POST.get("decision", "")),
            reason=request.POST.get("reason", ""),
            seen=int(request.POST.get("seen", "")),
            **by_and_now(request),
        )
        messages.success(request, _("Saved beside the votes of %(story)s.") % {"story": story.story_id})
        here = _next(study, queue, story.story_id) if queue else ""
        return redirect(here or reverse("dashboard:story", args=[study.slug, story.story_id]))
    return redirect(request.get_full_path())


def _queue(request: HttpRequest) -> Queue | None:
    asked: Any = request.GET.get("queue", "")
    return Queue(asked) if asked in list(Queue) else None


def _next(study: Study, queue: Queue, after: str) -> str:
    """Return the address of the queue's next story."""
    here = reverse("dashboard:next_decision", args=[study.slug])
    return f"{here}?{urlencode({'queue': queue, 'after': after})}"
