"""Kinds of alerts, and the event of the audit log that causes each. Pure."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class AlertKind(models.TextChoices):
    """A subject that a researcher or a webhook can be alerted to."""

    EXPERT_ASKED = "expert_asked", _("an expert is asked for test answers")
    KEY_READY = "key_ready", _("an answer key is ready")
    STUDY_COMPLETE = "study_complete", _("every story has all its votes")
    STUDY_STALLED = "study_stalled", _("no votes come in")
    PARTICIPANT_FLAGGED = "participant_flagged", _("a participant is flagged, warned or suspended")
    PAYMENT_MISMATCH = "payment_mismatch", _("a platform’s list differs from ours")
    RELEASE_FINISHED = "release_finished", _("a release is published or failed")
    DIGEST = "digest", _("daily digest")
    TEST = "test", _("a test")


CAUSES = {
    "expert_asked": AlertKind.EXPERT_ASKED,
    "answer_key_set": AlertKind.KEY_READY,
    "study_completed": AlertKind.STUDY_COMPLETE,
    "study_stalled": AlertKind.STUDY_STALLED,
    "annotator_flagged": AlertKind.PARTICIPANT_FLAGGED,
    "annotator_warned": AlertKind.PARTICIPANT_FLAGGED,
    "enrollment_suspended": AlertKind.PARTICIPANT_FLAGGED,
    "mismatch_noticed": AlertKind.PAYMENT_MISMATCH,
    "release_published": AlertKind.RELEASE_FINISHED,
    "release_failed": AlertKind.RELEASE_FINISHED,
}
"""Alert kind by event type."""
EVENT_KINDS = tuple(dict.fromkeys(CAUSES.values()))
"""Kinds that members and webhooks can choose. The digest is for mails only."""


def usual_kinds() -> list[str]:
    """Return the alerts of members who chose none: only what they are asked to do themselves."""
    return [AlertKind.EXPERT_ASKED.value]
