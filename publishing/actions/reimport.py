"""Importing a release directory as a study: its settings, and the rows that its files provide."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import orjson
from django.db import transaction

from accounts.models import User
from annotation import actions
from annotation.actions.events import record_event
from annotation.actions.imported_votes import (
    ImportedSkip,
    ImportedStory,
    ImportedVote,
    enroll_imported_annotators,
    store_imported_skips,
    store_imported_votes,
)
from annotation.importing.rows import PROVENANCE, StoryRow
from annotation.models import Adjudication, Event, InstructionText, Story, Study
from annotation.protocols import UnknownProtocol, get_protocol
from publishing.actions.statements import describe_data
from publishing.errors import UnusableRelease
from publishing.files import jsonl
from publishing.files.rows import CONTEXT_KEYS, INSTRUMENT_PATH, PREDICTED, CountedVote, Row, story_paths
from publishing.filters import ONE_OF_EACH
from publishing.instrument import WRITTEN
from publishing.models import AnswerSides
from publishing.verification import CheckedRelease, check_release, decisions
from publishing.verification.release import Description
from publishing.verification.schema import VoteReader, read_decisions, sound_revisions, sound_skips

CONSENT = (
    "Nobody is asked here: the votes of this study were given in another one, to whose consent text the "
    "people agreed there. {source}."
)


@dataclass(slots=True)
class Crowd:
    """The people who voted, or skipped a story, and when each was first served."""

    first: dict[str, datetime] = field(default_factory=dict)
    last_position: int = 0

    def add(self, person: str, served_at: datetime, position: int) -> None:
        self.first[person] = min(served_at, self.first.get(person, served_at))
        self.last_position = max(position, self.last_position)


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
    Without votes, the study is a draft of the newest versions, to be judged anew. With votes, it is closed:
    its people are new, qualified, anonymous annotators, each counted vote keeps its times, and old versions
    of stories are there. A release holds no surplus votes, so none are imported. Raise
    :class:`UnusableRelease`, and the errors of ``annotation.actions``.
    """
    report = check_release(directory, with_machine_validation=False)
    described = report.description
    if not report.is_sound or described is None:
        raise UnusableRelease(
            f"{directory} is not sound. manage.py verify_release lists all {report.total} findings; "
            f"the first is: {report.shown[0]}"
        )
    facts = described.facts
    source = f"imported from release {facts.slug} {facts.number}"
    note = f"{source}, MANIFEST {report.manifest_sha256}"
    crowd = read_crowd(directory, described) if with_votes else None
    study = actions.create_study(
        slug=slug, settings=_settings(described, note, contact, crowd), by=by, now=now
    )
    if facts.is_rehearsal:
        study = actions.make_rehearsal(study=study, by=by, now=now)
    subject = f"release {facts.number} of {facts.slug}"
    record_event(study=study, type=Event.Type.RELEASE_IMPORTED, by=by, now=now, subject=subject, note=note)
    AnswerSides.objects.create(study=study, salt=facts.salt, medians=facts.medians)
    describe_data(study=study, statement=replace(facts.statement, doi=""), by=by, now=now)
    stories, votes = 0, 0
    revisions = list(sound_revisions(CheckedRelease(directory)))
    old = set() if crowd else {row["revised_from"] for row in revisions}
    for path in story_paths(facts.rule).values():
        name = f"{facts.slug}-{facts.number}/{path}"
        with story_file(directory, path, described, without=old) as file:
            if file.stat().st_size:  # else there is no such story
                job = actions.import_stories(study=study, path=file, name=name, by=by, now=now)
                stories += job.stories_added
    if crowd:
        votes = _import_votes(study, directory, described, crowd, note, by, now)
        _import_decisions(study, directory, by, now)  # which may be about stories that are old versions now
        _import_revisions(study, revisions, by, now)
    study.refresh_from_db()
    return Imported(study, stories, votes, crowd)


def _import_revisions(study: Study, revisions: Sequence[Row], by: User | None, now: datetime) -> None:
    for row in revisions:
        actions.record_revision(
            before=study.stories.get(story_id=row["revised_from"]),
            after=study.stories.get(story_id=row["story_id"]),
            reason=row["reason"],
            by=by,
            at=datetime.fromisoformat(row["revised_at"]),
            now=now,
        )


def _import_decisions(study: Study, directory: Path, by: User | None, now: datetime) -> None:
    resolution = study.protocol.resolution
    of_labels = resolution in ("majority", "reconciled")
    made = read_decisions(CheckedRelease(directory), of_labels=of_labels)
    for story in Story.objects.filter(study=study, story_id__in=made).order_by("story_id"):
        if resolution == "reconciled":
            decided = {
                field: (one.verdict, one.reason, one.decided_at)
                for field, one in made[story.story_id].items()
            }
            actions.adopt_decisions(story=story, decided=decided, by=by, now=now)
            continue
        for labelled, one in made[story.story_id].items():
            shared: dict[str, Any] = {"story": story, "reason": one.reason, "by": by, "now": now}
            shared["decided_at"] = one.decided_at
            if labelled:
                actions.adjudicate_labels(chosen={labelled: one.verdict}, **shared)
            else:
                actions.adjudicate(verdict=Adjudication.Verdict(one.verdict), **shared)


def _settings(described: Description, note: str, contact: str, crowd: Crowd | None) -> dict[str, Any]:
    facts, rule = described.facts, described.facts.rule
    try:
        get_protocol(facts.protocol_name, facts.protocol_version)
    except UnknownProtocol as error:
        raise UnusableRelease(str(error)) from error
    settings = {
        "title": facts.title,
        "contact": contact,
        "description": f"{facts.description}\n\n{note[:1].upper()}{note[1:]}.".strip(),
        "protocol": facts.protocol_name,
        "votes_per_story": facts.votes_per_story,
        "license": facts.license,
    }
    if rule.most_votes:
        settings |= {"most_votes": rule.most_votes, "decided_by": rule.name.removesuffix(ONE_OF_EACH)}
    if crowd:
        cap = max(actions.usual_settings()["story_cap"], crowd.last_position)
        settings |= {"story_cap": cap, "change_hours": 0, "qualification_required": False}
    return settings


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
    forms = orjson.loads((directory / INSTRUMENT_PATH).read_bytes())["forms"]
    own = {form["version"]: {name: form[name] for name in WRITTEN} for form in forms if form["version"]}
    InstructionText.objects.bulk_create(
        InstructionText(study=study, version=version, created_at=now, **said) for version, said in own.items()
    )
    stories = (
        ImportedStory(voted.story_id, [_past(vote) for vote in voted.votes])
        for voted in _votes(directory, described)
    )
    votes = store_imported_votes(study=study, people=people, stories=stories, note=note, now=now)
    store_imported_skips(study=study, people=people, skips=past_skips(directory), note=note, now=now)
    actions.close_study(study=study, by=by, now=now)
    return votes


def read_crowd(directory: Path, description: Description) -> Crowd:
    """Read the votes and skips of a checked release in one pass."""
    crowd = Crowd()
    for voted in _votes(directory, description):
        for vote in voted.votes:
            crowd.add(vote.annotator, _served_at(vote), vote.position)
    for skip in past_skips(directory):
        crowd.add(skip.person, skip.served_at, skip.position)
    crowd.first = dict(sorted(crowd.first.items()))
    return crowd


def past_skips(directory: Path) -> Iterator[ImportedSkip]:
    """Yield every skip of a directory that was just checked."""
    for row in sound_skips(CheckedRelease(directory)):
        skipped_at = datetime.fromisoformat(row["skipped_at"])
        yield ImportedSkip(
            person=row["annotator"],
            story_id=row["story_id"],
            reason=row["reason"],
            words=row["words"],
            served_at=skipped_at - timedelta(milliseconds=round(row["seconds_on_task"] * 1000)),
            skipped_at=skipped_at,
            position=row["position"],
        )


def _votes(directory: Path, description: Description) -> Iterator[decisions.StoryVotes]:
    """Yield the votes of a directory that was just checked. Raise if it has changed since."""
    release = CheckedRelease(directory)
    yield from decisions.votes_by_story(release, VoteReader(description.facts.asked))
    if release.total:
        raise UnusableRelease(f"{directory} has changed since it was checked: {release.shown[0]}")


def _past(vote: CountedVote) -> ImportedVote:
    return ImportedVote(
        person=vote.annotator,
        form={choice.field: choice.option for choice in vote.answers},
        served_at=_served_at(vote),
        submitted_at=datetime.fromisoformat(vote.submitted_at),
        **{name: getattr(vote, name) for name in CONTEXT_KEYS[2:]},  # after the times
    )


def _served_at(vote: CountedVote) -> datetime:
    submitted_at = datetime.fromisoformat(vote.submitted_at)
    return submitted_at - timedelta(milliseconds=round(vote.seconds_on_task * 1000))


@contextmanager
def story_file(
    directory: Path, path: str, description: Description, *, without: Collection[str] = ()
) -> Iterator[Path]:
    """Provide the stories of a file, ``without`` those with these ids, in a form that their protocol imports.

    Story-data rows already have it. Items are written as the rows from which their protocol reads them.
    """
    is_ready = bool(description.layout.question_sets)
    if is_ready and not without:
        yield directory / path
        return
    protocol = get_protocol(description.facts.protocol_name)
    with NamedTemporaryFile(prefix="tomannot-items-", suffix=".jsonl") as file:
        for line in CheckedRelease(directory).lines(path):
            row = line.row
            if row["story_id"] in without:
                continue
            if not is_ready:
                facts = {name: row[name] for name in (*PROVENANCE, *PREDICTED)}
                row = protocol.source_row(StoryRow("", 0, content=row["item"], **facts))
            file.write(jsonl.line(row))
        file.flush()
        yield Path(file.name)
