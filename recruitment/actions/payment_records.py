"""Locking submissions and logging payments: what every action about money begins and ends with."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.models import User, locked
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event
from annotation.sql import lock_person
from recruitment.errors import CannotPay
from recruitment.models import Payment, Submission, Visit
from recruitment.queue import SEND_TASK, queue_soon


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
    """Record a payment that is never sent, since it was made without us or in another way."""
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
