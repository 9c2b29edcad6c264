"""How the votes on a story decide it, and how many votes a story should get. Pure. See docs/adr/0049.

Votes are given as their objections: one set per vote, with the questions whose answer counts against the
story.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from django.utils.translation import gettext, gettext_lazy as _

from annotation.protocols.base import Protocol
from annotation.protocols.questions import Text

Objections = Sequence[frozenset[str]]
_ANOTHER = frozenset({""})
"""Stands for a question that no vote has objected to so far."""


def span(least: int, most: int | None) -> str:
    """Return a number of votes for a text: “3”, or “2–5” where it is adaptive."""
    return f"{least}–{most}" if most and most != least else str(least)


def two_thirds(votes: int) -> int:
    """Return two thirds of so many votes, rounded up."""
    return -(-2 * votes // 3)


def more_than_half(votes: int) -> int:
    """Return the smallest number of votes that is more than half of so many."""
    return votes // 2 + 1


def objected_to(against: Objections) -> frozenset[str]:
    """Return the questions that any vote objects to."""
    return frozenset().union(*against)


def lost_by_votes(against: Objections) -> frozenset[str]:
    """Return the questions objected to if fewer than two thirds of the votes have no objection."""
    behind = sum(not questions for questions in against)
    return frozenset() if behind >= two_thirds(len(against)) else objected_to(against)


def lost_by_questions(against: Objections) -> frozenset[str]:
    """Return the questions that are not supported by more than half of the votes."""
    noes = Counter(question for questions in against for question in questions)
    needed = more_than_half(len(against))
    return frozenset(question for question, count in noes.items() if len(against) - count < needed)


def are_split(against: Objections) -> bool:
    """Return True if some votes object to something and others to nothing."""
    return any(against) and not all(against)


TITLES = {
    "all-agree": _("all agree"),
    "two-of-three": _("two of three"),
    "majority": _("majority on every question"),
    "experts-decide-splits": _("experts decide splits"),
}
"""The filters whose outcome can decide how many votes a story gets."""
_OUTCOMES: Mapping[str, Callable[[Objections], tuple[bool, ...]]] = {
    "all-agree": lambda against: (any(against),),
    "two-of-three": lambda against: (bool(lost_by_votes(against)),),
    "majority": lambda against: (bool(lost_by_questions(against)),),
    "experts-decide-splits": lambda against: (any(against), are_split(against)),
}
"""Each rule's outcome: True if it drops the story, then (if experts decide) True if one may keep it.

One objection more never turns a story that was dropped into one that is kept.
"""


def is_decided(rule: str, against: Objections, *, most: int) -> bool:
    """Return True if no votes that could still come, up to ``most`` in all, change the filter's outcome.

    All outcomes lie between that of votes without objections and that of votes that object to everything.
    """
    left = most - len(against)
    best = [*against, *[frozenset[str]()] * left]
    worst = [*against, *[objected_to(against) | _ANOTHER] * left]
    return _OUTCOMES[rule](best) == _OUTCOMES[rule](worst)


def votes_wanted(rule: str, against: Objections, *, least: int, most: int) -> int:
    """Return how many votes a story should get, given those that it has: as many, if it is complete.

    One more at a time, so that no vote comes in vain.
    """
    given = len(against)
    if given < least:
        return least
    return given if given >= most or is_decided(rule, against, most=most) else given + 1


def adaptive_problem(protocol: Protocol, *, least: int, most: int, has_design: bool) -> str:
    """Return why the number of votes cannot be adaptive with these settings and what to do, or ""."""
    if most <= least:
        return gettext(
            "“Votes per story at most” must be more than “Votes per story”, or empty: then every story gets "
            "the same number."
        )
    if has_design:
        return gettext(
            "The study’s design needs the same number of votes for every story. Remove the design, or leave "
            "“Votes per story at most” empty."
        )
    asked = protocol.questions
    fixed = all(question.has_fixed_options or isinstance(question, Text) for question in asked)
    if protocol.resolution != "filter" or not fixed:
        return gettext(
            "No filter decides about a story by the answers to this protocol alone, so votes can’t stop when "
            "the outcome is decided. Leave “Votes per story at most” empty."
        )
    return ""
