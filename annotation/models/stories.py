"""Stories, where they came from, and what the lint says about them."""

from __future__ import annotations

from typing import Any

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.importing.rows import StoryRow
from annotation.models.studies import Study


class StoryImport(models.Model):
    """One file brought in (or tried): by whom, what came of it, and what was wrong with it."""

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        IMPORTED = "imported", _("imported")
        CHECKED = "checked", _("checked, nothing saved (dry run)")
        REFUSED = "refused", _("refused")
        CANCELLED = "cancelled", _("cancelled, nothing saved")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="imports")
    role = models.CharField(max_length=20)
    file_name = models.CharField(max_length=200)
    file = models.FileField(upload_to="imports/", blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    dry_run = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    tries = models.PositiveSmallIntegerField(default=0)
    rows_read = models.PositiveIntegerField(default=0)
    stories_added = models.PositiveIntegerField(default=0)
    stories_unchanged = models.PositiveIntegerField(default=0)
    findings = models.PositiveIntegerField(default=0)
    findings_by_code = models.JSONField(
        default=dict,
        blank=True,
        help_text=_("Per kind of warning: how many, and the first of them."),
    )
    problems_found = models.PositiveIntegerField(default=0)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    requested_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-requested_at",)

    def __str__(self) -> str:
        return f"{self.file_name} into {self.study}"


class ImportProblem(models.Model):
    """One reason why a file was refused."""

    story_import = models.ForeignKey(StoryImport, on_delete=models.CASCADE, related_name="problems")
    line = models.PositiveIntegerField()
    column = models.PositiveIntegerField(default=0)
    field = models.CharField(max_length=100, blank=True)
    message = models.TextField()
    remedy = models.TextField()

    class Meta:
        ordering = ("line", "column", "pk")

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


class StoryQuerySet(models.QuerySet["Story"]):
    def main(self) -> StoryQuerySet:
        """The stories the study is about, as opposed to qualification stories and hidden checks."""
        return self.filter(role=Story.Role.MAIN)


class Story(models.Model):
    """One item to judge, with its provenance. What was imported never changes."""

    class Role(models.TextChoices):
        MAIN = "main", _("main")
        QUALIFICATION = "qualification", _("qualification")
        CHECK = "check", _("hidden check")

    study = models.ForeignKey(  # one_story_per_id_in_a_study is its index
        Study, on_delete=models.PROTECT, related_name="stories", db_index=False
    )
    role = models.CharField(max_length=20, choices=Role, default=Role.MAIN)
    story_id = models.CharField(max_length=100)
    core_id = models.CharField(max_length=100)
    scenario_name = models.CharField(max_length=100)
    story_prompt_example = models.CharField(max_length=100, blank=True)
    severity_original = models.PositiveSmallIntegerField(null=True, blank=True)
    story_generator_model = models.CharField(max_length=100)
    content = models.JSONField(help_text=_("The item, as the study's protocol parses it."))
    harmfulness_predicted = models.JSONField(default=list, blank=True)
    unethicality_predicted = models.JSONField(default=list, blank=True)
    content_hash = models.CharField(max_length=64)
    text_hash = models.CharField(
        max_length=64, help_text=_("Of the item alone: stories that read the same have the same.")
    )
    story_import = models.ForeignKey(StoryImport, on_delete=models.PROTECT, related_name="stories")
    source_line = models.PositiveIntegerField()
    order_key = models.BigIntegerField(help_text=_("Place in the study's seeded serving order."))
    has_free_slot = models.BooleanField(
        help_text=_("Whether fewer living assignments than votes are wanted; kept by annotation.actions.")
    )

    objects = StoryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "stories"
        constraints = [
            models.UniqueConstraint(fields=["study", "story_id"], name="one_story_per_id_in_a_study"),
            models.CheckConstraint(
                condition=Q(role="main") | Q(has_free_slot=False), name="only_main_stories_have_slots"
            ),
        ]
        indexes = [
            models.Index(
                fields=["study", "order_key"], name="story_with_free_slot", condition=Q(has_free_slot=True)
            ),
            models.Index(fields=["study", "role"], name="stories_beside_the_main", condition=~Q(role="main")),
            models.Index(fields=["study"], name="main_stories_of_study", condition=Q(role="main")),
            models.Index(fields=["text_hash", "study"], name="stories_by_text"),
        ]
        triggers = [
            pgtrigger.ReadOnly(
                name="story_content_is_final",
                fields=[
                    "study",
                    "role",
                    "story_id",
                    "core_id",
                    "scenario_name",
                    "story_prompt_example",
                    "severity_original",
                    "story_generator_model",
                    "content",
                    "harmfulness_predicted",
                    "unethicality_predicted",
                    "content_hash",
                    "text_hash",
                ],
            ),
        ]

    def __str__(self) -> str:
        return self.story_id

    def as_row(self) -> StoryRow:
        """The row from which the story was imported, as far as it is stored."""
        return StoryRow(
            file="",
            line=self.source_line,
            story_id=self.story_id,
            core_id=self.core_id,
            scenario_name=self.scenario_name,
            story_prompt_example=self.story_prompt_example,
            severity_original=self.severity_original,
            story_generator_model=self.story_generator_model,
            content=self.content,
            harmfulness_predicted=tuple(self.harmfulness_predicted),
            unethicality_predicted=tuple(self.unethicality_predicted),
        )

    @property
    def item(self) -> Any:
        """The story as its study's protocol understands it."""
        return self.study.protocol.parse(self.content)


class LintFinding(models.Model):
    """A warning about a story, found at import; researchers weigh it, nothing is refused for it."""

    story = models.ForeignKey(Story, on_delete=models.CASCADE, related_name="lint_findings")
    code = models.CharField(max_length=40)
    field = models.CharField(max_length=40, blank=True)
    message = models.TextField()

    class Meta:
        ordering = ("story", "pk")

    def __str__(self) -> str:
        return f"{self.story_id}: {self.code}"
