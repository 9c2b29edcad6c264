"""Work sessions: visits that a crowd platform pays for."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.schema import check, flag, optional_time
from annotation.models.enrollments import Enrollment


class WorkSession(models.Model):
    """The work of one visit from a platform: its limit of stories, and whether its votes count.

    Visits by personal link have none. ``recruitment`` opens, confirms and doubts sessions; this room
    enforces their limits and counts no vote of an unconfirmed one (docs/adr/0031).
    """

    class State(models.TextChoices):
        OPEN = "open", _("not confirmed yet")
        CONFIRMED = "confirmed", _("confirmed by the platform")
        DOUBTED = "doubted", _("not confirmed by the platform")

    enrollment = models.ForeignKey(Enrollment, on_delete=models.PROTECT, related_name="work_sessions")
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    story_limit = models.PositiveSmallIntegerField(
        help_text=_("The largest number of stories; 0: only the test.")
    )
    stories_submitted = models.PositiveSmallIntegerField(
        default=0, help_text=_("Answered, or skipped within the allowance. Maintained by annotation.actions.")
    )
    counts_unconfirmed = flag(_("Votes count before the platform has confirmed the visit."))
    identity_claimed = flag(
        _("The identity comes from an address that anybody could have typed."), initial=True
    )
    framed = flag(_("Its pages are shown in the platform’s frame."))
    test_begun = flag(_("A story of the test was answered in it."))
    test_finished_at = optional_time(_("When the test was finished that this session hands in."))
    opened_at = models.DateTimeField()
    expires_at = models.DateTimeField(help_text=_("No story is assigned after this."))
    settled_at = optional_time()

    class Meta:
        constraints = [
            check(
                "work_session_is_open_or_settled",
                Q(state="open", settled_at=None) | ~Q(state="open") & Q(settled_at__isnull=False),
            ),
            check("work_session_expires_later", Q(expires_at__gte=models.F("opened_at"))),
            check(
                "test_is_of_a_session_without_stories",
                Q(story_limit=0) | Q(test_begun=False, test_finished_at=None),
            ),
        ]

    def __str__(self) -> str:
        return f"work session {self.pk}"

    @property
    def takes_answers(self) -> bool:
        """Return True while the session is open and below its limit of stories."""
        return self.state == self.State.OPEN and not self.is_whole

    @property
    def is_whole(self) -> bool:
        """Return True if the session has reached its limit; always true for a test, whose limit is 0."""
        return self.stories_submitted >= self.story_limit
