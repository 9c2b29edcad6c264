"""Researchers' decisions about votes and stories. They never change the votes or stories."""

from datetime import datetime

import pgtrigger
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from accounts.models import researcher
from accounts.schema import check, final, fixed, flag, optional, optional_time, stays, unique
from annotation.models.enrollments import Enrollment
from annotation.models.stories import Story
from annotation.models.studies import Study
from annotation.models.votes import Assignment, Vote
from annotation.protocols.questions import LONGEST_WORDS, field_name


class VoteExclusionQuerySet(models.QuerySet["VoteExclusion"]):
    def in_force(self) -> "VoteExclusionQuerySet":
        """Filter exclusions that nobody has lifted."""
        return self.filter(lifted_at=None)

    def of_people(self) -> "VoteExclusionQuerySet":
        """Filter exclusions of all an annotator's votes."""
        return self.filter(assignment=None)


class VoteExclusion(models.Model):
    """Exclusion of votes from the count: all votes of an enrollment, or the one of an assignment.

    Lifting it is recorded in the same row, which is never deleted. The assignments' states say which votes
    count. Do not confuse it with :class:`Exclusion`, which keeps annotators from joining a study.
    """

    enrollment = models.ForeignKey(Enrollment, on_delete=models.PROTECT, related_name="vote_exclusions")
    assignment = optional(Assignment, "vote_exclusions")
    reason = models.CharField(max_length=300)
    suspended = flag(_("The annotator was suspended with it, and is reinstated when it is lifted."))
    excluded_by = researcher()
    excluded_at = models.DateTimeField()
    lifted_by = researcher()
    lifted_at = optional_time()
    lifted_because = models.CharField(max_length=300, blank=True)

    objects = VoteExclusionQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)
        constraints = [
            unique("one_standing_exclusion_per_person", ["enrollment"], Q(assignment=None, lifted_at=None)),
            unique("one_standing_exclusion_per_vote", ["assignment"], Q(lifted_at=None)),
            check("votes_are_excluded_for_a_reason", ~Q(reason="")),
            check(
                "exclusion_is_lifted_for_a_reason_or_stands",
                Q(lifted_at=None, lifted_by=None, lifted_because="")
                | Q(lifted_at__gte=F("excluded_at")) & ~Q(lifted_because=""),
            ),
            check("one_vote_suspends_nobody", Q(assignment=None) | Q(suspended=False)),
        ]
        triggers = [
            stays("vote_exclusion_stays"),
            final(
                "vote_exclusion_is_lifted_once",
                pgtrigger.Update,
                condition=pgtrigger.Q(old__lifted_at__isnull=False),
            ),
            fixed(
                "vote_exclusion_is_final",
                ["enrollment", "assignment", "reason", "suspended", "excluded_by", "excluded_at"],
            ),
        ]

    def __str__(self) -> str:
        return f"exclusion {self.pk}"


class ReviewSample(models.Model):
    """A sample of votes for review: so many votes each of so many annotators, drawn by a seed."""

    class Kind(models.TextChoices):
        RANDOM = "random", _("at random")
        FLAGGED = "flagged", _("answers that stand out")

    class Among(models.TextChoices):
        EVERYBODY = "everybody", _("everybody")
        FLAGGED = "flagged", _("people with a flag")
        PERSON = "person", _("one person")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="review_samples")
    kind = models.CharField(max_length=10, choices=Kind)
    among = models.CharField(
        max_length=10,
        choices=Among,
        default=Among.EVERYBODY,
        help_text=_("The annotators whose answers it was drawn from."),
    )
    people = models.PositiveSmallIntegerField(help_text=_("The largest number of annotators."))
    per_person = models.PositiveSmallIntegerField(
        help_text=_("The largest number of answers of each annotator.")
    )
    seed = models.BigIntegerField()
    drawn_by = researcher()
    drawn_at = models.DateTimeField()

    class Meta:
        ordering = ("-pk",)
        constraints = [check("samples_of_one_person_are_of_one", ~Q(among="person") | Q(people=1))]
        triggers = [final("review_sample_is_final")]

    def __str__(self) -> str:
        return f"sample {self.pk}"

    @property
    def stands_for_all(self) -> bool:
        """Return True if the sample represents all annotators: random votes of random annotators.

        Annotators have equal weight in it, however many votes they gave.
        """
        return self.kind == self.Kind.RANDOM and self.among == self.Among.EVERYBODY


class ReviewItemQuerySet(models.QuerySet["ReviewItem"]):
    def waiting(self) -> "ReviewItemQuerySet":
        """Filter items whose vote nobody has judged, in this sample or elsewhere."""
        decided = SpotCheck.objects.filter(vote__assignment=OuterRef("vote__assignment"))
        return self.filter(~Exists(decided))


class ReviewItem(models.Model):
    """A vote in a sample, with its position."""

    class Flag(models.TextChoices):
        NONE = "", _("drawn at random")
        QUICK = "quick", _("in less than a third of the person’s usual time")
        ALONE = "alone", _("the only one against a story with all its votes")

    sample = models.ForeignKey(ReviewSample, on_delete=models.PROTECT, related_name="items", db_index=False)
    position = models.PositiveIntegerField()
    vote = models.ForeignKey(Vote, on_delete=models.PROTECT, related_name="review_items")
    flag = models.CharField(max_length=10, choices=Flag, blank=True, default=Flag.NONE)

    objects = ReviewItemQuerySet.as_manager()

    class Meta:
        ordering = ("sample", "position")
        constraints = [
            unique("one_answer_per_place_in_a_sample", ["sample", "position"]),
            unique("one_place_per_answer_in_a_sample", ["sample", "vote"]),
        ]
        triggers = [final("review_item_is_final")]

    def __str__(self) -> str:
        return f"{self.position} of {self.sample_id}"


class SpotCheck(models.Model):
    """A researcher's decision about a vote. A later decision is a new row and replaces it."""

    class Decision(models.TextChoices):
        ACCEPT = "accept", _("accepted")
        UNCOUNTED = "uncounted", _("accepted, not counted")
        REJECT = "reject", _("rejected")

    vote = models.ForeignKey(Vote, on_delete=models.PROTECT, related_name="spot_checks")
    item = optional(ReviewItem, "spot_checks")
    decision = models.CharField(max_length=10, choices=Decision)
    reason = models.CharField(max_length=300, blank=True)
    by = researcher()
    at = models.DateTimeField()

    class Meta:
        ordering = ("pk",)
        constraints = [check("votes_are_taken_out_for_a_reason", Q(decision="accept") | ~Q(reason=""))]
        triggers = [final("spot_check_is_final")]

    def __str__(self) -> str:
        return f"spot check {self.pk}"


class AdjudicationQuerySet(models.QuerySet["Adjudication"]):
    def standing(self, *, until: datetime | None = None) -> "AdjudicationQuerySet":
        """Filter the decisions that count, or did then: the newest about each story and each of its labels.

        Call it on decisions about stories, before any filter by what was decided.
        """
        made = self.filter(at__lte=until) if until else self
        same = {name: OuterRef(name) for name in ("story", "question", "row")}
        return made.filter(~Exists(made.filter(**same, pk__gt=OuterRef("pk"))))


class Adjudication(models.Model):
    """An expert's decision about a story or about one label of it. It is not a vote; the newest is valid.

    ``question`` and ``row`` name the label, whose ``verdict`` is the key of an option; both are empty for a
    decision about the whole story. Of a table that people filled, ``verdict`` has the words of a cell, or
    what becomes of a row or the table (:mod:`annotation.reconciling`).
    """

    class Verdict(models.TextChoices):
        VALID = "valid", _("valid")
        INVALID = "invalid", _("not valid")

    story = models.ForeignKey(Story, on_delete=models.PROTECT, related_name="adjudications")
    question = models.CharField(max_length=40, blank=True)
    row = models.CharField(max_length=40, blank=True)
    verdict = models.CharField(max_length=LONGEST_WORDS)
    reason = models.CharField(max_length=1000)
    by = researcher()
    at = models.DateTimeField()

    objects = AdjudicationQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)
        constraints = [
            check("stories_are_adjudicated_for_a_reason", ~Q(reason="")),
            check(
                "adjudication_is_of_a_story_or_a_label",
                Q(row="", verdict__in=["valid", "invalid"]) | ~Q(question="") & ~Q(verdict=""),
            ),
        ]
        triggers = [final("adjudication_is_final")]

    def __str__(self) -> str:
        return f"adjudication {self.pk}"

    def get_verdict_display(self) -> str:
        """Return the verdict in words; of a label the key of its option."""
        return self.verdict if self.question else str(self.Verdict(self.verdict).label)

    @property
    def field(self) -> str:
        """The form field of the label, or "" for a decision about the whole story."""
        return field_name(self.question, self.row)
