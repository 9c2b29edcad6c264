"""Figures about participants, computed from their votes. Pure.

The figures judge nobody; :mod:`dashboard.figures.flags` marks those that deserve a look.
"""

import heapq
from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from annotation.protocols.questions import Choice
from annotation.working_time import paid_seconds
from dashboard.figures import flags
from publishing.files.rows import CACHE_SIZE, Answers, CountedVote

SHOWN = 10
"""Stories that are named as the evidence of a flag."""


@dataclass(frozen=True, slots=True)
class _Compared:
    """A vote compared with the others on its story."""

    agreeing: int
    pairs: int
    alone: bool


@dataclass(slots=True)
class _Person:
    """Counts of one participant's votes."""

    seconds: "array[float]" = field(default_factory=lambda: array("d"))
    forms: Counter[tuple[Choice, ...]] = field(default_factory=Counter)
    fastest: list[tuple[float, str]] = field(default_factory=list)
    """A heap of (minus the seconds, story id), the slowest of the fastest first."""
    usual: tuple[Choice, ...] | None = None
    """The form they have handed in most so far, and stories on which they did so since it is that one."""
    usual_on: list[str] = field(default_factory=list)
    compared: int = 0
    agreeing: int = 0
    pairs: int = 0
    alone: int = 0
    alone_on: list[str] = field(default_factory=list)

    def see(self, story_id: str, vote: CountedVote) -> None:
        self.seconds.append(vote.seconds_on_task)
        if vote.answers:  # else words only, which nobody repeats
            self._see_form(story_id, vote.answers)
        entry = (-vote.seconds_on_task, story_id)
        if len(self.fastest) < SHOWN:
            heapq.heappush(self.fastest, entry)
        elif entry > self.fastest[0]:
            heapq.heapreplace(self.fastest, entry)

    def _see_form(self, story_id: str, answers: tuple[Choice, ...]) -> None:
        self.forms[answers] += 1
        if self.usual is None or self.forms[answers] > self.forms[self.usual]:
            self.usual, self.usual_on = answers, []
        if answers == self.usual and len(self.usual_on) < SHOWN:
            self.usual_on.append(story_id)

    def see_compared(self, story_id: str, found: _Compared) -> None:
        self.compared += 1
        self.agreeing += found.agreeing
        self.pairs += found.pairs
        if found.alone:
            self.alone += 1
            if len(self.alone_on) < SHOWN:
                self.alone_on.append(story_id)


class PeopleTally:
    """A tally of votes by participant, fed with a study's stories one at a time, in any order.

    Memory grows by 8 bytes per vote (for the median of the times), and with participants and the different
    forms that each handed in; not with stories.
    """

    def __init__(self, *, first: int | None = None) -> None:
        """``first``: with an adaptive number, how many votes of a story are compared, complete or not."""
        self._first = first
        self._people: defaultdict[str, _Person] = defaultdict(_Person)
        self._beside = lru_cache(maxsize=CACHE_SIZE)(_beside_the_others)

    def see(
        self, story_id: str, votes: Sequence[CountedVote], against: frozenset[Choice], *, complete: bool
    ) -> None:
        """Add a story with its counted votes, the choices that count against it, and its completeness."""
        for vote in votes:
            self._people[vote.annotator].see(story_id, vote)
        compared = len(votes) >= self._first if self._first else complete
        votes = votes[: self._first]
        if compared and len(votes) > 1:
            found = self._beside(tuple([vote.answers for vote in votes]), against)
            for vote, beside in zip(votes, found, strict=True):
                self._people[vote.annotator].see_compared(story_id, beside)

    def document(self) -> dict[str, Any]:
        """Return everybody's figures together, and each participant's, as plain values.

        ``everybody``: ``people``, ``votes``, ``median_seconds`` and ``options`` (question → option → share of
        the answers to it, 0..1), over all votes. ``people`` lists, by pseudonym: ``votes``;
        ``median_seconds``; ``options`` of the participant's answers; ``compared`` (votes on complete stories
        that others voted on too); ``agreement`` (over these, the share of agreeing pairs of an answer and
        another participant's answer to the same question; None without any); ``alone`` and ``alone_share``
        (of these, on how many only this participant objected), ``alone_share_others`` (the same share in
        everybody else's votes); ``same_form``, ``same_share`` (the form they handed in most, and its share of
        their votes) and ``same_share_others`` (its share of everybody else's); ``flags`` (names of
        :mod:`dashboard.figures.flags`); ``evidence`` (flag → story ids).
        """
        totals = _Totals.of(self._people.values())
        return {
            "everybody": {
                "people": len(self._people),
                "votes": totals.votes,
                "median_seconds": totals.median_seconds,
                "options": _option_shares(totals.forms),
            },
            "people": [_described(name, self._people[name], totals) for name in sorted(self._people)],
        }

    def paces(self) -> list[tuple[int, float]]:
        """Return, by pseudonym, the number of votes and the median of their paid times in seconds."""
        return [
            (len(person.seconds), float(np.median(np.minimum(person.seconds, paid_seconds(np.inf)))))
            for _, person in sorted(self._people.items())
        ]


@dataclass(frozen=True, slots=True)
class _Totals:
    votes: int
    median_seconds: float | None
    compared: int
    alone: int
    forms: Counter[tuple[Choice, ...]]

    @classmethod
    def of(cls, people: Any) -> "_Totals":
        people = list(people)
        seconds = np.concatenate([np.empty(0), *(np.frombuffer(person.seconds) for person in people)])
        return cls(
            votes=len(seconds),
            median_seconds=round(float(np.median(seconds)), 1) if len(seconds) else None,
            compared=sum(person.compared for person in people),
            alone=sum(person.alone for person in people),
            forms=sum((person.forms for person in people), Counter[tuple[Choice, ...]]()),
        )


def _described(name: str, person: _Person, totals: "_Totals") -> dict[str, Any]:
    votes = len(person.seconds)
    # Break ties by order, so that the same votes give the same figures.
    same_forms = sorted(person.forms.items(), key=lambda entry: (-entry[1], entry[0]))
    form, same = same_forms[0] if same_forms else ((), 0)
    found: dict[str, Any] = {
        "pseudonym": name,
        "votes": votes,
        "median_seconds": round(float(np.median(person.seconds)), 1),
        "options": _option_shares(person.forms),
        "compared": person.compared,
        "agreement": _share(person.agreeing, person.pairs),
        "alone": person.alone,
        "alone_share": _share(person.alone, person.compared),
        "alone_share_others": _share(totals.alone - person.alone, totals.compared - person.compared),
        "same_form": {choice.field: choice.option for choice in form},
        "same_share": _share(same, votes),
        "same_share_others": _share(totals.forms[form] - same, totals.votes - votes),
    }
    raised = flags.raised(found, totals.median_seconds)
    evidence = {
        flags.TOO_FAST: [story_id for _, story_id in sorted(person.fastest, reverse=True)],
        flags.STRAIGHT_LINING: person.usual_on,
        flags.ALWAYS_ALONE: person.alone_on,
    }
    return {
        **found,
        "flags": raised,
        "evidence": {flag: stories for flag, stories in evidence.items() if flag in raised},
    }


def _option_shares(forms: Counter[tuple[Choice, ...]]) -> dict[str, dict[str, float]]:
    """Return question → option → share of the answers to the question."""
    chosen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for form, votes in forms.items():
        for choice in form:
            chosen[choice.question][choice.option] += votes
    return {
        question: {option: count / options.total() for option, count in sorted(options.items())}
        for question, options in sorted(chosen.items())
    }


def _beside_the_others(votes: Answers, against: frozenset[Choice]) -> tuple[_Compared, ...]:
    objects = [not against.isdisjoint(vote) for vote in votes]
    given = [{(choice.question, choice.row): choice.option for choice in vote} for vote in votes]
    found = []
    for place, own in enumerate(given):
        others = [other for number, other in enumerate(given) if number != place]
        shared = [(option, other[what]) for other in others for what, option in own.items() if what in other]
        found.append(
            _Compared(
                agreeing=sum(mine == theirs for mine, theirs in shared),
                pairs=len(shared),
                alone=objects[place] and sum(objects) == 1,
            )
        )
    return tuple(found)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
