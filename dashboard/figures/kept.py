"""The figures of a study as pages get them: kept in the shared cache, worked out again when they are due.

They are figures, not facts: nothing is published by them, and losing them costs a minute of work. So they
stand in the shared cache and in no table.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.cache import caches
from kombu.exceptions import OperationalError

from annotation.models import Event, Story, Study
from tomannot.celery import app

logger = logging.getLogger(__name__)

FIGURES_TASK = "dashboard.tasks.work_out_figures"
KEPT_FOR = timedelta(days=7)
LONGEST = timedelta(minutes=30)
"""After so long without a result, the work is taken for lost and may be asked for again."""
REST = 20
"""Times its own duration that a study's figures rest, so that they cost at most a twentieth of a worker."""
SHAPE = 7
"""Of what is kept; raised when pages read more of it, so that they never meet what an older worker left."""
PEOPLE_AT_ONCE = 50
"""On one page, and in one piece of the cache: reading some does not unpack all."""
MARGIN = timedelta(minutes=1)
"""What happened so shortly before the figures were begun may have been saved too late to be in them."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What :func:`dashboard.figures.work.make` has found. ``failure`` says instead why there is nothing."""

    begun_at: datetime
    took: timedelta
    document: dict[str, Any] | None
    failure: str = ""


def latest(study: Study) -> Figures | None:
    """The newest figures of this study, without those of single people; None when there are none."""
    found: Figures | None = caches["shared"].get(_key(study))
    return found


def latest_of(studies: Sequence[Study]) -> dict[int, Figures]:
    """The same of several studies, by the studies' numbers; one question to the cache."""
    keys = {_key(study): study.pk for study in studies}
    found: dict[str, Figures] = caches["shared"].get_many(keys)
    return {keys[key]: figures for key, figures in found.items()}


def people(study: Study) -> list[dict[str, Any]]:
    """The figures of every person, as ``PeopleTally.document`` describes one, in the order of pages."""
    places = _places(study)
    pages = range(1, max(places.values(), default=0) + 1)
    return [person for page in pages for person in people_on(study, page)]


def people_on(study: Study, page: int) -> list[dict[str, Any]]:
    """The same of the people on one page of :data:`PEOPLE_AT_ONCE`, counted from 1."""
    found: list[dict[str, Any]] | None = caches["shared"].get(_key(study, f"people:{page}"))
    return found or []


def people_count(study: Study) -> int:
    """How many people have figures."""
    return len(_places(study))


def person(study: Study, pseudonym: str) -> dict[str, Any] | None:
    """The figures of one person; None when there are none."""
    page = _places(study).get(pseudonym)
    found = people_on(study, page) if page else []
    return next((row for row in found if row["pseudonym"] == pseudonym), None)


def flagged(study: Study) -> dict[str, list[str]]:
    """The flags of everybody who has one, by pseudonym. Reads the pages of these alone, which come first."""
    found: dict[str, list[str]] = {}
    for page in range(1, max(_places(study).values(), default=0) + 1):
        people = people_on(study, page)
        found |= {person["pseudonym"]: person["flags"] for person in people if person["flags"]}
        if not people or not people[-1]["flags"]:
            break
    return found


def _places(study: Study) -> dict[str, int]:
    """On which page each person is."""
    found: dict[str, int] | None = caches["shared"].get(_key(study, "people"))
    return found or {}


def is_underway(study: Study) -> bool:
    """Whether figures have been asked for and are not there yet."""
    return caches["shared"].get(_key(study, "underway")) is not None


def refreshed(study: Study, *, now: datetime) -> tuple[Figures | None, bool]:
    """The newest figures, and whether newer ones are underway; has a worker make them when they are due.

    Figures from before the first story came are none: they would say that nothing is left to do.
    """
    found = latest(study)
    if found and _is_from_before_stories(found, study):
        found = None
    underway = is_underway(study)
    if not underway and is_due(found, newest_event_at=_newest_event_at(study), now=now):
        underway = ask(study)
    return found, underway


def is_due(found: Figures | None, *, newest_event_at: datetime | None, now: datetime) -> bool:
    """Whether figures should be made: there are none, or something happened since, and they have rested."""
    if found is None:
        return True
    if newest_event_at is None or newest_event_at < found.begun_at - MARGIN:
        return False
    return now >= found.begun_at + found.took * (REST + 1)


def ask(study: Study) -> bool:
    """Have a worker make the figures, unless that is underway; whether it is now.

    It is not when the message broker takes nothing: that is logged, and whoever looks next asks again.
    """
    if not caches["shared"].add(_key(study, "underway"), True, LONGEST.total_seconds()):
        return True
    try:
        app.send_task(FIGURES_TASK, args=[study.pk])
    except OperationalError as error:
        caches["shared"].delete(_key(study, "underway"))
        logger.warning("The figures of study %s could not be asked for: %s", study.pk, error)
        return False
    return True


def keep(study: Study, made: Figures, people: list[dict[str, Any]]) -> None:
    """Put new figures in the place of the last ones; people with most flags come first, then most votes."""
    ordered = sorted(people, key=lambda row: (-len(row["flags"]), -row["votes"], row["pseudonym"]))
    pages = range(1, -(-len(ordered) // PEOPLE_AT_ONCE) + 1)
    values: dict[str, Any] = {
        _key(study, f"people:{page}"): ordered[(page - 1) * PEOPLE_AT_ONCE : page * PEOPLE_AT_ONCE]
        for page in pages
    }
    places = {row["pseudonym"]: 1 + place // PEOPLE_AT_ONCE for place, row in enumerate(ordered)}
    values |= {_key(study, "people"): places, _key(study): made}
    caches["shared"].set_many(values, KEPT_FOR.total_seconds())
    caches["shared"].delete(_key(study, "underway"))


def _is_from_before_stories(found: Figures, study: Study) -> bool:
    if found.document is None or found.document["verdicts"]["stories"]:
        return False
    return Story.objects.filter(study=study, role=Story.Role.MAIN)[:1].exists()


def _newest_event_at(study: Study) -> datetime | None:
    return Event.objects.filter(study=study).order_by("-at").values_list("at", flat=True).first()


def _key(study: Study, what: str = "study") -> str:
    """Named with the moment the study was made: an id begins anew in a database that is made anew."""
    return f"figures:{SHAPE}:{study.pk}:{study.created_at:%Y%m%d%H%M%S%f}:{what}"
