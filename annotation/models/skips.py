"""Stories that annotators could not judge, and comments on those that they judged."""

from typing import Any

import pgtrigger
from django.db import models
from django.db.models import Count, Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from accounts.schema import check, final, fixed, stays
from annotation.models.reviews import VoteExclusion
from annotation.models.stories import Story
from annotation.models.studies import Study
from annotation.models.votes import Assignment, Vote
from annotation.models.work_sessions import WorkSession
from annotation.rules import MOST_WORDS

_WORDS_ARE_ONLY_ERASED = pgtrigger.Q(old__words__df=pgtrigger.F("new__words")) & ~pgtrigger.Q(new__words="")


class SkipQuerySet(models.QuerySet["Skip"]):
    def in_force(self) -> "SkipQuerySet":
        """Filter skips whose annotator has not voted on the story after all."""
        return self.filter(assignment__state=Assignment.State.SKIPPED)

    def reported(self, study: Study) -> "SkipQuerySet":
        """Filter skips of main stories that researchers see and releases tell.

        Leave out those of visits that a platform doubts, and of annotators whose votes are excluded.
        """
        out = VoteExclusion.objects.in_force().of_people()
        return self.in_force().filter(
            ~Exists(out.filter(enrollment=OuterRef("assignment__enrollment"))),
            Q(assignment__session=None) | ~Q(assignment__session__state=WorkSession.State.DOUBTED),
            assignment__story__study=study,
            assignment__story__role=Story.Role.MAIN,
            assignment__enrollment__environment=study.environment,
        )

    def by_story(self, study: Study) -> Any:
        """Count the study's skips per story and reason, most skipped first."""
        return (
            self.reported(study)
            .values("assignment__story__story_id")
            .annotate(
                skips=Count("pk"), **{reason: Count("pk", filter=Q(reason=reason)) for reason in Skip.Reason}
            )
            .order_by("-skips", "assignment__story__story_id")
        )


class Skip(models.Model):
    """An annotator's word that they cannot judge a story, with the reason. Only its words can be erased.

    It is in force while its assignment is skipped: a vote that comes after all takes precedence.
    """

    class Reason(models.TextChoices):
        UNCLEAR = "unclear", _("It’s unclear")
        BROKEN = "broken", _("It’s broken: text is missing or garbled")
        UPSETTING = "upsetting", _("It upsets me")
        KNOWN = "known", _("I know it already")

    assignment = models.OneToOneField(
        Assignment, on_delete=models.PROTECT, related_name="skip", primary_key=True
    )
    reason = models.CharField(max_length=10, choices=Reason)
    words = models.CharField(max_length=MOST_WORDS, blank=True)
    credited = models.BooleanField(help_text=_("Within the study’s allowance, so it is paid like an answer."))
    language = models.CharField(max_length=10, default="en")
    skipped_at = models.DateTimeField()

    objects = SkipQuerySet.as_manager()

    class Meta:
        constraints = [check("skip_has_a_reason", Q(reason__in=["unclear", "broken", "upsetting", "known"]))]
        triggers = [
            stays("skip_stays"),
            fixed("skip_is_final", ["assignment", "reason", "credited", "language", "skipped_at"]),
            final("words_of_skip_are_only_erased", pgtrigger.Update, condition=_WORDS_ARE_ONLY_ERASED),
        ]

    def __str__(self) -> str:
        return f"{self.assignment_id}: {self.reason}"


class Comment(models.Model):
    """An annotator's words about a story, saved with their vote. They can only be erased."""

    vote = models.OneToOneField(Vote, on_delete=models.PROTECT, related_name="comment", primary_key=True)
    words = models.CharField(max_length=MOST_WORDS, blank=True)

    class Meta:
        triggers = [
            stays("comment_stays"),
            final("words_of_comment_are_only_erased", pgtrigger.Update, condition=_WORDS_ARE_ONLY_ERASED),
        ]

    def __str__(self) -> str:
        return f"comment on vote {self.vote_id}"
