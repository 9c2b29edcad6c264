"""Pay all waiting submissions of a campaign at once, and send again what was refused."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.models import Event
from recruitment.actions.campaign_lifecycle import record_change
from recruitment.actions.grants import retry_grants
from recruitment.actions.payments import record_payments, retry_payment
from recruitment.errors import CannotPay
from recruitment.models import Campaign, Payment, Submission
from recruitment.pay import hourly_pay_of
from recruitment.queue import SEND_TASK, queue_once, queue_soon
from recruitment.reconciliation.queries import to_approve, to_top_up

BATCH = 500
"""Payments in one transaction: their submissions are locked until it ends."""


def approve_all(*, campaign: Campaign, by: User | None, now: datetime) -> int:
    """Approve every undecided submission whose visit is confirmed; return how many.

    Raise :class:`CannotPay` when nothing waits.
    """
    approval = {"kind": Payment.Kind.APPROVAL, "amount": campaign.reward}
    number = _pay_all(campaign, to_approve(campaign), approval | {"requested_by": by, "requested_at": now})
    if not number:
        raise CannotPay(_("No confirmed submission waits for a decision."))
    return number


def top_up_all(*, campaign: Campaign, by: User | None, now: datetime) -> int:
    """Pay what is missing to the study's hourly rate for approved work, once for each; return for how many.

    What is missing follows from the median time of the campaign's own work as it is now. Raise
    :class:`CannotPay` when nothing is missing, or when too little work has been done to say.
    """
    found = hourly_pay_of(campaign)
    if found is None:
        raise CannotPay(_("Too few submissions are confirmed to say how long the work takes."))
    reason = _(
        "The work took longer than we expected. This bonus brings your pay to %(rate)s %(currency)s per hour."
    ) % {"rate": found.target, "currency": campaign.currency}
    waiting = to_top_up(campaign) if found.top_up else Submission.objects.none()
    top_up = {"kind": Payment.Kind.TOP_UP, "amount": found.top_up, "reason": reason}
    number = _pay_all(campaign, waiting, top_up | {"requested_by": by, "requested_at": now})
    if not number:
        raise CannotPay(_("Nothing is owed: the work paid at least the study’s hourly rate."))
    return number


@queue_once()
def retry_campaign(*, campaign: Campaign, by: User | None, now: datetime) -> int:
    """Send everything of a campaign again that waits for the account or was refused; return how much.

    Of what was refused, only approvals and memberships: those harm nobody. Refused bonuses and rejections
    need a look at each. People who have been forgotten cannot be paid any more.
    """
    payments = Payment.objects.filter(submission__campaign=campaign)
    number = payments.stop_waiting()
    if number:
        queue_soon(SEND_TASK, campaign.pk)
    number += retry_grants(campaign=campaign, now=now)
    for payment in payments.refused_approvals().select_related("submission"):
        # Somebody may have repeated it since the list was read.
        if Payment.objects.filter(pk=payment.pk).retryable().exists():
            retry_payment(payment=payment, by=by, now=now)
            number += 1
    return number


def _pay_all(campaign: Campaign, waiting: QuerySet[Submission], terms: dict[str, Any]) -> int:
    found = list(waiting.values_list("pk", flat=True))
    batches = [found[start : start + BATCH] for start in range(0, len(found), BATCH)]
    return sum(_pay(campaign, waiting, batch, terms) for batch in batches)


@transaction.atomic
def _pay(campaign: Campaign, waiting: QuerySet[Submission], batch: list[int], terms: dict[str, Any]) -> int:
    payments = Payment.objects.bulk_create(
        Payment(submission=work, currency=campaign.currency, **terms) for work in _lock(waiting, batch)
    )
    if payments:
        like, number = payments[0], len(payments)
        by, now = like.requested_by, like.requested_at
        record_payments(payments, Event.Type.PAYMENT_REQUESTED, by=by, now=now, note=like.reason)
        note = f"{like.kind} of {like.amount} {like.currency} for each of {number} submissions"
        record_change(campaign=campaign, type=Event.Type.CAMPAIGN_CHANGED, by=by, now=now, note=note)
        queue_soon(SEND_TASK, campaign.pk)
    return len(payments)


def _lock(waiting: QuerySet[Submission], batch: list[int]) -> list[Submission]:
    """Lock the submissions of a batch; return those for which nobody has decided meanwhile."""
    locked = Submission.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=batch)
    list(locked.order_by("pk").values_list("pk"))
    return list(waiting.filter(pk__in=batch).select_related("campaign__study"))
