"""Compare files that follow from others: question sets, ``changes.jsonl``, Parquet copies.

What changes.jsonl says of the previous release is in no file here; whatever it says of this one must be so.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import islice
from math import sqrt

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from publishing.comparison import changes
from publishing.files.features import Type
from publishing.files.parquet import batches, parquet_path, schema_of
from publishing.files.questions import ASKED_FROM, QuestionSet
from publishing.files.rows import Layout, Row, config_path
from publishing.files.sides import Sides
from publishing.filters import Outcome
from publishing.verification.decisions import KEPT_PATH
from publishing.verification.release import CheckedRelease, Description
from publishing.verification.schema import ANYTHING, TEXT, Kind, Shape, misfit
from publishing.verification.statistics import differences

QUESTIONS, CHANGES, PARQUET = "questions", "changes", "parquet"
_AT_ONCE = 1000
"""Questions that are made at once."""
UNLIKELY = 5
"""Standard deviations of fair coins that new questions of a later release may be uneven by."""
_WRITTEN_BY = re.compile(r"parquet-cpp-arrow version [0-9.]+(-SNAPSHOT)?")
_OUTCOME = Kind("an outcome or null", lambda value: value in (None, *Outcome))
_BECAUSE = Kind(
    f"a list of {', '.join(changes.REASONS)}, in this order",
    lambda value: isinstance(value, list) and value == [one for one in changes.REASONS if one in value],
)
_CHANGE: Shape = {
    "story_id": TEXT,
    "before": _OUTCOME,
    "reason_before": TEXT,
    "now": _OUTCOME,
    "reason_now": TEXT,
    "because": _BECAUSE,
    "votes": [{"annotator": TEXT, "before": ANYTHING, "now": ANYTHING}],
    "answers": [{"id": TEXT, "before": ANYTHING, "now": ANYTHING}],
}


def check_question_set(
    release: CheckedRelease, layout: Layout, question_set: QuestionSet, sides: Sides
) -> None:
    """Compare one question set with the kept stories, which must be sound."""
    path = config_path(question_set.config)
    stories = CheckedRelease(release.directory).lines(KEPT_PATH)
    questions = release.lines(path)
    sides_of, schema = (
        sides.right_answers_first(),
        schema_of({name: layout.story_columns[name] for name in ASKED_FROM}),
    )
    asked = first_ones = 0
    while told := [story.row for story in islice(stories, _AT_ONCE)]:
        first = list(islice(sides_of, len(told)))
        asked, first_ones = asked + len(told), first_ones + sum(first)
        _, expected = question_set.rows(pa.RecordBatch.from_pylist(told, schema), first)
        for row, line in zip(told, expected.to_pylist(), strict=True):
            question = next(questions, None)
            if question is None:
                release.report(QUESTIONS, path, f"There is no question about the story {row['story_id']}.")
                return
            if line.encode() != question.data:
                other = next(differences(question.row, orjson.loads(line)), "")
                problem = other or "Its JSON has another form than that of other questions."
                release.report(QUESTIONS, path, problem, question.number)
    if question := next(questions, None):
        release.report(QUESTIONS, path, "There is no kept story for this question.", question.number)
        return
    if abs(2 * first_ones - asked) > 1 + UNLIKELY * sqrt(asked):
        problem = f"{first_ones} of {asked} right answers are choice A: far from half."
        release.report(QUESTIONS, path, problem)


def check_changes(release: CheckedRelease, description: Description) -> list[Row]:
    """Check every row of ``changes.jsonl``. Return the sound ones."""
    states = changes.story_states(release.directory)
    sound: list[Row] = []
    last = b""
    with ExitStack() as files:
        asked = changes.question_lines(release.directory, description.layout, files)
        state = next(states, None)
        for line in release.lines(changes.CHANGES_PATH):
            problem = misfit(line.row, _CHANGE)
            story_id = b"" if problem else line.row["story_id"].encode()
            if not problem and story_id <= last:
                problem = "The row is not in order of story id."
            while not problem and state and state.story_id < story_id:
                changes.questions_of(state, asked)
                state = next(states, None)
            if not problem:
                last, here = story_id, state if state and state.story_id == story_id else None
                problem = _wrong_change(line.row, here, changes.questions_of(here, asked))
                state = next(states, None) if here else state
            if problem:
                release.report(CHANGES, changes.CHANGES_PATH, problem, line.number)
            else:
                sound.append(line.row)
    if sound and description.document["previous"] is None:
        release.report(CHANGES, changes.CHANGES_PATH, "release.json names no previous release.")
    return sound


def _wrong_change(row: Row, state: changes.StoryState | None, questions: tuple[bytes, ...]) -> str:
    """Return what a row says of this release that the other files do not."""
    if not row["because"] and row["before"] == row["now"]:
        return "The row names no change."
    if any(one["before"] == one["now"] for one in (*row["votes"], *row["answers"])):
        return "A vote or an answer is the same before and now."
    outcome = state.outcome.value if state and state.outcome else None
    reason = orjson.loads(state.row).get("reason", "") if state and state.row else ""
    if (row["now"], row["reason_now"]) != (outcome, reason):
        return f"The story is {outcome} ({reason}), not {row['now']} ({row['reason_now']})."
    given = changes.answers_by_annotator(state)
    if any(one["now"] != given.get(one["annotator"]) for one in row["votes"]):
        return "A vote is not the one in the votes file."
    keys = {question["id"]: question["answerKey"] for question in map(orjson.loads, questions)}
    if any(one["now"] != keys.get(one["id"]) for one in row["answers"]):
        return "An answer key is not the one in the question set."
    return ""


def check_copy(release: CheckedRelease, path: str, columns: Mapping[str, Type]) -> None:
    """Compare the copy of the file at ``path`` row by row, one batch at a time."""
    copy = parquet_path(path)
    try:
        with pq.ParquetFile(release.directory / copy) as file:
            schema = file.schema_arrow
            expected = schema_of(columns)
            if not schema.equals(expected) or _noted(schema) != _noted(expected):
                release.report(PARQUET, copy, _other_types(schema, expected))
                return
            if problem := _other_metadata(file):
                release.report(PARQUET, copy, problem)
            row = _first_differing_row(batches(release.directory / path, expected), _rows(file))
    except FileNotFoundError:
        release.report(PARQUET, copy, "The file is missing.")
    except (pa.ArrowException, OSError) as error:
        release.report(PARQUET, copy, f"It cannot be compared with {path}: {str(error)[:300]}.")
    else:
        if row:
            release.report(PARQUET, copy, f"Row {row} is not that of {path}.", row)


def _other_metadata(file: pq.ParquetFile) -> str:
    """Return what is wrong with the metadata: a copy states only which library wrote it."""
    if odd := sorted((file.metadata.metadata or {}).keys() - {b"ARROW:schema"}):
        return f"The metadata have {len(odd)} entries that no copy has."
    if not _WRITTEN_BY.fullmatch(file.metadata.created_by or ""):
        return "The metadata do not name the writer as copies do."
    return ""


def _noted(schema: pa.Schema) -> list[object]:
    fields = list(schema)
    noted: list[object] = [schema.metadata]
    while fields:
        field = fields.pop()
        noted.append(field.metadata)
        fields += [field.type.field(place) for place in range(field.type.num_fields)]
    return noted


def _other_types(found: pa.Schema, expected: pa.Schema) -> str:
    if found.equals(expected):
        return "The metadata of the schema are not those of a copy."
    if found.names != expected.names:
        return f"The columns are {', '.join(found.names)}; they should be {', '.join(expected.names)}."
    odd = [name for name in expected.names if not found.field(name).equals(expected.field(name))]
    return f"The types of {', '.join(odd)} do not fit the rows."


def _first_differing_row(left: Iterator[pa.RecordBatch], right: Iterator[pa.RecordBatch]) -> int:
    """Return the number (from 1) of the first differing row, or 0. Batches may have any size."""
    seen = 0
    one, other = _next(left), _next(right)
    while one is not None and other is not None:
        rows = min(one.num_rows, other.num_rows)
        a, b = one.slice(0, rows), other.slice(0, rows)
        if not a.equals(b):
            return seen + 1 + next(at for at in range(rows) if not a.slice(at, 1).equals(b.slice(at, 1)))
        seen += rows
        one = one.slice(rows) if one.num_rows > rows else _next(left)
        other = other.slice(rows) if other.num_rows > rows else _next(right)
    return 0 if one is None and other is None else seen + 1


def _rows(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    """Yield one row group at a time: reading the whole file would hold several."""
    for group in range(file.num_row_groups):
        yield from file.read_row_group(group, use_threads=False).to_batches()


def _next(found: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    return next((batch for batch in found if batch.num_rows), None)
