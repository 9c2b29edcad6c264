"""Background work of accounts."""

from accounts import actions
from tomannot import clock
from tomannot.celery import task


@task(time_limit=60)
def sweep_sessions() -> None:
    """Delete what is kept of sessions that are over."""
    actions.forget_ended_sessions(now=clock.now())
