"""Members of studies with their roles, invitations, and the tokens with which programs act for them."""

import enum
from datetime import datetime
from typing import TypeAlias

import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from accounts.models import researcher
from accounts.schema import check, final, fixed, optional, optional_time, stays, unique
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
            unique("one_role_per_person_and_study", ["study", "user"]),
            check(
                "membership_has_a_known_role",
                models.Q(role__in=["owner", "researcher", "reviewer", "auditor"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.get_role_display()} of {self.study}"


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> "InvitationQuerySet":
        """Filter invitations that are neither accepted nor revoked, expired or not."""
        return self.filter(accepted_at=None, revoked_at=None)


class Invitation(models.Model):
    """A role in a study, offered by e-mail. The first to accept its link gets it."""

    class Status(enum.Enum):
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
            unique(
                "one_open_invitation_per_address_and_study",
                ["study", "address"],
                Q(accepted_at=None, revoked_at=None),
            ),
            check("invitation_has_a_known_role", Q(role__in=["owner", "researcher", "reviewer", "auditor"])),
            check("invitation_has_an_address_and_a_nonce", ~Q(address="") & ~Q(nonce="")),
            check("invitation_expires_after_it_is_made", Q(expires_at__gt=F("invited_at"))),
            check(
                "accepted_invitation_says_by_whom",
                Q(accepted_at=None, accepted_by=None)
                | Q(accepted_at__isnull=False, accepted_by__isnull=False),
            ),
            check("invitation_is_not_accepted_and_revoked", Q(accepted_at=None) | Q(revoked_at=None)),
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


class ApiScope(models.TextChoices):
    """A permission of a token. Permission to write includes permission to read."""

    STUDIES_READ = "studies:read", _("see studies and how far they are")
    STUDIES_WRITE = "studies:write", _("make and change studies, open and close them")
    STORIES_READ = "stories:read", _("list stories, and the reports of imports")
    STORIES_WRITE = "stories:write", _("import stories")
    VOTES_READ = "votes:read", _("export votes, under pseudonyms")
    STATISTICS_READ = "statistics:read", _("read the statistics")
    RELEASES_READ = "releases:read", _("list releases, with unfinished ones")
    RELEASES_WRITE = "releases:write", _("publish releases")


class ApiToken(models.Model):
    """A researcher's token for one or all of their studies. Only the hash of its secret is stored.

    Its scopes limit what a program may do; it never exceeds its owner's current rights
    (``annotation.rights.token_rights``). Rows are never deleted: they record who had which token.
    """

    Scope: TypeAlias = ApiScope

    class Status(enum.Enum):
        VALID = "valid"
        EXPIRED = "expired"
        REVOKED = "revoked"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="api_tokens")
    study = optional(
        Study, "api_tokens", help_text=_("The only study it may access; empty: all that its owner may see.")
    )
    name = models.CharField(max_length=100, help_text=_("Its owner's name for it."))
    scopes = ArrayField(models.CharField(max_length=20, choices=ApiScope))
    digest = models.CharField(max_length=64, unique=True, editable=False)
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = optional_time(_("To the hour."))
    revoked_at = optional_time()
    revoked_by = researcher()

    class Meta:
        ordering = ("-pk",)
        constraints = [
            check("api_token_has_a_name", ~Q(name="")),
            check("api_token_has_known_scopes", Q(scopes__contained_by=ApiScope.values, scopes__len__gt=0)),
            check("api_token_is_hashed", Q(digest__regex="^[0-9a-f]{64}$")),
            check("api_token_ends", Q(expires_at__gt=F("made_at"))),
            check("api_token_is_revoked_at_a_time", Q(revoked_by=None) | Q(revoked_at__isnull=False)),
        ]
        triggers = [
            stays("api_token_stays"),
            final(
                "revoked_api_token_is_final",
                pgtrigger.Update,
                condition=pgtrigger.Q(old__revoked_at__isnull=False),
            ),
            fixed(
                "api_token_is_final", ["owner", "study", "name", "scopes", "digest", "made_at", "expires_at"]
            ),
        ]

    def __str__(self) -> str:
        return f"API token {self.pk}"

    def status(self, now: datetime) -> Status:
        """Return the token's validity now, without regard to its owner's account."""
        if self.revoked_at is not None:
            return self.Status.REVOKED
        return self.Status.VALID if now < self.expires_at else self.Status.EXPIRED

    def allows(self, scope: ApiScope) -> bool:
        """Return True if the token has this scope."""
        area, _, verb = scope.partition(":")
        return scope in self.scopes or (verb == "read" and f"{area}:write" in self.scopes)
