"""What is to be done about one piece of work, from what both sides say of it. Pure functions.

A platform's addresses are unsigned, its notifications come late, twice or never, and what it answers may be
seconds old. So nothing is concluded from somebody's absence before their time is over *and* the platform
has been asked twice since; and money follows only from what the platform itself lists.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime, timedelta

from recruitment.marketplace import Status

HANDED_IN = frozenset({Status.SUBMITTED, Status.APPROVED, Status.REJECTED})
"""Statuses of work that the platform says was handed in."""
APART = timedelta(minutes=1)
"""Two looks at a list closer together than this are one: the same stale copy may have answered both."""
GIVEN_UP = frozenset({Status.RETURNED, Status.TIMED_OUT, Status.SCREENED_OUT})
"""Statuses of work that is over on the platform without having been accepted for review."""


class Step(enum.StrEnum):
    """One thing to do. Every step may be done again without harm."""

    CONFIRM = "confirm"
    """The visit is as its person says: its votes count, and its person is known."""
    DOUBT = "doubt"
    """The visit is not confirmed: its votes' slots go to others."""
    APPROVE = "approve"
    NOTE_PAID_THERE = "note_paid_there"
    """The platform has paid the reward without us: that belongs among our payments."""
    GRANT_QUALIFIED = "grant_qualified"
    GRANT_INCOMPLETE = "grant_incomplete"
    REVOKE_INCOMPLETE = "revoke_incomplete"
    FLAG_NO_DATA = "flag_no_data"
    FLAG_WRONG_RECEIPT = "flag_wrong_receipt"
    FLAG_NOT_HANDED_IN = "flag_not_handed_in"
    FLAG_DECIDED_THERE = "flag_decided_there"
    FLAG_DOUBTED_BUT_THERE = "flag_doubted_but_there"
    FLAG_PARTIAL = "flag_partial"
    FLAG_PAID_OTHERWISE = "flag_paid_otherwise"


class Decision(enum.StrEnum):
    """What we have decided about a piece of work. A rejection that was taken back is nothing decided."""

    APPROVED = "approved"
    REJECTED = "rejected"
    PAID_OTHERWISE = "paid otherwise"
    """Paid outside of the platform, or by a bonus for other work, since it could not be approved."""
    REFUSED = "refused"
    """The platform refused what we had decided: for a researcher to decide again, not for a sweep."""


DECIDED_AS = {Decision.APPROVED: Status.APPROVED, Decision.REJECTED: Status.REJECTED}


@dataclass(frozen=True, slots=True)
class Here:
    """A visit as we know it.

    ``session`` is open, confirmed or doubted. ``may_hand_in``: the person did what was asked, or was told by
    us to hand in what there is. ``answers``: stories answered in it, or 1 for a test that was handed in.
    ``was_given_work``: they were shown a story or began the test; whoever found nothing to do was not.
    ``is_known``: the platform itself has said that it is this person, by a proof at the arrival or by telling
    that they gave the work back. Anybody can type somebody's id, and must not shut them out with it.
    ``is_partial``: handed in with fewer stories than were asked for, whatever stopped them.
    ``decided_by_hand``: a researcher has confirmed or doubted it, and no comparison says otherwise.
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
    decided_by_hand: bool = False


@dataclass(frozen=True, slots=True)
class There:
    """A piece of work as the platform lists it."""

    status: Status
    receipt: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for all work of a campaign."""

    returns_receipt: bool
    approves_by_itself: bool
    polls_since_expiry: int
    """How often the platform was asked, with success, after the visit's time was over; see :func:`plan`."""


def plan(
    here: Here | None, there: There | None, rules: Rules, *, decision: Decision | None, now: datetime
) -> list[Step]:
    """The steps for one piece of work. ``decision``: what we have decided about it, if anything.

    Either side may be missing: nobody came here with that piece of work, or the platform does not list it.
    """
    if there is None or there.status not in HANDED_IN | GIVEN_UP:  # or is said to be worked on, whenever
        return _unlisted(here, rules, now=now) if here else []
    if there.status in GIVEN_UP:
        return _given_up(here, there)
    if here is not None and here.decided_by_hand:
        counts = here.session == "confirmed" and not here.is_partial
        return [*_by_hand(here, there, rules, decision), *_decided(there, decision, counts=counts)]
    if here is None or (here.answers == 0 and not here.may_hand_in):
        return [Step.FLAG_NO_DATA, *_decided(there, decision)]
    if not _is_proven(here, there, rules):
        return [Step.FLAG_WRONG_RECEIPT, *_decided(there, decision)]
    if there.status == Status.REJECTED:  # what is not paid is not used
        return [*_doubted(here), *_decided(there, decision)]
    was_given_up = [Step.FLAG_DOUBTED_BUT_THERE] if here.session == "doubted" else []
    paid = _paid(here, there, rules, decision)
    decided = _decided(there, decision, counts=not here.is_partial)
    return [*was_given_up, *accepted(here), *paid, *decided]


def accepted(here: Here) -> list[Step]:
    """What follows for somebody whose work is accepted, by the comparison or on a researcher's word."""
    steps = [Step.REVOKE_INCOMPLETE] if here.session == "doubted" else []
    if here.session != "confirmed":
        steps.append(Step.CONFIRM)
    if here.passed_test:
        steps.append(Step.GRANT_QUALIFIED)
    return steps


def looks(before: datetime | None, now: datetime) -> list[datetime]:
    """The looks at a posting's list of which the newest is ``now`` and ``before`` the one before it."""
    if before is not None and now - before < APART:
        return [before]
    return [moment for moment in (before, now) if moment]


def _is_proven(here: Here, there: There, rules: Rules) -> bool:
    """Our receipt came back; or, where none does, the page was reached that only finished work reaches."""
    return there.receipt == here.receipt if rules.returns_receipt else here.may_hand_in


def _by_hand(here: Here, there: There, rules: Rules, decision: Decision | None) -> list[Step]:
    """A researcher's word stands. What is proven after they had doubted it is shown to them once more."""
    if here.session == "confirmed":
        return [*accepted(here), *_paid(here, there, rules, decision)]
    waits = there.status == Status.SUBMITTED and decision is None
    return [Step.FLAG_DOUBTED_BUT_THERE] if waits and _is_proven(here, there, rules) else []


def _paid(here: Here, there: There, rules: Rules, decision: Decision | None) -> list[Step]:
    """Whoever did less than was asked for is paid by a researcher's word alone."""
    if there.status != Status.SUBMITTED:
        return []
    if decision is not None:
        return [Step.FLAG_PAID_OTHERWISE] if decision == Decision.PAID_OTHERWISE else []
    if here.is_partial:
        return [Step.FLAG_PARTIAL]
    return [Step.APPROVE] if rules.approves_by_itself else []


def _decided(there: There, decision: Decision | None, *, counts: bool = False) -> list[Step]:
    """Decisions that were made on the platform's own pages, or by its clock, and are not ours.

    ``counts``: it is whole, and its votes count. Where that was paid there, as it would have been from here,
    nobody has anything to judge.
    """
    ours = DECIDED_AS.get(decision) if decision else None
    if there.status not in (Status.APPROVED, Status.REJECTED) or ours == there.status:
        return []
    if there.status == Status.REJECTED:
        return [Step.FLAG_DECIDED_THERE]
    as_from_here = counts and decision in (None, Decision.REFUSED)
    return [Step.NOTE_PAID_THERE] if as_from_here else [Step.NOTE_PAID_THERE, Step.FLAG_DECIDED_THERE]


def _doubted(here: Here) -> list[Step]:
    return [] if here.session == "doubted" else [Step.DOUBT]


def _given_up(here: Here | None, there: There) -> list[Step]:
    if here is None or here.decided_by_hand or here.session == "doubted":
        return []
    # On Prolific work can be given back after it was handed in, also because we asked for it.
    flags = [Step.FLAG_DECIDED_THERE] if here.session == "confirmed" else []
    if there.status == Status.TIMED_OUT and here.may_hand_in:
        flags.append(Step.FLAG_NOT_HANDED_IN)  # they did the work, and were late with the last button
    return [Step.DOUBT, *flags, *_left_unfinished(here, is_known=True)]


def _unlisted(here: Here, rules: Rules, *, now: datetime) -> list[Step]:
    """A visit that the platform does not list: still at work, or never handed in."""
    if here.session != "open" or now < here.expires_at or rules.polls_since_expiry < 2:
        return []
    flags = [Step.FLAG_NOT_HANDED_IN] if here.may_hand_in else []
    return [Step.DOUBT, *flags, *_left_unfinished(here, is_known=here.is_known)]


def _left_unfinished(here: Here, *, is_known: bool) -> list[Step]:
    return [Step.GRANT_INCOMPLETE] if here.was_given_work and is_known else []
