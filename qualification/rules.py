"""This room's rules as pure functions. ``annotation.grading`` defines passing."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from annotation.working_time import LONG_BREAK

LONGEST_WHY = 500
"""Characters of a reason in an answer key."""


def round_for(place: int, rounds: Sequence[int]) -> int:
    """Return the number of the round that a new annotator takes.

    ``place`` is the annotator's position in the study, counted from 0 in order of enrollment; ``rounds`` are
    the numbers of the active rounds, in any order. Rounds alternate, so that consecutive annotators are
    spread as evenly as possible. Raise ``ValueError`` without a round.
    """
    if not rounds:
        raise ValueError("There is no round to take.")
    return sorted(rounds)[place % len(rounds)]


def agreement(chosen: Mapping[str, int]) -> float | None:
    """Return the share of pairs of experts who agree, in 0..1; None for fewer than two experts.

    ``chosen`` has the number of experts per option.
    """
    experts = sum(chosen.values())
    if experts < 2:
        return None
    return sum(count * (count - 1) for count in chosen.values()) / (experts * (experts - 1))


def needs_reason(accepted: Collection[str], chosen: Mapping[str, int]) -> bool:
    """Return True if a key must give a reason for accepting these options.

    It must if experts disagree, or if it accepts anything but exactly their choice. Without experts' answers
    there is nothing to depart from.
    """
    options = {option for option, count in chosen.items() if count}
    return bool(options) and (len(options) > 1 or set(accepted) != options)


def paid_time(took: timedelta, *, stories: int, passed: bool, pays_on_fail: bool) -> timedelta:
    """Return the paid time of an attempt, from its start to its submission.

    Failed attempts are unpaid if the round says so. At most one long break per story is paid (75 minutes for
    five stories), since a test left open overnight is not a night of work.
    """
    return min(took, stories * LONG_BREAK) if passed or pays_on_fail else timedelta(0)
