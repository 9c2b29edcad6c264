"""Comparison of the filters on the same votes. Pure.

The filters of :mod:`publishing.filters` can make releases. The Dawid-Skene model is for comparison only: it
depends on its estimate of every person, so one more vote on one story can change the verdict on another.
"""

from array import array
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from publishing.filters import FILTERS, Outcome, StoryFilter
from publishing.statistics.dawid_skene import dawid_skene

MODEL = "dawid-skene"
_VALID, _INVALID = 0, 1


class FilterComparison:
    """Takes complete stories one at a time; memory grows by 17 bytes per vote and with the kinds of stories.

    Leave out old versions of stories: no filter decides about them. Two stories are of one kind if their
    votes object to the same questions, whoever gave them, and any expert decided the same.
    """

    def __init__(self, votes_per_story: int, filters: Mapping[str, StoryFilter] = FILTERS) -> None:
        """``filters`` are compared, the default first."""
        self._wanted, self._filters = votes_per_story, filters
        self._kinds: dict[tuple[tuple[frozenset[str], ...], str], int] = {}
        self._kind_of = array("l")
        self._people: dict[Hashable, int] = {}
        self._person = array("l")
        self._answer = array("b")

    def add(self, votes: Sequence[tuple[Hashable, frozenset[str]]], decision: str = "") -> None:
        """Add a story with all its votes (the person, the questions the vote objects to) and any decision."""
        kind = tuple(sorted((against for _, against in votes), key=sorted)), decision
        self._kind_of.append(self._kinds.setdefault(kind, len(self._kinds)))
        for person, against in votes:
            self._person.append(self._people.setdefault(person, len(self._people)))
            self._answer.append(_INVALID if against else _VALID)

    def document(self) -> dict[str, Any]:
        """Return the comparison as plain values.

        ``filters`` lists, for every filter and the model: ``name``, ``kept``, ``dropped``, and against the
        default filter ``added`` (kept by this one only) and ``lost``; filters also have
        ``dropped_by_question``. ``people``, ``stories`` and ``votes`` count what was compared.
        """
        stories = Counter(self._kind_of)
        reasons = {rule.name: self._reasons(rule) for rule in self._filters.values()}
        default = [not reason for reason in next(iter(reasons.values()))]
        by_default = sum(stories[kind] for kind, kept in enumerate(default) if kept)
        filters = []
        for name, by_kind in reasons.items():
            kept = Counter({kind: stories[kind] for kind, reason in enumerate(by_kind) if not reason})
            both = sum(count for kind, count in kept.items() if default[kind])
            questions: Counter[str] = Counter()
            for kind, reason in enumerate(by_kind):
                questions.update(dict.fromkeys(filter(None, reason.split(",")), stories[kind]))
            filters.append(
                {
                    **_row(name, len(self._kind_of), kept.total(), both, by_default),
                    "dropped_by_question": dict(sorted(questions.items())),
                }
            )
        filters.append(self._model_row(default, by_default))
        return {
            "stories": len(self._kind_of),
            "votes": len(self._person),
            "people": len(self._people),
            "filters": filters,
        }

    def _reasons(self, rule: StoryFilter) -> list[str]:
        verdicts = [
            rule.decide(votes, votes_per_story=self._wanted, decision=decision)
            for votes, decision in self._kinds
        ]
        return [verdict.reason if verdict.outcome is not Outcome.KEPT else "" for verdict in verdicts]

    def _model_row(self, default: Sequence[bool], by_default: int) -> dict[str, Any]:
        if not self._kind_of:
            return _row(MODEL, 0, 0, 0, 0)
        votes = [len(votes) for votes, _ in self._kinds]
        estimate = dawid_skene(
            np.repeat(np.arange(len(self._kind_of)), np.array(votes)[np.array(self._kind_of)]),
            np.array(self._person, dtype=np.int64),
            np.array(self._answer, dtype=np.int64),
            classes=2,
        )
        kept = estimate.posteriors[:, _VALID] >= 0.5
        both = int((kept & np.array(default)[np.array(self._kind_of)]).sum())
        row = _row(MODEL, len(kept), int(kept.sum()), both, by_default)
        return {**row, "converged": estimate.converged}


def _row(name: str, stories: int, kept: int, both: int, by_default: int) -> dict[str, Any]:
    return {
        "name": name,
        "kept": kept,
        "dropped": stories - kept,
        "added": kept - both,
        "lost": by_default - both,
    }
