"""What an arrival is, and everything for which somebody is not let in."""

from __future__ import annotations

import enum
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Arrival:
    """Somebody comes to do a piece of work, as the address says; all of it could have been typed.

    ``hit_assignment`` is the platform's id of the piece of work, ``posting`` that of the HIT or study,
    ``person`` that of the person. ``submit_to`` is the platform's site to which the work is handed in, where
    the address says so.
    """

    hit_assignment: str
    posting: str
    person: str
    submit_to: str = ""


class Problem(enum.StrEnum):
    """Why somebody who comes from a platform is not let in. The word stands in the log."""

    NO_IDS = "no_ids"
    WRONG_IDS = "wrong_ids"
    FOREIGN_SITE = "foreign_site"
    NOT_PROVEN = "not_proven"
    OUT_OF_DATE = "out_of_date"
    UNKNOWN_POSTING = "unknown_posting"
    OTHER_WORK = "other_work"
    NOT_OPEN = "not_open"
    NOT_QUALIFIED = "not_qualified"
    TEST_TAKEN = "test_taken"
    TAKEN_BY_ANOTHER = "taken_by_another"
    """The test was taken in a visit that is not confirmed: by them, or by somebody who typed their id."""
    FORGOTTEN = "forgotten"


class CannotArrive(Exception):
    """Somebody is not let in; nothing has been changed.

    ``other_visit``: the number of the visit of the same person because of which they are not.
    """

    def __init__(self, problem: Problem, *, other_visit: int | None = None) -> None:
        super().__init__(problem.value)
        self.problem = problem
        self.other_visit = other_visit
