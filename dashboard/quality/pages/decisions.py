"""Experts' decisions: queues, one story after the other without its votes, comparison with the filter."""

import enum
from collections import Counter
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy

from annotation import actions
from annotation.actions.reviews import LONGEST_STATEMENT
from annotation.models import Adjudication, LintFinding, Story, Study
from annotation.rights import Right, by_and_now, form_page, read_page
from dashboard.http import ErrorsAsMessages, csv_file
from dashboard.queries import cached_for_a_minute
from dashboard.stories.queries import (
    LOOKED_AT,
    OUTCOMES,
    ListedStory,
    listed,
    objected_to,
    standing_decisions,
)
from publishing.filters import Outcome

JUDGED = 100
"""Stories whose votes are read in one batch."""
AT_MOST = 1_000
"""Stories read for one request, before the reader is told how far the search came."""

MANY = 500
"""Decisions; comparing more with the votes is too slow for a page."""


class Queue(enum.StrEnum):
    """The reason for giving a story to an expert."""

    SPLIT = "split"
    DROPPED = "dropped"
    LINT = "lint"


QUEUES: dict[Queue, Promise] = {
    Queue.SPLIT: gettext_lazy("stories decided by one vote"),
    Queue.DROPPED: gettext_lazy("stories that the filter drops"),
    Queue.LINT: gettext_lazy("stories with a lint warning"),
}


@dataclass(frozen=True, slots=True)
class Step:
    """The next story to decide about; without one, ``further`` is where to search on (empty: at the end)."""

    story: Story | None
    further: str = ""


def next_to_decide(study: Study, queue: Queue, *, after: str = "") -> Step:
    """Return the next main story, by id, in the queue that no expert has decided about."""
    stories = Story.objects.filter(study=study, story_id__gt=after).main().order_by("story_id")
    window = list(stories.values_list("story_id", flat=True)[LOOKED_AT - 1 : LOOKED_AT])
    stories = stories.filter(story_id__lte=window[0]) if window else stories
    undecided = stories.filter(~Exists(Adjudication.objects.filter(story=OuterRef("pk"))))
    if queue == Queue.LINT:
        found = undecided.filter(Exists(LintFinding.objects.filter(story=OuterRef("pk")))).first()
        return Step(found, "" if found or not window else window[0])
    return _judged(study, queue, objected_to(undecided)) or Step(None, window[0] if window else "")


def _judged(study: Study, queue: Queue, stories: QuerySet[Story]) -> Step | None:
    """Return the first story that the votes put into the queue, or None if there is none."""
    last, looked = "", 0
    while batch := listed(study, list(stories.filter(story_id__gt=last)[:JUDGED])):
        for row in batch:
            if row.is_split if queue == Queue.SPLIT else row.verdict.outcome is Outcome.DROPPED:
                return Step(row.story)
        last, looked = batch[-1].story.story_id, looked + len(batch)
        if looked >= AT_MOST:
            return Step(None, last)
    return None


def decided(study: Study, *, most: int | None = None) -> list[tuple[Adjudication, ListedStory]]:
    """Return the standing decisions with their stories, the newest first; with ``most``, only so many."""
    standing = list(standing_decisions(study).select_related("story", "by").order_by("-pk")[:most])
    return list(zip(standing, listed(study, [decision.story for decision in standing]), strict=True))


def sums(study: Study) -> list[tuple[Outcome, int, int]]:
    """Return (verdict, valid, not valid): the experts' decisions by the filter's verdict.

    With many decisions up to a minute old: each has to be compared with the story's votes.
    """

    def compute() -> Counter[tuple[str, str]]:
        return Counter((row.verdict.outcome, decision.verdict) for decision, row in decided(study))

    counted = cached_for_a_minute(study, "decided", compute, is_large=lambda found: found.total() > MANY)
    valid, invalid = Adjudication.Verdict.VALID, Adjudication.Verdict.INVALID
    return [(outcome, counted[outcome, valid], counted[outcome, invalid]) for outcome in Outcome]


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
        "rows": [
            (decision, row, OUTCOMES[row.verdict.outcome]) for decision, row in decided(study, most=SHOWN)
        ],
        "more": max(0, number - SHOWN),
        "queues": QUEUES.items(),
    }
    return render(request, "dashboard/quality/decisions.html", context)


@read_page()
def decisions_file(request: HttpRequest, study: Study) -> HttpResponse:
    """Return every standing decision as CSV, beside the filter's verdict so far."""
    rows = [
        {
            "story_id": row.story.story_id,
            "decision": decision.verdict,
            "filter": row.verdict.outcome.value,
            "filter_reason": row.verdict.reason,
            "reason": decision.reason,
            "by": decision.by.get_username() if decision.by else "",
            "at": decision.at.isoformat(),
        }
        for decision, row in decided(study)
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
    with ErrorsAsMessages(request, ValueError):
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
