"""Assignments as the requester sees them, which is only once they are submitted, and their review."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.doubles.mturk import errors
from tests.doubles.mturk.account import require_funds
from tests.doubles.mturk.hits import describe as describe_hit
from tests.doubles.mturk.registry import Params, operation, page
from tests.doubles.mturk.rows import Assignment
from tests.doubles.mturk.world import SHOWN_STATES, World

OVERRIDE_WITHIN = timedelta(days=30)  # of the submission


def find(world: World, assignment_id: str) -> Assignment:
    row = world.assignments.get(assignment_id)
    if row is None:
        raise errors.does_not_exist("Assignment", assignment_id)
    return row


def describe(row: Assignment) -> dict[str, Any]:
    times = {
        "AutoApprovalTime": row.auto_approval,
        "AcceptTime": row.accepted,
        "SubmitTime": row.submitted,
        "ApprovalTime": row.approved,
        "RejectionTime": row.rejected,
        "Deadline": row.deadline,
    }
    shown: dict[str, Any] = {
        "AssignmentId": row.assignment_id,
        "WorkerId": row.worker_id,
        "HITId": row.hit_id,
        "AssignmentStatus": row.state,
        "Answer": row.answer,
        **{name: time.timestamp() for name, time in times.items() if time is not None},
    }
    return shown | ({"RequesterFeedback": row.feedback} if row.feedback else {})


@operation
def get_assignment(world: World, params: Params) -> dict[str, Any]:
    row = find(world, params["AssignmentId"])
    if row.state not in SHOWN_STATES:
        raise errors.wrong_state("Assignment", ("Reviewable", "Approved", "Rejected"))
    return {"Assignment": describe(row), "HIT": describe_hit(world, world.hit(row.hit_id))}


@operation
def list_assignments_for_hit(world: World, params: Params) -> dict[str, Any]:
    hit = world.hit(params["HITId"])
    if hit.disposed:
        raise errors.wrong_hit_state("Disposed")
    states = params.get("AssignmentStatuses") or SHOWN_STATES
    rows = [describe(row) for row in world.seats(hit, *states)]
    return page("Assignments", rows, params)


@operation
def approve_assignment(world: World, params: Params) -> dict[str, Any]:
    row = find(world, params["AssignmentId"])
    override = params.get("OverrideRejection", False)
    if row.state == "Rejected" and override:
        _check_override(world, row)
    elif row.state in ("Free", "Accepted"):
        raise errors.wrong_state("Assignment", ("null",))
    elif row.state != "Submitted":
        raise errors.wrong_state("Assignment", ("Submitted",))
    world.approve(row, at=world.now(), feedback=params.get("RequesterFeedback", ""))
    return {}


def _check_override(world: World, row: Assignment) -> None:
    hit = world.hit(row.hit_id)
    assert row.submitted is not None
    if hit.disposed or world.now() - row.submitted > OVERRIDE_WITHIN:
        raise errors.wrong_state("Assignment", ("Submitted",))
    require_funds(world, world.type_of(hit), hit.max_assignments, 1)


@operation
def reject_assignment(world: World, params: Params) -> dict[str, Any]:
    """The worker is not paid, and nobody else can take the seat."""
    row = find(world, params["AssignmentId"])
    if row.state in ("Free", "Accepted"):
        raise errors.wrong_state("Assignment", ("null",))
    if row.state != "Submitted":
        raise errors.wrong_state("Assignment", ("Submitted",))
    if not params["RequesterFeedback"].strip():
        raise errors.invalid_value("RequesterFeedback", params["RequesterFeedback"])
    now = world.now()
    rejected = replace(row, state="Rejected", rejected=now, feedback=params["RequesterFeedback"])
    world.seat(rejected)
    world.tell("AssignmentRejected", world.hit(row.hit_id), rejected)
    return {}
