"""Shares of right answers, and how far two people agree on questions that have one. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from publishing.files import jsonl
from publishing.statistics.answered import ALL, Answered, mean
from publishing.statistics.intervals import STORIES_DRAWN, over_stories, wilson


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
        "bootstrap": {**asdict(STORIES_DRAWN), "unit": "story"},
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
        "chance": mean([1 / item.options for item in complete]),
        "agreement": {
            "percent": mean([item.agreement for item in comparable]),
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


def accuracy_by_kind(answered: Sequence[Answered], votes_per_story: int) -> dict[str, Any]:
    """Return :func:`accuracy` of the questions with a right answer."""
    items = [
        AnsweredItem(row.kind, one.core_id, row.right, row.options, Counter(one.chosen.values()))
        for one in answered
        if (row := one.row).right
    ]
    found = accuracy(items, votes_per_item=votes_per_story)
    as_written: dict[str, Any] = orjson.loads(jsonl.document(found))
    return as_written
