"""Which answers are looked at: pure functions of plain values, so that anybody can draw the same sample."""

from __future__ import annotations

import hashlib
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

QUICK = 1 / 3
"""The share of somebody's own median time under which an answer is called quick."""
ENOUGH_FOR_A_PACE = 5
"""Answers somebody must have given before any of them is called quick."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A counted vote that could be looked at. ``alone``: the only one against a story with all its votes."""

    vote: int
    person: int
    seconds: float
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Drawn:
    """A vote of a sample, and why it was flagged (empty: drawn at random)."""

    vote: int
    flag: str = ""


def shuffled(seed: int, numbers: Iterable[int]) -> list[int]:
    """The numbers in an order that depends on the seed and on each of them alone.

    By SHA-256 of ``seed:number``, as the serving order of stories is made (``rules.order_key``).
    """
    return sorted(numbers, key=lambda number: hashlib.sha256(f"{seed}:{number}".encode()).digest())


def draw(candidates: Sequence[Candidate], *, seed: int, per_person: int, flagged: bool) -> list[Drawn]:
    """At most ``per_person`` votes of each person, in an order that mixes people.

    ``flagged``: only votes that something speaks against; the flag of one that is both is ``alone``.
    """
    by_person: dict[int, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_person[candidate.person].append(candidate)
    flags: dict[int, str] = {}
    for theirs in by_person.values():
        flag_of = _flag_by(theirs) if flagged else lambda candidate: ""
        of_person = {candidate.vote: flag_of(candidate) for candidate in theirs}
        wanted = [vote for vote in of_person if of_person[vote] or not flagged]
        flags |= {vote: of_person[vote] for vote in shuffled(seed, wanted)[:per_person]}
    return [Drawn(vote, flags[vote]) for vote in shuffled(seed, flags)]


def _flag_by(theirs: Sequence[Candidate]) -> Callable[[Candidate], str]:
    pace = statistics.median(candidate.seconds for candidate in theirs)
    has_pace = len(theirs) >= ENOUGH_FOR_A_PACE

    def flag(candidate: Candidate) -> str:
        if candidate.alone:
            return "alone"
        return "quick" if has_pace and candidate.seconds < pace * QUICK else ""

    return flag
