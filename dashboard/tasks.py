"""Background work of this room."""

from __future__ import annotations

from django.utils import timezone

from dashboard.figures import work
from dashboard.people import actions as people
from recruitment.tasks import AGAIN
from tomannot.celery import task

FIGURES_MINUTES = 25


@task(time_limit=FIGURES_MINUTES * 60)
def work_out_figures(study_id: int) -> None:
    """Work out the figures over all votes of a study."""
    work.make(study_id, now=timezone.now())


@task(time_limit=60, **AGAIN)
def mail_member_invitation(invitation_id: int, language: str) -> None:
    """Send a colleague the link of their invitation."""
    people.mail_invitation(invitation_id=invitation_id, language=language, now=timezone.now())
