"""Making a release directory from stories and their votes. No database, no clock: same input, same bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.protocols.base import Choice
from publishing import card
from publishing.errors import NothingToRelease
from publishing.facts import ReleaseFacts, Tally
from publishing.files import jsonl, rows
from publishing.files.directory import DirectoryWriter, FileFacts
from publishing.files.features import Columns
from publishing.files.rows import CountedVote, QuestionSet, ReleasedStory
from publishing.files.sides import Sides
from publishing.filters import Outcome, get_filter

RELEASE_JSON = "release.json"


@dataclass(frozen=True, slots=True)
class JudgedStory:
    """A story, its counted votes, and which of their choices count against it."""

    story: ReleasedStory
    votes: tuple[CountedVote, ...]
    against: frozenset[Choice]


@dataclass(frozen=True, slots=True)
class Built:
    """A whole directory: its files (without MANIFEST), the hash of MANIFEST, and ``release.json``."""

    files: list[FileFacts]
    manifest_sha256: str
    description: dict[str, Any]


def build(directory: Path, *, facts: ReleaseFacts, stories: Iterable[JudgedStory]) -> Built:
    """Write the release into ``directory``, which must not exist yet.

    Takes ``stories`` once, in order; memory grows by 8 bytes per kept story and question set. The
    question sets are made afterwards from the kept stories' own file, because the sides of the right
    answers depend on all of them. Raises :class:`~publishing.errors.NothingToRelease` when the filter
    keeps no story (readers cannot load files without rows), :class:`~publishing.errors.TooManyVotes`,
    and ``OSError``.
    """
    layout = rows.layout_for(facts.protocol_name)
    writer = DirectoryWriter(directory)
    sides = {question_set.config: Sides(facts.salt) for question_set in layout.question_sets}
    features = {config: Columns(layout.columns(config)) for config in layout.configs}
    tally = _write_stories(writer, facts, stories, sides, features[rows.STORY_CONFIG])
    if not tally.outcomes[Outcome.KEPT]:
        complete = tally.outcomes[Outcome.DROPPED]
        raise NothingToRelease(
            f"The filter “{facts.filter_name}” keeps none of the {complete} complete stories: there is "
            "nothing to release yet. Ask for the release again when more stories have all their votes."
        )
    for question_set in layout.question_sets:
        _write_questions(writer, question_set, sides[question_set.config], features[question_set.config])
    description = describe(facts, tally)
    declared = {config: columns.declared() for config, columns in features.items()}
    writer.write("README.md", card.dataset_card(facts, tally, layout, declared))
    writer.write(RELEASE_JSON, jsonl.document(description))
    manifest_sha256 = writer.finish()
    return Built(writer.files, manifest_sha256, description)


def describe(facts: ReleaseFacts, tally: Tally) -> dict[str, Any]:
    """The content of ``release.json``."""
    rule = get_filter(facts.filter_name)
    return {
        "study": facts.slug,
        "title": facts.title,
        "number": facts.number,
        "environment": facts.environment,
        "study_state": facts.study_state,
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


def _write_stories(
    writer: DirectoryWriter,
    facts: ReleaseFacts,
    stories: Iterable[JudgedStory],
    sides: dict[str, Sides],
    columns: Columns,
) -> Tally:
    """Everything that needs one look at each story: the votes, the kept and the dropped stories."""
    layout = rows.layout_for(facts.protocol_name)
    verdict_of = get_filter(facts.filter_name)
    tally = Tally()
    with ExitStack() as open_files:
        votes_file = open_files.enter_context(writer.open(rows.VOTES_PATH))
        kept_file = open_files.enter_context(writer.open(rows.config_path(rows.STORY_CONFIG)))
        dropped_file = open_files.enter_context(writer.open(rows.DROPPED_PATH))
        for judged in stories:
            story = judged.story
            verdict = verdict_of(
                [vote.answers for vote in judged.votes],
                votes_per_story=facts.votes_per_story,
                counts_against=judged.against.__contains__,
            )
            tally.see(story, judged.votes, verdict)
            vote_rows = [rows.vote_row(story.story_id, vote, facts.question_keys) for vote in judged.votes]
            for row in sorted(vote_rows, key=lambda row: (row["submitted_at"], row["annotator"])):
                votes_file.write(jsonl.line(row))
            if verdict.outcome is Outcome.KEPT:
                row = layout.story_row(story)
                columns.see(row)
                kept_file.write(jsonl.line(row))
                for question_set in layout.question_sets:
                    sides[question_set.config].add(question_set.question_id(row))
            elif verdict.outcome is Outcome.DROPPED:
                dropped_file.write(jsonl.line(rows.dropped_row(layout.story_row(story), verdict.reason)))
    return tally


def _write_questions(
    writer: DirectoryWriter, question_set: QuestionSet, sides: Sides, columns: Columns
) -> None:
    kept = writer.directory / rows.config_path(rows.STORY_CONFIG)
    with open(kept, "rb") as story_rows, writer.open(rows.config_path(question_set.config)) as file:
        for story_line in story_rows:
            story_row = json.loads(story_line)
            first = sides.right_answer_first(question_set.question_id(story_row))
            row = question_set.row(story_row, right_answer_first=first)
            columns.see(row)
            file.write(jsonl.line(row))
