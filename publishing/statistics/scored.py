"""Statistics of questions with right answers: shares of right answers, and how far two people agree. Pure.

A protocol names its own in :attr:`annotation.protocols.base.Protocol.statistics`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from math import fsum
from typing import Any, NamedTuple, Self

import orjson

from annotation.protocols import all_protocols, base
from annotation.protocols.base import Scored
from publishing.files import jsonl
from publishing.files.rows import CountedVote, ReleasedStory
from publishing.statistics.accuracy import ALL, AnsweredItem, accuracy
from publishing.statistics.patterns import rounded

OVERALL = ""
"""Stands for all kinds of questions together."""


class Answered(NamedTuple):
    """A question of a complete item, with the option that each annotator chose."""

    core_id: str
    row: Scored
    chosen: Mapping[str, str]


def accuracy_by_kind(answered: Sequence[Answered], votes_per_story: int) -> dict[str, Any]:
    """Return :func:`publishing.statistics.accuracy.accuracy` of the questions with a right answer."""
    items = [
        answered_item(core_id, row, Counter(chosen.values()))
        for core_id, row, chosen in answered
        if row.right
    ]
    found = accuracy(items, votes_per_item=votes_per_story)
    as_written: dict[str, Any] = orjson.loads(jsonl.document(found))
    return as_written


def answered_item(core_id: str, row: Scored, given: Mapping[str, int]) -> AnsweredItem:
    """Return a question with the number of people who chose each option."""
    return AnsweredItem(row.kind, core_id, row.right, row.options, given)


def pairwise_f1(answered: Sequence[Answered], votes_per_story: int) -> dict[str, Any]:
    """Return agreement as the mean of the macro-averaged F1 of every two people with questions in common.

    Of one pair, an option that either chose has F1 = 2 · both / (first + second): twice how often both chose
    it on a question, by how often each chose it. It does not matter which of the two counts as right. The
    pair's score is the mean over these options (van Rijsbergen 1979, "Information Retrieval", chapter 7, as
    scikit-learn computes it), and the agreement the arithmetic mean over pairs, as OpenToM (Xu et al. 2024)
    reports it. Options are told apart by their keys.
    """
    both: defaultdict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    given: defaultdict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for _, row, chosen in answered:
        for (one, first), (other, second) in combinations(sorted(chosen.items()), 2):
            for kind in (row.kind, OVERALL):
                given[kind, one, other].update((first, second))
                both[kind, one, other].update((first,) if first == second else ())
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for pair, options in given.items():
        each = [2 * both[pair][option] / times for option, times in options.items()]
        scores[pair[0]].append(fsum(each) / len(each))
    questions = Counter(row.kind for _, row, _ in answered) + Counter({OVERALL: len(answered)})
    entries = {
        kind: {
            "questions": number,
            "pairs": len(scores[kind]),
            "macro_f1": rounded(fsum(scores[kind]) / len(scores[kind])) if scores[kind] else None,
            "lowest": rounded(min(scores[kind], default=None)),
            "highest": rounded(max(scores[kind], default=None)),
        }
        for kind, number in sorted(questions.items())
    }
    overall = entries.pop(OVERALL, None)
    return {"kinds": entries, **({ALL: overall} if overall else {})}


STATISTICS: Mapping[base.Statistic, Callable[[Sequence[Answered], int], dict[str, Any]]] = {
    "accuracy": accuracy_by_kind,
    "pairwise_f1": pairwise_f1,
}


class ScoredTally:
    """Answers, for the statistics that a protocol names; False if it names none. Memory grows with them."""

    def __init__(self, protocol_name: str, votes_per_story: int) -> None:
        self._protocol = all_protocols().get(protocol_name)
        self._names = self._protocol.statistics if self._protocol else ()
        self._votes_per_story = votes_per_story
        self._answered: list[Answered] = []

    def __bool__(self) -> bool:
        return bool(self._names)

    def empty(self) -> Self:
        """Return a tally of the same protocol without answers."""
        return type(self)(self._protocol.name if self._protocol else "", self._votes_per_story)

    def add(self, story: ReleasedStory, votes: Iterable[CountedVote]) -> None:
        """Add a complete item. Raise ``ValueError`` if its protocol cannot read it."""
        assert self._protocol
        self._protocol.parse(story.content)
        chosen: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for vote in votes:
            for choice in vote.answers:
                if choice.question == self._protocol.scored:
                    chosen[choice.row][vote.annotator] = choice.option
        rows = self._protocol.scored_rows(story.content)
        self._answered += [Answered(story.core_id, row, chosen[row.row]) for row in rows]

    def document(self) -> dict[str, Any]:
        """Return the entries in statistics.json by their keys."""
        return {name: STATISTICS[name](self._answered, self._votes_per_story) for name in self._names}
