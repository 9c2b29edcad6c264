"""What is to be done about one piece of work, from what both sides say of it. Pure functions.

A platform's addresses are unsigned, its notifications come late, twice or never, and what it answers may be
seconds old. So nothing is concluded from somebody's absence before their time is over *and* the platform
has been asked twice since; and money follows only from what the platform itself lists.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime

from recruitment.marketplace import Status

HANDED_IN = frozenset({Status.SUBMITTED, Status.APPROVED, Status.REJECTED})
"""Statuses of work that the platform says was handed in."""
GIVEN_UP = frozenset({Status.RETURNED, Status.TIMED_OUT, Status.SCREENED_OUT})
"""Statuses of work that is over on the platform without having been accepted for review."""


class Step(enum.StrEnum):
    """One thing to do. Every step may be done again without harm."""

    CONFIRM = "confirm"
    """The visit is as its person says: its votes count, and its person is known."""
    DOUBT = "doubt"
    """The visit is not confirmed: its votes' slots go to others."""
    APPROVE = "approve"
    GRANT_QUALIFIED = "grant_qualified"
    GRANT_INCOMPLETE = "grant_incomplete"
    REVOKE_INCOMPLETE = "revoke_incomplete"
    FLAG_NO_DATA = "flag_no_data"
    FLAG_WRONG_RECEIPT = "flag_wrong_receipt"
    FLAG_NOT_HANDED_IN = "flag_not_handed_in"
    FLAG_DECIDED_THERE = "flag_decided_there"
    FLAG_DOUBTED_BUT_THERE = "flag_doubted_but_there"
    FLAG_PARTIAL = "flag_partial"


@dataclass(frozen=True, slots=True)
class Here:
    """A visit as we know it.

    ``session`` is open, confirmed or doubted. ``may_hand_in``: the person did what was asked, or was told by
    us to hand in what there is. ``answers``: stories answered in it, or 1 for a test that was handed in.
    ``was_given_work``: they were shown a story or began the test; whoever found nothing to do was not.
    ``is_known``: the platform itself has said that it is this person, by a proof at the arrival or by telling
    that they gave the work back. Anybody can type somebody's id, and must not shut them out with it.
    ``is_partial``: handed in with fewer stories than were asked for, by somebody who left or was suspended.
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
    here: Here | None, there: There | None, rules: Rules, *, decision: str | None, now: datetime
) -> list[Step]:
    """The steps for one piece of work. ``decision``: our own ``approval`` or ``rejection``, if there is one.

    ``outside``, where there is neither and somebody was paid in another way: nothing is paid by itself then.

    Either side may be missing: nobody came here with that piece of work, or the platform does not list it.
    """
    if there is None:
        return _unlisted(here, rules, now=now) if here else []
    if there.status in GIVEN_UP:
        return _given_up(here, there)
    if there.status not in HANDED_IN:  # said to be worked on, whatever the time
        return _unlisted(here, rules, now=now) if here else []
    if here is None or (here.answers == 0 and not here.may_hand_in):
        return [Step.FLAG_NO_DATA, *_decided(there, decision)]
    if rules.returns_receipt and there.receipt != here.receipt:
        return [Step.FLAG_WRONG_RECEIPT, *_decided(there, decision)]
    if not rules.returns_receipt and not here.may_hand_in:
        return [Step.FLAG_WRONG_RECEIPT, *_decided(there, decision)]
    return [*_confirmed(here), *_paid(here, there, rules, decision), *_decided(there, decision)]


def _confirmed(here: Here) -> list[Step]:
    steps = []
    if here.session == "doubted":
        steps += [Step.FLAG_DOUBTED_BUT_THERE, Step.REVOKE_INCOMPLETE]
    if here.session != "confirmed":
        steps.append(Step.CONFIRM)
    if here.passed_test:
        steps.append(Step.GRANT_QUALIFIED)
    return steps


def _paid(here: Here, there: There, rules: Rules, decision: str | None) -> list[Step]:
    """Whoever stopped of their own accord, or was suspended, is paid by a researcher's word alone."""
    if there.status != Status.SUBMITTED or decision is not None:
        return []
    if here.is_partial:
        return [Step.FLAG_PARTIAL]
    return [Step.APPROVE] if rules.approves_by_itself else []


def _decided(there: There, decision: str | None) -> list[Step]:
    """Decisions that were made on the platform's own pages, or by its clock, and are not ours."""
    ours = {"approval": Status.APPROVED, "rejection": Status.REJECTED}
    decided = there.status in (Status.APPROVED, Status.REJECTED)
    return [Step.FLAG_DECIDED_THERE] if decided and ours.get(decision or "") != there.status else []


def _given_up(here: Here | None, there: There) -> list[Step]:
    if here is None:
        return []
    if here.session == "doubted":
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
