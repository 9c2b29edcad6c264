"""Decisions about many pieces of work at once: one row for what a researcher asked for with one press."""

from __future__ import annotations

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from recruitment.models.campaigns import Campaign
from recruitment.models.payments import Payment


class PaymentOrder(models.Model):
    """Approve, or top up, everything of a campaign that could be when it was asked for.

    A worker writes the payments in batches, each with how far the order is by then in one transaction: after
    one that died another goes on there, and two at once take turns.
    """

    class Kind(models.TextChoices):
        APPROVAL = Payment.Kind.APPROVAL.value, _("approval")
        TOP_UP = Payment.Kind.TOP_UP.value, _("top-up to the hourly rate")

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="payment_orders")
    kind = models.CharField(max_length=10, choices=Kind)
    amount = models.DecimalField(max_digits=8, decimal_places=2, help_text=_("For each piece of work."))
    reason = models.TextField(blank=True, help_text=_("The person reads it."))
    wanted = models.PositiveIntegerField(help_text=_("Pieces of work that waited when it was asked for."))
    written = models.PositiveIntegerField(default=0, help_text=_("Payments that have been written for it."))
    reached = models.PositiveBigIntegerField(default=0, help_text=_("Every submission up to this is done."))
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    requested_at = models.DateTimeField()
    worked_at = models.DateTimeField(null=True, blank=True, help_text=_("When a worker was last at it."))
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("pk",)
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "kind"],
                condition=Q(finished_at=None),
                name="one_payment_order_of_a_kind_at_a_time",
            ),
            models.CheckConstraint(
                condition=Q(wanted__gte=1, written__lte=models.F("wanted"), amount__gt=0),
                name="payment_order_writes_at_most_what_was_wanted",
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="payment_order_stays", operation=pgtrigger.Delete),
            pgtrigger.ReadOnly(
                name="payment_order_is_final",
                fields=["campaign", "kind", "amount", "reason", "wanted", "requested_by", "requested_at"],
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} order {self.pk}"
