"""Overturning a rejection: the work is paid after all, and its votes may count again.

They do as soon as the platform has carried it out: what is not paid is not used.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from recruitment.actions import sending
from recruitment.actions.differences import close_difference, lock_open
from recruitment.actions.grants import let_back
from recruitment.actions.payments import overturn
from recruitment.actions.settling import lock_visit, take_step
from recruitment.errors import CannotPay
from recruitment.marketplace import Marketplace
from recruitment.models import Difference, Payment, Submission, Visit
from recruitment.reconciliation import queries
from recruitment.reconciliation.plan import accepted


@transaction.atomic
def overturn_rejection(
    *, submission: Submission, votes_count: bool, by: User | None, now: datetime
) -> Payment:
    """Have the platform pay work that was rejected there, by us or by somebody on its own pages.

    ``votes_count``: once it is carried out its votes count again as far as their slots are still free, and
    who passed the test in it belongs to the group again. Raises ``CannotPay`` for work that is not rejected
    there.
    """
    known = Visit.objects.filter(submission=submission).first()
    _visit, work = lock_visit(known.pk) if known else (None, submission)
    return overturn(submission=work or submission, votes_count=votes_count, by=by, now=now)


@transaction.atomic
def overturn_for_difference(
    *, difference: Difference, how: str, by: User | None, now: datetime
) -> Difference:
    """The same for the work that a difference is about, with its votes, and settle it; both or neither."""
    difference, _visit, work = lock_open(difference)
    if work is None:
        raise CannotPay(_("The platform does not list this work, so it cannot be decided there."))
    overturn_rejection(submission=work, votes_count=True, by=by, now=now)
    return close_difference(difference=difference, how=how, by=by, now=now)


def send_payment(*, payment_id: int, marketplace: Marketplace, now: datetime) -> Payment | None:
    """Have the platform carry a payment out, as ``recruitment.actions.sending.send_payment`` does.

    When it has overturned a rejection so, the votes of the work count if that was wanted.
    """
    return sending.send_payment(
        payment_id=payment_id, marketplace=marketplace, when_done=_let_votes_count, now=now
    )


def _let_votes_count(payment: Payment, now: datetime) -> None:
    for rejection in payment.submission.payments.filter(kind=Payment.Kind.REJECTION):
        let_back(submission=payment.submission, since=rejection.requested_at, now=now)
    known = Visit.objects.filter(submission=payment.submission_id).first()
    if known:
        visit, work = lock_visit(known.pk)
        assert visit.campaign is not None  # the platform lists work for campaigns alone
        for step in accepted(queries.here(visit)):
            take_step(step, visit, work, visit.campaign, by=payment.requested_by, now=now)
        Visit.objects.filter(pk=visit.pk).update(decided_by_hand=True)
