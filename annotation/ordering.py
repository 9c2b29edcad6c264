"""Draw an annotator's own start in the serving order, and their order of options. Pure functions.

Both depend on a seed alone, which is stored with every vote and released, so anybody can draw them again.
"""

import hashlib
import math
from collections.abc import Sequence

from annotation.hidden_checks import drawn
from annotation.protocols.questions import Option, Question

_SEED_BITS = 31


def order_seed(key: str, person: int) -> int:
    """Return the seed of an annotator's start, drawn with the study's secret ``key``: 0 to 2^31 - 1."""
    return drawn(key, f"serving start:{person}") >> (64 - _SEED_BITS)


def option_seed(key: str, person: int) -> int:
    """Return the seed of an annotator's order of options, drawn with the study's secret ``key``."""
    return drawn(key, f"option order:{person}") >> (64 - _SEED_BITS)


def start_key(seed: int) -> int:
    """Return the order key after which an annotator's own order begins; seeds divide the keys evenly."""
    return (seed << (64 - _SEED_BITS)) - 2**63


def ordered(options: Sequence[Option], question: Question, seed: int | None) -> tuple[Option, ...]:
    """Return a question's options in the order for a seed (None: the protocol's).

    Odd seeds reverse scales, in every question alike. Options that may be in any order are
    sorted by a hash of the seed, their key and an item's own text, so that a key has no fixed place.
    """
    if seed is None or question.option_order == "fixed":
        return tuple(options)
    if question.option_order == "scale":
        return tuple(reversed(options)) if seed % 2 else tuple(options)

    def place(option: Option) -> bytes:
        text = "" if question.has_fixed_options else option.label  # that of a fixed one is in a language
        return hashlib.sha256(f"{seed}:{question.key}:{option.key}:{text}".encode()).digest()

    return tuple(sorted(options, key=place))


def unfinished_stories(
    *, stories: int, votes_per_story: int, votes: int, own_order: bool, at_once: int
) -> int:
    """Estimate how many stories have some but not all of their votes once ``votes`` are given.

    With one order for all, about as many as people work ``at_once``. With starts of their own, votes fall
    evenly on the stories: each place is filled with the same probability (binomial).
    """
    if not stories or not 0 < votes < stories * votes_per_story:
        return 0
    if not own_order:
        return min(stories, votes, max(1, at_once))
    filled = votes / (stories * votes_per_story)
    return min(votes, math.ceil(stories * (1 - (1 - filled) ** votes_per_story - filled**votes_per_story)))
