"""Releases: numbered, hashed, immutable publications of a study, and the mark of one that was withdrawn.

What is published is the directory; these rows say that it is, and what is in it.
"""

from __future__ import annotations

from pathlib import Path

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Environment
from annotation.models import Study

_PUBLISHED_PARENT = """
    IF EXISTS (SELECT 1 FROM publishing_release WHERE id = NEW.release_id AND state = 'published') THEN
        RAISE EXCEPTION 'a published release takes no more rows';
    END IF;
    RETURN NEW;
"""

_UNPUBLISHED = """
    IF NOT EXISTS (SELECT 1 FROM publishing_release WHERE id = NEW.release_id AND state = 'published') THEN
        RAISE EXCEPTION 'only a published release is withdrawn';
    END IF;
    RETURN NEW;
"""


class ReleaseQuerySet(models.QuerySet["Release"]):
    def published(self) -> ReleaseQuerySet:
        """Those that the public sees."""
        return self.filter(state=Release.State.PUBLISHED)

    def standing(self) -> ReleaseQuerySet:
        """The published ones that nobody has withdrawn."""
        return self.published().filter(withdrawal=None)

    def unfinished(self) -> ReleaseQuerySet:
        """Those that a worker has to build, or is building."""
        return self.filter(state__in=UNFINISHED)


class Release(models.Model):
    """One publication of a study. Once published it never changes and never vanishes.

    A release that failed is asked for again under its own number, so published numbers have no gaps.
    """

    class State(models.TextChoices):
        REQUESTED = "requested", _("requested")
        BUILDING = "building", _("being built")
        PUBLISHED = "published", _("published")
        FAILED = "failed", _("failed")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="releases")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.REQUESTED)
    environment = models.CharField(max_length=20, choices=Environment)
    study_state = models.CharField(
        max_length=10, choices=Study.State, help_text=_("The study's state when the release was asked for.")
    )
    # What the study said when the release was asked for: the study may be changed afterwards.
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    license = models.CharField(max_length=60)
    story_cap = models.PositiveIntegerField()  # the largest that was in force since the opening
    pay_rate = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    currency = models.CharField(max_length=3)
    filter_name = models.CharField(max_length=40)
    votes_per_story = models.PositiveSmallIntegerField()
    salt = models.CharField(
        max_length=32, help_text=_("Decides on which side right answers stand; published.")
    )
    code_version = models.CharField(max_length=100)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    requested_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    answers_until = models.DateTimeField(
        null=True, blank=True, help_text=_("Answers saved until then are in it, and were fixed for it.")
    )
    published_at = models.DateTimeField(null=True, blank=True)
    failure = models.TextField(blank=True, help_text=_("Why it failed, and what to do about it."))
    manifest_sha256 = models.CharField(max_length=64, blank=True)
    stories = models.PositiveIntegerField(default=0)
    kept = models.PositiveIntegerField(default=0)
    dropped = models.PositiveIntegerField(default=0)
    incomplete = models.PositiveIntegerField(default=0)
    votes = models.PositiveIntegerField(default=0)
    annotators = models.PositiveIntegerField(default=0)

    objects = ReleaseQuerySet.as_manager()

    class Meta:
        ordering = ("study", "-number")
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="one_release_per_study_and_number"),
            models.UniqueConstraint(
                fields=["study"],
                condition=Q(state__in=["requested", "building"]),
                name="one_unfinished_release_per_study",
            ),
            models.CheckConstraint(condition=Q(number__gte=1), name="releases_count_from_one"),
            models.CheckConstraint(
                condition=Q(state="published", published_at__isnull=False) & ~Q(manifest_sha256="")
                | ~Q(state="published") & Q(published_at=None, manifest_sha256=""),
                name="published_release_has_date_and_manifest",
            ),
            models.CheckConstraint(
                condition=Q(state="failed") & ~Q(failure="") | ~Q(state="failed") & Q(failure=""),
                name="failed_release_says_why",
            ),
            models.CheckConstraint(
                condition=Q(stories=models.F("kept") + models.F("dropped") + models.F("incomplete")),
                name="every_story_of_a_release_has_one_outcome",
            ),
        ]
        triggers = [
            pgtrigger.Protect(
                name="published_release_is_final",
                operation=pgtrigger.Update | pgtrigger.Delete,
                condition=pgtrigger.Q(old__state="published"),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study} release {self.number}"

    @property
    def directory(self) -> Path:
        """Where the release is, or will be, on disk."""
        return Path(settings.RELEASES_ROOT) / self.study.slug / str(self.number)

    @property
    def withdrawn(self) -> Withdrawal | None:
        """The mark of a release that was withdrawn. Without ``select_related``, a query."""
        return getattr(self, "withdrawal", None)


UNFINISHED = (Release.State.REQUESTED, Release.State.BUILDING)


class ReleaseFile(models.Model):
    """One file of a published release (all but MANIFEST, whose hash the release itself has)."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="files")
    path = models.CharField(max_length=200)
    size = models.PositiveBigIntegerField(help_text=_("Bytes."))
    sha256 = models.CharField(max_length=64)

    class Meta:
        ordering = ("release", "path")
        constraints = [
            models.UniqueConstraint(fields=["release", "path"], name="one_file_per_path_in_a_release"),
            models.CheckConstraint(
                condition=Q(sha256__regex="^[0-9a-f]{64}$"), name="release_file_is_hashed"
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="release_file_is_final", operation=pgtrigger.Update | pgtrigger.Delete),
            pgtrigger.Trigger(
                name="published_release_takes_no_files",
                operation=pgtrigger.Insert,
                when=pgtrigger.Before,
                func=_PUBLISHED_PARENT,
            ),
        ]

    def __str__(self) -> str:
        return self.path


class DroppedReason(models.Model):
    """How many stories of a release were dropped for one reason (``q2``, or ``q1,q3``)."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="dropped_reasons")
    reason = models.TextField()
    stories = models.PositiveIntegerField()

    class Meta:
        ordering = ("release", "-stories", "reason")
        constraints = [
            models.UniqueConstraint(fields=["release", "reason"], name="one_count_per_reason_in_a_release"),
        ]
        triggers = [
            pgtrigger.Protect(name="dropped_reason_is_final", operation=pgtrigger.Update | pgtrigger.Delete),
            pgtrigger.Trigger(
                name="published_release_takes_no_reasons",
                operation=pgtrigger.Insert,
                when=pgtrigger.Before,
                func=_PUBLISHED_PARENT,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.stories} dropped by {self.reason}"


class Withdrawal(models.Model):
    """The mark that a published release should not be used any more, with the reason for everybody.

    It stands beside the release, which stays as it is, row and files; and it stays for good.
    """

    release = models.OneToOneField(Release, on_delete=models.PROTECT, related_name="withdrawal")
    reason = models.TextField(help_text=_("Everybody reads it."))
    withdrawn_at = models.DateTimeField()
    withdrawn_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ("-withdrawn_at",)
        constraints = [
            models.CheckConstraint(condition=~Q(reason=""), name="withdrawal_says_why"),
        ]
        triggers = [
            pgtrigger.Protect(name="withdrawal_is_final", operation=pgtrigger.Update | pgtrigger.Delete),
            pgtrigger.Trigger(
                name="only_published_releases_are_withdrawn",
                operation=pgtrigger.Insert,
                when=pgtrigger.Before,
                func=_UNPUBLISHED,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.release} withdrawn"
