"""Rules about studies, enrollments and slots as pure functions. Each rule is defined only here.

Working time and its pay: :mod:`annotation.working_time`. What keeps a study from opening:
:mod:`annotation.opening`.
"""

import enum
import hashlib
import hmac
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

STUDY_TRANSITIONS: dict[str, frozenset[str]] = {
    "draft": frozenset({"open"}),
    "open": frozenset({"paused", "closed"}),
    "paused": frozenset({"open", "closed"}),
    "closed": frozenset({"open"}),
}
"""Target states by state of a study. It never becomes a draft again: annotators have seen it."""

ENROLLMENT_TRANSITIONS: dict[str, frozenset[str]] = {
    "invited": frozenset({"consented", "declined", "withdrawn"}),
    "declined": frozenset({"consented", "withdrawn"}),
    "consented": frozenset({"qualified", "failed", "suspended", "withdrawn"}),
    "qualified": frozenset({"suspended", "withdrawn"}),
    "failed": frozenset({"qualified", "withdrawn"}),
    "suspended": frozenset({"consented", "qualified", "withdrawn"}),
    "withdrawn": frozenset(),
}

UNDECIDED = frozenset({"invited", "declined"})
"""States of enrollments that are asked for consent."""
ON_THE_WAY = frozenset({"invited", "declined", "consented"})
"""States of enrollments that have steps to take before they are served."""
CAN_BE_GIVEN_STORIES = frozenset({"invited", "consented", "qualified"})
"""States of enrollments that stories can be given to by name."""
BEFORE_OR_AFTER_TEST = frozenset({"invited", "declined", "consented", "qualified", "failed"})
"""States from which a researcher can let an annotator take the test again."""
CAN_BE_EXCLUDED = frozenset({"consented", "qualified", "suspended", "withdrawn"})
"""States of enrollments that can have votes to exclude."""
ENDS_TEST = frozenset({"suspended", "withdrawn"})
"""States that end a test in progress."""

CENT = Decimal("0.01")


class Reason(enum.StrEnum):
    """A reason for serving no story. Every refusal has exactly one, and a page that explains it."""

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
    NOTHING_GIVEN = "nothing_given"
    ALL_DONE = "all_done"
    NOT_QUALIFIED_THERE = "not_qualified_there"
    EXCLUDED = "excluded"
    SESSION_DONE = "session_done"
    SESSION_OVER = "session_over"
    SESSION_SETTLED = "session_settled"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal to serve a story, and when to come back, if that makes sense."""

    reason: Reason
    retry_at: datetime | None = None


_BY_ENROLLMENT_STATE = {
    "invited": Reason.INVITED,
    "declined": Reason.DECLINED,
    "consented": Reason.NOT_QUALIFIED_YET,
    "failed": Reason.FAILED,
    "suspended": Reason.SUSPENDED,
    "withdrawn": Reason.WITHDRAWN,
}
REASON_BY_STUDY_STATE = {
    "draft": Reason.STUDY_NOT_OPEN,
    "paused": Reason.STUDY_PAUSED,
    "closed": Reason.STUDY_CLOSED,
}
"""The reason of refusal by the state of a study that is not open."""


STEPS = (Reason.INVITED, Reason.CONSENT_CHANGED, Reason.NOT_QUALIFIED_YET)
"""Refusals that are a step the annotator can still take."""

DONE = (Reason.ALL_DONE, Reason.CAP_REACHED, Reason.STUDY_CLOSED)
"""Refusals at the end of the work."""


def serving_refusal(
    *,
    study_state: str,
    study_environment: str,
    study_consent_version: int,
    protocol_installed: bool,
    story_cap: int,
    enrollment_state: str,
    environment: str,
    consent_version: int,
    stories_submitted: int,
) -> Reason | None:
    """Return None if the annotator may have a story, else the reason why not.

    The only gate: qualified, consent up to date, below the cap, in an open study, in its environment.
    Annotators on their way to the stories are told first if the study is not open, so that nobody agrees
    and reads for nothing; others are told first about their own state.
    """
    if environment != study_environment:
        return Reason.WRONG_ENVIRONMENT
    if enrollment_state in ON_THE_WAY and study_state != "open":
        return REASON_BY_STUDY_STATE[study_state]
    if enrollment_state != "qualified":
        return _BY_ENROLLMENT_STATE[enrollment_state]
    if study_state != "open":
        return REASON_BY_STUDY_STATE[study_state]
    if not protocol_installed:
        return Reason.PROTOCOL_CHANGED
    if consent_version != study_consent_version:
        return Reason.CONSENT_CHANGED
    if stories_submitted >= story_cap:
        return Reason.CAP_REACHED
    return None


def session_refusal(
    *, state: str, story_limit: int, stories_submitted: int, expires_at: datetime, now: datetime
) -> Reason | None:
    """Return None if this work session may get another story, else the reason why not.

    Once it is confirmed or doubted, no more answers in it can be paid.
    """
    if stories_submitted >= story_limit:
        return Reason.SESSION_DONE
    if state != "open":
        return Reason.SESSION_SETTLED
    return Reason.SESSION_OVER if now >= expires_at else None


def state_of_answer(session_state: str | None, *, counts_unconfirmed: bool) -> str:
    """Return the state of an assignment whose answer holds a slot, by its work session's state.

    Votes of a platform's visit count once the platform has confirmed it, or before if the campaign counts
    unconfirmed votes. The state None is that of a visit that needs no confirmation.
    """
    if session_state == "doubted":
        return "doubted"
    return "submitted" if session_state in (None, "confirmed") or counts_unconfirmed else "pending"


def joining_refusal(
    *, enrollment_state: str, asks_elsewhere: bool, qualified_there: bool, excluded: bool
) -> Reason | None:
    """Return None if the annotator may agree to take part, else the reason why not.

    Checked only on joining: annotators who have agreed stay, whatever happens to them elsewhere.
    """
    if enrollment_state not in UNDECIDED:
        return None
    if excluded:
        return Reason.EXCLUDED
    if asks_elsewhere and not qualified_there:
        return Reason.NOT_QUALIFIED_THERE
    return None


class NoChange(enum.StrEnum):
    """A reason why an answer can no longer be changed."""

    PUBLISHED = "published"
    TOO_LATE = "too_late"
    NOT_QUALIFIED = "not_qualified"
    CHANGED_MEANWHILE = "changed_meanwhile"


def change_refusal(
    *,
    enrollment_state: str,
    first_submitted_at: datetime,
    submitted_at: datetime,
    frozen_at: datetime | None,
    change_hours: int,
    now: datetime,
) -> NoChange | None:
    """Return None if the annotator may still change an answer, else the reason why not.

    Only qualified annotators may, only for ``change_hours`` after first answering, and never once the
    answer has been published.
    """
    if enrollment_state != "qualified":
        return NoChange.NOT_QUALIFIED
    if frozen_at is not None and submitted_at <= frozen_at:
        return NoChange.PUBLISHED
    if now >= first_submitted_at + timedelta(hours=change_hours):
        return NoChange.TOO_LATE
    return None


_MILESTONES = frozenset({1, 10, 25, 50})


def milestone(done: int, left: int) -> str:
    """Return "half" or "number" if the annotator's newest answer is worth a word of thanks, else ""."""
    if done == left and done >= min(_MILESTONES - {1}):
        return "half"
    return "number" if done in _MILESTONES or (done and done % 100 == 0) else ""


def longest_hold(lease: timedelta) -> timedelta:
    """Return how long a page that stays open renews its lease: a story left on a screen is not being read."""
    return 4 * lease


MOST_WORDS = 500
"""Characters of a comment, or of the words about a skipped story."""


def words(text: str) -> str:
    """Return an annotator's free words as they are stored: line ends normalised, cut to what is stored."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").strip()[:MOST_WORDS].rstrip()


def is_credited(*, skipped: int, allowance: int) -> bool:
    """Return True if the next skip, after so many in force, is paid like an answer."""
    return skipped < allowance


def is_skipped_often(*, skips: int, votes_per_story: int) -> bool:
    """Return True if researchers should look at a story: as many people skipped it as would decide it."""
    return skips >= max(2, votes_per_story)


def majority(chosen: Iterable[str]) -> tuple[str | None, int]:
    """Return the option of more than half of the answers, or None; and how often the commonest was given."""
    counted = Counter(chosen)
    option, votes = max(counted.items(), key=lambda one: one[1])
    return option if 2 * votes > counted.total() else None, votes


def lowest_free_slot(taken: Collection[int | None], slots: int) -> int | None:
    """Return the smallest number in 1..``slots`` that is not taken, or None if so many are taken."""
    if len(taken) >= slots:  # of a story that wants fewer votes than before, slots beyond ``slots`` may be
        return None
    return next((slot for slot in range(1, slots + 1) if slot not in taken), None)


def order_key(seed: int, story_id: str) -> int:
    """Return a story's key in the serving order: a pseudo-random signed 64-bit integer.

    It is a SHA-256 of the study's seed and the story id, so anybody can recompute the order, and importing
    more stories does not change it.
    """
    digest = hashlib.sha256(f"{seed}:{story_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


PSEUDONYM_PREFIX = "annotator-"
"""Keeps readers of JSON from taking the digits for a number."""


def pseudonym(key: str, annotator_id: int) -> str:
    """Return the name under which an annotator's votes are published: ``annotator-`` and 16 hex digits.

    HMAC-SHA256 with the study's own secret key, so names cannot be linked between studies or traced
    back. An enrollment stores it; compute it only for annotators who may have none in the study, such
    as authors of a platform's submissions.
    """
    digest = hmac.digest(key.encode(), str(annotator_id).encode(), "sha256").hex()  # twice as fast as new()
    return f"{PSEUDONYM_PREFIX}{digest[:16]}"
