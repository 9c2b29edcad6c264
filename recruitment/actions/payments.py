"""Payments and decisions about submissions: recorded first, sent after, never twice.

A payment is a row first. ``recruitment.actions.payment_delivery`` then sends it to the platform.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.models import User, locked
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event, WorkSession
from annotation.rules import CENT
from annotation.sql import lock_person
from recruitment.actions import grants
from recruitment.errors import CannotPay
from recruitment.marketplace import NEVER_APPROVED, Status
from recruitment.models import Payment, Submission, Visit
from recruitment.queue import SEND_TASK, queue_soon
from recruitment.reconciliation import queries
from recruitment.reconciliation.plan import Decision

Kind = Payment.Kind
State = Payment.State
REJECTION_WAITS = timedelta(minutes=10)
"""Time to undo a rejection before the platform is told: a rejection harms the participant's record."""
DECIDED_BY_PLATFORM = "The platform paid it without us: on its own pages, or by its clock."


def lock_submission(submission: Submission) -> Submission:
    """Lock and return a submission, so that decisions and payments for it take turns."""
    return locked(submission, "campaign__study")


def lock_with_person(submission: Submission) -> Submission:
    """Lock whoever did the work, then the submission, as everywhere; return it."""
    visit = Visit.objects.filter(submission=submission).first()
    if visit:
        lock_person(visit.enrollment_id)
    return lock_submission(submission)


def request_payment(*, payment: Payment, waits: timedelta | None = None) -> Payment:
    """Record a new payment in the campaign's currency and queue it, after ``waits`` if given.

    Raise :class:`CannotPay` where the database knows a decision or payment that excludes it.
    """
    campaign = payment.submission.campaign
    payment.currency = campaign.currency
    payment.next_try_at = payment.requested_at + waits if waits else None
    try:
        with transaction.atomic():
            payment.save(force_insert=True)
    except IntegrityError as error:
        raise CannotPay(_("This was already decided or paid.")) from error
    by, now = payment.requested_by, payment.requested_at
    record_payments([payment], Event.Type.PAYMENT_REQUESTED, by=by, now=now, note=payment.reason)
    queue_soon(SEND_TASK, campaign.pk, after=int(waits.total_seconds()) + 1 if waits else 0)
    return payment


def record_done(*, payment: Payment, note: str) -> Payment:
    """Record a payment that is never sent, since it was made without us or outside the platform."""
    payment.currency = payment.submission.campaign.currency
    payment.state, payment.settled_at = Payment.State.DONE, payment.requested_at
    payment.save(force_insert=True)
    for type in (Event.Type.PAYMENT_REQUESTED, Event.Type.PAYMENT_SENT):
        record_payments([payment], type, by=payment.requested_by, now=payment.requested_at, note=note)
    return payment


def record_payments(
    payments: Sequence[Payment], type: Event.Type, *, by: User | None, now: datetime, note: str
) -> None:
    """Log the outcomes of payments of one campaign, at least one, with one note."""
    study = payments[0].submission.campaign.study
    annotators = [payment.submission.annotator_id for payment in payments]
    places = Enrollment.objects.filter(study=study, annotator__in=annotators)
    by_annotator = {place.annotator_id: place for place in places}
    rows = [
        (place, f"{payment.kind} {payment.pk} of {payment.amount} {payment.currency}", note)
        for payment in payments
        for place in [by_annotator.get(payment.submission.annotator_id)]
    ]
    annotation_actions.record_events(study=study, type=type, by=by, now=now, rows=rows)


@transaction.atomic
def approve(*, submission: Submission, by: User | None, now: datetime) -> Payment:
    """Pay the campaign's reward for a submission. Asked again, return the payment that there is.

    Raise :class:`CannotPay` for work that was rejected, or that was never handed in.
    """
    submission = lock_submission(submission)
    decided = _decision(submission)
    if decided and decided.kind in queries.APPROVING:
        return decided
    if decided:
        raise CannotPay(
            _("This submission was rejected, so it cannot be approved. Undo or overturn the rejection first.")
        )
    _check_handed_in(submission)
    return request_payment(
        payment=_new(submission, Kind.APPROVAL, submission.campaign.reward, by=by, now=now)
    )


@transaction.atomic
def record_platform_payment(*, submission: Submission, now: datetime) -> Payment:
    """Record that the platform paid the reward without us: on its own pages, or by its clock.

    Nothing is sent. Its row must be locked, and no approval may stand.
    """
    campaign = submission.campaign
    is_screened = submission.status == Status.SCREENED_OUT
    reward = (campaign.screen_out_reward if is_screened else None) or campaign.reward
    payment = _new(submission, Kind.APPROVAL, reward, by=None, now=now, decided_by_platform=True)
    return record_done(payment=payment, note=DECIDED_BY_PLATFORM)


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
    """Pay nothing for a submission, and tell the person why.

    A rejection harms their record on the platform, and the submission's votes do not count any more: what is
    not paid is not used. Poor work can be approved and excluded from the data instead. With ``leave_group``
    a person who passed the test in this submission also leaves the group of those who passed. The platform
    is told after :data:`REJECTION_WAITS`.

    Raise :class:`CannotPay` without a reason, or for work that has been decided already.
    """
    if not reason.strip():
        raise CannotPay(_("A rejection needs a reason: the participant reads it and may object."))
    visit = Visit.objects.select_related("session").filter(submission=submission).first()
    if visit and visit.session:  # before the submission is locked: the person comes first everywhere
        annotation_actions.doubt_session(session=visit.session, reason=reason.strip(), by=by, now=now)
        Visit.objects.filter(pk=visit.pk).update(decided_manually=True)
    submission = lock_submission(submission)
    if _decision(submission):
        raise CannotPay(_("This submission was already decided."))
    _check_handed_in(submission)
    if leave_group:
        grants.leave_group(submission=submission, by=by, now=now)
    rejection = _new(submission, Kind.REJECTION, Decimal("0.00"), reason, by=by, now=now, category=category)
    return request_payment(payment=rejection, waits=REJECTION_WAITS)


@transaction.atomic
def overturn_rejection(
    *, submission: Submission, votes_count: bool, by: User | None, now: datetime
) -> Payment:
    """Pay the reward for work that was rejected there, by us or by somebody on the platform's own pages.

    ``votes_count``: once the platform has carried it out, its votes count again as far as their slots are
    free, and a person who passed the test in it belongs to the group again. Return the payment that there is
    if asked again. Raise :class:`CannotPay` for work that is not rejected, or that was paid outside the
    platform when that had refused to overturn it.
    """
    submission = lock_with_person(submission)
    known = submission.payments.filter(kind=Kind.OVERTURN).exclude(state=State.FAILED).first()
    if known:
        return known
    if submission.status != Status.REJECTED:
        raise CannotPay(_("Only a rejection that the platform has carried out can be overturned."))
    if queries.overturned_outside([submission.pk]).exists():
        message = _(
            "This submission was already paid outside the platform. Overturning the rejection would "
            "pay it twice."
        )
        raise CannotPay(message)
    reward = submission.campaign.reward
    payment = _new(submission, Kind.OVERTURN, reward, by=by, now=now, votes_count=votes_count)
    return request_payment(payment=payment)


@transaction.atomic
def give_bonus(
    *,
    submission: Submission,
    amount: Decimal,
    reason: str,
    top_up: bool = False,
    pays_for: Submission | None = None,
    repeats: Payment | None = None,
    token: UUID | None = None,
    by: User | None,
    now: datetime,
) -> Payment:
    """Pay a bonus for a submission. A top-up to the hourly rate is paid once for each.

    Work that can never be approved, because it was returned or ran out of time there, can have a bonus for
    what was done of it. ``pays_for``: other work of the person that this pays, since the platform does not
    list it. ``repeats``: the refused payment that this one retries. ``token``: the form's idempotency token;
    a second request with it returns the existing payment.

    Raise :class:`CannotPay` for an amount that is no whole number of cents above zero, without a reason, for
    work that waits for a decision or was rejected, in place of work that is paid already, for a second
    top-up, and for a form that has asked for something else before.
    """
    submission = lock_submission(submission)
    asked = Payment.objects.filter(request_token=token).first() if token else None
    if asked:
        if (asked.submission_id, asked.amount, asked.reason) != (submission.pk, amount, reason.strip()):
            message = _(
                "This form has already requested a bonus of %(amount)s %(currency)s. Reload the page."
            )
            raise CannotPay(message % {"amount": asked.amount, "currency": asked.currency})
        return asked
    _check_amount(amount)
    if not reason.strip():
        raise CannotPay(_("A bonus needs a reason: the participant reads it."))
    decided = _decision(submission)
    is_approved = submission.status == Status.APPROVED or bool(decided and decided.kind in queries.APPROVING)
    if not is_approved and (top_up or submission.status not in NEVER_APPROVED):
        raise CannotPay(_("You can pay a bonus only for an approved submission."))
    if pays_for and queries.decision_of(pays_for) in (Decision.APPROVED, Decision.PAID_OTHERWISE):
        raise CannotPay(_("The submission that this bonus is for was already paid."))
    if top_up and queries.topped_up(submission).exists():
        raise CannotPay(_("This submission was already topped up."))
    kind = Kind.TOP_UP if top_up else Kind.BONUS
    links = {"pays_for": pays_for, "repeats": repeats, "request_token": token or uuid4()}
    return request_payment(payment=_new(submission, kind, amount, reason, by=by, now=now, **links))


@transaction.atomic
def withdraw_rejection(*, payment: Payment, by: User | None, now: datetime) -> Payment:
    """Withdraw a rejection that the platform has not carried out: the submission is undecided again.

    Prolific gives people days to return their work before it is rejected. Votes that counted before it count
    again; about the others the next comparison says what is so. Raise :class:`CannotPay` for anything else
    than a rejection, and for one that is being carried out or that has been.
    """
    session = _doubted_by(payment)
    if session:  # before the submission is locked: the person comes first everywhere
        annotation_actions.confirm_session(session=session, by=by, now=now)
    lock_submission(payment.submission)
    payment = Payment.objects.select_related("submission__campaign__study").get(pk=payment.pk)
    if payment.kind != Kind.REJECTION or payment.state != State.REQUESTED:
        raise CannotPay(_("You can undo a rejection only until the platform carries it out."))
    payment.state, payment.settled_at, payment.next_try_at = State.WITHDRAWN, now, None
    payment.save(update_fields=["state", "settled_at", "next_try_at"])
    Visit.objects.filter(submission=payment.submission_id).update(decided_manually=False)
    grants.rejoin_group(submission=payment.submission, since=payment.requested_at, now=now)
    note = _("Undone before it was carried out.")
    record_payments([payment], Event.Type.PAYMENT_FAILED, by=by, now=now, note=note)
    return payment


@transaction.atomic
def approve_instead(*, payment: Payment, by: User | None, now: datetime) -> Payment:
    """Withdraw a rejection that has not been carried out, and approve the submission; both or neither.

    Raise :class:`CannotPay` as :func:`withdraw_rejection` and :func:`approve` do.
    """
    withdrawn = withdraw_rejection(payment=payment, by=by, now=now)
    return approve(submission=withdrawn.submission, by=by, now=now)


@transaction.atomic
def retry_payment(*, payment: Payment, by: User | None, now: datetime) -> Payment:
    """Repeat a payment that the platform refused, as a new one of the same kind and amount.

    Raise :class:`CannotPay` if it was not refused, or has been repeated already.
    """
    submission = lock_with_person(payment.submission)
    refused = Payment.objects.filter(pk=payment.pk).retryable().first()
    if refused is None:
        raise CannotPay(_("You can retry only a payment that the platform refused, and only once."))
    if refused.kind == Kind.APPROVAL:
        return approve(submission=submission, by=by, now=now)
    if refused.kind == Kind.OVERTURN:
        return overturn_rejection(submission=submission, votes_count=refused.votes_count, by=by, now=now)
    if refused.kind == Kind.REJECTION:
        return reject(submission=submission, reason=refused.reason, category=refused.category, by=by, now=now)
    return give_bonus(
        submission=submission,
        amount=refused.amount,
        reason=refused.reason,
        top_up=refused.kind == Kind.TOP_UP,
        pays_for=refused.pays_for,
        repeats=refused,
        by=by,
        now=now,
    )


@transaction.atomic
def record_external_payment(*, payment: Payment, reason: str, by: User, now: datetime) -> Payment:
    """Record that a payment which the platform refused was made outside it, and how.

    Raise :class:`CannotPay` for what was not refused, has been asked for again, or pays nothing.
    """
    submission = lock_submission(payment.submission)
    refused = Payment.objects.filter(pk=payment.pk).exclude(kind=Payment.Kind.REJECTION).retryable().first()
    if refused is None:
        message = _(
            "You can record an outside payment only for a payment that the platform refused, and only once."
        )
        raise CannotPay(message)
    return record_outside(submission, refused.amount, reason, repeats=refused, by=by, now=now)


def record_outside(
    submission: Submission,
    amount: Decimal,
    reason: str,
    *,
    repeats: Payment | None = None,
    by: User,
    now: datetime,
) -> Payment:
    """Record that work was paid outside its platform, and how. Its row must be locked."""
    _check_amount(amount)
    if not reason.strip():
        raise CannotPay(_("Say how the participant was paid, and why not through the platform."))
    payment = _new(submission, Kind.OUTSIDE, amount, reason, by=by, now=now, repeats=repeats)
    return record_done(payment=payment, note=payment.reason)


def _doubted_by(rejection: Payment) -> WorkSession | None:
    """Return the session whose votes counted until this rejection."""
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
    return submission.payments.standing().order_by("-decided_by_platform", "-pk").first()


def _check_handed_in(submission: Submission) -> None:
    if submission.status not in (Status.SUBMITTED, Status.APPROVED, Status.REJECTED):
        message = _("This submission is %(status)s on the platform, so you cannot decide it.")
        raise CannotPay(message % {"status": submission.get_status_display()})


def _check_amount(amount: Decimal) -> None:
    if amount <= 0 or amount != amount.quantize(CENT):
        raise CannotPay(
            _("An amount is in whole cents and above zero; %(amount)s is not.") % {"amount": amount}
        )


def _new(
    submission: Submission,
    kind: Payment.Kind,
    amount: Decimal,
    reason: str = "",
    *,
    by: User | None,
    now: datetime,
    **more: Any,
) -> Payment:
    values = {"kind": kind, "amount": amount, "reason": reason.strip()} | more
    return Payment(submission=submission, requested_by=by, requested_at=now, **values)
