"""The Celery application, the decorator for all of the project's tasks, and work that is requested once."""

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from celery import Celery, signals
from django.core.cache import caches
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)
LONGEST_JOB = timedelta(minutes=30)
"""After so long without an outcome, requested work is taken for lost and may be requested again."""

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tomannot.settings")

app = Celery("tomannot", task_cls="tomannot.metrics:TimedTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.beat_scheduler = "tomannot.beat:Scheduler"
app.conf.beat_schedule = {
    "resume-releases": {"task": "publishing.tasks.resume_releases", "schedule": 30.0},
    "resume-imports": {"task": "annotation.tasks.resume_imports", "schedule": 60.0},
    "sweep-import-files": {"task": "annotation.tasks.sweep_import_files", "schedule": 1800.0},
    "sweep-campaigns": {"task": "recruitment.tasks.sweep_campaigns", "schedule": 300.0},
    "prepare-alerts": {"task": "dashboard.tasks.prepare_alerts", "schedule": 300.0},
    "send-alerts": {"task": "dashboard.tasks.send_alerts", "schedule": 20.0},
    "release-expired-leases": {"task": "annotation.tasks.release_expired_leases", "schedule": 60.0},
}


@signals.setup_logging.connect
def leave_logging(**_: Any) -> None:
    """Let workers and beat log as the settings say: otherwise Celery would, unmasked."""


def task(*, time_limit: int, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Declare a Celery task with the project's rules.

    A task takes ids, loads the rows, and makes one call. It is acknowledged late and may run twice, so its
    action must be safe to repeat. ``time_limit`` (seconds) is hard: nothing runs for ever.
    """
    return app.task(
        acks_late=True,
        reject_on_worker_lost=True,
        time_limit=time_limit,
        soft_time_limit=max(1, time_limit - 5),
        **options,
    )


@dataclass(frozen=True, slots=True)
class Job:
    """A task that is queued once, however many readers request it. ``key`` marks it in the shared cache."""

    task: str
    args: tuple[int | str, ...]
    key: str

    def request(self) -> bool:
        """Queue the task, unless it is underway or its last failure is still shown.

        If the broker is down, log it and return False: the next reader requests it again.
        """
        if not caches["shared"].add(self.key, "", LONGEST_JOB.total_seconds()):
            return True
        try:
            app.send_task(self.task, args=[*self.args])
        except OperationalError as error:
            caches["shared"].delete(self.key)
            logger.warning("%s could not be queued: %s", self.task, error)
            return False
        return True

    def is_underway(self) -> bool:
        """Return True if the task is requested and has not finished."""
        return bool(caches["shared"].get(self.key) == "")

    def failure(self) -> str:
        """Return the failure that is still shown; empty if there is none."""
        return caches["shared"].get(self.key) or ""

    def finish(self, failure: str = "", *, shown_for: timedelta = timedelta()) -> None:
        """Let the task be requested again: at once, or when its failure has been shown for so long."""
        if failure:
            caches["shared"].set(self.key, failure, shown_for.total_seconds())
        else:
            caches["shared"].delete(self.key)
