"""Payments outside any platform, as researchers noted them."""

import uuid

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models import Enrollment


class LinkPayment(models.Model):
    """A payment outside any platform to a person who came by no campaign, on a researcher's word.

    Entries are never edited: one of a negative amount takes back what was noted by mistake.
    """

    enrollment = models.ForeignKey(Enrollment, on_delete=models.PROTECT, related_name="link_payments")
    amount = models.DecimalField(max_digits=8, decimal_places=2)
    currency = models.CharField(max_length=3)
    reason = models.TextField(help_text=_("How the person was paid; for the log."))
    request_token = models.UUIDField(
        default=uuid.uuid4, editable=False, help_text=_("Of the form or file by which it was noted, once.")
    )
    noted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    noted_at = models.DateTimeField()

    class Meta:
        ordering = ("pk",)
        constraints = [
            models.UniqueConstraint(
                fields=["request_token", "enrollment"], name="one_link_payment_per_request_and_person"
            ),
            models.CheckConstraint(
                condition=~Q(amount=0) & ~Q(reason=""), name="link_payment_has_an_amount_and_a_reason"
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="link_payment_stays", operation=pgtrigger.Delete),
            pgtrigger.Protect(name="link_payment_is_final", operation=pgtrigger.Update),
        ]

    def __str__(self) -> str:
        return f"{self.amount} {self.currency} noted as paid ({self.pk})"
