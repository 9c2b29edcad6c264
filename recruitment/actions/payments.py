"""Money and decisions about work: written first, sent after, never twice.

A payment is a row before the platform hears of it; ``recruitment.actions.sending`` has it carried out.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.models import Event, WorkSession
from annotation.sql import lock_person
from recruitment.actions import grants
from recruitment.actions.sending import SEND_TASK, lock_submission, record_payment, send_waiting
from recruitment.errors import CannotPay
from recruitment.marketplace import Status
from recruitment.models import Campaign, Payment, Submission, Visit
from recruitment.models.payments import NEVER_APPROVED
from recruitment.queueing import gathered, soon
from recruitment.reconciliation.decisions import (
    APPROVING,
    DECISIONS,
    decision_of,
    overturned_otherwise,
    standing_decisions,
    topped_up,
)
from recruitment.reconciliation.plan import Decision

Kind = Payment.Kind
State = Payment.State
CENT = Decimal("0.01")
REJECTION_WAITS = timedelta(minutes=10)
"""So long a rejection can be taken back before the platform hears of it: it harms somebody's record."""
DECIDED_THERE = "The platform paid it without us: on its own pages, or by its clock."


@transaction.atomic
def approve(*, submission: Submission, by: User | None, now: datetime) -> Payment:
    """Pay the campaign's reward for a piece of work. Asked again, gives the payment that there is.

    Raises :class:`CannotPay` for work that was rejected, or that was never handed in.
    """
    submission = lock_submission(submission)
    decided = _decision(submission)
    if decided and decided.kind in APPROVING:
        return decided
    if decided:
        raise CannotPay(
            _("This work has been rejected, so it cannot be approved. Take that back, or overturn it.")
        )
    _check_handed_in(submission)
    reward = submission.campaign.reward
    return _request(submission, Kind.APPROVAL, reward, "", by=by, now=now)


@transaction.atomic
def note_paid_there(*, submission: Submission, now: datetime) -> Payment:
    """Write down that the platform has paid the reward without us: on its own pages, or by its clock.

    Nothing is sent. Its row must be locked, and no approval may stand.
    """
    payment = Payment.objects.create(
        submission=submission,
        kind=Kind.APPROVAL,
        state=State.DONE,
        decided_there=True,
        amount=submission.campaign.reward,
        currency=submission.campaign.currency,
        requested_at=now,
        settled_at=now,
    )
    for type in (Event.Type.PAYMENT_REQUESTED, Event.Type.PAYMENT_SENT):
        record_payment(payment=payment, type=type, by=None, now=now, note=DECIDED_THERE)
    return payment


@transaction.atomic
def reject(
    *,
    submission: Submission,
    reason: str,
    category: str = "",
    leave_group: bool = False,
    by: User | None,
    now: datetime,
) -> Payment:
    """Pay nothing for a piece of work, and tell the person why.

    It harms their record on the platform, and its votes do not count any more: what is not paid is not
    used. What is poor can be accepted without counting it instead. ``leave_group``: who passed the test in
    this work leaves the group of those who did, too. For :data:`REJECTION_WAITS` it is not sent.

    Raises :class:`CannotPay` without a reason, or for work that has been decided already.
    """
    if not reason.strip():
        raise CannotPay(_("A rejection needs a reason: the person reads it, and may complain about it."))
    visit = Visit.objects.select_related("session").filter(submission=submission).first()
    if visit and visit.session:  # before the submission is locked: the person comes first everywhere
        annotation_actions.doubt_session(session=visit.session, reason=reason.strip(), by=by, now=now)
        Visit.objects.filter(pk=visit.pk).update(decided_by_hand=True)
    submission = lock_submission(submission)
    if _decision(submission):
        raise CannotPay(_("This work has been decided already."))
    _check_handed_in(submission)
    if leave_group:
        grants.leave_group(submission=submission, by=by, now=now)
    return _request(
        submission,
        Kind.REJECTION,
        Decimal("0.00"),
        reason.strip(),
        category=category,
        waits=REJECTION_WAITS,
        by=by,
        now=now,
    )


@transaction.atomic
def overturn(*, submission: Submission, votes_count: bool = False, by: User | None, now: datetime) -> Payment:
    """Pay the reward for work that is rejected on the platform, after all.

    ``votes_count``: once the platform has carried it out, its votes count again.
    Asked again, gives the payment that there is. Raises :class:`CannotPay` for work that is not rejected, or
    that was paid in another way when the platform had refused to overturn it.
    """
    submission = lock_submission(submission)
    known = submission.payments.filter(kind=Kind.OVERTURN).exclude(state=State.FAILED).first()
    if known:
        return known
    if submission.status != Status.REJECTED:
        raise CannotPay(_("Only a rejection that the platform has carried out can be overturned."))
    if overturned_otherwise([submission.pk]).exists():
        raise CannotPay(_("This work has been paid in another way: to overturn its rejection pays it twice."))
    reward = submission.campaign.reward
    return _request(submission, Kind.OVERTURN, reward, "", votes_count=votes_count, by=by, now=now)


@transaction.atomic
def give_bonus(
    *,
    submission: Submission,
    amount: Decimal,
    reason: str,
    top_up: bool = False,
    in_place_of: Submission | None = None,
    repeats: Payment | None = None,
    token: UUID | None = None,
    by: User | None,
    now: datetime,
) -> Payment:
    """Pay something on top for a piece of work. A top-up to the hourly rate is paid once for each.

    Work that can never be approved, because it was returned or ran out of time there, can have a bonus for
    what was done of it. ``in_place_of``: other work of the person that this pays, since the platform does not
    list it. ``repeats``: the refused one that this asks for anew. ``token`` is that of the form in which it
    was asked for, which asks for one bonus, however often it is sent: asked again, gives the payment that
    there is.

    Raises :class:`CannotPay` for an amount that is no whole number of cents above zero, without a reason, for
    work that waits for a decision or was rejected, in place of work that is paid already, for a second
    top-up, and for a form that has asked for something else before.
    """
    submission = lock_submission(submission)
    asked = Payment.objects.filter(request_token=token).first() if token else None
    if asked:
        if (asked.submission_id, asked.amount, asked.reason) != (submission.pk, amount, reason.strip()):
            raise CannotPay(
                _("A bonus of %(amount)s %(currency)s was asked for with this form. Load the page again.")
                % {"amount": asked.amount, "currency": asked.currency}
            )
        return asked
    if amount <= 0 or amount != amount.quantize(CENT):
        raise CannotPay(
            _("A bonus is a number of whole cents above zero, not %(amount)s.") % {"amount": amount}
        )
    if not reason.strip():
        raise CannotPay(_("A bonus needs a reason: the person reads it."))
    decided = _decision(submission)
    is_approved = submission.status == Status.APPROVED or bool(decided and decided.kind in APPROVING)
    if not is_approved and (top_up or submission.status not in NEVER_APPROVED):
        raise CannotPay(_("A bonus is for approved work; this has not been approved."))
    if in_place_of and decision_of(in_place_of) in (Decision.APPROVED, Decision.PAID_OTHERWISE):
        raise CannotPay(_("The work that this bonus is for has been paid already."))
    kind = Kind.TOP_UP if top_up else Kind.BONUS
    if top_up and topped_up(submission).exists():
        raise CannotPay(_("This work has been topped up already."))
    return _request(
        submission,
        kind,
        amount,
        reason.strip(),
        in_place_of=in_place_of,
        repeats=repeats,
        token=token,
        by=by,
        now=now,
    )


@transaction.atomic
def ask_again(*, payment: Payment, by: User | None, now: datetime) -> Payment:
    """Ask for a payment that the platform refused once more, as a new one of the same kind and amount.

    Raises :class:`CannotPay` for one that was not refused, or that has been asked for again already.
    """
    visit = Visit.objects.filter(submission=payment.submission_id).first()
    if visit:
        lock_person(visit.enrollment_id)  # before the submission, as everywhere: a rejection locks them, too
    submission = lock_submission(payment.submission)
    payment = Payment.objects.get(pk=payment.pk)
    if not can_be_asked_again([payment]):
        raise CannotPay(_("Only what the platform refused can be asked for again, and each only once."))
    if payment.kind == Kind.APPROVAL:
        return approve(submission=submission, by=by, now=now)
    if payment.kind == Kind.OVERTURN:
        return overturn(submission=submission, votes_count=payment.votes_count, by=by, now=now)
    if payment.kind == Kind.REJECTION:
        return reject(submission=submission, reason=payment.reason, category=payment.category, by=by, now=now)
    return give_bonus(
        submission=submission,
        amount=payment.amount,
        reason=payment.reason,
        top_up=payment.kind == Kind.TOP_UP,
        in_place_of=payment.in_place_of,
        repeats=payment,
        by=by,
        now=now,
    )


def can_be_asked_again(payments: Collection[Payment]) -> set[int]:
    """Those that the platform refused and in whose place nothing newer stands, by their ids. One query.

    Of several bonuses for the same work each has its own repetition, whatever the amounts.
    """
    refused = [payment for payment in payments if payment.state == State.FAILED]
    works = {payment.submission_id for payment in refused}
    others = list(Payment.objects.filter(submission__in=works)) if works else []
    return {
        payment.pk for payment in refused if not any(_stands_in_place_of(other, payment) for other in others)
    }


def _stands_in_place_of(newer: Payment, refused: Payment) -> bool:
    if newer.repeats_id == refused.pk:
        return True
    if newer.submission_id != refused.submission_id or newer.pk <= refused.pk or refused.kind == Kind.BONUS:
        return False
    if newer.kind == Kind.OUTSIDE:  # noted for a difference, or before payments named what they repeat
        may_be = refused.kind in (*DECISIONS, Kind.TOP_UP)
        return may_be and newer.repeats_id is None and newer.amount == refused.amount
    if refused.kind in DECISIONS:
        return newer.kind in DECISIONS
    return newer.kind == refused.kind


@transaction.atomic
def withdraw_rejection(*, payment: Payment, by: User | None, now: datetime) -> Payment:
    """Take a rejection back that the platform has not carried out: the work is undecided again.

    Prolific gives people days to return their work before it is rejected. Votes that counted before it count
    again; about the others the next comparison says what is so. Raises :class:`CannotPay` for anything else
    than a rejection, and for one that is being carried out or that has been.
    """
    session = _doubted_by(payment)
    if session:  # before the submission is locked: the person comes first everywhere
        annotation_actions.confirm_session(session=session, by=by, now=now)
    lock_submission(payment.submission)
    payment = Payment.objects.select_related("submission__campaign__study").get(pk=payment.pk)
    if payment.kind != Kind.REJECTION or payment.state != State.REQUESTED:
        raise CannotPay(_("Only a rejection that has not been carried out can be taken back."))
    payment.state, payment.settled_at, payment.next_try_at = State.WITHDRAWN, now, None
    payment.save(update_fields=["state", "settled_at", "next_try_at"])
    Visit.objects.filter(submission=payment.submission_id).update(decided_by_hand=False)
    grants.let_back(submission=payment.submission, since=payment.requested_at, now=now)
    note = _("Taken back before it was carried out.")
    record_payment(payment=payment, type=Event.Type.PAYMENT_FAILED, by=by, now=now, note=note)
    return payment


@transaction.atomic
def approve_instead(*, payment: Payment, by: User | None, now: datetime) -> Payment:
    """Take a rejection back that has not been carried out, and approve the work; both or neither.

    Raises :class:`CannotPay` as :func:`withdraw_rejection` and :func:`approve` do.
    """
    withdrawn = withdraw_rejection(payment=payment, by=by, now=now)
    return approve(submission=withdrawn.submission, by=by, now=now)


@gathered()
def ask_again_for_all(*, campaign: Campaign, by: User | None, now: datetime) -> int:
    """Send everything of a campaign again that waits for better times or was refused; returns how much.

    Of what was refused, approvals and people's qualifications: those harm nobody. Bonuses and rejections that
    were refused are for somebody to look at one by one. Who has been forgotten cannot be paid any more.
    """
    number = send_waiting(campaign=campaign) + grants.ask_again(campaign=campaign, now=now)
    refused = Payment.objects.filter(
        submission__campaign=campaign,
        submission__annotator__erased_at=None,
        kind=Kind.APPROVAL,
        state=State.FAILED,
    ).select_related("submission")
    for payment in refused:
        if can_be_asked_again([payment]):
            ask_again(payment=payment, by=by, now=now)
            number += 1
    return number


def _doubted_by(rejection: Payment) -> WorkSession | None:
    """The session whose votes counted until this rejection."""
    session = WorkSession.objects.filter(
        visit__submission=rejection.submission_id,
        state=WorkSession.State.DOUBTED,
        settled_at=rejection.requested_at,
    ).first()
    if session is None:
        return None
    confirmed = session.enrollment.events.filter(
        type=Event.Type.WORK_CONFIRMED, subject=f"work session {session.pk}"
    )
    return session if confirmed.exists() else None


def _decision(submission: Submission) -> Payment | None:
    return standing_decisions(submission).first()


def _check_handed_in(submission: Submission) -> None:
    if submission.status not in (Status.SUBMITTED, Status.APPROVED, Status.REJECTED):
        raise CannotPay(
            _("This work is %(status)s on the platform, so it cannot be decided.")
            % {"status": submission.get_status_display()}
        )


def _request(
    submission: Submission,
    kind: Payment.Kind,
    amount: Decimal,
    reason: str,
    *,
    category: str = "",
    in_place_of: Submission | None = None,
    repeats: Payment | None = None,
    token: UUID | None = None,
    waits: timedelta | None = None,
    votes_count: bool = False,
    by: User | None,
    now: datetime,
) -> Payment:
    """``waits``: so long it is not sent."""
    try:
        with transaction.atomic():
            payment = Payment.objects.create(
                submission=submission,
                in_place_of=in_place_of,
                repeats=repeats,
                kind=kind,
                amount=amount,
                currency=submission.campaign.currency,
                reason=reason,
                category=category,
                votes_count=votes_count,
                request_token=token or uuid4(),
                requested_by=by,
                requested_at=now,
                next_try_at=now + waits if waits else None,
            )
    except IntegrityError as error:
        raise CannotPay(_("This has been decided or paid already.")) from error
    record_payment(payment=payment, type=Event.Type.PAYMENT_REQUESTED, by=by, now=now, note=reason)
    soon(SEND_TASK, submission.campaign_id, after=int(waits.total_seconds()) + 1 if waits else 0)
    return payment
