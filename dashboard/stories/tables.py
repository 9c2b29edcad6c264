"""Tables that people filled about stories, and what experts made of them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy

from annotation import queries
from annotation.models import Adjudication, Story, Study
from annotation.reconciling import (
    Change,
    ReconciledRow,
    is_reconciled,
    listed_rows,
    reconciled_rows,
    table_of,
)

CHANGES = {
    Change.KEPT: "",
    Change.REVISED: gettext_lazy("revised"),
    Change.ADDED: gettext_lazy("added"),
    Change.LEFT_OUT: gettext_lazy("left out"),
}
"""The words for what experts did with a row; none for nothing."""


@dataclass(frozen=True, slots=True)
class StoryTable:
    """The rows that people listed about a story, as experts' decisions leave them."""

    titles: list[str]
    """The headings of the columns."""
    rows: list[ReconciledRow]
    people: int
    """The number of lists."""
    is_complete: bool
    """True if the story has all its votes."""
    reconciled: Adjudication | None
    """The newest decision that these lists were reconciled; None if they were not."""
    earlier: Adjudication | None = None
    """The newest decision that these or earlier lists were reconciled."""

    @property
    def waits(self) -> bool:
        """Return True if experts can reconcile the lists and have not."""
        return self.is_complete and self.reconciled is None

    @property
    def with_remark(self) -> int:
        """The number of rows that experts revised, added or left out."""
        return sum(row.change is not Change.KEPT for row in self.rows)

    @property
    def shown(self) -> list[dict[str, Any]]:
        """Return the rows for a page: ``cells`` (title, words), and what became of each."""
        return [
            {
                "row": row,
                "cells": list(zip(self.titles, row.words, strict=True)),
                "stays": row.change is not Change.LEFT_OUT,
                "change": CHANGES[row.change],
                "by_all": row.listed is not None and len(row.listed.people) == self.people,
                "as_listed": row.listed.words if row.listed and row.change is Change.REVISED else None,
            }
            for row in self.rows
        ]


def tables_of(study: Study, stories: Sequence[Story]) -> dict[int, StoryTable]:
    """Return the tables about these stories, in a constant number of queries."""
    numbers, protocol = [story.pk for story in stories], study.protocol
    lists, titles = queries.lists_of(numbers), [str(question.title) for question in protocol.questions]
    decided: defaultdict[int, dict[str, Adjudication]] = defaultdict(dict)
    for one in Adjudication.objects.filter(story__in=numbers).standing().select_related("by"):
        decided[one.story_id][one.field] = one
    found = {}
    for story in stories:
        given, made = lists.get(story.pk, {}), decided[story.pk]
        listed = listed_rows(protocol, given)
        earlier = made.get(table_of(protocol))
        done = earlier if is_reconciled(protocol, listed, made) else None
        rows = reconciled_rows(protocol, listed, made)
        is_complete = len(given) >= study.votes_per_story
        found[story.pk] = StoryTable(titles, rows, len(given), is_complete, done, earlier)
    return found
