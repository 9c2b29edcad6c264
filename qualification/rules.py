"""The rules of this room as functions of plain values; what passing is stands in ``annotation.grading``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from annotation.rules import LONG_BREAK

LONGEST_REASON = 500
"""Characters of a reason in an answer key."""


def form_for(place: int, forms: Sequence[int]) -> int:
    """Which of a study's rotating forms somebody takes who has none yet.

    ``place`` counts the people of the study from 0 in the order in which they came into it, ``forms`` are
    the numbers of the active rounds, in any order. People take the forms in turn, so any run of people
    who came one after the other is spread as evenly as it can be. Raises ``ValueError`` without a form.
    """
    if not forms:
        raise ValueError("There is no form to take.")
    return sorted(forms)[place % len(forms)]


def agreement(chosen: Mapping[str, int]) -> float | None:
    """The share of pairs of experts who chose the same, in 0..1; None of fewer than two experts.

    ``chosen`` says per option how many experts chose it.
    """
    experts = sum(chosen.values())
    if experts < 2:
        return None
    return sum(count * (count - 1) for count in chosen.values()) / (experts * (experts - 1))


def needs_reason(accepted: Collection[str], chosen: Mapping[str, int]) -> bool:
    """Whether a key must say why it accepts these options.

    It must where experts differ, and where it accepts something else than just what they chose. Where no
    expert answered, there is nothing to depart from.
    """
    options = {option for option, count in chosen.items() if count}
    return bool(options) and (len(options) > 1 or set(accepted) != options)


def paid_time(took: timedelta, *, stories: int, passed: bool, pays_on_fail: bool) -> timedelta:
    """How much of an attempt is paid: from starting it to handing it in, passed or not.

    A failed one is not where the round says so. At most a long break per story is paid (75 minutes for
    five), since a test left open over night is not a night of work.
    """
    return min(took, stories * LONG_BREAK) if passed or pays_on_fail else timedelta(0)
