"""Arrivals from a platform, and the reasons for refusing one."""

import enum
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Arrival:
    """The ids in an arrival's address; all of them could have been typed.

    ``remote_id`` is the platform's id of the piece of work, ``posting`` that of the HIT or study,
    ``person`` that of the person. ``submit_to`` is the platform's site to which the work is handed in, where
    the address says so.
    """

    remote_id: str
    posting: str
    person: str
    submit_to: str = ""


class Problem(enum.StrEnum):
    """Reasons for refusing an arrival, as they stand in the log."""

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
    FORGOTTEN = "forgotten"


class CannotArrive(Exception):
    """A refused arrival; nothing has been changed."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.value)
        self.problem = problem
