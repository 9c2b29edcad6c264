"""Prolific's statuses in our words."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from recruitment.marketplace import Status, Work

STATUSES: Mapping[str, Status] = {
    "RESERVED": Status.ACTIVE,
    "ACTIVE": Status.ACTIVE,
    "PROCESSING": Status.ACTIVE,
    "AWAITING REVIEW": Status.SUBMITTED,
    "APPROVED": Status.APPROVED,
    "PARTIALLY APPROVED": Status.APPROVED,
    "REJECTED": Status.REJECTED,
    "RETURNED": Status.RETURNED,
    "TIMED-OUT": Status.TIMED_OUT,
    "SCREENED OUT": Status.SCREENED_OUT,
}
"""A submission is PROCESSING for a moment; until that is over, nothing can be decided about it."""

RECRUITING = frozenset({"PUBLISHING", "ACTIVE", "SCHEDULED"})
PAUSED = frozenset({"PAUSED"})
OVER = frozenset({"AWAITING REVIEW", "COMPLETED"})
"""Every place is taken, or the study was stopped."""
PUBLISHED = RECRUITING | PAUSED | OVER


def status_of(said: str) -> Status:
    """Return our status; unknown for an unknown word, so that nothing is done about it."""
    return STATUSES.get(said.strip().upper().replace("_", " "), Status.UNKNOWN)


def work_of(row: Mapping[str, Any], *, study: str = "") -> Work:
    """Return a submission as a list shows it, or as it is shown alone.

    A list names the person ``participant_id`` and not the study; alone it is ``participant`` and
    ``study_id``. The completion code is no receipt: everybody in a study has the same.
    """
    return Work(
        remote_id=row["id"],
        person=row.get("participant_id") or row.get("participant") or "",
        status=status_of(row["status"]),
        posting=row.get("study_id") or study,
        submitted_at=moment_of(row.get("completed_at")),
    )


def moment_of(text: str | None) -> datetime | None:
    """Return a time as Prolific writes it, like ``2026-11-20T11:03:00.457Z``."""
    return datetime.fromisoformat(text) if text else None
