"""Alerts that wait to be sent or were sent, and the webhooks they go to."""

from __future__ import annotations

from datetime import datetime

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.fields import optional, optional_time, researcher
from annotation.alert_kinds import AlertKind
from annotation.models.events import Event
from annotation.models.studies import Study


class Webhook(models.Model):
    """An address that gets a study's alerts as signed requests.

    Its secret is derived from ``nonce`` and the installation's key, so that the database holds none.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="webhooks")
    url = models.CharField(max_length=500)
    kinds = ArrayField(models.CharField(max_length=30, choices=AlertKind))
    nonce = models.CharField(max_length=32, editable=False)
    made_by = researcher()
    made_at = models.DateTimeField()
    removed_at = optional_time()

    class Meta:
        ordering = ("pk",)
        constraints = [
            models.CheckConstraint(
                condition=~Q(nonce="") & Q(kinds__len__gt=0), name="webhook_has_kinds_and_a_nonce"
            )
        ]

    def __str__(self) -> str:
        return f"webhook {self.pk}"

    @property
    def host(self) -> str:
        """Return where it leads without the path, which is often a secret."""
        return self.url.split("/", 3)[2]

    @property
    def labels(self) -> list[str]:
        return [str(AlertKind(kind).label) for kind in self.kinds]


class AlertQuerySet(models.QuerySet["Alert"]):
    def due(self, now: datetime) -> AlertQuerySet:
        """Filter unsent alerts whose time has come and which no worker has leased."""
        free = Q(leased_until=None) | Q(leased_until__lte=now)
        return self.filter(free, sent_at=None, given_up_at=None, due_at__lte=now)


class Alert(models.Model):
    """One alert for one recipient: a row of the outbox, written in the transaction of its cause.

    ``event`` is the cause; a digest has the ``day`` on which its 24 hours end instead.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="alerts")
    kind = models.CharField(max_length=30, choices=AlertKind)
    event = optional(Event, "alerts")
    day = models.DateField(null=True)
    user = researcher("alerts")
    webhook = optional(Webhook, "alerts")
    due_at = models.DateTimeField()
    leased_until = models.DateTimeField(null=True)
    tries = models.PositiveSmallIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    given_up_at = models.DateTimeField(null=True)
    failure = models.TextField(blank=True, help_text=_("Why the last try failed."))

    objects = AlertQuerySet.as_manager()

    class Meta:
        ordering = ("-pk",)
        indexes = [
            models.Index(
                fields=["due_at"], condition=Q(sent_at=None, given_up_at=None), name="alerts_to_send"
            )
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(user=None, webhook__isnull=False) | Q(user__isnull=False, webhook=None),
                name="alert_has_one_recipient",
            ),
            models.CheckConstraint(
                condition=Q(kind="digest", event=None, day__isnull=False)
                | (~Q(kind="digest") & Q(event__isnull=False, day=None)),
                name="alert_has_one_cause",
            ),
            models.CheckConstraint(
                condition=Q(sent_at=None) | Q(given_up_at=None), name="alert_is_not_sent_and_given_up"
            ),
            models.UniqueConstraint(fields=["event", "user"], name="one_alert_per_event_and_user"),
            models.UniqueConstraint(fields=["event", "webhook"], name="one_alert_per_event_and_webhook"),
            models.UniqueConstraint(fields=["study", "user", "day"], name="one_digest_a_day"),
        ]

    def __str__(self) -> str:
        return f"alert {self.pk}"
