"""Releases: numbered, hashed, immutable publications of a study. Fields, constraints and queries.

What is published is the directory; these rows say that it is, and what is in it. Writes happen in
``publishing.actions``.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import Any

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Environment
from annotation.models import Study
from publishing.facts import Statement

_PUBLISHED_PARENT = """
    IF EXISTS (SELECT 1 FROM publishing_release WHERE id = NEW.release_id AND state = 'published') THEN
        RAISE EXCEPTION 'a published release takes no more rows';
    END IF;
    RETURN NEW;
"""

_UNPUBLISHED_PARENT = """
    IF NOT EXISTS (SELECT 1 FROM publishing_release WHERE id = NEW.release_id AND state = 'published') THEN
        RAISE EXCEPTION 'only a published release is deposited';
    END IF;
    RETURN NEW;
"""


class ReleaseQuerySet(models.QuerySet["Release"]):
    def published(self) -> ReleaseQuerySet:
        """Those that the public sees."""
        return self.filter(state=Release.State.PUBLISHED)

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


class DataStatementQuerySet(models.QuerySet["DataStatement"]):
    def of(self, study: Study, *, at: datetime) -> DataStatement | None:
        """The version that stood at a moment, or None when nothing had been stated."""
        return self.filter(study=study, written_at__lte=at).order_by("-version").first()


class DataStatement(models.Model):
    """What the researchers state about a study's data. A new text is a new version; old ones stay.

    A release says what stood when it was asked for, however often it is built.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="data_statements")
    version = models.PositiveIntegerField()
    creators = models.TextField(blank=True, help_text=_("One name per line."))
    motivation = models.TextField(blank=True)
    platform = models.TextField(blank=True)
    demographics = models.TextField(blank=True)
    sensitive_information = models.TextField(blank=True)
    biases = models.TextField(blank=True)
    limits = models.TextField(blank=True)
    intended_use = models.TextField(blank=True)
    url = models.TextField(blank=True)
    doi = models.TextField(blank=True)
    written_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    written_at = models.DateTimeField()

    objects = DataStatementQuerySet.as_manager()

    class Meta:
        ordering = ("study", "-version")
        constraints = [
            models.UniqueConstraint(fields=["study", "version"], name="one_data_statement_per_version"),
            models.CheckConstraint(condition=Q(version__gte=1), name="data_statements_count_from_one"),
        ]
        triggers = [
            pgtrigger.Protect(name="data_statement_is_final", operation=pgtrigger.Update | pgtrigger.Delete),
        ]

    def __str__(self) -> str:
        return f"{self.study} data statement {self.version}"

    @property
    def statement(self) -> Statement:
        """The same as a plain value."""
        said = {item.name: getattr(self, item.name) for item in fields(Statement)}
        return Statement(**said | {"creators": tuple(self.creators.splitlines())})


class BaselineSample(models.Model):
    """Where the questions of a multiple-choice study were drawn from. A fact: never changed."""

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="baseline_sample")
    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="baseline_samples")
    manifest_sha256 = models.CharField(max_length=64, help_text=_("Of the release that was read."))
    per_scenario = models.PositiveIntegerField()
    seed = models.BigIntegerField()
    stories = models.PositiveIntegerField()
    questions = models.PositiveIntegerField()
    short = models.JSONField(
        default=dict, blank=True, help_text=_("Scenarios with fewer stories than wanted, and how many.")
    )
    repeated_cores = models.PositiveIntegerField(
        default=0, help_text=_("Stories beside another severity of the same core.")
    )
    drawn_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    drawn_at = models.DateTimeField()

    class Meta:
        triggers = [
            pgtrigger.Protect(name="baseline_sample_is_final", operation=pgtrigger.Update | pgtrigger.Delete),
        ]

    def __str__(self) -> str:
        return f"{self.questions} questions from {self.release}"

    def provenance(self) -> dict[str, Any]:
        """What it takes to draw the same sample again, and what came of it."""
        return {
            "release": {"study": self.release.study.slug, "number": self.release.number},
            "manifest_sha256": self.manifest_sha256,
            "per_scenario": self.per_scenario,
            "seed": self.seed,
            "stories": self.stories,
            "questions": self.questions,
            "short": dict(sorted(self.short.items())),
            "repeated_cores": self.repeated_cores,
        }


class DepositQuerySet(models.QuerySet["Deposit"]):
    def for_everybody(self) -> DepositQuerySet:
        """Those that anybody may be sent to."""
        return self.filter(state=Deposit.State.DONE, public=True)


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
