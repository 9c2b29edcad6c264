"""The versions of a story that was revised, and the passages in which they differ."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from django.db.models import Q

from annotation.models import Story, StoryRevision, Study


class Passage(NamedTuple):
    """What a revision took out of a text and put in: everything from the first to the last different word."""

    before: str
    taken_out: str
    put_in: str
    after: str


def revisions_of(study: Study, story: Story) -> list[tuple[StoryRevision, list[Passage]]]:
    """Return the revisions that made and that replaced this version, with a passage of each changed text."""
    if not study.protocol.revisable:
        return []
    found = StoryRevision.objects.filter(Q(after=story) | Q(before=story)).order_by("pk")
    return [
        (one, [changed_passage(*texts) for texts in one.changed_texts().values()])
        for one in found.select_related("before", "after", "by")
    ]


def changed_passage(old: str, new: str) -> Passage:
    """Return the passage in which two texts differ. Takes a time that grows like the texts."""
    was, now = (re.findall(r"\s+|\S+", text) for text in (old, new))
    begin = _alike(was, now)
    end = _alike(was[begin:][::-1], now[begin:][::-1])
    alike, taken_out, put_in = was[:begin], was[begin : len(was) - end], now[begin : len(now) - end]
    return Passage(*map("".join, (alike, taken_out, put_in, was[len(was) - end :])))


def _alike(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the number of words with which both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
