"""Releases: numbered, hashed, immutable publications of a study; their withdrawal, and their deposits.

The directory is what is published; these rows record that it is, what is in it, and where copies are.
"""

from datetime import datetime
from pathlib import Path

import pgtrigger
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.models import Environment, researcher
from accounts.schema import before, check, final, fixed, optional_time, refuse_if, stays, unique
from annotation.deciding import span
from annotation.models import Study
from publishing import store
from publishing.files.directory import file_facts
from publishing.filters import FILTER_NAMES, StoryFilter, get_filter

_PUBLISHED = "EXISTS (SELECT 1 FROM publishing_release WHERE id = NEW.release_id AND state = 'published')"


def once_published(done: str) -> pgtrigger.Trigger:
    """Return a trigger that refuses rows, which say what is ``done``, unless the release is published."""
    refusal = refuse_if(f"NOT {_PUBLISHED}", f"only a published release is {done}")
    return before(f"only_published_releases_are_{done}", pgtrigger.Insert, refusal)


class ReleaseQuerySet(models.QuerySet["Release"]):
    def locked(self) -> "ReleaseQuerySet":
        """Lock the rows until the end of the transaction, with their studies loaded but not locked."""
        return self.select_for_update(of=("self",), no_key=True).select_related("study")

    def published(self) -> "ReleaseQuerySet":
        return self.filter(state=Release.State.PUBLISHED)

    def of_people(self) -> "ReleaseQuerySet":
        """Leave out test runs, whose votes are not data."""
        return self.exclude(environment=Environment.REHEARSAL)

    def not_withdrawn(self) -> "ReleaseQuerySet":
        """Return published releases without a withdrawal."""
        return self.published().filter(withdrawal=None)

    def unfinished(self) -> "ReleaseQuerySet":
        """Return releases that are waiting for a worker or being built."""
        return self.filter(state__in=UNFINISHED)


class Release(models.Model):
    """One publication of a study. Once published, it never changes or disappears.

    A failed release is requested again under its own number, so published numbers have no gaps.
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
    # Copied from the study when the release was requested: the study may change afterwards.
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    license = models.CharField(max_length=60)
    story_language = models.CharField(max_length=35)
    story_cap = models.PositiveIntegerField()  # the largest that was in force since the opening
    pay_rate = models.DecimalField(max_digits=8, decimal_places=2, null=True, blank=True)
    currency = models.CharField(max_length=3)
    filter_name = models.CharField(max_length=40)
    votes_per_story = models.PositiveSmallIntegerField()
    most_votes = models.PositiveSmallIntegerField(null=True, blank=True)  # empty: the same for every story
    salt = models.CharField(
        max_length=32, help_text=_("Decides on which side right answers stand; published.")
    )
    doi = models.CharField(max_length=300, blank=True, help_text=_("Its own; no other release has it."))
    test = models.JSONField(
        null=True, blank=True, help_text=_("The qualification test and its key, if published.")
    )
    recruited = models.TextField(
        blank=True, help_text=_("Figures on recruitment, test and pay when it was requested, as JSON.")
    )
    code_version = models.CharField(max_length=100)
    requested_by = researcher()
    requested_at = models.DateTimeField()
    started_at = optional_time()
    answers_until = optional_time(_("Answers saved until then are in it, and were fixed for it."))
    published_at = optional_time()
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
            unique("one_release_per_study_and_number", ["study", "number"]),
            unique("one_unfinished_release_per_study", ["study"], Q(state__in=["requested", "building"])),
            unique("one_release_per_doi", ["doi"], ~Q(doi="")),
            check("releases_count_from_one", Q(number__gte=1)),
            check(
                "published_release_has_date_and_manifest",
                Q(state="published", published_at__isnull=False) & ~Q(manifest_sha256="")
                | ~Q(state="published") & Q(published_at=None, manifest_sha256=""),
            ),
            check(
                "failed_release_says_why",
                Q(state="failed") & ~Q(failure="") | ~Q(state="failed") & Q(failure=""),
            ),
            check(
                "every_story_of_a_release_has_one_outcome",
                Q(stories=F("kept") + F("dropped") + F("incomplete")),
            ),
        ]
        triggers = [final("published_release_is_final", condition=pgtrigger.Q(old__state="published"))]

    def __str__(self) -> str:
        return f"{self.study} release {self.number}"

    @property
    def is_unfinished(self) -> bool:
        """True while the release waits for a worker or is being built."""
        return self.state in UNFINISHED

    @property
    def counted_until(self) -> datetime:
        """The moment up to which everything in the release is counted."""
        return self.answers_until or self.requested_at

    @property
    def votes_told(self) -> str:
        """The votes of a story for a text: “3”, or “2–5” where their number is adaptive."""
        return span(self.votes_per_story, self.most_votes)

    @property
    def rule(self) -> StoryFilter:
        """The filter that made this release. Raise :class:`UnknownFilter` if this version has none such."""
        return get_filter(self.filter_name, self.most_votes)

    @property
    def filter_title(self) -> str:
        """The filter's title, or its name if this version does not have it."""
        return self.rule.localized_title if self.filter_name in FILTER_NAMES else self.filter_name

    @property
    def url(self) -> str:
        """The path of the public page."""
        return reverse("publishing:release", args=[self.study.slug, self.number])

    @property
    def directory(self) -> Path:
        """The directory of the release, which may not exist yet.

        With a shared store, the first reader on a machine fetches it: see :func:`publishing.store.fetch`.
        """
        place = store.place_of(self.study.slug, self.number, self.manifest_sha256)
        return store.fetch(place, self.manifest_sha256) if self.manifest_sha256 else place

    @property
    def download_prefix(self) -> str:
        """The prefix of download names: ``pilot-1`` or ``pilot-1-withdrawn``."""
        return f"{self.study.slug}-{self.number}{'-withdrawn' if self.withdrawn else ''}"

    @property
    def withdrawn(self) -> "Withdrawal | None":
        """The withdrawal, or None. Runs a query unless ``select_related`` loaded it."""
        return getattr(self, "withdrawal", None)


class AnswerSides(models.Model):
    """The salt and medians behind the sides of right answers in a study (``publishing.files.sides``)."""

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="answer_sides")
    salt = models.CharField(max_length=32)
    medians = models.JSONField(default=dict, help_text=_("Of the first release, by question set."))

    class Meta:
        triggers = [
            stays("answer_sides_stay"),
            fixed("answer_sides_have_one_salt", ["study", "salt"]),
            final(
                "answer_sides_are_decided_once",
                pgtrigger.Update,
                condition=pgtrigger.Condition("OLD.medians <> '{}'::jsonb"),
            ),
        ]

    def __str__(self) -> str:
        return f"answer sides of {self.study}"


UNFINISHED = (Release.State.REQUESTED, Release.State.BUILDING)


class ReleaseFile(models.Model):
    """One file of a published release, except MANIFEST, whose hash is on the release."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="files")
    path = models.CharField(max_length=200)
    size = models.PositiveBigIntegerField(help_text=_("Bytes."))
    sha256 = models.CharField(max_length=64)

    class Meta:
        ordering = ("release", "path")
        constraints = [
            unique("one_file_per_path_in_a_release", ["release", "path"]),
            check("release_file_is_hashed", Q(sha256__regex="^[0-9a-f]{64}$")),
        ]
        triggers = [
            final("release_file_is_final"),
            before(
                "published_release_takes_no_files",
                pgtrigger.Insert,
                refuse_if(_PUBLISHED, "a published release takes no more rows"),
            ),
        ]

    def __str__(self) -> str:
        return self.path

    @property
    def url(self) -> str:
        return reverse("publishing:file", args=[self.release.study.slug, self.release.number, self.path])

    @property
    def place(self) -> Path:
        return self.release.directory / self.path

    @property
    def is_there(self) -> bool:
        """True unless the file is missing, for example while the directory is being restored."""
        try:
            return self.place.is_file()
        except OSError:  # the shared store is away
            return False

    @property
    def is_intact(self) -> bool:
        """True if the file has the bytes that were published. Raise ``OSError`` if it cannot be read."""
        try:
            return file_facts(self.release.directory, self.path).sha256 == self.sha256
        except (FileNotFoundError, NotADirectoryError, store.DamagedArchive):
            return False


class Withdrawal(models.Model):
    """A mark that a published release should no longer be used, with a public reason.

    The release itself, row and files, stays unchanged. A withdrawal is permanent.
    """

    release = models.OneToOneField(Release, on_delete=models.PROTECT, related_name="withdrawal")
    reason = models.TextField(help_text=_("Everybody reads it."))
    withdrawn_at = models.DateTimeField()
    withdrawn_by = researcher()

    class Meta:
        ordering = ("-withdrawn_at",)
        constraints = [check("withdrawal_says_why", ~Q(reason=""))]
        triggers = [final("withdrawal_is_final"), once_published("withdrawn")]

    def __str__(self) -> str:
        return f"{self.release} withdrawn"


class DepositQuerySet(models.QuerySet["Deposit"]):
    def public(self) -> "DepositQuerySet":
        """Return completed deposits that everybody can read."""
        return self.filter(state=Deposit.State.DONE, public=True)

    def started_or_done(self) -> "DepositQuerySet":
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
        UPLOADING = "uploading", _("being uploaded")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="deposits")
    kind = models.CharField(max_length=20, choices=Kind)
    place = models.CharField(max_length=400, help_text=_("Like s3://bucket/prefix, or owner/name."))
    public = models.BooleanField(default=False, help_text=_("Whether everybody can read there."))
    state = models.CharField(max_length=10, choices=State, default=State.UPLOADING)
    requested_by = researcher()
    requested_at = models.DateTimeField()
    done_at = optional_time()
    url = models.TextField(blank=True)
    failure = models.TextField(blank=True, help_text=_("Why it failed, and what to do about it."))

    objects = DepositQuerySet.as_manager()

    class Meta:
        ordering = ("release", "kind", "place")
        constraints = [
            unique("one_deposit_per_release_and_place", ["release", "kind", "place"]),
            check(
                "place_of_a_deposit_names_nothing_else",
                Q(kind="s3", place__regex=r"^s3://[a-z0-9.-]+/[A-Za-z0-9_./-]+$")
                | Q(kind="huggingface", place__regex=r"^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$"),
            ),
            check("deposit_url_has_no_secret", Q(url="") | Q(url__regex=r"^https?://[^@?\s]+$")),
            check(
                "deposit_that_is_done_says_where",
                Q(state="done", done_at__isnull=False) & ~Q(url="")
                | ~Q(state="done") & Q(done_at=None, url=""),
            ),
            check(
                "deposit_that_failed_says_why",
                Q(state="failed") & ~Q(failure="") | ~Q(state="failed") & Q(failure=""),
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
