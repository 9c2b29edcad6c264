"""Ways to break votes, stories, verdicts and questions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.publishing.verification.breaks import (
    BEHAVIOR,
    DECISIONS,
    DROPPED,
    HARD,
    INCOMPLETE,
    KEPT,
    MENTAL,
    VOTES,
    Break,
    bytes_added,
    put,
    row_by_row,
    together,
)
from tests.publishing.verification.support import Row, edit_rows, edit_text


def put_in_order(row: Row, *keys: str) -> None:
    items = {key: row[key] for key in keys} | row
    row.clear()
    row.update(items)


def email_asked(row: Row) -> None:
    row["email"] = "yes"
    put_in_order(row, "story_id", "annotator", "email")


def second_answer_first(row: Row) -> None:
    put_in_order(row, "story_id", "annotator", "q2", "q1")


def reorder(row: Row) -> None:
    put_in_order(row, *reversed(row))


def votes_in_another_order(rows: list[Row]) -> None:
    rows[0], rows[1] = rows[1], rows[0]
    rows.append(rows.pop(3))


def stories_in_another_order(rows: list[Row]) -> None:
    rows[0], rows[1] = rows[1], rows[0]
    rows.append(rows[-1])


def awareness_reworded(row: Row) -> None:
    row["questions"][0]["question"] = "Does Mary know?"


def rated(rating: Any) -> Callable[[Row], None]:
    return put("harmfulness_predicted", [{"harmfulness": rating, "predictor_model": "judge-1"}])


ROWS = (
    Break(
        "votes of another form",
        row_by_row(
            VOTES,
            email_asked,
            put("worker", "w"),
            put("q1", "maybe"),
            put("q1", "ask ann@example.org"),
            put("q1", True),
            lambda row: row.pop("q4"),
            second_answer_first,
            reorder,
            put("annotator", "annotator-Mary"),
            put("annotator", "A1B2C3D4E5F6G7"),
            put("submitted_at", "2026-03-01T09:30:00+01:00"),
            put("submitted_at", "2026-02-30T09:30:00.000Z"),
            put("seconds_on_task", -1),
            put("seconds_on_task", "3"),
            put("instructions", "1"),
            put("language", "<b>"),
        ),
        "schema",
        {
            VOTES: (
                "email is not a question",
                "The keys are",
                "“maybe” is not an option",
                "“ask ann@example.org” is not an option",
                "q1 is not a text",
                "no answer to q4",
                "order of the questions",
                "The keys are",
                *["a pseudonym"] * 2,
                *["submitted_at is not a time"] * 2,
                *["seconds_on_task is not a number"] * 2,
                "instructions is not a whole",
                "a language tag",
            )
        },
    ),
    Break(
        "stories of another form",
        row_by_row(
            KEPT,
            put("note", "x"),
            put("severity_original", "1"),
            put("severity_original", True),
            lambda row: row["entities"].pop("Person X"),
            awareness_reworded,
            rated(6),
            rated(True),
        ),
        "schema",
        {
            KEPT: (
                "The keys are",
                *["severity_original is not a whole number"] * 2,
                "names Person X",
                "questions does not follow",
                *["harmfulness is not a rating from 1 to 5"] * 2,
            )
        },
    ),
    Break(
        "decisions of another form",
        row_by_row(DECISIONS, put("verdict", "perhaps"), put("decided_at", "now"), put("by", "Ann")),
        "schema",
        {DECISIONS: ("verdict is not one of", "a time", "The keys are")},
    ),
    Break(
        "votes in another order",
        edit_rows(VOTES, votes_in_another_order),
        "schema",
        {VOTES: ("in order of time", "is not in order of id")},
    ),
    Break(
        "stories in another order, one of them twice",
        edit_rows(KEPT, stories_in_another_order),
        "schema",
        {KEPT: ("in order of id", "twice")},
    ),
    Break(
        "lines that no release has",
        together(
            edit_text(VOTES, '"q1":', '"q1":"no","q1":'),
            bytes_added(VOTES, b'{"story_id": "z"}\n'),
            bytes_added(VOTES, b'{"story_id":"z"'),
            bytes_added(KEPT, b"\n"),
        ),
        "schema",
        {VOTES: (*["not one JSON object"] * 2, "cut off"), KEPT: ("not one JSON object",)},
    ),
    Break(
        "a question that is no row",
        bytes_added(BEHAVIOR, b"garbage\n"),
        "schema",
        {BEHAVIOR: ("not one JSON object",)},
    ),
    Break(
        "a number that JSON does not have",
        edit_text("statistics.json", '"level": 0.95', '"level": NaN'),
        "schema",
        {"statistics.json": ("NaN",)},
    ),
)


# Verdicts


def of_story(number: int, change: Callable[[list[Row], list[Row]], object]) -> Callable[[list[Row]], object]:
    """A change of all rows, given those about one story too."""
    return lambda rows: change(rows, [row for row in rows if row["story_id"] == f"s{number:04d}"])


def all_yes(_: list[Row], votes: list[Row]) -> None:
    for vote in votes:
        vote.update(q1="yes", q3="yes")


def fourth_vote(rows: list[Row], votes: list[Row]) -> None:
    rows.insert(rows.index(votes[-1]) + 1, votes[-1] | {"annotator": "annotator-00000000000000ff"})


def unvoted_story(rows: list[Row]) -> None:
    asked = [
        one | {"question_id": one["question_id"].replace(rows[-1]["story_id"], "s9999")}
        for one in rows[-1]["questions"]
    ]
    rows.append(rows[-1] | {"story_id": "s9999", "questions": asked, "reason": "q1"})


def kept_and_dropped(place: Path) -> None:
    """The first kept story among the dropped ones too, before all others."""
    row = json.loads((place / KEPT).read_bytes().splitlines()[0]) | {"reason": "q1"}
    edit_rows(DROPPED, lambda rows: rows.insert(0, row))(place)


VERDICTS = (
    Break(
        "votes that give other verdicts",
        together(
            edit_rows(VOTES, of_story(1, lambda _, votes: votes[0].update(q3="no"))),
            edit_rows(VOTES, of_story(2, lambda rows, votes: rows.remove(votes[0]))),
            edit_rows(
                VOTES, of_story(3, lambda _, votes: [vote.update(q1="yes", q3="yes") for vote in votes])
            ),
            edit_rows(VOTES, of_story(4, fourth_vote)),
            edit_rows(VOTES, of_story(5, lambda _, votes: votes[1].update(annotator=votes[0]["annotator"]))),
        ),
        "decisions",
        {
            KEPT: (
                "is kept; by its votes it is dropped (q3)",
                "by its votes it is incomplete (2 of 3 votes)",
            ),
            DROPPED: ("dropped (q1,q3); by its votes it is kept",),
            VOTES: ("s0004 has 4 votes; 3 count", "voted twice on the story s0005"),
        },
    ),
    Break(
        "stories in other files, or for other reasons",
        together(
            kept_and_dropped,
            edit_rows(KEPT, lambda rows: rows.pop(1)),
            edit_rows(DROPPED, of_story(6, lambda _, stories: stories[0].update(reason="q4"))),
            edit_rows(DROPPED, unvoted_story),
            row_by_row(INCOMPLETE, put("reason", "1 of 3 votes")),
            edit_rows(INCOMPLETE, lambda rows: rows.pop()),
            edit_rows(DECISIONS, lambda rows: rows.append(rows[-1] | {"story_id": "s9998"})),
        ),
        "decisions",
        {
            VOTES: ("the story s0002, but it is in no file", "the story s0021, but it is in no file"),
            DROPPED: ("kept and dropped", "dropped (q4); by its votes it is dropped", "0 of 3 votes"),
            INCOMPLETE: ("2 of 3 votes",),
            DECISIONS: ("s9998 is in no file of stories",),
        },
    ),
)


# Questions


def swap_sides(row: Row) -> None:
    row["choices"]["text"].reverse()
    row["answerKey"] = "B" if row["answerKey"] == "A" else "A"


def other_key(row: Row) -> None:
    row["answerKey"] = "B" if row["answerKey"] == "A" else "A"


QUESTIONS = (
    Break(
        "questions that do not follow from their stories",
        together(
            row_by_row(
                BEHAVIOR,
                swap_sides,
                other_key,
                put("answerKey", "C"),
                put("answerKey", ["A"]),
                put("question", "Why?"),
                put("id", "s0001_other"),
                put("choices", {"text": ["a", "b"]}),
                reorder,
            ),
            edit_rows(BEHAVIOR, lambda rows: rows.pop()),
            row_by_row(MENTAL, other_key),
            edit_rows(MENTAL, lambda rows: rows.append(rows[0] | {"id": "z"})),
        ),
        "questions",
        {
            BEHAVIOR: (
                "choices.text[0] is",
                "answerKey is",
                "answerKey is C",
                "answerKey is ['A']",
                "question is Why?",
                "id is s0001_other",
                "choices: the keys",
                "The document: the keys",
                "no question about",
            ),
            MENTAL: ("answerKey is", "no kept story"),
        },
    ),
    Break(
        "an easy question called hard",
        edit_rows(HARD, lambda rows: rows.append({"id": "s0001_action", "config": "behavior-qa"})),
        "machine-validation",
        {HARD: ("but not the",)},
    ),
)

ROW_BREAKS = (*ROWS, *VERDICTS, *QUESTIONS)
