"""Building a release directory from stories and votes. No database, no clock: same input, same bytes."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from publishing import annotation_report, instrument, machine_validation
from publishing.card import croissant, dataset_card
from publishing.card.citation import CITATION_PATH, citation_cff
from publishing.card.croissant import CROISSANT_PATH
from publishing.card.figures import figures
from publishing.card.sections import Documents
from publishing.comparison.changes import CHANGES_PATH, Changes, changes_since
from publishing.errors import NothingToRelease
from publishing.facts import ReleaseFacts, scales_of
from publishing.files import jsonl, parquet, rows
from publishing.files.directory import DirectoryWriter, FileFacts
from publishing.files.features import Type
from publishing.files.parquet import Twins
from publishing.files.questions import QUESTION_COLUMNS
from publishing.files.rows import Chunk, GivenStory, Layout
from publishing.files.votes import VotesFile
from publishing.filters import Outcome
from publishing.human_baseline.release_files import Baseline, write_baseline
from publishing.steps import Report, Stage, no_report, reported
from publishing.totals import COUNTED, ReleaseTotals, Tally

_STATED = ("number", "environment", "study_state", "license", "url", "story_language")


@dataclass(frozen=True, slots=True)
class BuiltRelease:
    """A finished directory: its files except MANIFEST, the hash of MANIFEST, and ``release.json``."""

    files: list[FileFacts]
    manifest_sha256: str
    description: dict[str, Any]


def build(
    directory: Path,
    *,
    facts: ReleaseFacts,
    chunks: Iterable[Chunk],
    skips: Iterable[rows.Row] = (),
    revisions: Iterable[rows.Row] = (),
    previous: Path | None = None,
    baseline: Baseline | None = None,
    report: Report = no_report,
) -> BuiltRelease:
    """Write the release into ``directory``, which must not exist yet.

    ``previous`` is the directory of the previous release, with which the card compares this one; ``baseline``
    has people's answers to questions of an earlier one. ``report`` is called for the steps after the reading
    of stories. ``chunks``, ``skips`` and ``revisions`` are consumed once, in this order; memory grows by 8
    bytes per kept story and question set. Raise ``OSError``, :class:`~publishing.errors.TooManyVotes`, or
    :class:`~publishing.errors.NothingToRelease` if the filter keeps no story (readers cannot load files
    without rows).
    """
    layout = rows.layout_for(facts.protocol_name)
    writer = DirectoryWriter(directory)
    found, vote_columns = write_stories(writer, facts, layout, chunks)
    kept = found.tally.outcomes[Outcome.KEPT]
    if not kept:
        complete = found.tally.outcomes[Outcome.DROPPED]
        raise NothingToRelease(
            f"The filter “{facts.filter_name}” keeps none of the {complete} complete stories, so there "
            "is nothing to release yet. Request the release again when more stories have all their votes."
        )
    with writer.open(rows.SKIPS_PATH) as skips_file:
        for skip in skips:
            skips_file.write(jsonl.line(skip))
    parquet.write_copy(writer, rows.SKIPS_PATH, rows.SKIP_COLUMNS)
    found.tally.drafts_revised = write_revisions(writer, revisions)
    columns = found.columns(vote_columns, revised=found.tally.drafts_revised > 0)
    if results := found.per_item:
        if not any(file.size for file in writer.files if file.path == results.path):
            raise NothingToRelease(
                f"No item has a row in {results.path} yet: experts have reconciled no list. Request the "
                "release again when they have (Quality, Decisions)."
            )
        parquet.write_copy(writer, results.path, results.columns)
    write_questions(writer, layout, found, columns, report)
    report(Stage.DOCUMENTS, 0, None)
    warnings, description = _write_documents(writer, facts, layout, found, columns, previous, baseline)
    report(Stage.SEALING, 0, None)
    described = croissant.document(facts, found.tally, columns, writer.files, warnings)
    writer.write(CROISSANT_PATH, jsonl.document(described))
    manifest_sha256 = writer.finish()
    return BuiltRelease(writer.files, manifest_sha256, description)


def write_revisions(writer: DirectoryWriter, revisions: Iterable[rows.Row]) -> int:
    """Write the file of revisions, if there are any. Return how many first versions were revised."""
    new, old = set(), set()
    with writer.open(rows.REVISIONS_PATH) as file:
        for row in revisions:
            file.write(jsonl.line(row))
            new.add(row["story_id"])
            old.add(row["revised_from"])
    if old:
        parquet.write_copy(writer, rows.REVISIONS_PATH, rows.REVISION_COLUMNS)
    else:
        writer.discard(rows.REVISIONS_PATH)
    return len(old - new)


def write_stories(
    writer: DirectoryWriter, facts: ReleaseFacts, layout: Layout, chunks: Iterable[Chunk]
) -> tuple[ReleaseTotals, dict[str, Type]]:
    """Write votes and kept, dropped and incomplete stories, in one pass. Return totals and columns of votes.

    Raise :class:`~publishing.errors.TooManyVotes`.
    """
    totals = ReleaseTotals(facts, layout)
    results = totals.per_item
    with ExitStack() as open_files:
        questions = [question.key for question in facts.asked]
        votes_file = open_files.enter_context(VotesFile.open(writer, questions, scales_of(facts.asked)))
        decisions_file = open_files.enter_context(writer.open(rows.ADJUDICATIONS_PATH))
        files = {one: open_files.enter_context(writer.open(path)) for one, path in totals.paths.items()}
        results_file = open_files.enter_context(writer.open(results.path)) if results else None
        for judged in _write_votes(chunks, votes_file, totals.tally):
            story, votes = judged.story, judged.votes
            for field, decision in sorted(judged.decisions.items()):
                decisions_file.write(jsonl.line(decision.row(story.story_id, field)))
            answers = tuple([vote.answers for vote in votes])
            verdict = totals.verdict(story, totals.by_votes(answers, judged.against, judged.verdict))
            totals.add(story, votes, verdict, judged.decisions)
            if results and results_file and verdict.is_complete:
                for line in results.lines(story, votes, judged.decisions):
                    results_file.write(jsonl.line(line, finite=True))
            row = layout.story_row(story)
            if verdict.outcome is not Outcome.KEPT:
                row["reason"] = verdict.reason
            totals.add_row(verdict.outcome, row, layout.open_columns)
            files[verdict.outcome].write(jsonl.line(row, finite=True))
    return totals, votes_file.columns()


def _write_votes(chunks: Iterable[Chunk], file: VotesFile, tally: Tally) -> Iterator[GivenStory]:
    """Yield the stories of the chunks. Write and count their votes."""
    for chunk in chunks:
        file.write(chunk)
        tally.add_votes(*(chunk.votes[name].to_pylist() for name in COUNTED))
        yield from chunk.stories


def write_questions(
    writer: DirectoryWriter,
    layout: Layout,
    found: ReleaseTotals,
    columns: Mapping[str, Mapping[str, Type]],
    report: Report,
) -> None:
    """Write the copy of the kept stories, and every question set from its blocks.

    A pass of their own, because the sides of the right answers depend on every kept story.
    """
    path = rows.config_path(rows.STORY_CONFIG)
    with ExitStack() as open_files:
        sets = [
            (
                question_set,
                found.sides[question_set.config].right_answers_first(),
                open_files.enter_context(
                    Twins.open(writer, rows.config_path(question_set.config), QUESTION_COLUMNS)
                ),
            )
            for question_set in layout.question_sets
        ]
        batches = parquet.write_blocks(writer, path, columns[path])
        for stories in reported(batches, report, Stage.QUESTIONS, found.tally.outcomes[Outcome.KEPT]):
            for question_set, right_answers_first, twins in sets:
                twins.write(*question_set.rows(stories, list(islice(right_answers_first, len(stories)))))


def _write_documents(
    writer: DirectoryWriter,
    facts: ReleaseFacts,
    layout: Layout,
    found: ReleaseTotals,
    columns: Mapping[str, Mapping[str, Type]],
    previous: Path | None,
    baseline: Baseline | None,
) -> tuple[list[str], dict[str, Any]]:
    """Write the documents for people and machines. Return machine validation's warnings and release.json."""
    statistics = found.statistics.document()
    validation = machine_validation.validate(writer.directory, layout)
    guesses = validation.document
    writer.write(rows.HARD_PATH, b"".join(map(jsonl.line, validation.hard)))
    with writer.open(CHANGES_PATH) as file:
        changes = (
            changes_since(previous, describe(facts, found, None), writer.directory, file.write)
            if previous
            else None
        )
    people = write_baseline(writer, layout, baseline)
    example = first_row(writer.directory, layout)
    made = Documents(layout, columns, example, statistics, guesses, people, changes)
    writer.write(rows.STATISTICS_JSON, jsonl.document(statistics))
    writer.write(rows.MACHINE_VALIDATION_JSON, jsonl.document(guesses))
    selects = facts.rule.selects
    for path, chart in figures(statistics, guesses, people, selects=selects).items():
        writer.write(path, chart)
    shown = instrument.document(facts.instrument, found.tally)
    writer.write(rows.INSTRUMENT_PATH, jsonl.document(shown))
    for path, page in instrument.readable(shown).items():
        writer.write(path, page)
    records = annotation_report.known_to_the_study(facts)
    annotation = annotation_report.document(facts, found.tally, shown, statistics, records)
    writer.write(annotation_report.REPORT_PATH, jsonl.document(annotation))
    writer.write("README.md", dataset_card(facts, found.tally, made))
    writer.write(CITATION_PATH, citation_cff(facts))
    description = describe(facts, found, changes)
    writer.write(rows.RELEASE_JSON, jsonl.document(description))
    return list(guesses["warnings"]), description


def first_row(directory: Path, layout: Layout) -> rows.Row:
    """Return the first row of the first config, which the card shows."""
    with open(directory / rows.config_path(layout.configs[0]), "rb") as file:
        row: rows.Row = orjson.loads(file.readline())
    return row


def describe(facts: ReleaseFacts, found: ReleaseTotals, changes: Changes | None) -> dict[str, Any]:
    """Return the content of ``release.json``."""
    rule = facts.rule
    return {
        "study": facts.slug,
        "title": facts.title,
        "description": facts.description,
        "statement": {**asdict(facts.statement), "creators": list(facts.statement.creators)},
        **{name: getattr(facts, name) for name in _STATED},
        "protocol": {"name": facts.protocol_name, "version": facts.protocol_version},
        "questions": [asked.document() for asked in facts.asked],
        "filter": {
            "name": facts.filter_name,
            "rule": rule.sentence(facts.votes_per_story),
            "parameters": rule.parameters(facts.votes_per_story),
        },
        "salt": facts.salt,
        "medians": {config: sides.median for config, sides in found.sides.items()},
        "counts": found.tally.counts(),
        "sources": list(facts.sources),
        "plan": facts.plan,
        "previous": changes.before if changes else None,
        "code_version": facts.code_version,
        "created": jsonl.timestamp(facts.created),
    }
