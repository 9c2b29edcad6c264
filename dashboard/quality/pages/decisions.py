"""Experts' decisions: queues, one story after the other, comparison with the filter.

Where a filter selects stories, experts decide about a story without seeing its votes. Where the answer of
more than half of the participants is the label, they decide about those that have none, beside the answers.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import Exists, OuterRef, QuerySet, TextChoices
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy

from annotation import actions
from annotation.models import Adjudication, LintFinding, Story, Study
from annotation.protocols.base import Resolution
from annotation.reasons import LONGEST_STATEMENT
from annotation.rights import Right, by_and_now, form_page, read_page
from dashboard.http import ErrorsAsMessages, csv_file, csv_stream
from dashboard.quality.reconciling import columns_of, reconcile_story, reconciled_page, table_rows
from dashboard.stories.labels import Label, labels_of
from dashboard.stories.queries import LOOKED_AT, OUTCOMES, ListedStory, listed, objected_to
from dashboard.stories.tables import tables_of
from publishing.filters import Outcome
from tomannot.cache import cached_for_a_minute

JUDGED = 100
"""Stories whose votes are read in one batch."""
AT_MOST = 1_000
"""Stories searched in one request."""
MANY = 500
"""Above this number of decisions, sums are cached."""


class Queue(TextChoices):
    """The reason for giving a story to an expert."""

    SPLIT = "split", gettext_lazy("stories decided by one vote")
    DROPPED = "dropped", gettext_lazy("stories that the filter drops")
    LINT = "lint", gettext_lazy("stories with a lint warning")
    UNDECIDED = "undecided", gettext_lazy("stories with undecided labels")
    UNRECONCILED = "unreconciled", gettext_lazy("stories whose lists are to be reconciled")


QUEUES_OF: dict[Resolution, tuple[Queue, ...]] = {
    "filter": (Queue.SPLIT, Queue.DROPPED, Queue.LINT),
    "majority": (Queue.UNDECIDED,),
    "reconciled": (Queue.UNRECONCILED,),
    "mean": (),
}
"""The queues of studies by the resolution of their protocol."""


def _standing(study: Study) -> QuerySet[Adjudication]:
    return Adjudication.objects.filter(story__study=study).standing()


def next_to_decide(study: Study, queue: Queue, *, after: str = "") -> tuple[Story | None, str]:
    """Return the next main story, by id, in the queue that no expert has decided about.

    Without one, the text is the id after which to search on; empty at the end.
    """
    stories = Story.objects.filter(study=study, story_id__gt=after).wanted().order_by("story_id")
    window = stories.values_list("story_id", flat=True)[LOOKED_AT - 1 : LOOKED_AT].first()
    stories = stories.filter(story_id__lte=window) if window else stories
    undecided = stories.filter(~Exists(Adjudication.objects.filter(story=OuterRef("pk"))))
    found, stopped = None, ""
    if queue in (Queue.UNDECIDED, Queue.UNRECONCILED):
        found, stopped = _judged(study, queue, stories.filter(has_free_slot=False))
    elif queue == Queue.LINT:
        found = undecided.filter(Exists(LintFinding.objects.filter(story=OuterRef("pk")))).first()
    else:
        found, stopped = _judged(study, queue, objected_to(undecided))
    return found, "" if found else stopped or window or ""


def _judged(study: Study, queue: Queue, stories: QuerySet[Story]) -> tuple[Story | None, str]:
    """Return the first story that the votes put into the queue, or the id where the search stopped early."""
    last, looked = "", 0
    while batch := list(stories.filter(story_id__gt=last)[:JUDGED]):
        for story, is_wanted in zip(batch, _wanted(study, queue, batch), strict=True):
            if is_wanted:
                return story, ""
        last, looked = batch[-1].story_id, looked + len(batch)
        if looked >= AT_MOST:
            return None, last
    return None, ""


def _wanted(study: Study, queue: Queue, stories: Sequence[Story]) -> list[bool]:
    """Return, for each of these stories, whether its votes put it into the queue."""
    if queue == Queue.UNRECONCILED:
        tables = tables_of(study, stories)
        return [tables[story.pk].waits for story in stories]
    if queue == Queue.UNDECIDED:
        labels = labels_of(study, stories)
        return [any(one.is_undecided and not one.stands for one in labels[story.pk]) for story in stories]
    if queue == Queue.SPLIT:
        return [row.is_split for row in listed(study, stories)]
    return [row.verdict.outcome is Outcome.DROPPED for row in listed(study, stories)]


def decided(study: Study, *, most: int | None = None) -> list[tuple[Adjudication, ListedStory]]:
    """Return the standing decisions with their stories, the newest first; with ``most``, only so many."""
    standing = list(_standing(study).select_related("story", "by").order_by("-pk")[:most])
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
LABEL_COLUMNS = ("story_id", "labelled", "decision", "votes_for_it", "votes", "label", "reason", "by", "at")


@read_page()
def decisions(request: HttpRequest, study: Study) -> HttpResponse:
    """List the experts' decisions beside the filter's verdicts or the votes, and the queues."""
    if study.protocol.resolution == "reconciled":
        return reconciled_page(request, study)
    if study.protocol.resolution == "majority":
        context = {
            "rows": list(islice(_decided_labels(study), SHOWN)),
            "more": _standing(study).count() > SHOWN,
        }
        return render(request, "dashboard/quality/label_decisions.html", context)
    counted = sums(study)
    dropped = next(row for row in counted if row[0] is Outcome.DROPPED)
    context = {
        "sums": [(OUTCOMES[outcome], valid, invalid) for outcome, valid, invalid in counted],
        "dropped": dropped[1] + dropped[2],
        "restored": dropped[1],
        "rows": [
            (decision, row, OUTCOMES[row.verdict.outcome]) for decision, row in decided(study, most=SHOWN)
        ],
        "more": _standing(study).count() > SHOWN,
        "queues": [(queue, queue.label) for queue in QUEUES_OF[study.protocol.resolution]],
    }
    return render(request, "dashboard/quality/decisions.html", context)


@read_page()
def decisions_file(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Return every standing decision as CSV, beside the filter's verdict so far or the votes for it."""
    if study.protocol.resolution == "reconciled":
        return csv_stream(request, f"{study.slug}-reconciled", columns_of(study), table_rows(study))
    if study.protocol.resolution == "majority":
        return csv_stream(request, f"{study.slug}-decisions", LABEL_COLUMNS, _label_rows(study))
    rows = [
        {
            "story_id": row.story.story_id,
            "decision": decision.verdict,
            "filter": row.verdict.outcome.value,
            "filter_reason": row.verdict.reason,
            "reason": decision.reason,
            **_who_and_when(decision),
        }
        for decision, row in decided(study)
    ]
    return csv_file(f"{study.slug}-decisions", COLUMNS, rows)


def _who_and_when(decision: Adjudication) -> dict[str, str]:
    return {"by": decision.by.get_username() if decision.by else "", "at": decision.at.isoformat()}


def _label_rows(study: Study) -> Iterator[dict[str, Any]]:
    for story, decision, label in _decided_labels(study):
        yield {
            "story_id": story.story_id,
            "labelled": label.cell.field,
            "decision": decision.verdict,
            "votes_for_it": label.given[decision.verdict],
            "votes": label.given.total(),
            "label": label.stands,
            "reason": decision.reason,
            **_who_and_when(decision),
        }


def _decided_labels(study: Study) -> Iterator[tuple[Story, Adjudication, Label]]:
    """Yield the labels that experts decided, the newest first, reading the votes of some at a time."""
    last: int | None = None
    while True:
        older = _standing(study).exclude(question="").select_related("story").order_by("-pk")
        some = list((older.filter(pk__lt=last) if last else older)[:SHOWN])
        labels = labels_of(study, list({one.story_id: one.story for one in some}.values()))
        by_field = {(story, label.cell.field): label for story in labels for label in labels[story]}
        for one in some:
            label = by_field[one.story_id, one.field]
            assert label.decision
            yield one.story, label.decision, label
        if len(some) < SHOWN:
            return
        last = some[-1].pk


@read_page(Right.REVIEW)
def next_decision(request: HttpRequest, study: Study) -> HttpResponse:
    """Redirect to the next story of a queue, or offer to search further."""
    queue, after = _queue(request, study), request.GET.get("after", "")
    if queue is None or "\0" in after:  # PostgreSQL takes no such text
        return redirect("dashboard:decisions", slug=study.slug)
    story, further = next_to_decide(study, queue, after=after)
    if story:
        here = reverse("dashboard:decide_story", args=[study.slug, story.story_id])
        return redirect(f"{here}?{urlencode({'queue': queue})}")
    context = {
        "queue": queue.label,
        "further": "?" + urlencode({"queue": queue, "after": further}) if further else "",
    }
    return render(request, "dashboard/quality/no_decision.html", context)


@form_page(Right.REVIEW)
def decide_story(request: HttpRequest, study: Study, story_id: str) -> HttpResponse:
    """Show a story without its votes, or its undecided labels with them. A POST records the decision."""
    if "\0" in story_id:  # PostgreSQL takes no such text
        raise Http404
    story = get_object_or_404(Story.objects.main(), study=study, story_id=story_id)
    story.study = study
    if study.protocol.resolution == "reconciled":
        return reconcile_story(request, study, story, following=_following(request, story))
    if request.method == "POST" and (saved := _decide(request, story)):
        return saved
    standing = list(Adjudication.objects.filter(story=story).select_related("by").order_by("-pk"))
    context = {
        "story": story,
        "adjudications": standing,
        "seen": standing[0].pk if standing else 0,
        "longest": LONGEST_STATEMENT,
        "reason": request.POST.get("reason", ""),
        "next": _following(request, story),
    }
    if study.protocol.resolution == "majority":
        return render(request, "dashboard/quality/decide_labels.html", context | _labels(request, story))
    return render(request, "dashboard/quality/decide.html", context)


def _labels(request: HttpRequest, story: Story) -> dict[str, Any]:
    """Return the undecided labels of a story with what was chosen, and whether it has all its votes."""
    labels = labels_of(story.study, [story])[story.pk]
    undecided = [
        {"label": label, "row": label.cell.row, "chosen": request.POST.get(label.cell.field, "")}
        for label in labels
        if label.is_undecided
    ]
    return {"labels": undecided, "is_complete": all(label.is_settled for label in labels)}


def _decide(request: HttpRequest, story: Story) -> HttpResponse | None:
    """Record the decision of a form. Return None if it is refused, with a message: it is shown again."""
    study, given = story.study, request.POST.dict()
    with ErrorsAsMessages(request, ValueError):
        shared: dict[str, Any] = {"story": story, "reason": given.get("reason", ""), **by_and_now(request)}
        shared["seen"] = int(given.get("seen", ""))
        if study.protocol.resolution == "majority":
            fields = {cell.field for cell in story.protocol.cells(story.item)}
            chosen = {name: value for name, value in given.items() if name in fields and value}
            actions.adjudicate_labels(**shared, chosen=chosen)
        else:
            verdict = Adjudication.Verdict(given.get("decision", ""))
            actions.adjudicate(**shared, verdict=verdict)
        messages.success(request, _("Saved beside the votes of %(story)s.") % {"story": story.story_id})
        return redirect(
            _following(request, story) or reverse("dashboard:story", args=[study.slug, story.story_id])
        )
    return None


def _queue(request: HttpRequest, study: Study) -> Queue | None:
    asked: Any = request.GET.get("queue", "")
    return Queue(asked) if asked in QUEUES_OF[study.protocol.resolution] else None


def _following(request: HttpRequest, story: Story) -> str:
    """Return the address of the next story of the queue, if the expert works through one."""
    queue = _queue(request, story.study)
    here = reverse("dashboard:next_decision", args=[story.study.slug])
    return f"{here}?{urlencode({'queue': queue, 'after': story.story_id})}" if queue else ""
