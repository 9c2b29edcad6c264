"""How many answers are right: shares with 95 % intervals per question set. Pure, numpy only."""

from __future__ import annotations

import math
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from publishing.statistics.agreement import Floats
from publishing.statistics.bootstrap import Bootstrap, interval

ALL = "all"
LEVEL = 0.95
RESAMPLES = 1000
SEED = 0
_Z = 1.959963984540054
"""The 97.5th percentile of the normal distribution."""
_AT_ONCE = 2_000_000
"""How many draws of the bootstrap are in memory at a time."""
_DESIGN = Bootstrap(RESAMPLES, SEED, LEVEL)


@dataclass(frozen=True, slots=True)
class AnsweredItem:
    """One question with the answers people gave: how many chose each option.

    ``story`` is what the questions about one core story share; they are drawn together in the bootstrap.
    """

    config: str
    story: str
    right: str
    options: int
    given: Mapping[str, int]

    @property
    def votes(self) -> int:
        return sum(self.given.values())

    @property
    def right_votes(self) -> int:
        return self.given.get(self.right, 0)

    @property
    def majority(self) -> str | None:
        """The option chosen most often; None for a tie."""
        most = max(self.given.values())
        chosen = [option for option, votes in self.given.items() if votes == most]
        return chosen[0] if len(chosen) == 1 else None

    @property
    def agreement(self) -> float:
        """The share of pairs of people who gave the same answer. Needs two votes."""
        same = sum(votes * (votes - 1) for votes in self.given.values())
        return same / (self.votes * (self.votes - 1))


def accuracy(items: Iterable[AnsweredItem], *, votes_per_item: int) -> dict[str, Any]:
    """Accuracy per question set and over all of them, over the items that have all their votes.

    Per line: the share of right answers with a percentile interval of a bootstrap that draws stories
    (Efron and Tibshirani 1993, chapter 13), because answers to one question are not independent; the
    share of items whose most chosen option is right with Wilson's interval (Wilson 1927), a tie being
    no majority and so not right; the mean agreement of two people. Over all question sets the items
    are not independent either, so Wilson's interval is given for each set only. What cannot be
    computed is None.
    """
    by_config: dict[str, list[AnsweredItem]] = defaultdict(list)
    for item in items:
        by_config[item.config].append(item)
    lines = {
        config: _line(config, found, votes_per_item) | {"majority": _majority(found, votes_per_item)}
        for config, found in sorted(by_config.items())
    }
    everything = [item for found in by_config.values() for item in found]
    overall = _majority(everything, votes_per_item) | {"interval": None}
    return {
        "configs": lines,
        ALL: _line(ALL, everything, votes_per_item) | {"majority": overall},
        "bootstrap": {"resamples": RESAMPLES, "seed": SEED, "level": LEVEL, "unit": "story"},
    }


def wilson(right: int, n: int) -> tuple[float, float] | None:
    """The 95 % interval of a share by Wilson's score method; None without any observation."""
    if n == 0:
        return None
    share = right / n
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def bootstrap_interval(
    numerators: Sequence[float], denominators: Sequence[float], *, seed: Sequence[int]
) -> tuple[float, float] | None:
    """The 95 % percentile interval of Σ numerators / Σ denominators when the clusters are drawn again.

    One numerator and one denominator (above 0) per cluster. None for fewer than two clusters, and where
    every draw gives the same value: what varies between clusters cannot be seen then. Drawn and cut off
    as :mod:`publishing.statistics.bootstrap` does.
    """
    clusters = len(numerators)
    if clusters < 2:
        return None
    above, below = np.asarray(numerators, float), np.asarray(denominators, float)
    random = np.random.RandomState(list(seed))
    found: list[Floats] = []
    at_once = max(1, _AT_ONCE // clusters)
    for start in range(0, RESAMPLES, at_once):
        drawn = random.randint(0, clusters, size=(min(at_once, RESAMPLES - start), clusters))
        found.append(above[drawn].sum(axis=1) / below[drawn].sum(axis=1))
    return interval(np.concatenate(found), _DESIGN).bounds


def _line(name: str, items: Sequence[AnsweredItem], votes_per_item: int) -> dict[str, Any]:
    complete = _complete(items, votes_per_item)
    right = sum(item.right_votes for item in complete)
    votes = sum(item.votes for item in complete)
    comparable = complete if votes_per_item > 1 else []
    return {
        "items": len(items),
        "complete": len(complete),
        "votes": votes,
        "right": right,
        "accuracy": right / votes if votes else None,
        "interval": _over_stories(name, [(item.story, item.right_votes, item.votes) for item in complete]),
        "chance": _mean([1 / item.options for item in complete]),
        "agreement": {
            "percent": _mean([item.agreement for item in comparable]),
            "interval": _over_stories(name, [(item.story, item.agreement, 1) for item in comparable]),
        },
    }


def _majority(items: Sequence[AnsweredItem], votes_per_item: int) -> dict[str, Any]:
    complete = _complete(items, votes_per_item)
    majorities = [item.majority for item in complete]
    right = sum(chosen == item.right for chosen, item in zip(majorities, complete, strict=True))
    return {
        "right": right,
        "ties": majorities.count(None),
        "accuracy": right / len(complete) if complete else None,
        "interval": wilson(right, len(complete)),
    }


def _complete(items: Iterable[AnsweredItem], votes_per_item: int) -> list[AnsweredItem]:
    return [item for item in items if item.votes == votes_per_item]


def _over_stories(name: str, values: Iterable[tuple[str, float, float]]) -> tuple[float, float] | None:
    """The bootstrap interval of a ratio of sums, given (story, numerator, denominator) per item."""
    above: dict[str, list[float]] = defaultdict(list)
    below: dict[str, list[float]] = defaultdict(list)
    for story, numerator, denominator in values:
        above[story].append(numerator)
        below[story].append(denominator)
    # Exact sums, and stories in one order: the same answers give the same interval to the last digit.
    return bootstrap_interval(
        [math.fsum(above[story]) for story in sorted(above)],
        [math.fsum(below[story]) for story in sorted(below)],
        seed=(SEED, zlib.crc32(name.encode())),
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
