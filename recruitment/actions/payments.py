"""Money and decisions about work: written first, sent after, never twice.

A payment is a row before the platform hears of it. One worker at a time sends it, outside of any
transaction; what the platform answers is written down in another. A worker that dies in between leaves
the row as being sent, and it is sent again with the same token, after a look at what has happened.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _

from accounts.models import PlatformIdentity, User
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event
from recruitment.errors import CannotPay
from recruitment.marketplace import (
    BonusRequest,
    Marketplace,
    MarketplaceError,
    Refused,
    Status,
    Unreachable,
)
from recruitment.models import Campaign, Payment, Submission, Visit
from recruitment.queueing import soon
from recruitment.reconciliation.queries import hourly_pay_of, to_approve, to_top_up

Kind = Payment.Kind
State = Payment.State
SENDING = timedelta(minutes=5)
"""Longer than any call of a platform takes, with its repetitions."""
SEND_TASK = "recruitment.tasks.send_payment"
CENT = Decimal("0.01")
BONUSES = (Kind.BONUS, Kind.TOP_UP)
DECISIONS = (Kind.APPROVAL, Kind.REJECTION)


@transaction.atomic
def approve(*, submission: Submission, by: User | None, now: datetime) -> Payment:
    """Pay the campaign's reward for a piece of work. Asked again, gives the payment that there is.

    Raises :class:`CannotPay` for work that was rejected, or that was never handed in.
    """
    submission = _lock(submission)
    decided = _decision(submission)
    if decided and decided.kind == Kind.APPROVAL:
        return decided
    if decided:
        raise CannotPay(_("This work has been rejected, so it cannot be approved."))
    _check_handed_in(submission)
    reward = submission.campaign.reward
    return _request(submission, Kind.APPROVAL, reward, "", by=by, now=now)


@transaction.atomic
def reject(
    *, submission: Submission, reason: str, category: str = "", by: User | None, now: datetime
) -> Payment:
    """Pay nothing for a piece of work, and tell the person why.

    It harms their record on the platform, and its votes do not count any more: what is not paid is not
    used. What is poor can be accepted without counting it instead. Raises :class:`CannotPay` without a
    reason, or for work that has been decided already.
    """
    if not reason.strip():
        raise CannotPay(_("A rejection needs a reason: the person reads it, and may complain about it."))
    visit = Visit.objects.select_related("session").filter(submission=submission).first()
    if visit and visit.session:  # before the submission is locked: the person comes first everywhere
        annotation_actions.doubt_session(session=visit.session, reason=reason.strip(), by=by, now=now)
    submission = _lock(submission)
    if _decision(submission):
        raise CannotPay(_("This work has been decided already."))
    _check_handed_in(submission)
    return _request(
        submission, Kind.REJECTION, Decimal("0.00"), reason.strip(), category=category, by=by, now=now
    )


@transaction.atomic
def give_bonus(
    *,
    submission: Submission,
    amount: Decimal,
    reason: str,
    top_up: bool = False,
    by: User | None,
    now: datetime,
) -> Payment:
    """Pay something on top for a piece of work. A top-up to the hourly rate is paid once for each.

    Raises :class:`CannotPay` for an amount that is no whole number of cents above zero, without a reason,
    for work that is not approved, and for a second top-up.
    """
    submission = _lock(submission)
    if amount <= 0 or amount != amount.quantize(CENT):
        raise CannotPay(
            _("A bonus is a number of whole cents above zero, not %(amount)s.") % {"amount": amount}
        )
    if not reason.strip():
        raise CannotPay(_("A bonus needs a reason: the person reads it."))
    decided = _decision(submission)
    if submission.status != Status.APPROVED and not (decided and decided.kind == Kind.APPROVAL):
        raise CannotPay(_("A bonus is for approved work; this has not been approved."))
    kind = Kind.TOP_UP if top_up else Kind.BONUS
    if top_up and submission.payments.filter(kind=kind).exclude(state=State.FAILED).exists():
        raise CannotPay(_("This work has been topped up already."))
    return _request(submission, kind, amount, reason.strip(), by=by, now=now)


def approve_waiting(*, campaign: Campaign, by: User | None, now: datetime) -> list[Payment]:
    """Approve all work of a campaign whose visit is confirmed and that nobody has decided yet."""
    return [approve(submission=work, by=by, now=now) for work in to_approve(campaign)]


def top_up(*, campaign: Campaign, by: User | None, now: datetime) -> list[Payment]:
    """Pay everybody whose work was approved what is missing to the study's hourly rate, once for each.

    What is missing follows from the median time of the campaign's own work. Raises :class:`CannotPay` when
    nothing is, or when too little work has been done to say.
    """
    found = hourly_pay_of(campaign)
    if found is None:
        raise CannotPay(_("Too little work has been confirmed to say how long it takes."))
    if not found.top_up:
        raise CannotPay(_("Nothing is missing: the work paid at least the study’s hourly rate."))
    reason = _("The work took longer than we had thought. This makes it %(rate)s %(currency)s per hour.") % {
        "rate": found.target,
        "currency": campaign.currency,
    }
    return [
        give_bonus(submission=work, amount=found.top_up, reason=reason, top_up=True, by=by, now=now)
        for work in to_top_up(campaign)
    ]


@transaction.atomic
def ask_again(*, payment: Payment, by: User | None, now: datetime) -> Payment:
    """Ask for a payment that the platform refused once more, as a new one of the same kind and amount.

    Raises :class:`CannotPay` for one that was not refused, or that has been asked for again already.
    """
    submission = _lock(payment.submission)
    payment = Payment.objects.get(pk=payment.pk)
    if not can_be_asked_again(payment):
        raise CannotPay(_("Only what the platform refused can be asked for again, and each only once."))
    if payment.kind == Kind.APPROVAL:
        return approve(submission=submission, by=by, now=now)
    if payment.kind == Kind.REJECTION:
        return reject(submission=submission, reason=payment.reason, category=payment.category, by=by, now=now)
    return give_bonus(
        submission=submission,
        amount=payment.amount,
        reason=payment.reason,
        top_up=payment.kind == Kind.TOP_UP,
        by=by,
        now=now,
    )


def can_be_asked_again(payment: Payment) -> bool:
    """Whether the platform refused it, and nothing newer stands in its place."""
    if payment.state != State.FAILED:
        return False
    kinds = DECISIONS if payment.kind in DECISIONS else (payment.kind,)
    newer = Payment.objects.filter(submission=payment.submission_id, kind__in=kinds, pk__gt=payment.pk)
    return not (newer.filter(amount=payment.amount) if payment.kind == Kind.BONUS else newer).exists()


@transaction.atomic
def claim_payment(*, payment_id: int, now: datetime) -> Payment | None:
    """Take a payment to send it; None when it is settled, or another worker is sending it.

    Nobody else takes it for :data:`SENDING` from now on, or until it has been given back.
    """
    payment = Payment.objects.select_related("submission").get(pk=payment_id)
    submission = _lock(payment.submission)
    others = _bonuses(submission).filter(state=State.SENDING).exclude(pk=payment_id)
    if payment.kind in BONUSES and others.exists():
        return None  # one at a time: a platform without tokens tells them apart by nothing but their number
    free = Q(sending_until=None) | Q(sending_until__lte=now)
    claimed = Payment.objects.filter(free, pk=payment_id, state__in=[State.REQUESTED, State.SENDING]).update(
        state=State.SENDING, tries=F("tries") + 1, sending_until=now + SENDING
    )
    if not claimed:
        return None
    Payment.objects.filter(pk=payment_id, first_sent_at=None).update(first_sent_at=now)
    return Payment.objects.select_related("submission__campaign__study").get(pk=payment_id)


def send_payment(*, payment_id: int, marketplace: Marketplace, now: datetime) -> Payment | None:
    """Have the platform carry a payment out, once; None when there is nothing (more) to send.

    Raises ``Unreachable`` when the platform did not answer; the payment is then sent again later.
    """
    payment = claim_payment(payment_id=payment_id, now=now)
    if payment is None:
        return None
    try:
        _carry_out(payment, marketplace)
    except Unreachable as error:
        _give_back(payment, error)
        raise
    except MarketplaceError as error:
        return _settle(payment, State.FAILED, problem=str(error), now=now)
    return _settle(payment, State.DONE, problem="", now=now)


def _carry_out(payment: Payment, marketplace: Marketplace) -> None:
    work = payment.submission.hit_assignment
    person = person_of(payment.submission)
    if payment.kind == Kind.APPROVAL:
        marketplace.approve(work, person=person)
    elif payment.kind == Kind.REJECTION:
        marketplace.reject(work, person=person, reason=payment.reason, category=payment.category)
    else:
        _pay_bonus(payment, work, person, marketplace)


def _pay_bonus(payment: Payment, work: str, person: str, marketplace: Marketplace) -> None:
    assert payment.first_sent_at is not None
    others = _bonuses(payment.submission).filter(amount=payment.amount).exclude(pk=payment.pk)
    request = BonusRequest(
        hit_assignment=work,
        person=person,
        amount=payment.amount,
        reason=payment.reason,
        token=payment.request_token,
        first_sent_at=payment.first_sent_at,
        remote_id=payment.remote_id,
        maybe_paid=payment.tries > 1,
        same_amount_paid=others.filter(state=State.DONE).count(),
    )
    if not request.remote_id:
        # Stored before anything is paid, so that whoever goes on pays this one and makes no other. What
        # has only now been made was not paid by an earlier try.
        prepared = marketplace.prepare_bonus(request)
        request = replace(request, remote_id=prepared, maybe_paid=request.maybe_paid and not prepared)
        Payment.objects.filter(pk=payment.pk).update(remote_id=prepared)
    marketplace.bonus(request)


def person_of(submission: Submission) -> str:
    """The platform's id of whose work it is. Raises ``Refused`` for somebody who has been forgotten."""
    identity = PlatformIdentity.objects.filter(
        annotator=submission.annotator_id,
        platform=submission.platform,
        environment=submission.environment,
    ).first()
    if identity is None:
        raise Refused(
            _("Who did this has been forgotten, as they asked, so it can only be decided on the platform.")
        )
    return identity.person


def due_payments(*, now: datetime) -> list[int]:
    """The payments that are to be sent, or whose sending was cut off; the oldest first."""
    free = Q(sending_until=None) | Q(sending_until__lte=now)
    waiting = Payment.objects.filter(free, state__in=[State.REQUESTED, State.SENDING]).order_by("pk")
    return list(waiting.values_list("pk", flat=True))


@transaction.atomic
def _give_back(payment: Payment, error: Unreachable) -> None:
    """Let it be sent again: as for the first time, if the platform certainly did not do it.

    That it was not done this time says nothing about an earlier one of which nobody knows what came of it.
    """
    changes: dict[str, Any] = {"sending_until": None, "problem": str(error)}
    if not error.maybe_done and payment.tries == 1:
        changes |= {"state": State.REQUESTED, "tries": 0, "first_sent_at": None}
    Payment.objects.filter(pk=payment.pk, state=State.SENDING).update(**changes)


@transaction.atomic
def _settle(payment: Payment, state: Payment.State, *, problem: str, now: datetime) -> Payment:
    payment = Payment.objects.select_for_update(of=("self",), no_key=True).get(pk=payment.pk)
    if payment.state != State.SENDING:
        return payment
    payment.state, payment.problem, payment.settled_at, payment.sending_until = state, problem, now, None
    payment.save(update_fields=["state", "problem", "settled_at", "sending_until"])
    type = Event.Type.PAYMENT_SENT if state == State.DONE else Event.Type.PAYMENT_FAILED
    _record(payment, type, by=None, now=now, note=problem)
    return payment


def _lock(submission: Submission) -> Submission:
    return (
        Submission.objects.select_for_update(of=("self",), no_key=True)
        .select_related("campaign__study")
        .get(pk=submission.pk)
    )


def _bonuses(submission: Submission) -> QuerySet[Payment]:
    return Payment.objects.filter(submission=submission, kind__in=BONUSES)


def _decision(submission: Submission) -> Payment | None:
    return submission.payments.filter(kind__in=DECISIONS).exclude(state=State.FAILED).first()


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
    by: User | None,
    now: datetime,
) -> Payment:
    try:
        with transaction.atomic():
            payment = Payment.objects.create(
                submission=submission,
                kind=kind,
                amount=amount,
                currency=submission.campaign.currency,
                reason=reason,
                category=category,
                requested_by=by,
                requested_at=now,
            )
    except IntegrityError as error:
        raise CannotPay(_("This has been decided or paid already.")) from error
    _record(payment, Event.Type.PAYMENT_REQUESTED, by=by, now=now, note=reason)
    soon(SEND_TASK, payment.pk)
    return payment


def _record(payment: Payment, type: Event.Type, *, by: User | None, now: datetime, note: str = "") -> None:
    submission = payment.submission
    enrollment = Enrollment.objects.filter(
        study=submission.campaign.study_id, annotator=submission.annotator_id
    ).first()
    annotation_actions.record_event(
        study=submission.campaign.study,
        type=type,
        by=by,
        enrollment=enrollment,
        now=now,
        subject=f"{payment.kind} {payment.pk} of {payment.amount} {payment.currency}",
        note=note,
    )
