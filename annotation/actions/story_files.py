"""Store story files: a whole file or nothing. Importing the same file twice adds nothing."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from django.db.models import Q

from accounts.models import locked
from annotation import rules
from annotation.actions.events import record_event
from annotation.actions.hidden_checks import set_check_key
from annotation.errors import ImportRefused, InvalidKey
from annotation.importing.duplicates import NearDuplicates
from annotation.importing.files import read_rows
from annotation.importing.rows import IMPORTED, PROVENANCE, Problem, SourceRow, StoryRow, batches, quote
from annotation.importing.validation import check_rows
from annotation.models import Event, LintFinding, Story, StoryImport, Study
from annotation.protocols.base import Finding, Protocol
from annotation.protocols.multiple_choice.quiz import QUIZ
from annotation.strata import with_strata
from tomannot import clock

BATCH = 1000
PROBLEMS_KEPT = 10_000
"""Problems of one file that are stored and shown; all are counted."""

EXAMPLES_KEPT = 5
"""Warnings of each kind that an import's record shows."""

MOST_ROWS = 2_000_000
"""Rows in one file at most: each takes about 500 bytes of memory."""
LONGEST = {
    field.name: field.max_length
    for field in Story._meta.concrete_fields
    if field.name in PROVENANCE and field.max_length is not None
}
"""Characters that each field can hold."""

Progress = Callable[[int], None]


def store_file(*, job: StoryImport, path: Path, now: datetime, progress: Progress) -> None:
    """Read, check, lint and store every story of the file, in the caller's transaction.

    The study's row is locked only at the end, so that the study can be paused or closed meanwhile.
    Raise :class:`ImportRefused` after reading the whole file.
    """
    study = Study.objects.get(pk=job.study_id)
    _check_open(job, study)
    problems = _Problems()
    protocol = QUIZ if job.role == Story.Role.QUIZ else study.protocol
    lint = _Linter(job, protocol)
    known = _KnownAnswers(job)
    read = read_rows(path, name=job.file_name, headerless=protocol.headerless)
    rows = problems.sift(known.take(_bounded(read, job, problems)))
    stories = check_rows(problems.sift(protocol.read(rows)), longest=LONGEST, parse=protocol.parse)
    for batch in batches(problems.sift(stories), BATCH):
        new, unchanged = _new_rows(study, job.role, batch, problems)
        job.stories_unchanged += unchanged
        if problems.total == 0:
            job.findings += store_batch(job=job, study=study, rows=new, lint=lint)
            job.findings_by_code = lint.found
            job.stories_added += len(new)
        job.rows_read += len(batch)
        progress(job.rows_read)
    for problem in known.store(now=now) if problems.total == 0 else ():
        problems.add(problem)
    if problems.total:
        raise ImportRefused(problems.kept, problems.total)
    if job.rows_read == 0:
        raise _refused(job, "The file holds no stories.", "Check the export.")
    _finish(job, study, path, now=now)


def _finish(job: StoryImport, study: Study, path: Path, *, now: datetime) -> None:
    with path.open("rb") as file:
        job.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    job.state = StoryImport.State.IMPORTED
    job.finished_at = clock.now()
    job.save()
    study = locked(study)
    _check_open(job, study)
    _check_strata(job, study)
    added, unchanged = f"{job.stories_added} added as {job.role}", f"{job.stories_unchanged} there already"
    subject, note = f"import {job.pk}", f"{job.file_name}: {added}, {unchanged}"
    event, by = Event.Type.STORIES_IMPORTED, job.requested_by
    record_event(study=study, type=event, by=by, now=now, subject=subject, note=note)


def _check_open(job: StoryImport, study: Study) -> None:
    if study.state == Study.State.CLOSED:
        raise _refused(job, f"“{study.slug}” is closed.", "Reopen the study to import more.")
    asked = study.protocol.questions
    open_ended = study.protocol.written or any(one.optional or one.only_after for one in asked)
    if open_ended and job.role in (Story.Role.QUALIFICATION, Story.Role.CHECK):
        text = f"“{study.slug}” asks for words, or questions that may be left open: no key can grade these."
        raise _refused(job, text, "Use a quiz, or invite people by name.")


def _check_strata(job: StoryImport, study: Study) -> None:
    """Raise :class:`ImportRefused` for items that the design of an opened study would never serve."""
    if study.state == Study.State.DRAFT or not study.stratum_field or job.role != Story.Role.MAIN:
        return
    loads = list(study.strata.values_list("name", flat=True))
    own = {stored: name for name, stored in study.protocol.columns.items()}
    column = own.get(study.stratum_field, study.stratum_field)
    items = with_strata(study, Story.objects.filter(story_import=job)).exclude(stratum__in=loads)
    text, remedy = "No participant would get {}.", "Give it a value with a load in the study’s design."
    found = items.order_by("source_line").values_list("source_line", "stratum")[:PROBLEMS_KEPT]
    lost = [Problem(job.file_name, line, column, text.format(quote(name)), remedy) for line, name in found]
    if lost:
        raise ImportRefused(lost, items.count())


def _refused(job: StoryImport, message: str, remedy: str) -> ImportRefused:
    return ImportRefused([Problem(job.file_name, 0, "", message, remedy)], 1)


def store_batch(
    *, job: StoryImport, study: Study, rows: list[StoryRow], lint: Callable[[StoryRow], Iterable[Finding]]
) -> int:
    """Store rows of an import as stories, with their lint warnings. Return the number of warnings."""
    stories = Story.objects.bulk_create(
        Story(
            study=study,
            role=job.role,
            **{name: getattr(row, name) for name in IMPORTED},
            content_hash=row.content_hash,
            text_hash=row.text_hash,
            story_import=job,
            source_line=row.line,
            order_key=rules.order_key(study.serving_seed, row.story_id),
            has_free_slot=job.role == Story.Role.MAIN,
        )
        for row in rows
    )
    findings = LintFinding.objects.bulk_create(
        LintFinding(story=story, code=finding.code, field=finding.field, message=finding.message)
        for story, row in zip(stories, rows, strict=True)
        for finding in lint(row)
    )
    return len(findings)


T = TypeVar("T", SourceRow, StoryRow)


class _Problems:
    """Counts the problems of a file and keeps the first of them."""

    def __init__(self) -> None:
        self.kept: list[Problem] = []
        self.total = 0

    def add(self, problem: Problem) -> None:
        self.total += 1
        if len(self.kept) < PROBLEMS_KEPT:
            self.kept.append(problem)

    def sift(self, outcomes: Iterable[T | Problem]) -> Iterator[T]:
        """Yield the good outcomes, and keep the problems among them."""
        for outcome in outcomes:
            if isinstance(outcome, Problem):
                self.add(outcome)
            else:
                yield outcome


def _bounded(
    rows: Iterable[SourceRow | Problem], job: StoryImport, problems: _Problems
) -> Iterator[SourceRow | Problem]:
    """Pass the rows on. Raise :class:`ImportRefused` if there are too many, with the earlier problems."""
    for number, row in enumerate(rows):
        if number == MOST_ROWS:
            message = f"The file has more than {MOST_ROWS:,} rows."
            too_many = Problem(job.file_name, 0, "", message, "Import it in several files.")
            raise ImportRefused([too_many, *problems.kept], problems.total + 1)
        yield row


class _Linter:
    """Lints stories by the protocol, and finds duplicates and near-duplicates in the study.

    ``found`` counts the warnings of each kind and keeps the first of them.
    """

    def __init__(self, job: StoryImport, protocol: Protocol) -> None:
        self._job = job
        self._protocol = protocol
        self.found: dict[str, dict[str, Any]] = {}
        self._first: dict[str, str] = {}

    def __call__(self, row: StoryRow) -> list[Finding]:
        findings = list(self._protocol.lint(row))
        similar = self._near_duplicates(self._seen, row)
        same = self._first.setdefault(row.text_hash, _named(row))
        if same != _named(row):
            findings.append(Finding("same_text", "story", f"The same text as {same}."))
        elif similar:
            message = f"Nearly the same text as {', '.join(similar[:3])}."
            findings.append(Finding("near_duplicate", "story", message))
        for finding in findings:
            self._remember(row, finding)
        return findings

    def _remember(self, row: StoryRow, finding: Finding) -> None:
        kind = self.found.setdefault(finding.code, {"count": 0, "examples": []})
        kind["count"] += 1
        if len(kind["examples"]) < EXAMPLES_KEPT:
            place = {"line": row.line, "story_id": row.story_id}
            kind["examples"].append({**place, "field": finding.field, "message": finding.message})

    @cached_property
    def _seen(self) -> NearDuplicates:
        """Index the study's other stories that its protocol reads. Read only when one must be compared."""
        seen = NearDuplicates()
        quiz = Q(role=Story.Role.QUIZ)
        alike = quiz if self._job.role == Story.Role.QUIZ else ~quiz
        others = Story.objects.filter(alike, study=self._job.study_id).exclude(story_import=self._job)
        for facts in others.order_by("pk").values(*PROVENANCE, "content").iterator(chunk_size=BATCH):
            row = StoryRow(file="", line=0, **facts)
            self._near_duplicates(seen, row)
            self._first.setdefault(row.text_hash, row.story_id)
        return seen

    def _near_duplicates(self, seen: NearDuplicates, row: StoryRow) -> list[str]:
        return seen.add(_named(row), row.core_id, self._protocol.text_for_duplicates(row))


def _named(row: StoryRow) -> str:
    """Name a story, with its line if it is in the file that is being imported."""
    return f"{row.story_id} (line {row.line})" if row.line else row.story_id


def _new_rows(
    study: Study, role: str, batch: list[StoryRow], problems: _Problems
) -> tuple[list[StoryRow], int]:
    known = Story.objects.filter(study=study, story_id__in=[row.story_id for row in batch])
    facts = known.values_list("story_id", "content_hash", "role")
    stored = {story_id: (content_hash, stored_role) for story_id, content_hash, stored_role in facts}
    fresh = [row for row in batch if row.story_id not in stored]
    given_away = _check_texts(study, role, fresh)
    new = []
    unchanged = 0
    for row in batch:
        if row.story_id not in stored and row.text_hash in given_away:
            other = given_away[row.text_hash]
            message = f"The study has this text as “{other}”, and one of the two is a hidden check."
            remedy = "Take other stories as checks: who met a text twice would know which story is one."
            problems.add(Problem(row.file, row.line, "story_id", message, remedy))
        elif row.story_id not in stored:
            new.append(row)
        elif stored[row.story_id] == (row.content_hash, role):
            unchanged += 1
        else:
            what = "content" if stored[row.story_id][0] != row.content_hash else "role"
            message = f"The study has a story “{row.story_id}” already, with another {what}."
            remedy = "Stories never change once imported: give this one an id of its own."
            problems.add(Problem(row.file, row.line, "story_id", message, remedy))
    return new, unchanged


def _check_texts(study: Study, role: str, rows: list[StoryRow]) -> dict[str, str]:
    """Return texts that would be both a hidden check and another story: hash to the known story's id.

    An annotator who meets a text twice would know that one of the two is a check.
    """
    same = Story.objects.filter(study=study, text_hash__in=[row.text_hash for row in rows])
    is_check = Q(role=Story.Role.CHECK)
    found = same.filter(~is_check if role == Story.Role.CHECK else is_check)
    return dict(found.values_list("text_hash", "story_id"))


PREFIX = "accepted_"
"""A field ``accepted_q1`` lists the accepted options of ``q1``, like ``yes|possibly``."""


class _KnownAnswers:
    """Takes the accepted answers out of a file's rows, and sets them as keys of the checks that are new."""

    def __init__(self, job: StoryImport) -> None:
        self._job = job
        self._found: dict[str, tuple[int, dict[str, list[str]]]] = {}

    def take(self, rows: Iterable[SourceRow | Problem]) -> Iterator[SourceRow | Problem]:
        """Yield the rows without these fields. In a file for another role they stay, and are refused."""
        for row in rows:
            if isinstance(row, Problem) or self._job.role != Story.Role.CHECK:
                yield row
                continue
            given = {name: value for name, value in row.data.items() if name.startswith(PREFIX)}
            if any(given.values()):
                accepted = {name.removeprefix(PREFIX): _options(value) for name, value in given.items()}
                story_id = str(row.data.get("story_id") or row.data.get("id")).strip()
                self._found[story_id] = (row.line, accepted)
            yield replace(row, data={name: value for name, value in row.data.items() if name not in given})

    def store(self, *, now: datetime) -> Iterator[Problem]:
        """Set the keys of the stories that this import added. Yield what is wrong with any."""
        for story in self._job.stories.filter(story_id__in=self._found).order_by("pk"):
            line, accepted = self._found[story.story_id]
            try:
                set_check_key(story=story, accepted=accepted, by=self._job.requested_by, now=now)
            except InvalidKey as error:
                remedy = "Mend the accepted options (for every question, like yes|possibly) or the story."
                for problem in error.problems:
                    yield Problem(self._job.file_name, line, f"{PREFIX}…", problem, remedy)


def _options(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(option) for option in value]
    return [option for option in re.split(r"[|,;\s]+", str(value)) if option]
