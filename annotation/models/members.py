"""Members of studies with their roles, and invitations."""

from __future__ import annotations

import enum
from datetime import datetime

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from accounts.fields import optional_time, researcher
from annotation.alert_kinds import AlertKind, usual_kinds
from annotation.models.studies import Study


class Membership(models.Model):
    """A researcher's role in one study. ``annotation.rights`` says what it allows."""

    class Role(models.TextChoices):
        OWNER = "owner", _("owner")
        RESEARCHER = "researcher", _("researcher")
        REVIEWER = "reviewer", _("reviewer")
        AUDITOR = "auditor", _("auditor")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role)
    alerts = ArrayField(
        models.CharField(max_length=30, choices=AlertKind),
        default=usual_kinds,
        blank=True,
        help_text=_("What the member is mailed about."),
    )
    language = models.CharField(max_length=10, blank=True, help_text=_("The language of these mails."))
    added_by = researcher()
    added_at = models.DateTimeField()

    class Meta:
        ordering = ("study", "added_at", "pk")
        constraints = [
            models.UniqueConstraint(fields=["study", "user"], name="one_role_per_person_and_study"),
            models.CheckConstraint(
                condition=models.Q(role__in=["owner", "researcher", "reviewer", "auditor"]),
                name="membership_has_a_known_role",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.get_role_display()} of {self.study}"


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> InvitationQuerySet:
        """Filter invitations that are neither accepted nor revoked, expired or not."""
        return self.filter(accepted_at=None, revoked_at=None)


class Invitation(models.Model):
    """A role in a study, offered by e-mail. The first to accept its link gets it."""

    class Status(enum.Enum):
        """The state of an invitation at some time."""

        OPEN = "open"
        ACCEPTED = "accepted"
        REVOKED = "revoked"
        EXPIRED = "expired"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="invitations")
    address = models.EmailField(max_length=200)
    role = models.CharField(max_length=10, choices=Membership.Role)
    nonce = models.CharField(
        max_length=32, editable=False, help_text=_("Part of the signed link, which is rebuilt from it.")
    )
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    invited_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    mailed_at = optional_time(_("When the mail server accepted the mail; empty if none was sent."))
    accepted_at = optional_time()
    accepted_by = researcher()
    revoked_at = optional_time()

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ("study", "invited_at", "pk")
        constraints = [
            models.UniqueConstraint(
                fields=["study", "address"],
                condition=Q(accepted_at=None, revoked_at=None),
                name="one_open_invitation_per_address_and_study",
            ),
            models.CheckConstraint(
                condition=Q(role__in=["owner", "researcher", "reviewer", "auditor"]),
                name="invitation_has_a_known_role",
            ),
            models.CheckConstraint(
                condition=~Q(address="") & ~Q(nonce=""), name="invitation_has_an_address_and_a_nonce"
            ),
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("invited_at")), name="invitation_expires_after_it_is_made"
            ),
            models.CheckConstraint(
                condition=Q(accepted_at=None, accepted_by=None)
                | Q(accepted_at__isnull=False, accepted_by__isnull=False),
                name="accepted_invitation_says_by_whom",
            ),
            models.CheckConstraint(
                condition=Q(accepted_at=None) | Q(revoked_at=None),
                name="invitation_is_not_accepted_and_revoked",
            ),
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk} to {self.study}"

    def status(self, now: datetime) -> Status:
        """Return the invitation's state now."""
        if self.accepted_at:
            return self.Status.ACCEPTED
        if self.revoked_at:
            return self.Status.REVOKED
        return self.Status.OPEN if now < self.expires_at else self.Status.EXPIRED
