"""Accuracy of answers with 95 % intervals, per question set. Pure, numpy only."""

import math
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from publishing.statistics.intervals import Bootstrap, ClusterBootstrap, wilson

ALL = "all"
LEVEL = 0.95
RESAMPLES = 1000
SEED = 0
_DESIGN = Bootstrap(RESAMPLES, SEED, LEVEL)


@dataclass(frozen=True, slots=True)
class AnsweredItem:
    """A question with the number of people who chose each option.

    Questions about one core share ``story`` and are drawn together in the bootstrap.
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
        """The share of pairs of people with the same answer. Needs two votes."""
        same = sum(votes * (votes - 1) for votes in self.given.values())
        return same / (self.votes * (self.votes - 1))


def accuracy(items: Iterable[AnsweredItem], *, votes_per_item: int) -> dict[str, Any]:
    """Compute accuracy per question set and overall, over items with all their votes.

    Each entry has: the share of right answers, with a percentile interval from a bootstrap over stories
    (Efron and Tibshirani 1993, chapter 13), because answers to one question are not independent; the share of
    items whose most frequent answer is right (a tie is not), with Wilson's interval (Wilson 1927); and the
    mean agreement of two people. Across question sets items are not independent either, so Wilson's interval
    is given per set only. Undefined values are None.
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
        "interval": over_stories(name, [(item.story, item.right_votes, item.votes) for item in complete]),
        "chance": _mean([1 / item.options for item in complete]),
        "agreement": {
            "percent": _mean([item.agreement for item in comparable]),
            "interval": over_stories(name, [(item.story, item.agreement, 1) for item in comparable]),
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


def over_stories(name: str, values: Sequence[tuple[str, float, float]]) -> tuple[float, float] | None:
    """Return the bootstrap interval of a ratio of sums, given (story, numerator, denominator) per item."""
    # In one order: the same answers give the same interval to the last digit.
    ordered = sorted(values)
    stories, seed = [story for story, _, _ in ordered], (SEED, zlib.crc32(name.encode()))
    bootstrap = ClusterBootstrap(stories, _DESIGN, seed=seed)
    return bootstrap.interval([above for _, above, _ in ordered], [below for _, _, below in ordered])


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
