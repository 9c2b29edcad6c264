"""Background work of the dashboard."""

from accounts.actions import forget_ended_sessions
from annotation import actions as annotation_actions
from annotation.alert_kinds import AlertKind
from annotation.models import Study
from dashboard.alerts import delivery
from dashboard.figures import compute, store
from dashboard.settings import mails
from recruitment.tasks import RETRY
from tomannot import clock
from tomannot.celery import app, task
from tomannot.metrics import TimedTask

MAIL = RETRY | {"base": TimedTask}  # researchers' mails: there is no annotator in whose log to note a failure
FIGURES_MINUTES = 25
DELIVER_TASK = "dashboard.tasks.deliver_alerts"


@task(time_limit=FIGURES_MINUTES * 60)
def compute_figures(study_id: int) -> None:
    """Compute the figures over all votes of a study."""
    compute.make(study_id, now=clock.now())


@task(time_limit=60, **MAIL)
def mail_member_invitation(invitation_id: int, language: str) -> None:
    """Mail a colleague the link of their invitation."""
    mails.mail_invitation(invitation_id=invitation_id, language=language, now=clock.now())


@task(time_limit=60, **MAIL)
def mail_account_link(address_id: int | None, language: str) -> None:
    """Mail a researcher the link that confirms their address, or lets them choose a new password."""
    mails.mail_link(address_id=address_id, language=language)


@task(time_limit=240)
def prepare_alerts() -> None:
    """Look for studies that are complete or stalled and for new flags; queue digests, delete what is old."""
    now = clock.now()
    for study in Study.objects.filter(state__in=(Study.State.OPEN, Study.State.PAUSED)):
        annotation_actions.note_progress(study=study, now=now)
        if annotation_actions.is_wanted(study, AlertKind.PARTICIPANT_FLAGGED):
            store.refreshed(study, now=now)
    annotation_actions.queue_digests(now=now)
    annotation_actions.forget_old_alerts(now=now)
    forget_ended_sessions(now=now)


@task(time_limit=50)
def send_alerts() -> None:
    """Have the due alerts of every recipient sent, each recipient's by a task of its own."""
    for recipient in delivery.recipients(now=clock.now()):
        app.send_task(DELIVER_TASK, args=list(recipient))


@task(time_limit=330)
def deliver_alerts(study_id: int, user_id: int | None, webhook_id: int | None) -> None:
    """Send one recipient's due alerts until none is left or one fails."""
    for _ in range(delivery.MOST_REQUESTS):
        if not delivery.deliver((study_id, user_id, webhook_id), now=clock.now()):
            break
