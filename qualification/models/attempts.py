"""Annotators' attempts at a round with their answers, and their answers in practice."""

import pgtrigger
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from accounts.schema import CHANGE, after, before, check, final, flag, optional, optional_time, unique
from annotation.models import Enrollment, InstructionText
from annotation.models.votes import ChosenOption
from qualification.models.rounds import AnswerKey, Round, RoundStory
from qualification.models.triggers import (
    KEY_OF_ITS_ROUND,
    NOT_HANDED_IN,
    NOT_UNDER_A_TESTS_KEY,
    ONLY_BECOMES_VOID,
    story_of_its_round,
)


class AttemptQuerySet(models.QuerySet["Attempt"]):
    def standing(self) -> "AttemptQuerySet":
        """Exclude void attempts."""
        return self.exclude(state=Attempt.State.VOID)

    def to_be_paid(self) -> "AttemptQuerySet":
        """Return the attempts that the annotator handed in, void ones included."""
        return self.filter(was_theirs=True, submitted_at__isnull=False)


class Attempt(models.Model):
    """An annotator's attempt at a round, graded by the newest key at its start.

    Attempts are numbered over all rounds of a study, so that another round is no extra try. A void attempt is
    unchanged but no longer counts, and its number can be used again.
    """

    class State(models.TextChoices):
        STARTED = "started", _("started")
        SUBMITTED = "submitted", _("handed in")
        VOID = "void", _("void")

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="attempts")
    enrollment = models.ForeignKey(Enrollment, on_delete=models.PROTECT, related_name="attempts")
    key = models.ForeignKey(AnswerKey, on_delete=models.PROTECT, related_name="attempts")
    instructions = optional(
        InstructionText,
        help_text=_("The study’s own instructions that are shown in it; empty: the protocol’s."),
    )
    number = models.PositiveSmallIntegerField()
    attempts_allowed = models.PositiveSmallIntegerField(
        help_text=_("Over all rounds of the study, as their first round allows.")
    )
    state = models.CharField(max_length=10, choices=State, default=State.STARTED)
    started_at = models.DateTimeField()
    submitted_at = optional_time()
    passed = models.BooleanField(null=True, blank=True)
    voided_at = optional_time()
    was_theirs = flag(_("No: void because somebody else took the test in their name."), initial=True)

    objects = AttemptQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)
        constraints = [
            unique("one_attempt_per_number_and_person", ["enrollment", "number"], ~Q(state="void")),
            unique("one_attempt_at_a_time_per_person", ["enrollment"], Q(state="started")),
            check("attempt_is_one_of_those_allowed", Q(number__gte=1) & Q(number__lte=F("attempts_allowed"))),
            check(
                "attempt_is_graded_when_handed_in",
                Q(state="started", submitted_at=None, passed=None)
                | Q(state="submitted", submitted_at__isnull=False, passed__isnull=False)
                | Q(state="void", submitted_at=None, passed=None)
                | Q(state="void", submitted_at__isnull=False, passed__isnull=False),
            ),
            check(
                "attempt_is_void_since_a_time",
                Q(state="void", voided_at__isnull=False)
                | ~Q(state="void") & Q(voided_at=None, was_theirs=True),
            ),
        ]
        triggers = [
            final("void_attempt_is_final", condition=pgtrigger.Q(old__state="void")),
            before(
                "submitted_attempt_is_final",
                CHANGE,
                ONLY_BECOMES_VOID,
                condition=pgtrigger.Q(old__state="submitted"),
            ),
            after(
                "attempt_is_under_a_key_of_its_round", pgtrigger.Insert | pgtrigger.Update, KEY_OF_ITS_ROUND
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} at {self.round}"


class AttemptAnswer(ChosenOption):
    """One answer of an attempt. It can change until the attempt is handed in."""

    attempt = models.ForeignKey(Attempt, on_delete=models.PROTECT, related_name="answers")
    round_story = models.ForeignKey(RoundStory, on_delete=models.PROTECT, related_name="+")
    accepted = models.BooleanField(null=True, blank=True, help_text=_("Set when the attempt is graded."))

    class Meta:
        ordering = ("attempt", "round_story", "question", "row")
        constraints = [
            unique("one_attempt_answer_per_question", ["attempt", "round_story", "question", "row"]),
            check("attempt_answer_says_something", ~Q(question="") & ~Q(option="")),
        ]
        triggers = [
            final("graded_answer_is_final", condition=pgtrigger.Q(old__accepted__isnull=False)),
            before("submitted_attempt_does_not_grow", pgtrigger.Insert | CHANGE, NOT_HANDED_IN),
            story_of_its_round("qualification_attempt", "attempt_id"),
        ]


class PracticeAnswer(ChosenOption):
    """One answer of a practice round, under the key that was shown afterwards. Nothing depends on it.

    ``turn`` counts from 1 how often this person answered this story.
    """

    enrollment = models.ForeignKey(Enrollment, on_delete=models.PROTECT, related_name="practice_answers")
    key = models.ForeignKey(AnswerKey, on_delete=models.PROTECT, related_name="practice_answers")
    round_story = models.ForeignKey(RoundStory, on_delete=models.PROTECT, related_name="+")
    turn = models.PositiveSmallIntegerField()
    accepted = models.BooleanField()
    answered_at = models.DateTimeField()

    class Meta:
        ordering = ("enrollment", "round_story", "turn", "question", "row")
        constraints = [
            unique(
                "one_practice_answer_per_question_and_turn",
                ["enrollment", "round_story", "turn", "question", "row"],
            ),
            check("practice_answer_says_something", ~Q(question="") & ~Q(option="") & Q(turn__gte=1)),
        ]
        triggers = [
            final("practice_answer_is_final"),
            story_of_its_round("qualification_answerkey", "key_id"),
            after("practice_is_no_test", pgtrigger.Insert, NOT_UNDER_A_TESTS_KEY),
        ]
