"""Designs: so many items of each stratum per annotator. Pure functions; docs/adr/0041 has the proof.

An annotator's whole set is reserved when they begin: of each stratum the items with the fewest taken slots.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal

from annotation.rules import order_key

MOST_PER_STRATUM = 999
"""Items of one stratum that one annotator can be given."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item that an annotator could be given, with the number of its taken slots."""

    pk: int
    story_id: str
    taken: int


def choose(candidates: Sequence[Candidate], wanted: int, *, seed: int, person: str) -> list[Candidate]:
    """Return the ``wanted`` candidates with the fewest taken slots, or all if there are fewer.

    Ties are broken by a hash of the study's seed, the annotator's pseudonym and the story id.
    """
    fewest = sorted(candidates, key=lambda item: (item.taken, _drawn(seed, "tie", person, item.story_id)))
    return fewest[:wanted]


def in_order(chosen: Sequence[Candidate], *, seed: int, person: str) -> list[Candidate]:
    """Return an annotator's items in the order in which they are served: seeded, strata mixed."""
    return sorted(chosen, key=lambda item: _drawn(seed, "order", person, item.story_id))


def _drawn(seed: int, purpose: str, person: str, story_id: str) -> int:
    return order_key(seed, f"{purpose}:{person}:{story_id}")


def people_needed(*, most: int, free: int, load: int) -> int:
    """Return the fewest newcomers who can fill a stratum: ``free`` slots, ``most`` of them of one item.

    Each fills ``load`` slots at most, and one slot of an item.
    """
    return max(most, math.ceil(free / load))


def fills_exactly(participants: Collection[Decimal]) -> bool:
    """Return True if all strata need the same number of participants, and a whole one."""
    return len(set(participants)) <= 1 and all(each % 1 == 0 for each in participants)
