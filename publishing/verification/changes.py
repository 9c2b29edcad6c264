"""Compare ``changes.jsonl`` with the other files: whatever it says of this release must be so.

What it says of the previous release is in no file here.
"""

from contextlib import ExitStack
from pathlib import Path

import orjson

from publishing.comparison.changes import CHANGES_PATH, REASONS, question_lines, questions_of
from publishing.comparison.diff import StoryState, answers_by_annotator, story_states
from publishing.files.rows import Row
from publishing.filters import Outcome
from publishing.verification import jsonl
from publishing.verification.description import Description
from publishing.verification.findings import Findings
from publishing.verification.shapes import ANYTHING, TEXT, Kind, Shape, misfit

CHECK = "changes"
_OUTCOME = Kind("an outcome or null", lambda value: value in (None, *Outcome))
_BECAUSE = Kind(
    f"a list of {', '.join(REASONS)}, in this order",
    lambda value: isinstance(value, list) and value == [one for one in REASONS if one in value],
)
_ROW: Shape = {
    "story_id": TEXT,
    "before": _OUTCOME,
    "reason_before": TEXT,
    "now": _OUTCOME,
    "reason_now": TEXT,
    "because": _BECAUSE,
    "votes": [{"annotator": TEXT, "before": ANYTHING, "now": ANYTHING}],
    "answers": [{"id": TEXT, "before": ANYTHING, "now": ANYTHING}],
}


def check(directory: Path, description: Description, findings: Findings) -> list[Row]:
    """Check every row. Return the sound ones."""
    states = story_states(directory, incomplete=True)
    sound: list[Row] = []
    last = b""
    with ExitStack() as files:
        lines = question_lines(directory, description.layout, files)
        state = next(states, None)
        for line in jsonl.read(directory, CHANGES_PATH, findings):
            problem = misfit(line.row, _ROW)
            story_id = b"" if problem else line.row["story_id"].encode()
            if not problem and story_id <= last:
                problem = "The row is not in order of story id."
            while not problem and state and state.story_id < story_id:
                questions_of(state, lines)
                state = next(states, None)
            if not problem:
                last, here = story_id, state if state and state.story_id == story_id else None
                problem = _wrong(line.row, here, questions_of(here, lines))
                state = next(states, None) if here else state
            if problem:
                findings.add(CHECK, CHANGES_PATH, problem, line.number)
            else:
                sound.append(line.row)
    if sound and description.document["previous"] is None:
        findings.add(CHECK, CHANGES_PATH, "The release was compared with none.")
    return sound


def _wrong(row: Row, state: StoryState | None, questions: tuple[bytes, ...]) -> str:
    """Return what a row says of this release that the other files do not."""
    if not row["because"] and row["before"] == row["now"]:
        return "The row names no change."
    if any(one["before"] == one["now"] for one in (*row["votes"], *row["answers"])):
        return "A vote or an answer is the same before and now."
    outcome = state.outcome.value if state and state.outcome else None
    reason = orjson.loads(state.row).get("reason", "") if state and state.row else ""
    if (row["now"], row["reason_now"]) != (outcome, reason):
        return f"The story is {outcome} ({reason}), not {row['now']} ({row['reason_now']})."
    given = answers_by_annotator(state)
    if any(one["now"] != given.get(one["annotator"]) for one in row["votes"]):
        return "A vote is not the one in the votes file."
    keys = {question["id"]: question["answerKey"] for question in map(orjson.loads, questions)}
    if any(one["now"] != keys.get(one["id"]) for one in row["answers"]):
        return "An answer key is not the one in the question set."
    return ""
