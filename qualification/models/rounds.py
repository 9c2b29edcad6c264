"""Rounds of stories, the experts' answers, and the acceptable ones."""

from __future__ import annotations

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models import Story, Study
from qualification.models.triggers import (
    BLIND_AND_FINAL,
    FINAL,
    NOBODY_IS_BLIND,
    NOTHING_IS_OPEN,
    STAYS_UNDER_ITS_KEY,
    frozen_key_does_not_grow,
    story_of_its_round,
)
from qualification.rules import LONGEST_REASON


class RoundQuerySet(models.QuerySet["Round"]):
    def active_in(self, study: Study) -> RoundQuerySet:
        """The rounds of the study that newcomers take in turn, by number."""
        return self.filter(study=study, state=Round.State.ACTIVE).order_by("number")


class Round(models.Model):
    """A few stories that people must judge acceptably before they are given real ones."""

    class State(models.TextChoices):
        PREPARING = "preparing", _("without a key")
        ACTIVE = "active", _("active")
        RETIRED = "retired", _("retired")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="rounds")
    number = models.PositiveSmallIntegerField()
    title = models.CharField(max_length=200, blank=True)
    attempts_allowed = models.PositiveSmallIntegerField(default=1)
    pays_on_fail = models.BooleanField(default=True)
    state = models.CharField(max_length=10, choices=State, default=State.PREPARING)
    laid_open_at = models.DateTimeField(
        null=True, blank=True, help_text=_("Since when the experts’ answers can be read.")
    )
    created_at = models.DateTimeField()

    objects = RoundQuerySet.as_manager()

    class Meta:
        ordering = ("study", "number")
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="one_round_per_number_in_a_study"),
            models.CheckConstraint(condition=Q(attempts_allowed__gte=1), name="round_allows_an_attempt"),
            models.CheckConstraint(
                condition=Q(state__in=["preparing", "active", "retired"]), name="round_has_a_known_state"
            ),
        ]
        triggers = [
            pgtrigger.Protect(
                name="round_is_laid_open_for_good",
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(old__laid_open_at__isnull=False)
                & pgtrigger.Q(old__laid_open_at__df=pgtrigger.F("new__laid_open_at")),
            ),
            pgtrigger.Trigger(
                name="nobody_is_blind_when_laid_open",
                operation=pgtrigger.Update,
                when=pgtrigger.After,
                condition=pgtrigger.Q(old__laid_open_at__isnull=True)
                & pgtrigger.Q(new__laid_open_at__isnull=False),
                func=NOBODY_IS_BLIND,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study} round {self.number}"


class RoundStory(models.Model):
    """A story of a round, at its place."""

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="round_stories")
    story = models.ForeignKey(Story, on_delete=models.PROTECT, related_name="+")
    position = models.PositiveSmallIntegerField()

    class Meta:
        verbose_name_plural = "round stories"
        ordering = ("round", "position")
        constraints = [
            models.UniqueConstraint(fields=["round", "story"], name="a_story_is_once_in_a_round"),
            models.UniqueConstraint(fields=["round", "position"], name="one_story_per_position_in_a_round"),
            models.CheckConstraint(condition=Q(position__gte=1), name="round_positions_count_from_one"),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="stories_stay_under_a_key",
                operation=pgtrigger.Insert | pgtrigger.Update | pgtrigger.Delete,
                when=pgtrigger.After,
                func=STAYS_UNDER_ITS_KEY,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.round} story {self.position}"


class ExpertReview(models.Model):
    """An expert's own answers to a round's stories. Blind: read by nobody else until all are laid open."""

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="reviews")
    expert = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    asked_at = models.DateTimeField()
    handed_in_at = models.DateTimeField(null=True, blank=True)
    dismissed_at = models.DateTimeField(
        null=True, blank=True, help_text=_("When they were no longer waited for.")
    )

    class Meta:
        ordering = ("round", "asked_at", "pk")
        constraints = [
            models.UniqueConstraint(fields=["round", "expert"], name="one_review_per_expert_and_round"),
            models.CheckConstraint(
                condition=Q(handed_in_at=None) | Q(dismissed_at=None),
                name="who_handed_in_is_not_dismissed",
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="expert_review_stays", operation=pgtrigger.Delete),
            pgtrigger.Protect(
                name="handed_in_review_is_final",
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(old__handed_in_at__isnull=False),
            ),
            pgtrigger.ReadOnly(name="expert_review_is_theirs", fields=["round", "expert"]),
            pgtrigger.Trigger(
                name="nobody_is_asked_once_open",
                operation=pgtrigger.Insert | pgtrigger.Update,
                when=pgtrigger.After,
                func=NOTHING_IS_OPEN,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.expert} on {self.round}"

    @property
    def is_pending(self) -> bool:
        """Whether the expert is still waited for."""
        return self.handed_in_at is None and self.dismissed_at is None


class ExpertAnswerQuerySet(models.QuerySet["ExpertAnswer"]):
    def laid_open(self) -> ExpertAnswerQuerySet:
        """Those that others than their expert may read: handed in, and nobody answers blind any more."""
        return self.filter(review__handed_in_at__isnull=False, review__round__laid_open_at__isnull=False)


class ExpertAnswer(models.Model):
    """One answer of an expert. Can change until they hand in, then never."""

    review = models.ForeignKey(ExpertReview, on_delete=models.PROTECT, related_name="answers")
    round_story = models.ForeignKey(RoundStory, on_delete=models.PROTECT, related_name="+")
    question = models.CharField(max_length=40)
    row = models.CharField(max_length=40, blank=True, default="")
    option = models.CharField(max_length=40)

    objects = ExpertAnswerQuerySet.as_manager()

    class Meta:
        ordering = ("review", "round_story", "question", "row")
        constraints = [
            models.UniqueConstraint(
                fields=["review", "round_story", "question", "row"], name="one_expert_answer_per_question"
            ),
            models.CheckConstraint(
                condition=~Q(question="") & ~Q(option=""), name="expert_answer_says_something"
            ),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="handed_in_answer_is_final",
                operation=pgtrigger.Insert | pgtrigger.Update | pgtrigger.Delete,
                when=pgtrigger.Before,
                func=BLIND_AND_FINAL,
            ),
            story_of_its_round("qualification_expertreview", "review_id"),
        ]

    def __str__(self) -> str:
        return f"{self.question}: {self.option}"


class AnswerKey(models.Model):
    """What the experts agreed to accept. Never leaves the server; a new one is a new version."""

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="keys")
    version = models.PositiveSmallIntegerField()
    note = models.TextField(blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("round", "version")
        constraints = [
            models.UniqueConstraint(fields=["round", "version"], name="one_answer_key_per_version"),
        ]
        triggers = [pgtrigger.Protect(name="key_version_is_final", operation=FINAL)]

    def __str__(self) -> str:
        return f"{self.round} key {self.version}"


class AcceptableOption(models.Model):
    """One option that the key accepts for one question about one story of the round."""

    key = models.ForeignKey(AnswerKey, on_delete=models.PROTECT, related_name="options")
    round_story = models.ForeignKey(RoundStory, on_delete=models.PROTECT, related_name="+")
    question = models.CharField(max_length=40)
    row = models.CharField(max_length=40, blank=True, default="")
    option = models.CharField(max_length=40)

    class Meta:
        ordering = ("key", "round_story", "question", "row", "option")
        constraints = [
            models.UniqueConstraint(
                fields=["key", "round_story", "question", "row", "option"], name="an_option_is_accepted_once"
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="answer_key_is_final", operation=FINAL),
            frozen_key_does_not_grow(),
            story_of_its_round("qualification_answerkey", "key_id"),
        ]

    def __str__(self) -> str:
        return f"{self.question}: {self.option}"


class KeyReason(models.Model):
    """Why the key accepts what it accepts for one question about one story of the round."""

    key = models.ForeignKey(AnswerKey, on_delete=models.PROTECT, related_name="reasons")
    round_story = models.ForeignKey(RoundStory, on_delete=models.PROTECT, related_name="+")
    question = models.CharField(max_length=40)
    row = models.CharField(max_length=40, blank=True, default="")
    reason = models.CharField(max_length=LONGEST_REASON)

    class Meta:
        ordering = ("key", "round_story", "question", "row")
        constraints = [
            models.UniqueConstraint(
                fields=["key", "round_story", "question", "row"], name="one_reason_per_question_of_a_key"
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="reason_of_a_key_says_something"),
        ]
        triggers = [
            pgtrigger.Protect(name="key_reason_is_final", operation=FINAL),
            frozen_key_does_not_grow(),
            story_of_its_round("qualification_answerkey", "key_id"),
        ]

    def __str__(self) -> str:
        return f"{self.question}: {self.reason}"


class KeyReader(models.Model):
    """Somebody who could read a key of the round, or its laid-open answers, when these were made.

    Rights can be taken again, and a name can change; who has read a key does not forget it.
    """

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="readers")
    reader = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ("round", "reader")
        constraints = [
            models.UniqueConstraint(fields=["round", "reader"], name="a_reader_is_remembered_once"),
        ]
        triggers = [pgtrigger.Protect(name="reader_is_not_forgotten", operation=FINAL)]

    def __str__(self) -> str:
        return f"{self.reader} on {self.round}"
