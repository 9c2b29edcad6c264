"""Private previews: a study's next release, built in full and published nowhere.

Card, charts and counts are kept in the shared cache for a while; the other files are removed at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.core.cache import caches

from accounts.errors import DomainError
from annotation.models import Study
from annotation.protocols import UnknownProtocol
from publishing.actions.releases import next_release, write_release
from publishing.card import CARD_PATH
from publishing.facts import Statement
from publishing.queries import statement_of
from publishing.steps import no_report
from publishing.store import remove_leftovers
from tomannot.cache import row_key
from tomannot.celery import Job

PREVIEW_TASK = "publishing.tasks.preview_release"
KEPT_FOR = timedelta(minutes=10)
UNFINISHED = ".preview-"


@dataclass(frozen=True, slots=True)
class Preview:
    """A release as it would have been at a moment; ``failure`` says why there is none."""

    at: datetime
    statement: Statement
    number: int = 0
    counts: Mapping[str, Any] = field(default_factory=dict)
    card: str = ""
    charts: Mapping[str, bytes] = field(default_factory=dict)
    failure: str = ""


def latest(study: Study, filter_name: str) -> Preview | None:
    """Return the stored preview, if any."""
    found: Preview | None = caches["shared"].get(_key(study, filter_name))
    return found


def get_or_request(study: Study, filter_name: str, *, now: datetime) -> Preview | None:
    """Return the preview. If there is none with the data statement of now, have a worker build it."""
    found = latest(study, filter_name)
    if found and found.statement == statement_of(study, at=now):
        return found
    _job(study, filter_name).request()
    return None


def build(*, study_id: int, filter_name: str, now: datetime) -> Preview:
    """Build a preview and store it, or why there is none. Must not run inside a transaction."""
    study = Study.objects.get(pk=study_id)
    statement = statement_of(study, at=now)
    try:
        made = _build(study, filter_name, statement, now=now)
    except (OSError, DomainError, UnknownProtocol) as error:
        made = Preview(now, statement, failure=str(error))
    finally:
        _job(study, filter_name).finish()
    caches["shared"].set(_key(study, filter_name), made, KEPT_FOR.total_seconds())
    return made


def _build(study: Study, filter_name: str, statement: Statement, *, now: datetime) -> Preview:
    release = next_release(study=study, by=None, now=now, filter_name=filter_name)
    root = Path(settings.RELEASES_ROOT)
    root.mkdir(parents=True, exist_ok=True)
    remove_leftovers(root, UNFINISHED)
    with TemporaryDirectory(prefix=UNFINISHED, dir=root) as place:
        folder = Path(place) / "release"
        built = write_release(release, folder, no_report)
        paths = [file.path for file in built.files if file.path.endswith(".svg")]
        charts = {path: (folder / path).read_bytes() for path in paths}
        card = (folder / CARD_PATH).read_text(encoding="utf-8")
    return Preview(now, statement, release.number, built.description["counts"], card, charts)


def _key(study: Study, filter_name: str) -> str:
    return row_key(study, f"preview:{filter_name}")


def _job(study: Study, filter_name: str) -> Job:
    return Job(PREVIEW_TASK, (study.pk, filter_name), f"{_key(study, filter_name)}:underway")
