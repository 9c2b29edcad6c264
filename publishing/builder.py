"""Making a release directory from stories and their votes. No database, no clock: same input, same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from publishing import machine_validation
from publishing.card import dataset_card
from publishing.card.changes import changes_since
from publishing.card.citing import CITATION_PATH, citation_cff
from publishing.card.contents import CONFIG_SUMMARIES
from publishing.card.figures import figures
from publishing.errors import NothingToRelease
from publishing.facts import ReleaseFacts, Tally
from publishing.files import croissant, features, jsonl, parquet, rows
from publishing.files.croissant import CROISSANT_PATH, Records
from publishing.files.directory import DirectoryWriter, FileFacts
from publishing.files.features import Type
from publishing.files.rows import Layout
from publishing.filters import Outcome, get_filter
from publishing.passes import JudgedStory, StoryPass, write_questions, write_stories
from publishing.steps import Report, Stage, nobody

RELEASE_JSON = "release.json"
STATISTICS_JSON = "statistics.json"
MACHINE_VALIDATION_JSON = "machine_validation.json"


@dataclass(frozen=True, slots=True)
class Built:
    """A whole directory: its files (without MANIFEST), the hash of MANIFEST, and ``release.json``."""

    files: list[FileFacts]
    manifest_sha256: str
    description: dict[str, Any]


def build(
    directory: Path,
    *,
    facts: ReleaseFacts,
    stories: Iterable[JudgedStory],
    previous: Path | None = None,
    report: Report = nobody,
) -> Built:
    """Write the release into ``directory``, which must not exist yet.

    ``previous`` is the directory of the release before, with which the card compares this one. ``report``
    is told of the steps after the one that takes the stories. Takes ``stories`` once, in order; memory
    grows by 8 bytes per kept story and question set. Raises
    :class:`~publishing.errors.NothingToRelease` when the filter keeps no story (readers cannot load files
    without rows), :class:`~publishing.errors.TooManyVotes`, and ``OSError``.
    """
    layout = rows.layout_for(facts.protocol_name)
    writer = DirectoryWriter(directory)
    with _parquet_copies(writer) as copies:
        found = write_stories(writer, facts, layout, stories)
        if not found.tally.outcomes[Outcome.KEPT]:
            complete = found.tally.outcomes[Outcome.DROPPED]
            raise NothingToRelease(
                f"The filter “{facts.filter_name}” keeps none of the {complete} complete stories: there is "
                "nothing to release yet. Ask for the release again when more stories have all their votes."
            )
        columns = {rows.config_path(config): layout.columns(config) for config in layout.configs}
        columns |= found.columns
        copies.add(rows.VOTES_PATH, columns)
        copies.add(rows.config_path(rows.STORY_CONFIG), columns)
        write_questions(writer, layout, found.sides, report, stories=found.tally.outcomes[Outcome.KEPT])
        for question_set in layout.question_sets:
            copies.add(rows.config_path(question_set.config), columns)
        report(Stage.DOCUMENTS, 0, None)
        warnings = _write_documents(writer, facts, layout, found, columns, previous)
        report(Stage.COPIES, 0, None)
    report(Stage.SEALING, 0, None)
    records = record_sets(layout, found.tally, columns)
    described = croissant.document(facts, found.tally, records, writer.files, warnings)
    writer.write(CROISSANT_PATH, jsonl.document(described))
    manifest_sha256 = writer.finish()
    return Built(writer.files, manifest_sha256, describe(facts, found.tally))


class _Copies:
    """Makes Parquet copies while the rest goes on: most of the work is done outside Python."""

    def __init__(self, writer: DirectoryWriter, thread: ThreadPoolExecutor) -> None:
        self._writer = writer
        self._thread = thread
        self._copies: list[Future[None]] = []

    def add(self, path: str, columns: Mapping[str, Mapping[str, Type]]) -> None:
        self._copies.append(self._thread.submit(parquet.write_copy, self._writer, path, columns[path]))

    def finish(self) -> None:
        for copy in self._copies:
            copy.result()


@contextmanager
def _parquet_copies(writer: DirectoryWriter) -> Iterator[_Copies]:
    """Copies that are whole when the block ends; none is begun any more once it fails."""
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="parquet")
    try:
        copies = _Copies(writer, thread)
        yield copies
        copies.finish()
    finally:
        thread.shutdown(cancel_futures=True)


def _write_documents(
    writer: DirectoryWriter,
    facts: ReleaseFacts,
    layout: Layout,
    found: StoryPass,
    columns: Mapping[str, Mapping[str, Type]],
    previous: Path | None,
) -> list[str]:
    """What is said about the data, for people and machines. Returns the warnings of machine validation."""
    statistics = found.statistics.document()
    guesses = machine_validation.document(writer.directory, layout)
    declared = {config: features.declared(columns[rows.config_path(config)]) for config in layout.configs}
    changes = changes_since(previous, writer.directory) if previous else None
    card = dataset_card(facts, found.tally, layout, declared, statistics, guesses, changes)
    writer.write(STATISTICS_JSON, jsonl.document(statistics))
    writer.write(MACHINE_VALIDATION_JSON, jsonl.document(guesses))
    for path, chart in figures(statistics, guesses).items():
        writer.write(path, chart)
    writer.write("README.md", card)
    writer.write(CITATION_PATH, citation_cff(facts))
    writer.write(RELEASE_JSON, jsonl.document(describe(facts, found.tally)))
    return list(guesses["warnings"])


def record_sets(layout: Layout, tally: Tally, columns: Mapping[str, Mapping[str, Type]]) -> list[Records]:
    """The record sets of croissant.json: every config, the votes, and the dropped stories if any."""
    records = [
        Records(
            config,
            CONFIG_SUMMARIES[config],
            parquet.parquet_path(rows.config_path(config)),
            columns[rows.config_path(config)],
            key="story_id" if config == rows.STORY_CONFIG else "id",
        )
        for config in layout.configs
    ]
    votes = "every counted vote, on kept and dropped stories alike; annotator is a pseudonym of this study"
    records.append(
        Records(
            "votes",
            votes,
            parquet.parquet_path(rows.VOTES_PATH),
            columns[rows.VOTES_PATH],
            moments=frozenset({"submitted_at"}),
        )
    )
    if tally.outcomes[Outcome.DROPPED]:
        dropped = "the dropped stories; reason names the questions that dropped them"
        records.append(
            Records("dropped-stories", dropped, rows.DROPPED_PATH, columns[rows.DROPPED_PATH], key="story_id")
        )
    return records


def describe(facts: ReleaseFacts, tally: Tally) -> dict[str, Any]:
    """The content of ``release.json``."""
    rule = get_filter(facts.filter_name)
    return {
        "study": facts.slug,
        "title": facts.title,
        "number": facts.number,
        "environment": facts.environment,
        "study_state": facts.study_state,
        "license": facts.license,
        "protocol": {"name": facts.protocol_name, "version": facts.protocol_version},
        "questions": [
            {
                "key": question.key,
                "title": question.title,
                "options": list(question.options),
                "against": list(question.against),
            }
            for question in facts.asked
        ],
        "filter": {
            "name": facts.filter_name,
            "rule": rule.sentence(facts.votes_per_story),
            "parameters": rule.parameters(facts.votes_per_story),
        },
        "salt": facts.salt,
        "counts": tally.counts(),
        "code_version": facts.code_version,
        "created": jsonl.timestamp(facts.created),
    }
