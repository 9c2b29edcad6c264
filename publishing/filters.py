"""Which stories are released: pure functions of the counted votes. The only definition of each rule.

A filter sees one story's counted votes (each the choices of one vote), how many votes the study asks
for, and which choices count against a story. It knows nothing of databases, people or time.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.utils import translation
from django.utils.translation import gettext_noop

from annotation.protocols.base import Choice
from publishing.errors import TooManyVotes, UnknownFilter


class Outcome(enum.StrEnum):
    """What becomes of a story."""

    KEPT = "kept"
    DROPPED = "dropped"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A story's outcome. ``reason`` is empty for a kept story.

    For a dropped story it names the questions that dropped it, sorted and joined by commas
    (``q2``, ``q1,q3``); for an incomplete one it says how many votes there are (``2 of 3 votes``).
    """

    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StoryFilter:
    """A rule by which stories are kept, as it is recorded and explained in a release.

    ``judge`` sees a complete story: for each of its votes, the questions whose answer counts against
    the story. It returns the questions that drop the story, none when it is kept.
    """

    name: str
    title: str
    rule: str
    """One sentence, as the dataset card has it; ``{votes}`` and ``{enough}`` are filled in."""
    judge: Callable[[Sequence[frozenset[str]]], frozenset[str]]
    enough: Callable[[int], int]
    """How many of so many votes must stand behind a story (or behind each question of it)."""
    validates: bool = False
    """Whether the kept stories may be called validated: only where nobody was against."""
    ties: str = ""
    """What happens to a tie, where there can be one."""

    def __call__(
        self,
        votes: Sequence[Sequence[Choice]],
        *,
        votes_per_story: int,
        counts_against: Callable[[Choice], bool],
    ) -> Verdict:
        """The verdict on one story, from the choices of each of its counted votes.

        A story that lacks votes is incomplete, whatever has been answered so far. Raises
        :class:`~publishing.errors.TooManyVotes` for more votes than wanted, which nothing may explain
        away.
        """
        if len(votes) > votes_per_story:
            raise TooManyVotes(
                f"A story has {len(votes)} counted votes where the study asks for {votes_per_story}. "
                "Run manage.py check_integrity to see which."
            )
        if len(votes) < votes_per_story:
            return Verdict(Outcome.INCOMPLETE, f"{len(votes)} of {votes_per_story} votes")
        against = self.judge(
            [frozenset(choice.question for choice in vote if counts_against(choice)) for vote in votes]
        )
        return Verdict(Outcome.DROPPED, ",".join(sorted(against))) if against else Verdict(Outcome.KEPT)

    @property
    def not_validated(self) -> str:
        """What is said of releases by this rule wherever they go, where it does not validate."""
        return (
            f"The stories are not “validated”: the filter {self.name} keeps stories that somebody may have "
            "answered to be flawed."
        )

    def sentence(self, votes_per_story: int) -> str:
        """The rule in words, for a study with so many votes per story; in English, as releases have it."""
        return self.rule.format(votes=votes_per_story, enough=self.enough(votes_per_story))

    def shown(self, votes_per_story: int) -> tuple[str, str]:
        """Title and rule in the reader's language."""
        rule = translation.gettext(self.rule).format(
            votes=votes_per_story, enough=self.enough(votes_per_story)
        )
        return translation.gettext(self.title), rule

    def parameters(self, votes_per_story: int) -> dict[str, int | str]:
        """What ``release.json`` records beside the name: enough to apply the rule again."""
        needed = {"votes_per_story": votes_per_story, "votes_needed": self.enough(votes_per_story)}
        return {**needed, "ties": self.ties} if self.ties else {**needed}


def _two_thirds(votes: int) -> int:
    return -(-2 * votes // 3)


def _more_than_half(votes: int) -> int:
    return votes // 2 + 1


def _anybody(against: Sequence[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*against)


def _too_few_behind_the_story(against: Sequence[frozenset[str]]) -> frozenset[str]:
    behind = sum(not questions for questions in against)
    return frozenset() if behind >= _two_thirds(len(against)) else _anybody(against)


def _too_few_behind_a_question(against: Sequence[frozenset[str]]) -> frozenset[str]:
    noes = Counter(question for questions in against for question in questions)
    needed = _more_than_half(len(against))
    return frozenset(question for question, count in noes.items() if len(against) - count < needed)


all_agree = StoryFilter(
    name="all-agree",
    title=gettext_noop("all agree"),
    rule=gettext_noop(
        "a story is kept if and only if it has exactly {votes} counted votes and none of their answers "
        "counts against it"
    ),
    judge=_anybody,
    enough=int,
    validates=True,
)
"""The rule of SimpleToM (Gu et al., appendix G): one "no" from anybody to anything drops a story."""

two_of_three = StoryFilter(
    name="two-of-three",
    title=gettext_noop("two of three"),
    rule=gettext_noop(
        "a story is kept if and only if it has exactly {votes} counted votes and at least {enough} of them "
        "(two thirds) have no answer that counts against it"
    ),
    judge=_too_few_behind_the_story,
    enough=_two_thirds,
)
"""Whole votes are counted: a person with one "no" is against the story."""

majority = StoryFilter(
    name="majority",
    title=gettext_noop("majority on every question"),
    rule=gettext_noop(
        "a story is kept if and only if it has exactly {votes} counted votes and, for every question taken "
        "by itself, at least {enough} of them (more than half) have no answer that counts against it; a tie "
        "drops the story"
    ),
    judge=_too_few_behind_a_question,
    enough=_more_than_half,
    ties="dropped",
)
"""Questions are counted one by one: three people may each have another objection, and none prevails."""

DEFAULT_FILTER = all_agree.name

FILTERS: Mapping[str, StoryFilter] = {rule.name: rule for rule in (all_agree, two_of_three, majority)}
"""Every filter a release may be made with, by the name that is recorded in the release."""


def get_filter(name: str) -> StoryFilter:
    """The filter of this name. Raises :class:`~publishing.errors.UnknownFilter`."""
    try:
        return FILTERS[name]
    except KeyError:
        raise UnknownFilter(
            f"There is no filter “{name}”. There are: {', '.join(sorted(FILTERS))}."
        ) from None
