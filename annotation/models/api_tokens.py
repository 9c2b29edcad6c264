"""API tokens, with which programs act for a researcher."""

import enum
from datetime import datetime
from typing import TypeAlias

import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from accounts.fields import optional, optional_time, researcher
from accounts.triggers import final, stays
from annotation.models.studies import Study


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
        """The validity of a token at some time."""

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
            models.CheckConstraint(condition=~Q(name=""), name="api_token_has_a_name"),
            models.CheckConstraint(
                condition=Q(scopes__contained_by=ApiScope.values, scopes__len__gt=0),
                name="api_token_has_known_scopes",
            ),
            models.CheckConstraint(condition=Q(digest__regex="^[0-9a-f]{64}$"), name="api_token_is_hashed"),
            models.CheckConstraint(condition=Q(expires_at__gt=F("made_at")), name="api_token_ends"),
            models.CheckConstraint(
                condition=Q(revoked_by=None) | Q(revoked_at__isnull=False),
                name="api_token_is_revoked_at_a_time",
            ),
        ]
        triggers = [
            stays("api_token_stays"),
            final(
                "revoked_api_token_is_final",
                pgtrigger.Update,
                condition=pgtrigger.Q(old__revoked_at__isnull=False),
            ),
            pgtrigger.ReadOnly(
                name="api_token_is_final",
                fields=["owner", "study", "name", "scopes", "digest", "made_at", "expires_at"],
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
