"""Deposits of published releases in outside stores."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import researcher
from accounts.schema import optional_time, stays
from publishing.models.releases import Release, once_published


class DepositQuerySet(models.QuerySet["Deposit"]):
    def public(self) -> DepositQuerySet:
        """Return completed deposits that everybody can read."""
        return self.filter(state=Deposit.State.DONE, public=True)

    def started_or_done(self) -> DepositQuerySet:
        """Return deposits that are complete or being uploaded."""
        return self.filter(state__in=[Deposit.State.UPLOADING, Deposit.State.DONE])


class Deposit(models.Model):
    """A published release at an outside place, one row per release and place.

    Records where it is, never the credentials used.
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
    requested_by = researcher()
    requested_at = models.DateTimeField()
    done_at = optional_time()
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
        triggers = [stays("deposit_stays"), once_published("deposited")]

    def __str__(self) -> str:
        return f"{self.release} at {self.place}"

    @property
    def is_underway(self) -> bool:
        """True while the upload runs, or if its process was killed."""
        return self.state == self.State.UPLOADING

    @property
    def outlived_withdrawal(self) -> bool:
        """True if the deposit was completed after the release was withdrawn."""
        withdrawal = self.release.withdrawn
        return bool(withdrawal and self.done_at and self.done_at > withdrawal.withdrawn_at)
