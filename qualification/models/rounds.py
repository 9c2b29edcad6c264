"""Rounds of stories, experts' answers, and answer keys."""

import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.functional import cached_property
from django.utils.translation import gettext, gettext_lazy as _

from accounts.models import researcher
from accounts.schema import CHANGE, after, before, check, final, fixed, optional_time, stays, unique
from annotation.models import Story, Study
from annotation.models.votes import ChosenOption
from annotation.protocols.questions import field_name
from qualification.models.triggers import (
    BLIND_AND_FINAL,
    NOBODY_IS_BLIND,
    NOTHING_IS_OPEN,
    PRACTISED_OR_TESTED,
    STAYS_UNDER_ITS_KEY,
    frozen_key_does_not_grow,
    story_of_its_round,
)
from qualification.rules import LONGEST_WHY


class RoundQuerySet(models.QuerySet["Round"]):
    def active_in(self, study: Study) -> "RoundQuerySet":
        """Return the active rounds of the study's test, by number."""
        return self.filter(study=study, kind__in=TESTS, state=Round.State.ACTIVE).order_by("number")

    def practice_in(self, study: Study) -> "Round | None":
        return self.exclude(kind__in=TESTS).filter(study=study, state=Round.State.ACTIVE).first()


class Round(models.Model):
    """A few stories that annotators must answer acceptably before they get main stories.

    In a practice round they see the accepted answers and reasons after each story, and nothing is graded.
    A quiz is a test with questions of its own, whose right answers are shown after each attempt.
    """

    class Kind(models.TextChoices):
        TEST = "test", _("test")
        OFFERED = "practice", _("optional practice")
        REQUIRED = "required_practice", _("required practice")
        QUIZ = "quiz", _("quiz")

    class State(models.TextChoices):
        PREPARING = "preparing", _("without a key")
        ACTIVE = "active", _("active")
        RETIRED = "retired", _("retired")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="rounds")
    number = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=20, choices=Kind, default=Kind.TEST)
    title = models.CharField(max_length=200, blank=True)
    attempts_allowed = models.PositiveSmallIntegerField(default=1)
    pays_on_fail = models.BooleanField(default=True)
    state = models.CharField(max_length=10, choices=State, default=State.PREPARING)
    revealed_at = optional_time(_("When the experts’ answers were revealed."))
    created_at = models.DateTimeField()

    objects = RoundQuerySet.as_manager()

    class Meta:
        ordering = ("study", "number")
        constraints = [
            unique("one_round_per_number_in_a_study", ["study", "number"]),
            check("round_allows_an_attempt", Q(attempts_allowed__gte=1)),
            check("round_has_a_known_state", Q(state__in=["preparing", "active", "retired"])),
            unique(
                "one_open_practice_in_a_study", ["study"], Q(state="active") & ~Q(kind__in=["test", "quiz"])
            ),
        ]
        triggers = [
            fixed("round_keeps_its_kind", ["kind"]),
            final(
                "round_is_revealed_for_good",
                pgtrigger.Update,
                condition=pgtrigger.Q(old__revealed_at__isnull=False)
                & pgtrigger.Q(old__revealed_at__df=pgtrigger.F("new__revealed_at")),
            ),
            after(
                "nobody_is_blind_when_revealed",
                pgtrigger.Update,
                NOBODY_IS_BLIND,
                condition=pgtrigger.Q(old__revealed_at__isnull=True)
                & pgtrigger.Q(new__revealed_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study} round {self.number}"

    @property
    def is_practice(self) -> bool:
        """Return True if nothing depends on the answers to this round."""
        return self.kind not in TESTS

    @property
    def is_quiz(self) -> bool:
        """Return True if the right answers are shown once an attempt is handed in."""
        return self.kind == Round.Kind.QUIZ

    @property
    def role(self) -> Story.Role:
        """Return the role of the stories that the round can have."""
        return Story.Role.QUIZ if self.is_quiz else Story.Role.QUALIFICATION

    def heading_of(self, position: int) -> str:
        """Return the heading of the story at this position, or of a quiz's question."""
        return (gettext("Question %(at)s") if self.is_quiz else gettext("Story %(at)s")) % {"at": position}


TESTS = (Round.Kind.TEST, Round.Kind.QUIZ)
"""Kinds of rounds that people pass or fail."""


class RoundStory(models.Model):
    """A story of a round, with its position."""

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="round_stories")
    story = models.ForeignKey(Story, on_delete=models.PROTECT, related_name="+")
    position = models.PositiveSmallIntegerField()

    class Meta:
        verbose_name_plural = "round stories"
        ordering = ("round", "position")
        constraints = [
            unique("a_story_is_once_in_a_round", ["round", "story"]),
            unique("one_story_per_position_in_a_round", ["round", "position"]),
            check("round_positions_count_from_one", Q(position__gte=1)),
        ]
        triggers = [
            after("stories_stay_under_a_key", pgtrigger.Insert | CHANGE, STAYS_UNDER_ITS_KEY),
            after("practised_story_is_not_tested", pgtrigger.Insert | pgtrigger.Update, PRACTISED_OR_TESTED),
        ]

    def __str__(self) -> str:
        return f"{self.round} story {self.position}"

    @property
    def heading(self) -> str:
        return self.round.heading_of(self.position)


class ExpertReviewQuerySet(models.QuerySet["ExpertReview"]):
    def pending(self) -> "ExpertReviewQuerySet":
        """Filter the reviews whose expert has still to answer."""
        return self.filter(handed_in_at=None, dismissed_at=None)


class ExpertReview(models.Model):
    """An expert's answers to a round's stories. Nobody else can read them until all are revealed."""

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="reviews")
    expert = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_by = researcher()
    asked_at = models.DateTimeField()
    handed_in_at = optional_time()
    dismissed_at = optional_time(_("When the request was withdrawn."))

    objects = ExpertReviewQuerySet.as_manager()

    class Meta:
        ordering = ("round", "asked_at", "pk")
        constraints = [
            unique("one_review_per_expert_and_round", ["round", "expert"]),
            check("who_handed_in_is_not_dismissed", Q(handed_in_at=None) | Q(dismissed_at=None)),
        ]
        triggers = [
            stays("expert_review_stays"),
            final(
                "handed_in_review_is_final",
                pgtrigger.Update,
                condition=pgtrigger.Q(old__handed_in_at__isnull=False),
            ),
            fixed("expert_review_is_theirs", ["round", "expert"]),
            after("nobody_is_asked_once_open", pgtrigger.Insert | pgtrigger.Update, NOTHING_IS_OPEN),
        ]

    def __str__(self) -> str:
        return f"{self.expert} on {self.round}"

    @property
    def is_pending(self) -> bool:
        """Return True if the expert has still to answer."""
        return self.handed_in_at is None and self.dismissed_at is None


class ExpertAnswerQuerySet(models.QuerySet["ExpertAnswer"]):
    def revealed(self) -> "ExpertAnswerQuerySet":
        """Return the revealed answers, which everybody with the right may read."""
        return self.filter(review__handed_in_at__isnull=False, review__round__revealed_at__isnull=False)


class ExpertAnswer(ChosenOption):
    """One answer of an expert. It can change until they hand in."""

    review = models.ForeignKey(ExpertReview, on_delete=models.PROTECT, related_name="answers")
    round_story = models.ForeignKey(RoundStory, on_delete=models.PROTECT, related_name="+")

    objects = ExpertAnswerQuerySet.as_manager()

    class Meta:
        ordering = ("review", "round_story", "question", "row")
        constraints = [
            unique("one_expert_answer_per_question", ["review", "round_story", "question", "row"]),
            check("expert_answer_says_something", ~Q(question="") & ~Q(option="")),
        ]
        triggers = [
            before("handed_in_answer_is_final", pgtrigger.Insert | CHANGE, BLIND_AND_FINAL),
            story_of_its_round("qualification_expertreview", "review_id"),
        ]


class AnswerKey(models.Model):
    """A version of a round's accepted options and pass mark. Those of a test never leave the server."""

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="keys")
    version = models.PositiveSmallIntegerField()
    enough = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text=_("Acceptable answers that pass; empty: all of them.")
    )
    must_pass = ArrayField(
        models.PositiveSmallIntegerField(),
        default=list,
        blank=True,
        help_text=_("Positions of the stories about which no answer may be wrong."),
    )
    note = models.TextField(blank=True)
    created_by = researcher()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("round", "version")
        constraints = [
            unique("one_answer_key_per_version", ["round", "version"]),
            check("a_key_asks_for_an_acceptable_answer", Q(enough=None) | Q(enough__gte=1)),
        ]
        triggers = [final("key_version_is_final")]

    def __str__(self) -> str:
        return f"{self.round} key {self.version}"

    @cached_property
    def accepted(self) -> dict[int, dict[str, list[str]]]:
        """Return the accepted options by round story (its primary key) and form field."""
        found: dict[int, dict[str, list[str]]] = {}
        for option in sorted(self.options.all(), key=lambda option: option.pk):
            fields = found.setdefault(option.round_story_id, {})
            fields.setdefault(option.choice.field, []).append(option.option)
        return found

    @cached_property
    def why(self) -> dict[int, dict[str, str]]:
        """Return the reasons by round story (its primary key) and form field."""
        found: dict[int, dict[str, str]] = {}
        for one in self.reasons.all():
            found.setdefault(one.round_story_id, {})[field_name(one.question, one.row)] = one.reason
        return found


class AcceptableOption(ChosenOption):
    """An option that the key accepts for one question about one story."""

    key = models.ForeignKey(AnswerKey, on_delete=models.PROTECT, related_name="options")
    round_story = models.ForeignKey(RoundStory, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ("key", "round_story", "question", "row", "option")
        constraints = [
            unique("an_option_is_accepted_once", ["key", "round_story", "question", "row", "option"])
        ]
        triggers = [
            final("answer_key_is_final"),
            frozen_key_does_not_grow(),
            story_of_its_round("qualification_answerkey", "key_id"),
        ]


class KeyReason(models.Model):
    """The reason for the accepted options of one question about one story."""

    key = models.ForeignKey(AnswerKey, on_delete=models.PROTECT, related_name="reasons")
    round_story = models.ForeignKey(RoundStory, on_delete=models.PROTECT, related_name="+")
    question = models.CharField(max_length=40)
    row = models.CharField(max_length=40, blank=True, default="")
    reason = models.CharField(max_length=LONGEST_WHY)

    class Meta:
        ordering = ("key", "round_story", "question", "row")
        constraints = [
            unique("one_reason_per_question_of_a_key", ["key", "round_story", "question", "row"]),
            check("reason_of_a_key_says_something", ~Q(reason="")),
        ]
        triggers = [
            final("key_reason_is_final"),
            frozen_key_does_not_grow(),
            story_of_its_round("qualification_answerkey", "key_id"),
        ]

    def __str__(self) -> str:
        return f"{self.question}: {self.reason}"


class KeyReader(models.Model):
    """A person who could read a key of the round, or its revealed answers, when these appeared.

    Rights can be revoked and names can change, but nobody forgets a key.
    """

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="readers")
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ("round", "reader")
        constraints = [unique("a_reader_is_remembered_once", ["round", "reader"])]
        triggers = [final("reader_is_not_forgotten")]

    def __str__(self) -> str:
        return f"{self.reader} on {self.round}"
