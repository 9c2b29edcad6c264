"""Importing a release directory as a study."""

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from django.db import transaction

from accounts.models import Environment, User
from annotation import actions
from annotation.actions.events import record_event
from annotation.actions.imported_votes import (
    enroll_imported_annotators,
    store_imported_skips,
    store_imported_votes,
)
from annotation.models import Adjudication, Event, InstructionText, Story, Study
from annotation.protocols import UnknownProtocol, get_protocol
from publishing.actions.data_statement import describe_data
from publishing.errors import NotImportable
from publishing.files.rows import story_paths
from publishing.models import AnswerSides
from publishing.reimport import Crowd, past_instructions, past_skips, past_stories, read_crowd, story_file
from publishing.verification import check_release
from publishing.verification.description import Description
from publishing.verification.findings import Findings
from publishing.verification.schema import read_decisions

CONSENT = (
    "Nobody is asked here: the votes of this study were given in another one, to whose consent text the "
    "people agreed there. {source}."
)


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import. ``crowd`` is None if votes were not imported."""

    study: Study
    stories: int
    votes: int
    crowd: Crowd | None


@transaction.atomic
def import_release(
    *, directory: Path, slug: str, contact: str, with_votes: bool, by: User | None, now: datetime
) -> Imported:
    """Create a study from a release's stories, in one transaction.

    It takes over description, statement and sides of the right answers; not the DOI, which names the release.
    Without votes, the study is a draft to be judged anew. With votes, it is closed: its people are new,
    qualified, anonymous annotators, and each counted vote keeps its times. A release holds no surplus
    votes, so none are imported. Raise :class:`NotImportable`, and the errors of ``annotation.actions``.
    """
    report = check_release(directory, with_machine_validation=False)
    described = report.description
    if not report.is_sound or described is None:
        raise NotImportable(
            f"{directory} is not sound. manage.py verify_release lists all {report.findings.total} findings; "
            f"the first is: {report.shown[0]}"
        )
    source = f"imported from release {described.document['study']} {described.document['number']}"
    note = f"{source}, MANIFEST {report.manifest_sha256}"
    crowd = read_crowd(directory, described) if with_votes else None
    study = actions.create_study(
        slug=slug, settings=_settings(described, note, contact, crowd), by=by, now=now
    )
    if described.document["environment"] == Environment.REHEARSAL:
        study = actions.make_rehearsal(study=study, by=by, now=now)
    subject = f"release {described.document['number']} of {described.document['study']}"
    record_event(study=study, type=Event.Type.RELEASE_IMPORTED, by=by, now=now, subject=subject, note=note)
    AnswerSides.objects.create(study=study, salt=described.salt, medians=described.medians)
    describe_data(study=study, statement=replace(described.statement, doi=""), by=by, now=now)
    stories = 0
    for path in story_paths(described.rule).values():
        if (directory / path).stat().st_size:  # else there is no such story
            name = f"{described.document['study']}-{described.document['number']}/{path}"
            with story_file(directory, path, described) as file:
                job = actions.import_stories(study=study, path=file, name=name, by=by, now=now)
            stories += job.stories_added
    votes = _import_votes(study, directory, described, crowd, note, by, now) if crowd else 0
    made = read_decisions(directory, Findings()) if crowd else {}
    for story in Story.objects.filter(study=study, story_id__in=made).order_by("story_id"):
        one = made[story.story_id]
        verdict, at = Adjudication.Verdict(one.verdict), one.decided_at
        actions.adjudicate(story=story, verdict=verdict, reason=one.reason, by=by, now=now, decided_at=at)
    study.refresh_from_db()
    return Imported(study, stories, votes, crowd)


def _settings(described: Description, note: str, contact: str, crowd: Crowd | None) -> actions.StudySettings:
    protocol = described.document["protocol"]
    try:
        get_protocol(protocol["name"], protocol["version"])
    except UnknownProtocol as error:
        raise NotImportable(str(error)) from error
    usual = actions.StudySettings(
        title=described.document["title"],
        contact=contact,
        description=f"{described.document['description']}\n\n{note[:1].upper()}{note[1:]}.".strip(),
        protocol=protocol["name"],
        votes_per_story=described.votes_per_story,
        license=described.document["license"],
    )
    if crowd is None:
        return usual
    cap = max(usual.story_cap, crowd.last_position)
    return replace(usual, story_cap=cap, change_hours=0, qualification_required=False)


def _import_votes(
    study: Study,
    directory: Path,
    described: Description,
    crowd: Crowd,
    note: str,
    by: User | None,
    now: datetime,
) -> int:
    text = CONSENT.format(source=f"{note[:1].upper()}{note[1:]}")
    consent = actions.add_consent_text(study=study, text=text, by=by, now=now)
    study = actions.open_study(study=study, by=by, now=now)
    people = enroll_imported_annotators(
        study=study, consent=consent, people=crowd.first, note=note, by=by, now=now
    )
    InstructionText.objects.bulk_create(
        InstructionText(study=study, version=version, created_at=now, **said)
        for version, said in past_instructions(directory).items()
    )
    stories = past_stories(directory, described)
    votes = store_imported_votes(study=study, people=people, stories=stories, note=note, now=now)
    store_imported_skips(study=study, people=people, skips=past_skips(directory), note=note, now=now)
    actions.close_study(study=study, by=by, now=now)
    return votes
