"""Decisions about studies, people and slots as functions of plain values. The only definition of each."""

from __future__ import annotations

import enum
import hashlib
import hmac
import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.utils.translation import gettext as _

STUDY_TRANSITIONS: dict[str, frozenset[str]] = {
    "draft": frozenset({"open"}),
    "open": frozenset({"paused", "closed"}),
    "paused": frozenset({"open", "closed"}),
    "closed": frozenset({"open"}),
}
"""From which state a study may go where. A draft is never reached again: people have seen the study."""

ENROLLMENT_TRANSITIONS: dict[str, frozenset[str]] = {
    "invited": frozenset({"consented", "declined", "withdrawn"}),
    "declined": frozenset({"consented", "withdrawn"}),
    "consented": frozenset({"qualified", "failed", "suspended", "withdrawn"}),
    "qualified": frozenset({"suspended", "withdrawn"}),
    "failed": frozenset({"qualified", "withdrawn"}),
    "suspended": frozenset({"consented", "qualified", "withdrawn"}),
    "withdrawn": frozenset(),
}


BEFORE_OR_AFTER_TEST = frozenset({"invited", "declined", "consented", "qualified", "failed"})
"""States from which a researcher can set somebody back to before the test."""


class Reason(enum.StrEnum):
    """Why somebody is not served a story. Every refusal has exactly one, and a page that says it."""

    WRONG_ENVIRONMENT = "wrong_environment"
    INVITED = "invited"
    DECLINED = "declined"
    CONSENT_CHANGED = "consent_changed"
    NOT_QUALIFIED_YET = "not_qualified_yet"
    FAILED = "failed"
    SUSPENDED = "suspended"
    WITHDRAWN = "withdrawn"
    STUDY_NOT_OPEN = "study_not_open"
    STUDY_PAUSED = "study_paused"
    STUDY_CLOSED = "study_closed"
    PROTOCOL_CHANGED = "protocol_changed"
    CAP_REACHED = "cap_reached"
    NOTHING_FREE = "nothing_free"
    ALL_DONE = "all_done"
    NOT_QUALIFIED_THERE = "not_qualified_there"
    EXCLUDED = "excluded"
    SESSION_DONE = "session_done"
    SESSION_OVER = "session_over"
    SESSION_SETTLED = "session_settled"


@dataclass(frozen=True, slots=True)
class Refusal:
    """No story now: why, and when it makes sense to come back (if it does)."""

    reason: Reason
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """Everything the gate looks at: the person's enrollment beside the study's state."""

    study_state: str
    study_environment: str
    study_consent_version: int
    protocol_installed: bool
    story_cap: int
    enrollment_state: str
    environment: str
    consent_version: int
    stories_submitted: int


_BY_ENROLLMENT_STATE = {
    "invited": Reason.INVITED,
    "declined": Reason.DECLINED,
    "consented": Reason.NOT_QUALIFIED_YET,
    "failed": Reason.FAILED,
    "suspended": Reason.SUSPENDED,
    "withdrawn": Reason.WITHDRAWN,
}
REASON_OF_CLOSED_DOOR = {
    "draft": Reason.STUDY_NOT_OPEN,
    "paused": Reason.STUDY_PAUSED,
    "closed": Reason.STUDY_CLOSED,
}
"""Why nobody is let in, by the state of a study that is not open."""


ON_THE_WAY = frozenset({"invited", "declined", "consented"})
"""States of people who have steps to take before they are given stories."""


def may_be_served(standing: Standing) -> Reason | None:
    """None when the person may have a story, else the one reason why not.

    The one gate: qualified, consent up to date, below the cap, in an open study, rows of the same
    environment. Somebody who has not come as far as the stories is told first that the study is not
    open, so that nobody agrees and reads for nothing; whoever has, is told first about themselves.
    """
    if standing.environment != standing.study_environment:
        return Reason.WRONG_ENVIRONMENT
    if standing.enrollment_state in ON_THE_WAY and standing.study_state != "open":
        return REASON_OF_CLOSED_DOOR[standing.study_state]
    if standing.enrollment_state != "qualified":
        return _BY_ENROLLMENT_STATE[standing.enrollment_state]
    if standing.study_state != "open":
        return REASON_OF_CLOSED_DOOR[standing.study_state]
    if not standing.protocol_installed:
        return Reason.PROTOCOL_CHANGED
    if standing.consent_version != standing.study_consent_version:
        return Reason.CONSENT_CHANGED
    if standing.stories_submitted >= standing.story_cap:
        return Reason.CAP_REACHED
    return None


def may_go_on(
    *, state: str, story_limit: int, stories_submitted: int, expires_at: datetime, now: datetime
) -> Reason | None:
    """None when another story may be given out in this work session, else the one reason why not.

    Once it is settled, confirmed or doubted, no answer in it could be paid any more.
    """
    if stories_submitted >= story_limit:
        return Reason.SESSION_DONE
    if state != "open":
        return Reason.SESSION_SETTLED
    return Reason.SESSION_OVER if now >= expires_at else None


def state_of_answer(session_state: str | None, *, counts_at_once: bool) -> str:
    """The state of an assignment whose answer holds a slot, by the work session it was given in.

    Votes of a visit from a platform count once the platform has confirmed the visit, unless the study says
    that they count at once; None stands for a visit that needs no confirmation.
    """
    if session_state == "doubted":
        return "doubted"
    return "submitted" if session_state in (None, "confirmed") or counts_at_once else "pending"


def may_join(
    *, enrollment_state: str, asks_elsewhere: bool, qualified_there: bool, excluded: bool
) -> Reason | None:
    """None when the person may agree to take part, else the one reason why not.

    Looked at once, on the way in: whoever has agreed stays, whatever becomes of them elsewhere.
    """
    if enrollment_state not in ("invited", "declined"):
        return None
    if excluded:
        return Reason.EXCLUDED
    if asks_elsewhere and not qualified_there:
        return Reason.NOT_QUALIFIED_THERE
    return None


class NoChange(enum.StrEnum):
    """Why an answer cannot be changed any more."""

    PUBLISHED = "published"
    TOO_LATE = "too_late"
    NOT_QUALIFIED = "not_qualified"


def may_change(
    *,
    enrollment_state: str,
    first_submitted_at: datetime,
    submitted_at: datetime,
    frozen_at: datetime | None,
    change_hours: int,
    now: datetime,
) -> NoChange | None:
    """None when a person may still change an answer, else the reason.

    Only people in good standing, only for ``change_hours`` after they first answered, and never once
    the answer has been published.
    """
    if enrollment_state != "qualified":
        return NoChange.NOT_QUALIFIED
    if frozen_at is not None and submitted_at <= frozen_at:
        return NoChange.PUBLISHED
    if now >= first_submitted_at + timedelta(hours=change_hours):
        return NoChange.TOO_LATE
    return None


LONG_BREAK = timedelta(minutes=15)
"""A pause after which work counts as begun anew."""

LONG_STRETCH = timedelta(minutes=45)
"""How long somebody works at a stretch before a pause is suggested."""


def working_since(
    before: datetime | None, last_submitted_at: datetime | None, served_at: datetime, submitted_at: datetime
) -> datetime:
    """When the current stretch of work began, given the story that has just been answered.

    A story that was open for longer than a long break is taken for a break: nobody reads that long.
    """
    if submitted_at - max(served_at, last_submitted_at or served_at) > LONG_BREAK:
        return submitted_at
    if before is None or last_submitted_at is None or served_at - last_submitted_at > LONG_BREAK:
        return served_at
    return before


def pause_minutes(working_since: datetime | None, last_submitted_at: datetime | None, now: datetime) -> int:
    """For how many minutes somebody has worked without a long break, if that is long; else 0."""
    if working_since is None or last_submitted_at is None or now - last_submitted_at > LONG_BREAK:
        return 0
    stretch = now - working_since
    return int(stretch.total_seconds() // 60) if stretch >= LONG_STRETCH else 0


def paid_seconds(seconds: float) -> float:
    """How much of the time for which a story was open is paid: at most a long break, as in the test.

    Nobody reads two sentences for longer, and a story left open over night is not a night of work.
    """
    return min(seconds, LONG_BREAK.total_seconds())


@dataclass(frozen=True, slots=True)
class Pace:
    """The median of somebody's paid times in ``seconds``, and of how many stories the time was ``cut``."""

    seconds: float
    cut: int


def pace_of(seconds: Sequence[float]) -> Pace | None:
    """A person's pace, from how long each of their stories was open; None without any answer."""
    if not seconds:
        return None
    paid = [paid_seconds(one) for one in seconds]
    return Pace(
        statistics.median(paid), sum(one < open_for for one, open_for in zip(paid, seconds, strict=True))
    )


def estimated_pay(stories: int, pace: float | None, hourly: Decimal | None) -> Decimal | None:
    """What the work so far comes to: stories x pace x hourly rate, to the cent; None if not paid.

    ``pace`` in seconds, of paid times (:func:`pace_of`). The median rather than the sum of times, because a
    story left open over lunch is not an hour of work. People read it as an estimate while they work; where no
    platform pays them, it is also what they are owed.
    """
    if hourly is None or pace is None:
        return None
    return (Decimal(stories) * Decimal(pace) * hourly / 3600).quantize(Decimal("0.01"))


def lowest_free_slot(taken: Collection[int], slots: int) -> int | None:
    """The smallest number in 1..``slots`` that nobody holds, or None when all are held."""
    return next((slot for slot in range(1, slots + 1) if slot not in taken), None)


def order_key(seed: int, story_id: str) -> int:
    """A story's place in the serving order: a pseudo-random signed 64-bit integer.

    SHA-256 of the study's seed and the story id, so the order is a permutation that anybody can
    recompute and that importing more stories later does not disturb.
    """
    digest = hashlib.sha256(f"{seed}:{story_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def pseudonym(key: str, annotator_id: int) -> str:
    """The name under which an annotator's votes are published: ``annotator-`` and 16 hex digits.

    HMAC-SHA256 with the study's own secret key, so names cannot be linked between studies or traced
    back. The prefix keeps readers of JSON from taking the digits for a number.
    """
    digest = hmac.digest(key.encode(), str(annotator_id).encode(), "sha256").hex()  # twice as fast as new()
    return f"annotator-{digest[:16]}"


def blockers(*, main_stories: int, consent_version: int, gate: str, lacks_checks: bool = False) -> list[str]:
    """What still keeps a study from opening, each as a sentence with its remedy. Empty: it can open."""
    found = []
    if main_stories == 0:
        found.append(_("It has no stories. Import some: manage.py import_stories SLUG FILE."))
    if consent_version == 0:
        found.append(_("It has no consent text. A study's configuration gives one: “consent”."))
    if gate == "missing":
        found.append(
            _(
                "It asks for qualification but has no round with a complete answer key. A study's "
                "configuration gives both (“qualification”); one without it lets everybody in."
            )
        )
    if lacks_checks:
        found.append(
            _(
                "People should meet hidden checks, but none has known answers. Give them on the page “Hidden "
                "checks”, or ask for none there."
            )
        )
    return found
