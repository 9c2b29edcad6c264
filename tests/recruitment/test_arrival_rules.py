"""The rules of coming from a platform and going back, as tables of plain values."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.models import Enrollment, Study
from recruitment.arrival_rules import (
    Arrival,
    ArrivalProblem,
    CannotArrive,
    Ending,
    VisitOutcome,
    ending,
    may_begin,
    visit_outcome,
)
from recruitment.models import Campaign
from recruitment.mturk.arrivals import is_preview, read_mturk, submit_address

SITES = ["https://www.mturk.com/"]
GOOD = {
    "assignmentId": ["3AB"],
    "hitId": ["3CD"],
    "workerId": ["A1"],
    "turkSubmitTo": ["https://www.mturk.com"],
}


def test_the_parameters_of_an_accepted_hit_are_read() -> None:
    arrival = Arrival("3AB", "3CD", "A1", "https://www.mturk.com")
    assert read_mturk(GOOD, submit_sites=SITES) == arrival
    assert read_mturk(GOOD | {"turkSubmitTo": ["https://www.mturk.com/"]}, submit_sites=SITES) == arrival
    assert submit_address("https://www.mturk.com/") == "https://www.mturk.com/mturk/externalSubmit"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"hitId": ["3CD", "3CD"]}, ArrivalProblem.WRONG_IDS),
        ({"workerId": ["A" + "1" * 64]}, ArrivalProblem.WRONG_IDS),
        ({"workerId": ["A1\n"]}, ArrivalProblem.WRONG_IDS),
        ({"assignmentId": ["ASSIGNMENT_ID_NOT_AVAILABLE"]}, ArrivalProblem.WRONG_IDS),
        ({"turkSubmitTo": ["https://www.mturk.com/elsewhere"]}, ArrivalProblem.FOREIGN_SITE),
        ({"turkSubmitTo": ["https://www.mturk.com:444"]}, ArrivalProblem.FOREIGN_SITE),
        ({"turkSubmitTo": ["//www.mturk.com"]}, ArrivalProblem.FOREIGN_SITE),
        ({"turkSubmitTo": ["javascript:alert(1)//https://www.mturk.com"]}, ArrivalProblem.FOREIGN_SITE),
        ({"turkSubmitTo": ["/"]}, ArrivalProblem.FOREIGN_SITE),
    ],
)
def test_anything_else_is_refused(changes: dict[str, list[str]], problem: ArrivalProblem) -> None:
    with pytest.raises(CannotArrive) as refused:
        read_mturk(GOOD | changes, submit_sites=SITES)
    assert refused.value.problem == problem


def test_only_the_word_for_it_is_a_preview() -> None:
    assert is_preview({"assignmentId": ["ASSIGNMENT_ID_NOT_AVAILABLE"]})
    assert not is_preview({"assignmentId": ["ASSIGNMENT_ID_NOT_AVAILABLE", "3AB"]})
    assert not is_preview({})


OPEN: dict[str, Any] = {
    "is_test": False,
    "needs_test": True,
    "study_state": "open",
    "campaign_state": "live",
    "enrollment_state": "qualified",
    "has_lost_test": False,
}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None),
        ({"enrollment_state": None}, ArrivalProblem.NOT_QUALIFIED),
        ({"enrollment_state": "consented"}, ArrivalProblem.NOT_QUALIFIED),
        ({"enrollment_state": None, "needs_test": False}, None),
        ({"enrollment_state": "suspended", "needs_test": False}, ArrivalProblem.NOT_QUALIFIED),
        ({"campaign_state": "paused"}, None),
        ({"campaign_state": "draft"}, ArrivalProblem.NOT_OPEN),
        ({"is_test": True, "enrollment_state": None}, None),
        ({"is_test": True, "enrollment_state": None, "campaign_state": "creating"}, None),
        ({"is_test": True, "enrollment_state": None, "campaign_state": "paused"}, ArrivalProblem.NOT_OPEN),
        ({"is_test": True, "enrollment_state": None, "study_state": "closed"}, ArrivalProblem.NOT_OPEN),
        ({"is_test": True, "enrollment_state": "consented", "study_state": "paused"}, None),
        ({"is_test": True}, ArrivalProblem.TEST_TAKEN),
        ({"is_test": True, "enrollment_state": "failed"}, ArrivalProblem.TEST_TAKEN),
        ({"is_test": True, "enrollment_state": "failed", "has_lost_test": True}, None),
    ],
)
def test_who_may_begin(changes: dict[str, Any], problem: ArrivalProblem | None) -> None:
    case = OPEN | changes
    gate = Study.Gate.READY if case["needs_test"] else Study.Gate.NOT_REQUIRED
    purpose = Campaign.Purpose.TEST if case["is_test"] else Campaign.Purpose.STORIES
    study = Study(state=case["study_state"], gate=gate)
    campaign = Campaign(study=study, state=case["campaign_state"], purpose=purpose)
    person = Enrollment(state=case["enrollment_state"]) if case["enrollment_state"] else None
    assert may_begin(campaign, person, has_lost_test=case["has_lost_test"]) == problem


HALF_DONE: dict[str, Any] = {
    "story_limit": 3,
    "stories_submitted": 1,
    "passed": None,
    "left": False,
    "may_go_on": True,
    "handed_in": False,
}
TEST = {"story_limit": 0, "stories_submitted": 0}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Ending.GO_ON),
        ({"handed_in": True}, Ending.PARTIAL),
        ({"handed_in": True, "stories_submitted": 3}, Ending.COMPLETED),
        ({"stories_submitted": 3}, Ending.COMPLETED),
        ({"stories_submitted": 4, "may_go_on": False}, Ending.COMPLETED),
        ({"may_go_on": False}, Ending.PARTIAL),
        ({"may_go_on": False, "left": True}, Ending.PARTIAL),
        ({"may_go_on": False, "left": True, "stories_submitted": 3}, Ending.COMPLETED),
        ({"may_go_on": False, "stories_submitted": 0}, Ending.NOTHING_DONE),
        ({"may_go_on": False, "stories_submitted": 0, "left": True}, Ending.DECLINED),
        (TEST, Ending.GO_ON),
        (TEST | {"passed": True, "may_go_on": False}, Ending.COMPLETED),
        (TEST | {"passed": False, "may_go_on": False}, Ending.SCREENED_OUT),
        (TEST | {"passed": False, "handed_in": True}, Ending.SCREENED_OUT),
        (TEST | {"may_go_on": False}, Ending.NOTHING_DONE),
    ],
)
def test_how_a_visit_ends(changes: dict[str, Any], expected: Ending) -> None:
    assert ending(**HALF_DONE | changes) == expected


@pytest.mark.parametrize(
    ("session", "status", "expected"),
    [
        ("open", "submitted", None),
        ("doubted", None, None),
        ("doubted", "active", None),
        ("doubted", "returned", VisitOutcome.GIVEN_BACK),
        ("doubted", "submitted", VisitOutcome.UNPROVEN),
        ("doubted", "rejected", VisitOutcome.REJECTED),
        ("confirmed", "submitted", VisitOutcome.WAITS),
        ("confirmed", "approved", VisitOutcome.APPROVED),
        ("confirmed", None, VisitOutcome.COUNTS_UNPAID),
    ],
)
def test_what_became_of_a_visit(session: str, status: str | None, expected: VisitOutcome | None) -> None:
    assert visit_outcome(session=session, status=status) == expected
