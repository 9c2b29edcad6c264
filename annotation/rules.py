"""Rules about studies, enrollments and slots as pure functions. Each rule is defined only here."""

import enum
import hashlib
import hmac
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
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

CENT = Decimal("0.01")
BEFORE_OR_AFTER_TEST = frozenset({"invited", "declined", "consented", "qualified", "failed"})
"""States from which a researcher can let an annotator take the test again."""


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


@dataclass(frozen=True, slots=True)
class ServingFacts:
    """The facts about an enrollment and its study that decide whether it is served."""

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
REASON_BY_STUDY_STATE = {
    "draft": Reason.STUDY_NOT_OPEN,
    "paused": Reason.STUDY_PAUSED,
    "closed": Reason.STUDY_CLOSED,
}
"""The reason of refusal by the state of a study that is not open."""


STEPS = (Reason.INVITED, Reason.CONSENT_CHANGED, Reason.NOT_QUALIFIED_YET)
"""Refusals that are a step the annotator can still take."""

UNDECIDED = frozenset({"invited", "declined"})
"""States of enrollments that are asked for consent."""

ON_THE_WAY = frozenset({"invited", "declined", "consented"})
"""States of enrollments that have steps to take before they are served."""


def serving_refusal(facts: ServingFacts) -> Reason | None:
    """Return None if the annotator may have a story, else the reason why not.

    The only gate: qualified, consent up to date, below the cap, in an open study, in its environment.
    Annotators on their way to the stories are told first if the study is not open, so that nobody agrees
    and reads for nothing; others are told first about their own state.
    """
    if facts.environment != facts.study_environment:
        return Reason.WRONG_ENVIRONMENT
    if facts.enrollment_state in ON_THE_WAY and facts.study_state != "open":
        return REASON_BY_STUDY_STATE[facts.study_state]
    if facts.enrollment_state != "qualified":
        return _BY_ENROLLMENT_STATE[facts.enrollment_state]
    if facts.study_state != "open":
        return REASON_BY_STUDY_STATE[facts.study_state]
    if not facts.protocol_installed:
        return Reason.PROTOCOL_CHANGED
    if facts.consent_version != facts.study_consent_version:
        return Reason.CONSENT_CHANGED
    if facts.stories_submitted >= facts.story_cap:
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


LONG_BREAK = timedelta(minutes=15)
"""A pause after which a new stretch of work begins."""

LONG_STRETCH = timedelta(minutes=45)
"""The stretch of work after which a break is suggested."""


def working_since(
    before: datetime | None, last_submitted_at: datetime | None, served_at: datetime, submitted_at: datetime
) -> datetime:
    """Return the start of the current stretch of work, given the story that has just been answered.

    A story that was open for longer than a long break counts as a break: nobody reads that long.
    """
    if submitted_at - max(served_at, last_submitted_at or served_at) > LONG_BREAK:
        return submitted_at
    if before is None or last_submitted_at is None or served_at - last_submitted_at > LONG_BREAK:
        return served_at
    return before


def pause_minutes(working_since: datetime | None, last_submitted_at: datetime | None, now: datetime) -> int:
    """Return the minutes worked without a long break if a break should be suggested, else 0."""
    if working_since is None or last_submitted_at is None or now - last_submitted_at > LONG_BREAK:
        return 0
    stretch = now - working_since
    return int(stretch.total_seconds() // 60) if stretch >= LONG_STRETCH else 0


def longest_hold(lease: timedelta) -> timedelta:
    """Return how long a page that stays open renews its lease: a story left on a screen is not being read."""
    return 4 * lease


def paid_seconds(seconds: float) -> float:
    """Cut the time for which a story was open to what is paid: at most a long break, as in the test.

    Nobody reads two sentences for longer, and a story left open overnight is not a night of work.
    """
    return min(seconds, LONG_BREAK.total_seconds())


@dataclass(frozen=True, slots=True)
class Pace:
    """An annotator's median paid time in ``seconds``, and the number of stories whose time was ``cut``."""

    seconds: float
    cut: int


def pace_of(seconds: Sequence[float]) -> Pace | None:
    """Return the pace from the seconds each story was open; None without answers."""
    if not seconds:
        return None
    paid = [paid_seconds(one) for one in seconds]
    return Pace(
        statistics.median(paid), sum(one < open_for for one, open_for in zip(paid, seconds, strict=True))
    )


def estimated_pay(stories: int, pace: float | None, hourly: Decimal | None) -> Decimal | None:
    """Return stories x pace x hourly rate, to the cent; None if the work is not paid.

    ``pace`` is the median paid time in seconds (:func:`pace_of`). Not the sum of times, because a story left
    open over lunch is not an hour of work. Annotators see it as an estimate while they work; where no
    platform pays them, it is also the amount due.
    """
    if hourly is None or pace is None:
        return None
    return (Decimal(stories) * Decimal(pace) * hourly / 3600).quantize(CENT)


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


def blockers(
    *,
    main_stories: int,
    consent_version: int,
    gate: str,
    lacks_checks: bool = False,
    unserved: Sequence[tuple[str, int, int, str]] = (),
    story_cap: int = 0,
    stories_of_design: int = 0,
) -> list[str]:
    """Return what keeps a study from opening, as sentences with remedies; empty if it can open."""
    found = []
    if main_stories == 0:
        found.append(_("It has no stories. To import some: manage.py import_stories SLUG FILE."))
    if consent_version == 0:
        found.append(_("It has no consent text. Add one as “consent” in the study’s configuration."))
    if gate == "missing":
        told = _(
            "It asks for qualification, but has no round with a complete answer key. Add both as "
            "“qualification” in the study’s configuration; a study without it lets everybody in."
        )
        found.append(told)
    if lacks_checks:
        told = _(
            "It uses hidden checks, but none has known answers. Add some on the page “Hidden "
            "checks”, or turn hidden checks off there."
        )
        found.append(told)
    found += [unserved_in_words(*stratum) for stratum in unserved]
    if story_cap < stories_of_design:
        found.append(cap_problem(story_cap, stories_of_design))
    return found


def unserved_in_words(name: str, items: int, load: int, named: str) -> str:
    """Return why the design cannot serve a stratum, with the remedy."""
    said = _(
        "Its design asks for %(load)s items of “%(name)s” per participant; it has %(items)s. Add a load for "
        "it of at most that, or correct the column."
    )
    if not name:
        said = _("%(items)s items have no value in the design’s column: %(named)s. Choose another column.")
    return said % {"name": name, "items": items, "load": load, "named": named}


def cap_problem(story_cap: int, needed: int) -> str:
    """Return what is wrong with a story limit that ends before a design's set of so many stories."""
    return _(
        "With its hidden checks, the design gives each participant up to %(needed)s stories, but the limit "
        "is %(cap)s. Raise the limit, or lower the loads."
    ) % {"needed": needed, "cap": story_cap}
