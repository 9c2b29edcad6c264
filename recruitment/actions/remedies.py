"""Paying somebody whose work cannot be approved: by a bonus, or in another way that is written down here.

What was paid in another way is a payment that no platform hears of: it counts among what was paid.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.models import Event
from recruitment.actions.differences import accept_by_hand, close_difference, lock_open
from recruitment.actions.payments import CENT, can_be_asked_again, give_bonus
from recruitment.actions.sending import lock_submission, record_payment
from recruitment.errors import CannotPay
from recruitment.models import Difference, Payment, Submission, Visit
from recruitment.reconciliation.cases import cases_of, other_approved_work
from recruitment.reconciliation.remedies import Way, ways_of


@transaction.atomic
def pay_for_difference(
    *,
    difference: Difference,
    way: Way,
    amount: Decimal,
    reason: str,
    votes_count: bool,
    by: User,
    now: datetime,
) -> Payment:
    """Pay for work that cannot be approved, in a way that is open to it, and settle the difference.

    ``votes_count``: its votes count from now on, too. Raises :class:`CannotPay` for a way that is not open or
    an amount that cannot be paid, and ``CannotSettle`` when somebody else has dealt with it; then nothing is
    changed.
    """
    difference, visit, work = lock_open(difference)
    if visit is None or way not in ways_of(cases_of([difference])[difference.pk]):
        raise CannotPay(_("This work cannot be paid like that. Nothing was changed."))
    if votes_count:
        accept_by_hand(visit=visit, work=work, by=by, now=now)
    work = work or _not_listed(visit, now=now)
    if way == Way.OUTSIDE:
        payment = _note_outside(work, amount, reason, by=by, now=now)
    elif way == Way.BONUS:
        payment = give_bonus(submission=work, amount=amount, reason=reason, by=by, now=now)
    else:
        other = other_approved_work(difference)
        assert other is not None  # or the way would not be open
        payment = give_bonus(submission=other, amount=amount, reason=reason, in_place_of=work, by=by, now=now)
    close_difference(difference=difference, how=reason, by=by, now=now)
    return payment


@transaction.atomic
def note_paid_outside(*, payment: Payment, reason: str, by: User, now: datetime) -> Payment:
    """Write down that what the platform refused to pay was paid in another way, and how.

    Raises :class:`CannotPay` for what was not refused, has been asked for again, or pays nothing.
    """
    submission = lock_submission(payment.submission)
    payment = Payment.objects.get(pk=payment.pk)
    if payment.kind == Payment.Kind.REJECTION or not can_be_asked_again([payment]):
        raise CannotPay(_("Only what the platform refused to pay can be paid in another way, and only once."))
    return _note_outside(submission, payment.amount, reason, repeats=payment, by=by, now=now)


def _not_listed(visit: Visit, *, now: datetime) -> Submission:
    """The piece of work of a visit that the platform has never listed; should it ever, it is this one."""
    assert visit.campaign is not None  # a difference is about a visit for a campaign
    work, _made = Submission.objects.get_or_create(
        platform=visit.platform,
        environment=visit.environment,
        hit_assignment=visit.hit_assignment,
        annotator=visit.enrollment.annotator,
        defaults={
            "campaign": visit.campaign,
            "posting": visit.posting,
            "visit": visit,
            "status": Submission.Status.UNKNOWN,
            "seen_at": now,
        },
    )
    return work


def _note_outside(
    submission: Submission,
    amount: Decimal,
    reason: str,
    *,
    repeats: Payment | None = None,
    by: User,
    now: datetime,
) -> Payment:
    if amount <= 0 or amount != amount.quantize(CENT):
        raise CannotPay(
            _("What was paid is a number of whole cents above zero, not %(amount)s.") % {"amount": amount}
        )
    if not reason.strip():
        raise CannotPay(_("Say how the person was paid, and why not by the platform."))
    payment = Payment.objects.create(
        submission=submission,
        repeats=repeats,
        kind=Payment.Kind.OUTSIDE,
        state=Payment.State.DONE,
        amount=amount,
        currency=submission.campaign.currency,
        reason=reason.strip(),
        requested_by=by,
        requested_at=now,
        settled_at=now,
    )
    for type in (Event.Type.PAYMENT_REQUESTED, Event.Type.PAYMENT_SENT):
        record_payment(payment=payment, type=type, by=by, now=now, note=payment.reason)
    return payment
