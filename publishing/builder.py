"""Building a release directory from stories and votes. No database, no clock: same input, same bytes."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import lru_cache
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
from publishing.facts import COUNTED, ReleaseFacts, Tally, scales_of
from publishing.files import jsonl, parquet, rows
from publishing.files.directory import DirectoryWriter, FileFacts
from publishing.files.features import Columns, Type
from publishing.files.parquet import Twins
from publishing.files.questions import QUESTION_COLUMNS
from publishing.files.rows import Against, Answers, Chunk, GivenStory, Layout
from publishing.files.sides import Sides
from publishing.files.votes import VotesFile
from publishing.filters import Outcome, Verdict
from publishing.human_baseline.release_files import Baseline, write_baseline
from publishing.results import per_item
from publishing.statistics.distinct import FirstOfEach
from publishing.statistics.tally import StatisticsTally
from publishing.steps import Report, Stage, no_report, reported

_STATED = ("number", "environment", "study_state", "license", "url", "story_language")
_REMEMBERED = 4096
"""Cached verdicts, by combination of answers; most stories repeat a few."""


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
    columns = {rows.config_path(config): layout.columns(config) for config in layout.configs}
    columns |= {rows.SKIPS_PATH: rows.SKIP_COLUMNS, rows.HARD_PATH: rows.HARD_COLUMNS}
    found = write_stories(writer, facts, layout, chunks)
    kept = found.tally.outcomes[Outcome.KEPT]
    if not kept:
        complete = found.tally.outcomes[Outcome.DROPPED]
        raise NothingToRelease(
            f"The filter “{facts.filter_name}” keeps none of the {complete} complete stories, so there "
            "is nothing to release yet. Request the release again when more stories have all their votes."
        )
    columns |= found.columns
    with writer.open(rows.SKIPS_PATH) as skips_file:
        for skip in skips:
            skips_file.write(jsonl.line(skip))
    parquet.write_copy(writer, rows.SKIPS_PATH, rows.SKIP_COLUMNS)
    if drafts := write_revisions(writer, revisions):
        columns[rows.REVISIONS_PATH] = rows.REVISION_COLUMNS
        found.tally.drafts_revised = drafts
    if results := per_item(facts.protocol_name, facts.asked):
        if not any(file.size for file in writer.files if file.path == results.path):
            raise NothingToRelease(
                f"No item has a row in {results.path} yet: experts have reconciled no list. Request the "
                "release again when they have (Quality, Decisions)."
            )
        parquet.write_copy(writer, results.path, results.columns)
    write_questions(writer, layout, found, report)
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


@dataclass(frozen=True, slots=True)
class StoryPass:
    """The results of the pass over the stories. ``columns`` maps each file's path to its columns."""

    tally: Tally
    statistics: StatisticsTally
    sides: Mapping[str, Sides]
    columns: Mapping[str, Mapping[str, Type]]


def write_stories(
    writer: DirectoryWriter, facts: ReleaseFacts, layout: Layout, chunks: Iterable[Chunk]
) -> StoryPass:
    """Write votes and kept, dropped and incomplete stories, in one pass.

    Raise :class:`~publishing.errors.TooManyVotes`.
    """
    protocol, least = facts.protocol_name, facts.votes_per_story
    tally = Tally()
    statistics = StatisticsTally(facts.asked, protocol, least, facts.most_votes, flagged=facts.flagged)
    sides = {question_set.config: facts.sides(question_set.config) for question_set in layout.question_sets}
    verdict_on, first_of_each = _verdicts(facts), FirstOfEach(facts.rule)
    results, paths = per_item(protocol, facts.asked), rows.story_paths(facts.rule)
    columns = {outcome: Columns(layout.columns_of(outcome)) for outcome in paths}
    with ExitStack() as open_files:
        questions = [question.key for question in facts.asked]
        votes_file = open_files.enter_context(VotesFile.open(writer, questions, scales_of(facts.asked)))
        decisions_file = open_files.enter_context(writer.open(rows.ADJUDICATIONS_PATH))
        files = {outcome: open_files.enter_context(writer.open(path)) for outcome, path in paths.items()}
        results_file = open_files.enter_context(writer.open(results.path)) if results else None
        for judged in _votes_written(chunks, votes_file, tally):
            story, votes = judged.story, judged.votes
            for field, decision in sorted(judged.decisions.items()):
                decisions_file.write(jsonl.line(decision.row(story.story_id, field)))
            answers = tuple([vote.answers for vote in votes])
            verdict = verdict_on(answers, judged.against, judged.verdict)
            verdict = first_of_each(verdict.for_version(is_old=story.is_old_version), story)
            tally.add(story, verdict)
            statistics.add(story, votes, verdict, judged.decisions)
            if results and results_file and verdict.is_complete:
                for line in results.lines(story, votes, judged.decisions):
                    results_file.write(jsonl.line(line, finite=True))
            row = layout.story_row(story)
            if verdict.outcome is Outcome.KEPT:
                for question_set in layout.question_sets:
                    sides[question_set.config].add(question_set.question_id(row))
            else:
                row["reason"] = verdict.reason
            columns[verdict.outcome].add(row, layout.open_columns)
            files[verdict.outcome].write(jsonl.line(row, finite=True))
    types: dict[str, Mapping[str, Type]] = {paths[outcome]: found.types for outcome, found in columns.items()}
    types |= {rows.VOTES_PATH: votes_file.columns(), rows.ADJUDICATIONS_PATH: rows.DECISION_COLUMNS}
    types |= results.types if results else {}
    return StoryPass(tally, statistics, sides, types)


def _votes_written(chunks: Iterable[Chunk], file: VotesFile, tally: Tally) -> Iterator[GivenStory]:
    """Yield the stories of the chunks. Write and count their votes."""
    for chunk in chunks:
        file.write(chunk)
        tally.add_votes(*(chunk.votes[name].to_pylist() for name in COUNTED))
        yield from chunk.stories


def _verdicts(facts: ReleaseFacts) -> Callable[[Answers, Against, str], Verdict]:
    verdict_of = facts.rule

    @lru_cache(maxsize=_REMEMBERED)
    def verdict_on(answers: Answers, against: Against, decision: str) -> Verdict:
        votes, counts_against = facts.votes_per_story, against.__contains__
        return verdict_of(answers, votes_per_story=votes, counts_against=counts_against, decision=decision)

    return verdict_on


def write_questions(writer: DirectoryWriter, layout: Layout, found: StoryPass, report: Report) -> None:
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
        batches = parquet.copied(writer, path, found.columns[path])
        for stories in reported(batches, report, Stage.QUESTIONS, found.tally.outcomes[Outcome.KEPT]):
            for question_set, right_answers_first, twins in sets:
                twins.write(*question_set.rows(stories, list(islice(right_answers_first, len(stories)))))


def _write_documents(
    writer: DirectoryWriter,
    facts: ReleaseFacts,
    layout: Layout,
    found: StoryPass,
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
    told = annotation_report.known_to_the_study(facts)
    report = annotation_report.document(facts, found.tally, shown, statistics, told)
    writer.write(annotation_report.REPORT_PATH, jsonl.document(report))
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


def describe(facts: ReleaseFacts, found: StoryPass, changes: Changes | None) -> dict[str, Any]:
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
