"""Work that a crowd platform asks for and pays by the piece."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models.people import Enrollment


class WorkSession(models.Model):
    """The work of one visit from a platform: at most so many stories, and whether their votes count.

    Who comes through a personal link has none. ``recruitment`` opens, confirms and doubts sessions; this
    room serves no more than they allow and counts no vote of an unconfirmed one (docs/adr/0031).
    """

    class State(models.TextChoices):
        OPEN = "open", _("not confirmed yet")
        CONFIRMED = "confirmed", _("confirmed by the platform")
        DOUBTED = "doubted", _("not confirmed by the platform")

    enrollment = models.ForeignKey(Enrollment, on_delete=models.PROTECT, related_name="work_sessions")
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    story_limit = models.PositiveSmallIntegerField(help_text=_("Stories asked for; 0: only the test."))
    stories_submitted = models.PositiveSmallIntegerField(
        default=0, help_text=_("Kept by annotation.actions.")
    )
    counts_at_once = models.BooleanField(
        default=False, help_text=_("Votes count before the platform has confirmed the visit.")
    )
    identity_claimed = models.BooleanField(
        default=True, help_text=_("Who it is, is only what an address said that anybody could have typed.")
    )
    framed = models.BooleanField(default=False, help_text=_("Its pages stand in a frame of the platform’s."))
    opened_at = models.DateTimeField()
    expires_at = models.DateTimeField(help_text=_("No story is given out after this."))
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state="open", settled_at=None) | ~Q(state="open") & Q(settled_at__isnull=False),
                name="work_session_is_open_or_settled",
            ),
            models.CheckConstraint(
                condition=Q(expires_at__gte=models.F("opened_at")), name="work_session_expires_later"
            ),
        ]

    def __str__(self) -> str:
        return f"work session {self.pk}"

    @property
    def takes_answers(self) -> bool:
        """Whether it is neither settled nor full, so that one more answer is part of what it asks for."""
        return self.state == self.State.OPEN and not self.is_whole

    @property
    def is_whole(self) -> bool:
        """Whether it has as many stories as it asks for; one that asks for none, of a test, always has."""
        return self.stories_submitted >= self.story_limit
