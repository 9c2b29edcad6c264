"""Celery's scheduler, which leaves a sign of life: to everybody else a dead beat looks like nothing to do."""

from typing import Any

from celery.beat import PersistentScheduler
from django.core.cache import caches

SIGN = "beat"
SIGN_SECONDS = 120
"""The sign lasts so long; the most frequent entry of the schedule is due every 20 seconds."""


class Scheduler(PersistentScheduler):
    """A scheduler that notes in Redis that it has sent work, and goes on when the clock is set back."""

    def tick(self, *args: Any, **named: Any) -> Any:
        """Send what is due. An entry that was last sent in the future would wait until the clock is there."""
        now = self.app.now()
        for entry in self.schedule.values():
            if entry.last_run_at and entry.last_run_at > now:
                entry.last_run_at, self._heap = now, None  # the heap is made anew by the next line
        return super().tick(*args, **named)

    def apply_async(self, *args: Any, **named: Any) -> Any:
        """Send an entry's task and renew the sign."""
        sent = super().apply_async(*args, **named)
        caches["shared"].set(SIGN, "", SIGN_SECONDS)
        return sent


def is_alive() -> bool:
    """Return True if beat has sent work within the last two minutes."""
    return caches["shared"].get(SIGN) is not None
