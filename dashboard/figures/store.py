"""Cached figures of a study for pages, computed again when they are due.

They live in the shared cache and in no table: nothing is published from them, and losing them costs a minute
of work.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

from django.core.cache import caches

from annotation.models import Event, Story, Study
from tomannot.cache import row_key
from tomannot.celery import Job

FIGURES_TASK = "dashboard.tasks.compute_figures"
KEPT_FOR = timedelta(days=7)
REST = 20
"""Times its own duration that a study's figures rest, so that they cost at most a twentieth of a worker."""
SHAPE = 9
"""Version of the cached format. Raise it when pages read more, so that they ignore older documents."""
PEOPLE_AT_ONCE = 50
"""On one page, and in one piece of the cache: reading some does not unpack all."""
MARGIN = timedelta(minutes=1)
"""Events this shortly before the computation may have been committed too late to be included."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Result of :func:`dashboard.figures.compute.make`; ``failure`` is the reason if there is no document."""

    begun_at: datetime
    took: timedelta
    document: dict[str, Any] | None
    failure: str = ""


def latest(study: Study) -> Figures | None:
    """Return the study's newest figures, without those of single participants; None if there are none."""
    found: Figures | None = caches["shared"].get(_key(study))
    return found


def latest_of(studies: Sequence[Study]) -> dict[int, Figures]:
    """Return the latest figures of several studies by study id, in one cache request."""
    keys = {_key(study): study.pk for study in studies}
    found: dict[str, Figures] = caches["shared"].get_many(keys)
    return {keys[key]: figures for key, figures in found.items()}


def people(study: Study) -> Iterator[dict[str, Any]]:
    """Yield every participant's figures in the order of pages, each as in ``PeopleTally.document``."""
    for page in range(1, max(_places(study).values(), default=0) + 1):
        yield from people_on(study, page)


def people_on(study: Study, page: int) -> list[dict[str, Any]]:
    """Return the figures of the participants on one page of :data:`PEOPLE_AT_ONCE`, counted from 1."""
    found: list[dict[str, Any]] | None = caches["shared"].get(_key(study, f"people:{page}"))
    return found or []


def people_count(study: Study) -> int:
    return len(_places(study))


def person(study: Study, pseudonym: str) -> dict[str, Any] | None:
    """Return one participant's figures; None if there are none."""
    page = _places(study).get(pseudonym)
    found = people_on(study, page) if page else []
    return next((row for row in found if row["pseudonym"] == pseudonym), None)


def flagged(study: Study) -> dict[str, list[str]]:
    """Return the flags of flagged participants by pseudonym; they come first on the pages."""
    first = takewhile(lambda person: person["flags"], people(study))
    return {person["pseudonym"]: person["flags"] for person in first}


def _places(study: Study) -> dict[str, int]:
    """Return each participant's page."""
    found: dict[str, int] | None = caches["shared"].get(_key(study, "people"))
    return found or {}


def is_underway(study: Study) -> bool:
    """Return True if requested figures are still being computed."""
    return _job(study).is_underway()


def refreshed(study: Study, *, now: datetime) -> tuple[Figures | None, bool]:
    """Return the newest figures, and whether newer ones are underway; request them if they are due.

    Figures from before the first import are ignored: they would say that nothing is left to do.
    """
    found = latest(study)
    if found and found.document and not found.document["verdicts"]["stories"]:
        has_stories = Story.objects.filter(study=study, role=Story.Role.MAIN)[:1].exists()
        found = None if has_stories else found
    underway = is_underway(study)
    events = Event.objects.filter(study=study).order_by("-at").values_list("at", flat=True)
    if not underway and is_due(found, newest_event_at=events.first(), now=now):
        underway = _job(study).request()
    return found, underway


def is_due(found: Figures | None, *, newest_event_at: datetime | None, now: datetime) -> bool:
    """Return True if figures are to be computed: there are none, or they are outdated and old enough."""
    if found is None:
        return True
    if newest_event_at is None or newest_event_at < found.begun_at - MARGIN:
        return False
    return now >= found.begun_at + found.took * (REST + 1)


def keep(study: Study, made: Figures, people: list[dict[str, Any]]) -> None:
    """Replace the stored figures. Participants with most flags come first, then those with most votes."""
    ordered = sorted(people, key=lambda row: (-len(row["flags"]), -row["votes"], row["pseudonym"]))
    pages = range(1, -(-len(ordered) // PEOPLE_AT_ONCE) + 1)
    values: dict[str, Any] = {
        _key(study, f"people:{page}"): ordered[(page - 1) * PEOPLE_AT_ONCE : page * PEOPLE_AT_ONCE]
        for page in pages
    }
    places = {row["pseudonym"]: 1 + place // PEOPLE_AT_ONCE for place, row in enumerate(ordered)}
    values |= {_key(study, "people"): places, _key(study): made}
    caches["shared"].set_many(values, KEPT_FOR.total_seconds())
    _job(study).finish()


def _job(study: Study) -> Job:
    return Job(FIGURES_TASK, (study.pk,), _key(study, "underway"))


def _key(study: Study, what: str = "study") -> str:
    return row_key(study, f"figures:{SHAPE}:{what}")
