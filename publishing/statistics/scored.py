"""Statistics of questions with right answers: shares of right answers, and how far two people agree. Pure.

A protocol names its own in :attr:`annotation.protocols.base.Protocol.statistics`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import fsum
from typing import Any, NamedTuple

import orjson
from django.utils.translation import gettext_noop

from annotation.protocols import all_protocols
from publishing.files import jsonl
from publishing.files.rows import NO_DECISIONS, AnyVotes, Decisions, ReleasedStory
from publishing.statistics.answered import ALL, Answered, mean
from publishing.statistics.intervals import STORIES_DRAWN, over_stories, rounded, wilson
from publishing.statistics.labels import match_count, strict_agreement, suggestions
from publishing.statistics.mixed import MOST_ANSWERED, contrasts
from publishing.statistics.reconciled import answered_rows, extraction

OVERALL = ""
"""Stands for all kinds of questions together."""


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


def pairwise_f1(answered: Sequence[Answered]) -> dict[str, Any]:
    """Return agreement as the mean of the macro-averaged F1 of every two people with questions in common.

    Of one pair, an option that either chose has F1 = 2 · both / (first + second): twice how often both chose
    it on a question, by how often each chose it. It does not matter which of the two counts as right. The
    pair's score is the mean over these options (van Rijsbergen 1979, "Information Retrieval", chapter 7, as
    scikit-learn computes it), and the agreement the arithmetic mean over pairs, as OpenToM (Xu et al. 2024)
    reports it. Options are told apart by their keys.
    """
    both: defaultdict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    given: defaultdict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for question in answered:
        for (one, first), (other, second) in combinations(sorted(question.chosen.items()), 2):
            for kind in (question.row.kind, OVERALL):
                given[kind, one, other].update((first, second))
                both[kind, one, other].update((first,) if first == second else ())
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for pair, options in given.items():
        each = [2 * both[pair][option] / times for option, times in options.items()]
        scores[pair[0]].append(fsum(each) / len(each))
    questions = Counter(one.row.kind for one in answered) + Counter({OVERALL: len(answered)})
    entries = {
        kind: {
            "questions": number,
            "pairs": len(scores[kind]),
            "macro_f1": rounded(mean(scores[kind])),
            "lowest": rounded(min(scores[kind], default=None)),
            "highest": rounded(max(scores[kind], default=None)),
        }
        for kind, number in sorted(questions.items())
    }
    overall = entries.pop(OVERALL, None)
    return {"kinds": entries, **({ALL: overall} if overall else {})}


class Cell(NamedTuple):
    """A number of a table, and its interval if it has one."""

    label: str
    value: int | float | None
    interval: Sequence[float] | None


@dataclass(frozen=True, slots=True)
class TableStatistic:
    """A statistic by kind of question, with its words: English for cards, translated on pages.

    ``columns`` are the headings of the numbers by their keys; the interval is that of ``measure``.
    """

    compute: Callable[[Sequence[Answered]], dict[str, Any]]
    heading: str
    explanation: str
    columns: Mapping[str, str]
    measure: str = ""
    named: str = gettext_noop("Question")
    """The heading of the rows' names."""

    def rows(self, found: Mapping[str, Any]) -> list[tuple[str, list[Cell]]]:
        """Return a row for each kind, and last for all of them under the name :data:`OVERALL`."""
        entries = [*found["kinds"].items(), *([(OVERALL, found[ALL])] if ALL in found else [])]
        return [
            (
                kind,
                [
                    Cell(label, entry[key], entry["interval"] if key == self.measure else None)
                    for key, label in self.columns.items()
                ],
            )
            for kind, entry in entries
        ]


TABLES: Mapping[str, TableStatistic] = {
    "pairwise_f1": TableStatistic(
        pairwise_f1,
        gettext_noop("Agreement of pairs"),
        gettext_noop(
            "For every two participants who answered the same questions: the F1 of each answer that either "
            "gave (twice how often both gave it, by how often each did), and its mean over these answers, "
            "macro-F1. The agreement is the mean over the pairs; 1 is full agreement."
        ),
        {
            "questions": gettext_noop("questions"),
            "pairs": gettext_noop("pairs"),
            "macro_f1": gettext_noop("mean macro-F1"),
            "lowest": gettext_noop("lowest pair"),
            "highest": gettext_noop("highest pair"),
        },
    ),
    "strict_agreement": TableStatistic(
        strict_agreement,
        gettext_noop("Strict agreement"),
        gettext_noop(
            "The share of rows on which everybody chose the same. Brackets show the interval (95 %) of a "
            "bootstrap over stories."
        ),
        {
            "rows": gettext_noop("rows"),
            "alike": gettext_noop("all the same"),
            "share": gettext_noop("strict agreement"),
            "undecided": gettext_noop("no majority"),
        },
        "share",
    ),
    "suggestions": TableStatistic(
        suggestions,
        gettext_noop("What participants changed"),
        gettext_noop(
            "Rows for which an answer was suggested: how many answers differ from it, and on how many rows "
            "more than half of the answers do. Whoever sees a suggestion agrees with it more often than "
            "somebody who sees none."
        ),
        {
            "rows": gettext_noop("rows"),
            "answers": gettext_noop("answers"),
            "changed": gettext_noop("changed"),
            "share": gettext_noop("share changed"),
            "overruled": gettext_noop("rows overruled"),
        },
        "share",
    ),
    "match_count": TableStatistic(
        match_count,
        gettext_noop("Predicted against gold beliefs"),
        gettext_noop(
            "Precision is the share of predicted beliefs that match a gold one, recall the share of gold "
            "beliefs that match a predicted one, F1 their harmonic mean: means over the participants of a "
            "story, and over stories. The judge agrees where both find a match, or both find none."
        ),
        {
            "stories": gettext_noop("stories"),
            "precision": gettext_noop("precision"),
            "recall": gettext_noop("recall"),
            "f1": "F1",
            "judge_agreement": gettext_noop("agreement with the judge"),
            **{f"count_{number}": f"× {number}" for number in range(4)},
        },
        "f1",
    ),
    "extraction": TableStatistic(
        extraction,
        gettext_noop("Overlap of the lists"),
        gettext_noop(
            "Rows of the lists that experts have reconciled: those that everybody listed in the same words, "
            "and those that the experts kept without a remark, by which OmniToM measures the overlap. "
            "Brackets show the interval (95 %) of a bootstrap over stories."
        ),
        {
            "stories": gettext_noop("stories reconciled"),
            "rows": gettext_noop("rows"),
            "by_all": gettext_noop("listed by all"),
            "revised": gettext_noop("revised"),
            "added": gettext_noop("added"),
            "left_out": gettext_noop("left out"),
            "share": gettext_noop("share without a remark"),
        },
        "share",
        gettext_noop("Kinds of stories"),
    ),
    "contrasts": TableStatistic(
        contrasts,
        gettext_noop("Differences between kinds of items"),
        gettext_noop(
            "The mean rating of one kind of item minus that of another, in a linear mixed model with items "
            "and participants as random effects. A rating is the mean of a participant’s answers about an "
            "item. Brackets show the interval (95 %) by Student’s t."
        ),
        {"items": gettext_noop("items"), "difference": gettext_noop("difference")},
        "difference",
        gettext_noop("Kinds of items"),
    ),
}
"""Statistics in tables, by their keys in statistics.json. Accuracy has a page and a figure of its own."""


class ScoredTally:
    """Answers, for the statistics that a protocol names; False if it names none. Memory grows with them."""

    def __init__(self, protocol_name: str, votes_per_story: int) -> None:
        self._protocol = all_protocols().get(protocol_name)
        self._names = self._protocol.statistics if self._protocol else ()
        self._votes_per_story = votes_per_story
        self._answered: list[Answered] = []

    def __bool__(self) -> bool:
        return bool(self._names)

    def add(self, story: ReleasedStory, votes: AnyVotes, decisions: Decisions = NO_DECISIONS) -> None:
        """Add a complete item. Raise ``ValueError`` if its protocol cannot read it."""
        assert self._protocol
        self._protocol.parse(story.content)
        if self._protocol.resolution == "reconciled":
            self._answered += answered_rows(self._protocol, story, votes, decisions)
        if self._names == ("contrasts",) and len(self._answered) > MOST_ANSWERED:
            return  # there will be none: hold no more
        chosen: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for vote in votes:
            for choice in vote.answers:
                chosen[choice.question, choice.row][vote.annotator] = choice.option
        self._answered += [
            Answered(
                story.core_id,
                row,
                chosen[row.question or self._protocol.scored, row.row],
                story.story_id,
                story.scenario_name,
            )
            for row in self._protocol.scored_rows(story.content)
        ]

    def document(self) -> dict[str, Any]:
        """Return the entries in statistics.json by their keys."""
        found: dict[str, Any] = {}
        for name in self._names:
            if name in TABLES:
                entry = TABLES[name].compute(self._answered)
                if entry:
                    found[name] = entry
            else:
                found[name] = accuracy_by_kind(self._answered, self._votes_per_story)
        return found
