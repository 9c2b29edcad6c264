"""Approving or topping up everything that waits in a campaign: asked for with one press, written by a worker.

The press writes one row, however much waits. A worker then writes the payments in batches, each in one
transaction with how far the order is by then: one that dies leaves whole batches, another goes on behind
them, and nobody is paid twice.
"""

from __future__ import annotations

import time
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.models import Event
from recruitment.actions.moving import lock_campaign, record_change
from recruitment.actions.sending import SEND_TASK, record_payments
from recruitment.clock import database_now
from recruitment.errors import CannotPay
from recruitment.models import Campaign, Payment, PaymentOrder, Submission
from recruitment.queueing import gathered, soon
from recruitment.reconciliation.queries import hourly_pay_of, to_approve, to_top_up

Kind = PaymentOrder.Kind
ORDER_TASK = "recruitment.tasks.write_payments"
BATCH = 500
"""Payments that are written in one transaction: a fraction of a second."""
MOST_SECONDS = 60.0
"""After this the others of the queue have their turn."""


@transaction.atomic
def order_approvals(*, campaign: Campaign, by: User | None, now: datetime) -> PaymentOrder:
    """Have all work approved whose visit is confirmed and that nobody has decided; what comes later is not.

    While such an order is underway, gives that one. Raises :class:`CannotPay` when nothing waits.
    """
    campaign = lock_campaign(campaign)
    underway = _underway(campaign, Kind.APPROVAL)
    if underway:
        return underway
    wanted = to_approve(campaign).count()
    if not wanted:
        raise CannotPay(_("No confirmed work waits for a decision."))
    return _order(campaign, Kind.APPROVAL, wanted, campaign.reward, "", by=by, now=now)


@transaction.atomic
def order_top_ups(*, campaign: Campaign, by: User | None, now: datetime) -> PaymentOrder:
    """Have everybody whose work was approved paid what is missing to the study's hourly rate, once for each.

    What is missing follows from the median time of the campaign's own work as it is now. While such an order
    is underway, gives that one. Raises :class:`CannotPay` when nothing is missing, or when too little work
    has been done to say.
    """
    campaign = lock_campaign(campaign)
    underway = _underway(campaign, Kind.TOP_UP)
    if underway:
        return underway
    found = hourly_pay_of(campaign)
    if found is None:
        raise CannotPay(_("Too little work has been confirmed to say how long it takes."))
    wanted = to_top_up(campaign).count()
    if not found.top_up or not wanted:
        raise CannotPay(_("Nothing is missing: the work paid at least the study’s hourly rate."))
    reason = _("The work took longer than we had thought. This makes it %(rate)s %(currency)s per hour.") % {
        "rate": found.target,
        "currency": campaign.currency,
    }
    return _order(campaign, Kind.TOP_UP, wanted, found.top_up, reason, by=by, now=now)


def open_orders() -> list[int]:
    """The orders that are not finished."""
    return list(PaymentOrder.objects.filter(finished_at=None).values_list("pk", flat=True))


@gathered()
def write_payments(*, order_id: int, most_seconds: float = MOST_SECONDS) -> bool:
    """Write the payments of an order, batch by batch; whether the time was over before all were written."""
    end = time.monotonic() + most_seconds
    while _write_batch(order_id, now=database_now()):
        if time.monotonic() > end:
            return True
    return False


@transaction.atomic
def _write_batch(order_id: int, *, now: datetime) -> bool:
    """Write some payments of an order, which nobody else does before this ends; whether there may be more."""
    order = (
        PaymentOrder.objects.select_for_update(of=("self",), no_key=True)
        .select_related("campaign__study", "requested_by")
        .get(pk=order_id)
    )
    if order.finished_at:
        return False
    most = min(BATCH, order.wanted - order.written)
    next_ones = _open_to(order).filter(pk__gt=order.reached)
    found = list(next_ones.values_list("pk", flat=True)[:most])
    _write(order, _lock_open(order, found), now=now)
    order.reached = found[-1] if found else order.reached
    order.worked_at = now
    if not found or order.written == order.wanted:
        order.finished_at = now
    order.save(update_fields=["written", "reached", "worked_at", "finished_at"])
    return order.finished_at is None


def _write(order: PaymentOrder, works: list[Submission], *, now: datetime) -> None:
    payments = Payment.objects.bulk_create(
        Payment(
            submission=work,
            kind=order.kind,
            amount=order.amount,
            currency=order.campaign.currency,
            reason=order.reason,
            requested_by=order.requested_by,
            requested_at=now,
        )
        for work in works
    )
    record_payments(
        payments=payments,
        type=Event.Type.PAYMENT_REQUESTED,
        by=order.requested_by,
        now=now,
        note=order.reason,
    )
    order.written += len(payments)
    if payments:
        soon(SEND_TASK, order.campaign_id)


def _lock_open(order: PaymentOrder, found: list[int]) -> list[Submission]:
    """Those of the found works that are still open to it, now that nobody else decides about them."""
    locked = Submission.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=found)
    list(locked.order_by("pk").values_list("pk"))
    return list(_open_to(order).filter(pk__in=found).select_related("campaign__study"))


def _open_to(order: PaymentOrder) -> QuerySet[Submission]:
    """The work that the order can still pay, in its order."""
    return to_approve(order.campaign) if order.kind == Kind.APPROVAL else to_top_up(order.campaign)


def _underway(campaign: Campaign, kind: PaymentOrder.Kind) -> PaymentOrder | None:
    return PaymentOrder.objects.filter(campaign=campaign, kind=kind, finished_at=None).first()


def _order(
    campaign: Campaign,
    kind: PaymentOrder.Kind,
    wanted: int,
    amount: Decimal,
    reason: str,
    *,
    by: User | None,
    now: datetime,
) -> PaymentOrder:
    order = PaymentOrder.objects.create(
        campaign=campaign,
        kind=kind,
        amount=amount,
        reason=reason,
        wanted=wanted,
        requested_by=by,
        requested_at=now,
    )
    note = f"{kind.value} of {amount} {campaign.currency} asked for, for each of {wanted} pieces of work"
    record_change(campaign=campaign, type=Event.Type.CAMPAIGN_CHANGED, by=by, now=now, note=note)
    soon(ORDER_TASK, order.pk)
    return order
