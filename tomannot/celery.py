"""The Celery application, the decorator for all of the project's tasks, and asking for work once."""

import logging
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from celery import Celery, signals
from django.core.cache import caches
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)

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


def send_once(task_name: str, *args: int | str, key: str, within: timedelta) -> bool:
    """Queue a task, unless ``key`` of the shared cache says that it is underway. Return True if it is now.

    Whoever finishes the work deletes the key; after ``within`` the work is taken for lost. If the broker is
    down, log it and return False: the next reader asks again.
    """
    if not caches["shared"].add(key, "", within.total_seconds()):
        return True
    try:
        app.send_task(task_name, args=[*args])
    except OperationalError as error:
        caches["shared"].delete(key)
        logger.warning("%s could not be asked for: %s", task_name, error)
        return False
    return True
