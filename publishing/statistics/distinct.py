"""Counting distinct strings in little memory, and keeping one story of each text."""

from array import array
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from publishing.files.rows import ReleasedStory
from publishing.filters import DUPLICATE, Outcome, StoryFilter, Verdict

Hashes = NDArray[np.int64]

_PENDING = 4096


class DistinctStrings:
    """Distinct strings as 64-bit hashes: about 8 bytes each, 16 while growing.

    The hash is Python's own, so hashes of different processes cannot be compared. Two of n distinct strings
    share a hash with a probability of about n² / 2⁶⁵: for a million strings, 3 in 100 million.
    """

    __slots__ = ("_hashes", "_pending")

    def __init__(self) -> None:
        self._hashes: Hashes = np.empty(0, np.int64)
        self._pending = array("q")

    def add(self, text: str) -> None:
        self._pending.append(hash(text))
        if len(self._pending) >= _PENDING and len(self._pending) >= len(self._hashes):
            self.hashes()

    def hashes(self) -> Hashes:
        """Return the hashes of the distinct strings, sorted."""
        if self._pending:
            pending = np.frombuffer(self._pending, np.int64)
            self._hashes = np.unique(np.concatenate([self._hashes, pending]))
            self._pending = array("q")
        return self._hashes


def count_together(sets: Iterable[DistinctStrings]) -> int:
    return len(np.unique(np.concatenate([np.empty(0, np.int64), *(found.hashes() for found in sets)])))


class FirstOfEach:
    """Drops each story whose text an earlier kept story has, if the filter says so.

    Call it with every story, in order of id. It takes some 100 bytes per kept story.
    """

    def __init__(self, rule: StoryFilter) -> None:
        self._seen: set[str] | None = set() if rule.one_of_each else None

    def __call__(self, verdict: Verdict, story: ReleasedStory) -> Verdict:
        if self._seen is None or verdict.outcome is not Outcome.KEPT:
            return verdict
        text, known = story.text_hash[:16], len(self._seen)
        self._seen.add(text)
        return verdict if len(self._seen) > known else Verdict(Outcome.DROPPED, DUPLICATE)
