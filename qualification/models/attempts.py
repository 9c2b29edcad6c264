"""People's attempts at a round, and their answers in it."""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from annotation.models import Enrollment
from qualification.models.rounds import AnswerKey, Round, RoundStory
from qualification.models.triggers import (
    FINAL,
    KEY_OF_ITS_ROUND,
    NOT_HANDED_IN,
    ONLY_BECOMES_VOID,
    story_of_its_round,
)


class AttemptQuerySet(models.QuerySet["Attempt"]):
    def standing(self) -> AttemptQuerySet:
        """Those that count: not the void ones."""
        return self.exclude(state=Attempt.State.VOID)

    def to_be_paid(self) -> AttemptQuerySet:
        """Those that their person handed in, also if they do not count any more."""
        return self.filter(was_theirs=True, submitted_at__isnull=False)


class Attempt(models.Model):
    """One person's try at a round, graded against the key that stood when they began.

    Attempts are numbered over all rounds of a study, so that another form is no further try. One that a
    researcher has made void stays as it was, counts for nothing, and leaves its number to another.
    """

    class State(models.TextChoices):
        STARTED = "started", _("started")
        SUBMITTED = "submitted", _("handed in")
        VOID = "void", _("void")

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="attempts")
    enrollment = models.ForeignKey(Enrollment, on_delete=models.PROTECT, related_name="attempts")
    key = models.ForeignKey(AnswerKey, on_delete=models.PROTECT, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    attempts_allowed = models.PositiveSmallIntegerField(
        help_text=_("Over all rounds of the study, by the one that the person was given first.")
    )
    state = models.CharField(max_length=10, choices=State, default=State.STARTED)
    started_at = models.DateTimeField()
    submitted_at = models.DateTimeField(null=True, blank=True)
    passed = models.BooleanField(null=True, blank=True)
    voided_at = models.DateTimeField(null=True, blank=True)
    was_theirs = models.BooleanField(
        default=True,
        db_default=True,
        help_text=_("No: void, because somebody else took the test in their name."),
    )

    objects = AttemptQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)
        constraints = [
            models.UniqueConstraint(
                fields=["enrollment", "number"],
                condition=~Q(state="void"),
                name="one_attempt_per_number_and_person",
            ),
            models.UniqueConstraint(
                fields=["enrollment"], condition=Q(state="started"), name="one_attempt_at_a_time_per_person"
            ),
            models.CheckConstraint(
                condition=Q(number__gte=1) & Q(number__lte=F("attempts_allowed")),
                name="attempt_is_one_of_those_allowed",
            ),
            models.CheckConstraint(
                condition=Q(state="started", submitted_at=None, passed=None)
                | Q(state="submitted", submitted_at__isnull=False, passed__isnull=False)
                | Q(state="void", submitted_at=None, passed=None)
                | Q(state="void", submitted_at__isnull=False, passed__isnull=False),
                name="attempt_is_graded_when_handed_in",
            ),
            models.CheckConstraint(
                condition=Q(state="void", voided_at__isnull=False)
                | ~Q(state="void") & Q(voided_at=None, was_theirs=True),
                name="attempt_is_void_since_a_time",
            ),
        ]
        triggers = [
            pgtrigger.Protect(
                name="void_attempt_is_final", operation=FINAL, condition=pgtrigger.Q(old__state="void")
            ),
            pgtrigger.Trigger(
                name="submitted_attempt_is_final",
                operation=FINAL,
                when=pgtrigger.Before,
                condition=pgtrigger.Q(old__state="submitted"),
                func=ONLY_BECOMES_VOID,
            ),
            pgtrigger.Trigger(
                name="attempt_is_under_a_key_of_its_round",
                operation=pgtrigger.Insert | pgtrigger.Update,
                when=pgtrigger.After,
                func=KEY_OF_ITS_ROUND,
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} at {self.round}"


class AttemptAnswer(models.Model):
    """One answer of an attempt. Can change until the attempt is handed in, then never."""

    attempt = models.ForeignKey(Attempt, on_delete=models.PROTECT, related_name="answers")
    round_story = models.ForeignKey(RoundStory, on_delete=models.PROTECT, related_name="+")
    question = models.CharField(max_length=40)
    row = models.CharField(max_length=40, blank=True, default="")
    option = models.CharField(max_length=40)
    accepted = models.BooleanField(null=True, blank=True, help_text=_("Set when the attempt is graded."))

    class Meta:
        ordering = ("attempt", "round_story", "question", "row")
        constraints = [
            models.UniqueConstraint(
                fields=["attempt", "round_story", "question", "row"], name="one_attempt_answer_per_question"
            ),
            models.CheckConstraint(
                condition=~Q(question="") & ~Q(option=""), name="attempt_answer_says_something"
            ),
        ]
        triggers = [
            pgtrigger.Protect(
                name="graded_answer_is_final",
                operation=FINAL,
                condition=pgtrigger.Q(old__accepted__isnull=False),
            ),
            pgtrigger.Trigger(
                name="submitted_attempt_does_not_grow",
                operation=pgtrigger.Insert | FINAL,
                when=pgtrigger.Before,
                func=NOT_HANDED_IN,
            ),
            story_of_its_round("qualification_attempt", "attempt_id"),
        ]

    def __str__(self) -> str:
        return f"{self.question}: {self.option}"
