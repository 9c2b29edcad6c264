"""Experts' decisions about stories: the queues, the decisions, and how they compare with the filter."""

import enum
from collections import Counter
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.models import Adjudication, LintFinding, Story, Study
from dashboard.cache import cached_for_a_minute
from dashboard.stories.queries import LOOKED_AT, ListedStory, listed, objected_to, standing_decisions
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
    Queue.SPLIT: _("stories decided by one vote"),
    Queue.DROPPED: _("stories that the filter drops"),
    Queue.LINT: _("stories with a lint warning"),
}


@dataclass(frozen=True, slots=True)
class Step:
    """The next story to decide about; without one, ``further`` is where to search on (empty: at the end)."""

    story: Story | None
    further: str = ""


@dataclass(frozen=True, slots=True)
class Decided:
    """A story's standing decision, and the story with its verdict so far."""

    decision: Adjudication
    row: ListedStory


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


def decided(study: Study, *, most: int | None = None) -> list[Decided]:
    """Return the decided stories, the newest decision first; with ``most``, only so many."""
    standing = list(standing_decisions(study).select_related("story", "by").order_by("-pk")[:most])
    rows = listed(study, [decision.story for decision in standing])
    return [Decided(decision, row) for decision, row in zip(standing, rows, strict=True)]


def sums(study: Study) -> list[tuple[Outcome, int, int]]:
    """Return (verdict, valid, not valid): the experts' decisions by the filter's verdict.

    With many decisions up to a minute old: each has to be compared with the story's votes.
    """

    def are_many(counted: list[tuple[Outcome, int, int]]) -> bool:
        return sum(valid + invalid for _outcome, valid, invalid in counted) > MANY

    return cached_for_a_minute(study, "decided", lambda: _sums(decided(study)), is_large=are_many)


def _sums(found: list[Decided]) -> list[tuple[Outcome, int, int]]:
    counted = Counter((one.row.verdict.outcome, one.decision.verdict) for one in found)
    valid, invalid = Adjudication.Verdict.VALID, Adjudication.Verdict.INVALID
    return [(outcome, counted[outcome, valid], counted[outcome, invalid]) for outcome in Outcome]
