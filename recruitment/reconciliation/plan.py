"""Plan the next steps for one submission from what both sides say. Pure functions.

A platform's addresses are unsigned, its notifications come late, twice or never, and what it answers may be
seconds old. So nothing is concluded from somebody's absence before their time is over *and* the platform
has been asked twice since; and money follows only from what the platform itself lists.
"""

import enum
from dataclasses import dataclass
from datetime import datetime, timedelta

from recruitment.marketplace import HANDED_IN, NEVER_APPROVED, PAID, MismatchKind, Status

APART = timedelta(minutes=1)
"""Two looks at a list closer together than this are one: the same stale copy may have answered both."""


class Step(enum.StrEnum):
    """A step to take. Every step may be repeated without harm."""

    CONFIRM = "confirm"
    """The visit is as its person says: its votes count, its person is known, and left work is forgiven."""
    DOUBT = "doubt"
    """The visit is not confirmed: its votes' slots go to others."""
    APPROVE = "approve"
    RECORD_PLATFORM_PAYMENT = "record_platform_payment"
    """The platform has paid the reward without us: that belongs among our payments."""
    GRANT_QUALIFIED = "grant_qualified"
    NOTE_UNFINISHED = "note_unfinished"
    """Work that was begun is over and was not handed in: too much of it puts the person into a group."""


Steps = list[Step | MismatchKind]
"""Steps to take, and mismatches to show."""


class Decision(enum.StrEnum):
    """Our decision about a submission. A withdrawn rejection is none."""

    APPROVED = "approved"
    REJECTED = "rejected"
    PAID_OTHERWISE = "paid otherwise"
    """Paid outside of the platform, or by a bonus for other work, since it could not be approved."""
    REFUSED = "refused"
    """The platform refused what we had decided: for a researcher to decide again, not for a sweep."""


DECIDED_AS = {Decision.APPROVED: PAID, Decision.REJECTED: frozenset({Status.REJECTED})}


@dataclass(frozen=True, slots=True)
class LocalVisit:
    """A visit as this site knows it.

    ``session`` is open, confirmed or doubted. ``may_hand_in``: the person did what was asked, or was told by
    us to hand in what there is. ``answers``: stories answered in it, or 1 for a test that was finished in it.
    A test that another visit hands in is none of this one's.
    ``was_given_work``: they were shown a story or began the test; whoever found nothing to do was not.
    ``is_known``: the platform itself has said that it is this person, by a proof at the arrival or by telling
    that they gave the work back. Anybody can type somebody's id, and must not shut them out with it.
    ``is_partial``: handed in with fewer stories than were asked for, whatever stopped them.
    ``decided_manually``: a researcher has confirmed or doubted it, and no comparison says otherwise.
    """

    session: str
    receipt: str
    may_hand_in: bool
    answers: int
    expires_at: datetime
    passed_test: bool = False
    was_given_work: bool = True
    is_known: bool = False
    is_partial: bool = False
    decided_manually: bool = False


@dataclass(frozen=True, slots=True)
class ListedWork:
    """A submission as the platform lists it."""

    status: Status
    receipt: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules for all submissions of a campaign."""

    returns_receipt: bool
    auto_approves: bool
    polls_since_expiry: int
    """Successful polls of the platform after the visit's time was over; see :func:`plan`."""
    screens_out: bool = False
    """The platform itself pays whoever does not pass the test, and less."""


def plan(
    here: LocalVisit | None,
    there: ListedWork | None,
    rules: Rules,
    *,
    decision: Decision | None,
    now: datetime,
) -> Steps:
    """Return the steps for one submission. ``decision``: ours about it, if there is one.

    Either side may be missing: nobody came here with that piece of work, or the platform does not list it.
    """
    # Not listed, or somebody is said to work on it.
    if there is None or there.status not in HANDED_IN | NEVER_APPROVED:
        return _unlisted(here, rules, now=now) if here else []
    is_screened = there.status == Status.SCREENED_OUT
    if there.status in NEVER_APPROVED or (is_screened and not rules.screens_out):
        return _given_up(here, there)
    if here is not None and here.decided_manually:
        counts = here.session == "confirmed" and not here.is_partial
        return [*_decided_manually(here, there, rules, decision), *_decided(there, decision, counts=counts)]
    if here is None or (here.answers == 0 and not here.may_hand_in):
        is_over = here is not None and now >= here.expires_at  # until then somebody may still be answering
        empty = _doubted(here) if here and is_over else []
        return [*empty, MismatchKind.NO_DATA, *_decided(there, decision)]
    if not _is_proven(here, there, rules):
        return [MismatchKind.WRONG_RECEIPT, *_decided(there, decision)]
    if there.status == Status.REJECTED:  # what is not paid is not used
        return [*_doubted(here), *_decided(there, decision)]
    was_given_up = [MismatchKind.SUBMITTED_LATE] if here.session == "doubted" else []
    paid = _paid(here, there, rules, decision)
    # Whoever passed and handed in with the code of those who did not was paid too little.
    decided = _decided(there, decision, counts=not (here.passed_test if is_screened else here.is_partial))
    return [*was_given_up, *accepted(here), *paid, *decided]


def accepted(here: LocalVisit) -> Steps:
    """Return the steps after somebody's work is accepted, by a comparison or by a researcher."""
    steps: Steps = [Step.CONFIRM] if here.session != "confirmed" else []
    if here.passed_test:
        steps.append(Step.GRANT_QUALIFIED)
    return steps


def polls_of(before: datetime | None, now: datetime) -> list[datetime]:
    """Return the times of the last two polls of a posting, or one if they are too close to be independent."""
    if before is not None and now - before < APART:
        return [before]
    return [moment for moment in (before, now) if moment]


def _is_proven(here: LocalVisit, there: ListedWork, rules: Rules) -> bool:
    """Return True if our receipt came back or, on platforms without receipts, the last page was reached.

    Work of a person who failed the test but used the completion code for passing is not proven.
    """
    failed = here.answers > 0 and not here.passed_test
    if rules.screens_out and failed and there.status != Status.SCREENED_OUT:
        return False
    return there.receipt == here.receipt if rules.returns_receipt else here.may_hand_in


def _decided_manually(here: LocalVisit, there: ListedWork, rules: Rules, decision: Decision | None) -> Steps:
    """Return steps after a researcher's decision. If doubted work was proven since, show it once more."""
    if here.session == "confirmed":
        return [*accepted(here), *_paid(here, there, rules, decision)]
    waits = there.status == Status.SUBMITTED and decision is None
    return [MismatchKind.SUBMITTED_LATE] if waits and _is_proven(here, there, rules) else []


def _paid(here: LocalVisit, there: ListedWork, rules: Rules, decision: Decision | None) -> Steps:
    """Return steps about payment. Only a researcher can decide to pay partial work."""
    if there.status != Status.SUBMITTED:
        return []
    if decision is not None:
        return [MismatchKind.PAID_OTHERWISE] if decision == Decision.PAID_OTHERWISE else []
    if here.is_partial:
        return [MismatchKind.PARTIAL]
    return [Step.APPROVE] if rules.auto_approves else []


def _decided(there: ListedWork, decision: Decision | None, *, counts: bool = False) -> Steps:
    """Return steps after decisions on the platform's own pages, or by its clock.

    ``counts``: it is whole, and its votes count. Where that was paid there, as it would have been from here,
    nobody has anything to judge.
    """
    ours = DECIDED_AS.get(decision, ()) if decision else ()
    if there.status not in PAID | {Status.REJECTED} or there.status in ours:
        return []
    if there.status == Status.REJECTED:
        return [MismatchKind.DECIDED_BY_PLATFORM]
    as_from_here = counts and decision in (None, Decision.REFUSED)
    return (
        [Step.RECORD_PLATFORM_PAYMENT]
        if as_from_here
        else [Step.RECORD_PLATFORM_PAYMENT, MismatchKind.DECIDED_BY_PLATFORM]
    )


def _doubted(here: LocalVisit) -> Steps:
    return [] if here.session == "doubted" else [Step.DOUBT]


def _given_up(here: LocalVisit | None, there: ListedWork) -> Steps:
    if here is None or here.decided_manually or here.session == "doubted":
        return []
    # On Prolific work can be given back after it was handed in, also because we asked for it.
    flags: Steps = [MismatchKind.DECIDED_BY_PLATFORM] if here.session == "confirmed" else []
    if there.status == Status.TIMED_OUT and here.may_hand_in:
        flags.append(MismatchKind.NOT_HANDED_IN)  # they did the work, and were late with the last button
    return [Step.DOUBT, *flags, *_unfinished(here, is_known=True)]


def _unlisted(here: LocalVisit, rules: Rules, *, now: datetime) -> Steps:
    """Return steps for a visit that the platform does not list: still at work, or never handed in."""
    if here.session != "open" or now < here.expires_at or rules.polls_since_expiry < 2:
        return []
    flags: Steps = [MismatchKind.NOT_HANDED_IN] if here.may_hand_in else []
    return [Step.DOUBT, *flags, *_unfinished(here, is_known=here.is_known)]


def _unfinished(here: LocalVisit, *, is_known: bool) -> Steps:
    return [Step.NOTE_UNFINISHED] if here.was_given_work and is_known else []
