"""Skip a story that an annotator cannot judge."""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation import rules
from annotation.actions.designs import lock_story_of
from annotation.actions.events import record_about
from annotation.actions.hidden_checks import draw_consequences
from annotation.actions.serving import lock_assignment_of
from annotation.actions.slots import settle_slots
from annotation.actions.votes import credit
from annotation.errors import ReasonMissing
from annotation.models import HELD, UNANSWERED, Assignment, Enrollment, Event, Skip, Story
from annotation.sql import lock_person


@transaction.atomic
def skip_story(
    *,
    assignment_id: int,
    enrollment: Enrollment,
    reason: str,
    words: str = "",
    now: datetime,
    language: str = "en",
    session_id: int | None = None,
) -> Skip | None:
    """Skip a story for good: free its slot for somebody else, and never serve it to this annotator again.

    Within the study's allowance it is credited like an answer, in the visit too. The first submission wins:
    skipping again returns the first skip, and None means that the annotator has answered the story.

    Raise :class:`NotTheirs` if the assignment belongs to another annotator, and :class:`ReasonMissing`.
    """
    if reason not in Skip.Reason:
        raise ReasonMissing(_("Choose a reason for skipping this story."))
    assignment = lock_assignment_of(lock_person(enrollment.pk), assignment_id, session_id)
    if assignment.state not in UNANSWERED:
        return None
    if assignment.state == Assignment.State.SKIPPED:
        return assignment.skip
    person, skipped_at = assignment.enrollment, max(now, assignment.served_at)
    credited = rules.is_credited(skipped=person.stories_skipped, allowance=person.study.skip_allowance)
    credit(assignment=assignment, counts=credited, skips=1, ended_at=skipped_at, now=now)
    counts = ("stories_skipped", "stories_submitted", "order_key_reached")
    person.save(update_fields=[*counts, "working_since", "last_submitted_at"])
    if assignment.state in HELD:
        if assignment.stratum_id or person.given_items:
            lock_story_of(assignment)
        Story.objects.filter(pk=assignment.story_id).mark_free()
    assignment.state = Assignment.State.SKIPPED
    assignment.save(update_fields=["state", "session"])
    settle_slots(study=person.study, stories=[assignment.story_id])
    skip = Skip.objects.create(
        assignment=assignment,
        reason=reason,
        words=rules.words(words),
        credited=credited,
        language=language,
        skipped_at=skipped_at,
    )
    subject = f"assignment {assignment.pk}"
    record_about(person=person, type=Event.Type.STORY_SKIPPED, now=now, subject=subject, note=reason)
    if credited:
        draw_consequences(person=person, after=assignment.story, now=now)
    return skip
