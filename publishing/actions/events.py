"""The log entries of releases."""

from datetime import datetime

from accounts.models import User
from annotation.actions.events import record_event
from annotation.models import Event
from publishing.models import Release


def record_release(
    *, release: Release, type: Event.Type, now: datetime, note: str, by: User | None = None
) -> Event:
    """Append an event about a release to the log of its study."""
    subject = f"release {release.number}"
    return record_event(study=release.study, type=type, by=by, now=now, subject=subject, note=note)
