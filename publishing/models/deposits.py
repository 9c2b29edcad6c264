"""Published releases at places outside."""

from __future__ import annotations

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from publishing.models.releases import Release

_UNPUBLISHED_PARENT = """
    IF NOT EXISTS (SELECT 1 FROM publishing_release WHERE id = NEW.release_id AND state = 'published') THEN
        RAISE EXCEPTION 'only a published release is deposited';
    END IF;
    RETURN NEW;
"""


class DepositQuerySet(models.QuerySet["Deposit"]):
    def for_everybody(self) -> DepositQuerySet:
        """Those that anybody may be sent to."""
        return self.filter(state=Deposit.State.DONE, public=True)

    def outside(self) -> DepositQuerySet:
        """Those that stand at their place, or may once their upload ends."""
        return self.filter(state__in=[Deposit.State.UPLOADING, Deposit.State.DONE])


class Deposit(models.Model):
    """A published release at a place outside. Says where, never with what secret it came there.

    One row per release and place, however often it is tried.
    """

    class Kind(models.TextChoices):
        S3 = "s3", _("S3 bucket")
        HUGGING_FACE = "huggingface", _("Hugging Face dataset")

    class State(models.TextChoices):
        REQUESTED = "requested", _("requested")
        UPLOADING = "uploading", _("being uploaded")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="deposits")
    kind = models.CharField(max_length=20, choices=Kind)
    place = models.CharField(max_length=400, help_text=_("Like s3://bucket/prefix, or owner/name."))
    public = models.BooleanField(default=False, help_text=_("Whether everybody can read there."))
    state = models.CharField(max_length=10, choices=State, default=State.REQUESTED)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    requested_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True, blank=True)
    url = models.TextField(blank=True)
    manifest_sha256 = models.CharField(max_length=64, blank=True)
    failure = models.TextField(blank=True, help_text=_("Why it failed, and what to do about it."))

    objects = DepositQuerySet.as_manager()

    class Meta:
        ordering = ("release", "kind", "place")
        constraints = [
            models.UniqueConstraint(
                fields=["release", "kind", "place"], name="one_deposit_per_release_and_place"
            ),
            models.CheckConstraint(
                condition=Q(kind="s3", place__regex=r"^s3://[a-z0-9.-]+/[A-Za-z0-9_./-]+$")
                | Q(kind="huggingface", place__regex=r"^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$"),
                name="place_of_a_deposit_names_nothing_else",
            ),
            models.CheckConstraint(
                condition=Q(url="") | Q(url__regex=r"^https?://[^@?\s]+$"), name="deposit_url_has_no_secret"
            ),
            models.CheckConstraint(
                condition=Q(state="done", done_at__isnull=False) & ~Q(url="") & ~Q(manifest_sha256="")
                | ~Q(state="done") & Q(done_at=None, url="", manifest_sha256=""),
                name="deposit_that_is_done_says_where_and_what",
            ),
            models.CheckConstraint(
                condition=Q(state="failed") & ~Q(failure="") | ~Q(state="failed") & Q(failure=""),
                name="deposit_that_failed_says_why",
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="deposit_stays", operation=pgtrigger.Delete),
            pgtrigger.Trigger(
                name="only_published_releases_are_deposited",
                operation=pgtrigger.Insert,
                when=pgtrigger.Before,
                func=_UNPUBLISHED_PARENT,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.release} at {self.place}"

    @property
    def is_underway(self) -> bool:
        """Whether it is being uploaded, or was when its process ended."""
        return self.state == self.State.UPLOADING

    @property
    def outlived_withdrawal(self) -> bool:
        """Whether it came to its place after the release was withdrawn."""
        withdrawal = self.release.withdrawn
        return bool(withdrawal and self.done_at and self.done_at > withdrawal.withdrawn_at)
