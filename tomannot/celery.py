"""The Celery application, and the one decorator through which the project declares tasks."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tomannot.settings")

app = Celery("tomannot")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.beat_schedule = {
    "resume-releases": {"task": "publishing.tasks.resume_releases", "schedule": 30.0},
    "resume-imports": {"task": "annotation.tasks.resume_imports", "schedule": 60.0},
    "sweep-import-files": {"task": "annotation.tasks.sweep_import_files", "schedule": 1800.0},
    "sweep-campaigns": {"task": "recruitment.tasks.sweep_campaigns", "schedule": 300.0},
    "release-expired-leases": {"task": "annotation.tasks.release_expired_leases", "schedule": 60.0},
}


def task(*, time_limit: int, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Declare a Celery task with the house rules.

    A task takes ids, loads, and makes one call. It is acknowledged late and may run twice, so the
    action behind it must be safe to repeat. ``time_limit`` (seconds) is hard: nothing runs for ever.
    """
    return app.task(
        acks_late=True,
        reject_on_worker_lost=True,
        time_limit=time_limit,
        soft_time_limit=max(1, time_limit - 5),
        **options,
    )
