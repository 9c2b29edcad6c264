"""Stories, their imports, and lint warnings about them; and the strata of a study’s design."""

from typing import Any

import pgtrigger
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchQuery, SearchVectorField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import researcher
from accounts.schema import CHANGE, after, before, check, final, fixed, flag, optional_time, refuse_if, unique
from annotation.design import MOST_PER_STRATUM
from annotation.importing.rows import IMPORTED, StoryRow
from annotation.models.studies import Study
from annotation.protocols.base import Part, Protocol
from annotation.protocols.multiple_choice.quiz import QUIZ
from annotation.protocols.questions import FormCell


class StoryImport(models.Model):
    """An import of a file, with its requester, outcome and problems."""

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
    license = models.CharField(max_length=100, blank=True, help_text=_("Of the file; empty: not stated."))
    dry_run = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    tries = models.PositiveSmallIntegerField(default=0)
    rows_read = models.PositiveIntegerField(default=0)
    stories_added = models.PositiveIntegerField(default=0)
    stories_unchanged = models.PositiveIntegerField(default=0)
    findings = models.PositiveIntegerField(default=0)
    findings_by_code = models.JSONField(
        default=dict, blank=True, help_text=_("Number and first examples of each kind of warning.")
    )
    problems_found = models.PositiveIntegerField(default=0)
    requested_by = researcher()
    requested_at = models.DateTimeField()
    finished_at = optional_time()

    class Meta:
        ordering = ("-requested_at",)

    def __str__(self) -> str:
        return f"{self.file_name} into {self.study}"


class ImportProblem(models.Model):
    """A reason why a file was refused."""

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


_WORDS_OF_A_STORY = """
    INSERT INTO annotation_storywords (story_id, words) VALUES (NEW.id, to_tsvector('english', NEW.content));
    RETURN NULL;
"""


class StoryQuerySet(models.QuerySet["Story"]):
    def with_words(self, text: str) -> "StoryQuerySet":
        """Filter the stories in which these words occur, written as for a search engine."""
        query = SearchQuery(text, config="english", search_type="websearch")
        return self.filter(searched__words=query)

    def main(self) -> "StoryQuerySet":
        """Filter the stories to be judged, without qualification stories and hidden checks."""
        return self.filter(role=Story.Role.MAIN)

    def wanted(self) -> "StoryQuerySet":
        """Filter the main stories that are to get all their votes: all but old versions."""
        return self.main().filter(is_old_version=False)

    def mark_free(self) -> None:
        """Offer the main stories among these again, because they have a free slot; old versions never."""
        self.wanted().update(has_free_slot=True)

    def mark_full(self) -> None:
        """Offer these stories no longer, because their last slot is taken."""
        self.update(has_free_slot=False)


_OFFERED_AGAIN = refuse_if(
    "OLD.is_old_version AND NOT NEW.is_old_version",
    "pgtrigger: Cannot make an old version the newest one again",
)


class Story(models.Model):
    """A story to judge, with its provenance. Its imported fields never change."""

    class Role(models.TextChoices):
        MAIN = "main", _("main")
        QUALIFICATION = "qualification", _("qualification")
        CHECK = "check", _("hidden check")
        QUIZ = "quiz", _("question of a quiz")

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
        max_length=64, help_text=_("Hash of the content alone, equal for stories with the same text.")
    )
    story_import = models.ForeignKey(StoryImport, on_delete=models.PROTECT, related_name="stories")
    source_line = models.PositiveIntegerField()
    order_key = models.BigIntegerField(help_text=_("Place in the study's seeded serving order."))
    extra_votes = models.PositiveSmallIntegerField(
        default=0,
        db_default=0,
        help_text=_("Votes wanted beyond the study’s votes per story; maintained by annotation.actions."),
    )
    has_free_slot = models.BooleanField(
        help_text=_("The story has a free slot; maintained by annotation.actions.")
    )
    is_old_version = flag(_("The story was revised: nobody is given this version any more."))

    objects = StoryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "stories"
        constraints = [
            unique("one_story_per_id_in_a_study", ["study", "story_id"]),
            check("only_main_stories_have_slots", Q(role="main") | Q(has_free_slot=False, extra_votes=0)),
            check(
                "old_versions_are_main_stories_that_nobody_is_given",
                Q(is_old_version=False) | Q(role="main", has_free_slot=False),
            ),
        ]
        indexes = [
            models.Index(
                fields=["study", "order_key"], name="story_with_free_slot", condition=Q(has_free_slot=True)
            ),
            models.Index(fields=["study", "role"], name="stories_beside_the_main", condition=~Q(role="main")),
            models.Index(
                fields=["study", "is_old_version"], name="main_stories_of_study", condition=Q(role="main")
            ),
            models.Index(fields=["text_hash", "study"], name="stories_by_text"),
        ]
        triggers = [
            after("words_of_a_story_are_searched", pgtrigger.Insert, _WORDS_OF_A_STORY),
            fixed("story_content_is_final", ["study", "role", *IMPORTED, "content_hash", "text_hash"]),
            before("old_version_stays_old", pgtrigger.UpdateOf("is_old_version"), _OFFERED_AGAIN),
        ]

    def __str__(self) -> str:
        return self.story_id

    def as_row(self) -> StoryRow:
        """Return the import row of the story, as far as it is stored."""
        return StoryRow(file="", line=self.source_line, **{name: getattr(self, name) for name in IMPORTED})

    @property
    def protocol(self) -> Protocol:
        """Return the protocol that asks about the story: the study's, or that of quizzes."""
        return QUIZ if self.role == Story.Role.QUIZ else self.study.protocol

    @property
    def votes_wanted(self) -> int:
        """Return how many votes the story should get, as far as its votes so far say."""
        return self.study.votes_per_story + self.extra_votes

    @property
    def item(self) -> Any:
        """Return the story as its protocol parses it."""
        return self.protocol.parse(self.content)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return the story's parts as annotators see them."""
        return self.protocol.parts(self.item)

    @property
    def cells(self) -> list[FormCell]:
        """Return everything that the form asks about the story."""
        return list(self.protocol.cells(self.item))


class StoryWords(models.Model):
    """The words of a story as PostgreSQL searches them: every text of its content, without the fields' names.

    A trigger adds them. They have a table of their own because votes change the story's row, and each change
    would write to the index again.
    """

    story = models.OneToOneField(Story, on_delete=models.CASCADE, primary_key=True, related_name="searched")
    words = SearchVectorField()

    class Meta:
        indexes = [GinIndex(fields=["words"], name="stories_by_words")]

    def __str__(self) -> str:
        return f"words of story {self.pk}"


class StoryRevision(models.Model):
    """A revision of a story: its old version, and the new one that is judged instead."""

    before = models.OneToOneField(Story, on_delete=models.PROTECT, related_name="revised_to")
    after = models.OneToOneField(Story, on_delete=models.PROTECT, related_name="revised_from")
    reason = models.CharField(max_length=1000)
    by = researcher()
    at = models.DateTimeField()

    class Meta:
        ordering = ("pk",)
        constraints = [
            check("stories_are_revised_for_a_reason", ~Q(reason="")),
            check("a_revision_makes_another_story", ~Q(before=models.F("after"))),
        ]
        triggers = [final("story_revision_is_final")]

    def __str__(self) -> str:
        return f"revision {self.pk}"

    def changed_texts(self) -> dict[str, tuple[str, str]]:
        """Return the texts that differ, old and new, by their key in the content."""
        old, new = self.before.content, self.after.content
        return {name: (old[name], new[name]) for name in sorted(old.keys() & new) if old[name] != new[name]}


class LintFinding(models.Model):
    """A warning about a story, found at import. It is for researchers and refuses nothing."""

    story = models.ForeignKey(Story, on_delete=models.CASCADE, related_name="lint_findings")
    code = models.CharField(max_length=40)
    field = models.CharField(max_length=40, blank=True)
    message = models.TextField()

    class Meta:
        ordering = ("story", "pk")

    def __str__(self) -> str:
        return f"{self.story_id}: {self.code}"


_STUDY_WAS_OPENED = refuse_if(
    """EXISTS (SELECT FROM annotation_study s
               WHERE s.id IN (NEW.study_id, OLD.study_id) AND s.state <> 'draft')""",
    "pgtrigger: Cannot change the design of a study that has been opened",
)


class Stratum(models.Model):
    """A kind of items in a study, and how many of them one annotator answers."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="strata", db_index=False)
    name = models.CharField(max_length=100)
    load = models.PositiveSmallIntegerField()

    class Meta:
        verbose_name_plural = "strata"
        ordering = ("study", "name")
        constraints = [
            unique("one_stratum_per_name_in_a_study", ["study", "name"]),
            check("load_of_a_stratum_is_positive", Q(load__gte=1, load__lte=MOST_PER_STRATUM)),
        ]
        triggers = [before("design_is_settled_in_the_draft", pgtrigger.Insert | CHANGE, _STUDY_WAS_OPENED)]

    def __str__(self) -> str:
        return f"{self.load} of {self.name}"
