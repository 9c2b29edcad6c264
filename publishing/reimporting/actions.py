"""Making a study of a release."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from django.db import transaction

from accounts.models import Environment, User
from annotation import actions
from annotation.actions.events import record_event
from annotation.actions.past import enroll_past_people, store_past_votes
from annotation.models import Event, Study
from annotation.protocols import UnknownProtocol, get_protocol
from publishing.errors import NotImportable
from publishing.files.rows import DROPPED_PATH
from publishing.reimporting.reading import Crowd, past_stories, read_crowd, story_file
from publishing.verifying import Report, check_release
from publishing.verifying.decisions import KEPT_PATH
from publishing.verifying.description import Description

CONSENT = (
    "Nobody is asked here: the votes of this study were given in another one, to whose consent text the "
    "people agreed there. {source}."
)


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of an import. ``crowd`` is None when votes were not asked for."""

    study: Study
    stories: int
    votes: int
    crowd: Crowd | None


def checked(directory: Path) -> tuple[Report, Description]:
    """Check a release (all but its machine validation). Raises :class:`NotImportable` with what is wrong."""
    report = check_release(directory, with_machine_validation=False)
    if not report.is_sound or report.description is None:
        first = report.shown[0]
        raise NotImportable(
            f"{directory} is not sound. manage.py verify_release finds {report.findings.total} in all; the "
            f"first is {first}"
        )
    return report, report.description


@transaction.atomic
def import_release(
    *, directory: Path, slug: str, contact: str, with_votes: bool, by: User | None, now: datetime
) -> Imported:
    """A study with the stories of a release, kept and dropped; all of it or nothing.

    Without votes it is a draft, to be judged anew. With them it is closed: its people are new,
    qualified annotators whom nobody can name, and every counted vote on a complete story is stored with
    its times. Surplus votes, the votes of incomplete stories and the language of the forms are not in a
    release or belong to no story of it, so they are not imported. Raises :class:`NotImportable`, and the
    refusals of ``annotation.actions``.
    """
    report, told = checked(directory)
    source = f"imported from release {told.document['study']} {told.document['number']}"
    note = f"{source}, MANIFEST {report.manifest_sha256}"
    crowd = read_crowd(directory, told) if with_votes else None
    study = actions.create_study(slug=slug, settings=_settings(told, note, contact, crowd), by=by, now=now)
    if told.document["environment"] == Environment.REHEARSAL:
        study = actions.make_rehearsal(study=study, by=by, now=now)
    record_event(
        study=study,
        type=Event.Type.RELEASE_IMPORTED,
        by=by,
        now=now,
        subject=f"release {told.document['number']} of {told.document['study']}",
        note=note,
    )
    stories = sum(_import(study, directory, path, told, by, now) for path in (KEPT_PATH, DROPPED_PATH))
    votes = _import_votes(study, directory, told, crowd, note, by, now) if crowd else 0
    study.refresh_from_db()
    return Imported(study, stories, votes, crowd)


def _settings(told: Description, note: str, contact: str, crowd: Crowd | None) -> actions.StudySettings:
    protocol = told.document["protocol"]
    try:
        get_protocol(protocol["name"], protocol["version"])
    except UnknownProtocol as error:
        raise NotImportable(str(error)) from error
    usual = actions.StudySettings(
        title=told.document["title"],
        contact=contact,
        description=f"{note[:1].upper()}{note[1:]}.",
        protocol=protocol["name"],
        votes_per_story=told.votes_per_story,
        license=told.document["license"],
    )
    if crowd is None:
        return usual
    cap = max(usual.story_cap, crowd.most_stories)
    return replace(usual, story_cap=cap, change_hours=0, qualification_required=False)


def _import(
    study: Study, directory: Path, path: str, told: Description, by: User | None, now: datetime
) -> int:
    if not (directory / path).stat().st_size:  # no story was dropped
        return 0
    name = f"{told.document['study']}-{told.document['number']}/{path}"
    with story_file(directory, path, told) as file:
        job = actions.import_stories(study=study, path=file, name=name, by=by, now=now)
    return job.stories_added


def _import_votes(
    study: Study,
    directory: Path,
    told: Description,
    crowd: Crowd,
    note: str,
    by: User | None,
    now: datetime,
) -> int:
    text = CONSENT.format(source=f"{note[:1].upper()}{note[1:]}")
    consent = actions.add_consent_text(study=study, text=text, by=by, now=now)
    study = actions.open_study(study=study, by=by, now=now)
    people = enroll_past_people(
        study=study, consent=consent, people=crowd.first_served(), note=note, by=by, now=now
    )
    stories = past_stories(directory, told, crowd)
    votes = store_past_votes(study=study, people=people, stories=stories, note=note, now=now)
    actions.close_study(study=study, by=by, now=now)
    return votes
