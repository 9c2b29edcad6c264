"""Draw votes for review. Pure functions of plain values, so that anybody can draw the same sample."""

import hashlib
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

QUICK = 1 / 3
"""A vote under this share of its author's median time is flagged as quick."""
ENOUGH_FOR_A_PACE = 5
"""Votes that an annotator must have given before any is flagged as quick."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A counted vote that could be drawn. ``alone``: the only objection to a complete story."""

    vote: int
    person: int
    seconds: float
    alone: bool = False


def shuffled(seed: int, numbers: Iterable[int]) -> list[int]:
    """Order the numbers by SHA-256 of ``seed:number``, like the serving order (``rules.order_key``)."""
    return sorted(numbers, key=lambda number: hashlib.sha256(f"{seed}:{number}".encode()).digest())


def draw(candidates: Sequence[Candidate], *, seed: int, per_person: int, flagged: bool) -> dict[int, str]:
    """Draw at most ``per_person`` votes of each annotator, in an order that mixes annotators.

    Return each with its flag (empty: drawn at random). ``flagged``: only votes with a flag; ``alone`` takes
    precedence over ``quick``.
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
    return {vote: flags[vote] for vote in shuffled(seed, flags)}


def _flag_by(theirs: Sequence[Candidate]) -> Callable[[Candidate], str]:
    pace = statistics.median(candidate.seconds for candidate in theirs)
    has_pace = len(theirs) >= ENOUGH_FOR_A_PACE

    def flag(candidate: Candidate) -> str:
        if candidate.alone:
            return "alone"
        return "quick" if has_pace and candidate.seconds < pace * QUICK else ""

    return flag
