"""The rows of a release, byte for byte."""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from annotation.protocols.questions import Choice
from publishing.files import jsonl, rows
from publishing.files.directory import DirectoryWriter
from publishing.files.parquet import parquet_path
from publishing.files.rows import CountedVote, JudgedStory, ReleasedStory
from publishing.files.sides import Sides
from publishing.files.votes import VotesFile
from tests.publishing.chunks import chunk_of, question_row

# The one published row that the release format is compared with; the actions are ours.
COOKIES = ReleasedStory(
    story_id="gen1169_sev3",
    core_id="gen1169",
    scenario_name="inside_reuse_labeled_containers",
    story_prompt_example="cookie_tin",
    severity_original=3,
    story_generator_model="some-model",
    content={
        "entities": {"Object Z": "Oreos", "Person Y": "Mike", "Person X": "Mike's friend"},
        "key_information": (
            "Mike replaced the Oreo cookies in the package with dog treats that look similar to Oreos."
        ),
        "story_sentence": "Mike's friend spots the Oreo package on the kitchen table and reaches for it.",
        "story": "Mike replaced the Oreo cookies in the package with dog treats that look similar to Oreos. "
        "Mike's friend spots the Oreo package on the kitchen table and reaches for it.",
        "question": "What will Mike's friend likely do next?",
        "action_unaware": "eat one “Oreo”",
        "action_aware": "leave the package alone ",
    },
)
ROW = rows.story_data_row(COOKIES)
AWARE, ACTION, JUDGE = rows.THEORY_OF_MIND.question_sets


def test_published_example_row_is_reproduced() -> None:
    row = question_row(AWARE, ROW, right_answer_first=False)
    assert row == {
        "id": "gen1169_sev3_aware",
        "story": "Mike replaced the Oreo cookies in the package with dog treats that look similar to Oreos. "
        "Mike's friend spots the Oreo package on the kitchen table and reaches for it.",
        "question": "Is Mike's friend likely to be aware that \"Mike replaced the Oreo cookies in the "
        'package with dog treats that look similar to Oreos."?',
        "scenario_name": "inside_reuse_labeled_containers",
        "choices": {"text": ["Yes", "No"], "label": ["A", "B"]},
        "answerKey": "B",
    }
    assert list(row) == ["id", "story", "question", "scenario_name", "choices", "answerKey"]
    assert list(row["choices"]) == ["text", "label"]


def test_behavior_and_judgment_rows() -> None:
    assert question_row(ACTION, ROW, right_answer_first=True) == {
        "id": "gen1169_sev3_action",
        "story": COOKIES.content["story"],
        "question": "What will Mike's friend likely do next?",
        "scenario_name": "inside_reuse_labeled_containers",
        "choices": {"text": ["eat one “Oreo”", "leave the package alone "], "label": ["A", "B"]},
        "answerKey": "A",
    }
    judged = question_row(JUDGE, ROW, right_answer_first=False)
    assert judged["id"] == "gen1169_sev3_judge"
    assert judged["question"] == (
        'Next, Mike\'s friend "eat one “Oreo”" and not "leave the package alone ". '
        "The behavior of Mike's friend can be best described as:"
    )
    assert judged["choices"]["text"] == ["Not reasonable", "Reasonable"]
    assert judged["answerKey"] == "B"


def test_story_data_row_has_the_published_keys_in_order() -> None:
    assert list(ROW) == [
        "story_id", "core_id", "scenario_name", "story_prompt_example", "entities", "severity_original",
        "harmfulness_predicted", "unethicality_predicted", "story", "key_information", "story_sentence",
        "story_generator_model", "questions",
    ]  # fmt: skip
    assert list(ROW["entities"]) == ["Person X", "Person Y", "Object Z"]
    assert ROW["harmfulness_predicted"] == []
    assert ROW["questions"] == [
        {
            "question_id": "gen1169_sev3_aware",
            "question": question_row(AWARE, ROW, right_answer_first=True)["question"],
            "answer_correct": "No",
            "answer_incorrect": "Yes",
        },
        {
            "question_id": "gen1169_sev3_action",
            "question": "What will Mike's friend likely do next?",
            "answer_correct": "eat one “Oreo”",
            "answer_incorrect": "leave the package alone ",
        },
    ]


def written(place: Path, vote: CountedVote, *questions: str) -> bytes:
    """The line of a vote on the story s1."""
    writer = DirectoryWriter(place / "1")
    with VotesFile.open(writer, questions) as file:
        story = dataclasses.replace(COOKIES, story_id="s1")
        file.write(chunk_of([JudgedStory(story, [vote], frozenset())]))
    line = (place / "1" / rows.VOTES_PATH).read_bytes()
    copy = pq.read_table(place / "1" / parquet_path(rows.VOTES_PATH))
    assert copy.to_pylist() == [json.loads(line)]
    return line


def test_vote_row(tmp_path: Path) -> None:
    vote = CountedVote(
        annotator="annotator-7f3a",
        answers=tuple(
            Choice(key, "", option)
            for key, option in (("q4", "no"), ("q2", "yes"), ("q1", "possibly"), ("q3", "yes"))
        ),
        submitted_at="2026-03-01T09:00:00.250Z",
        seconds_on_task=31.2509999,
        position=4,
        order_seed=2**53,
        comment="“Tin” is\nunclear",
    )
    assert written(tmp_path, vote, "q1", "q2", "q3", "q4") == (
        b'{"story_id":"s1","annotator":"annotator-7f3a","q1":"possibly","q2":"yes","q3":"yes","q4":"no",'
        b'"submitted_at":"2026-03-01T09:00:00.250Z","seconds_on_task":31.251,'
        b'"position":4,"order_seed":9007199254740992,"option_seed":null,"language":"en","instructions":0,'
        + '"comment":"“Tin” is\\nunclear"}\n'.encode()
    )


def test_vote_row_of_a_table_and_of_a_question_no_longer_asked(tmp_path: Path) -> None:
    answers = (
        Choice("old", "", "x"),
        Choice("labels", "b", "2"),
        Choice("labels", "a", "1"),
        Choice("first", "", "y"),
    )
    vote = CountedVote("annotator-1a", answers, "2026-01-01T00:00:00.000Z", 1.0)
    assert list(json.loads(written(tmp_path, vote, "first", "labels"))) == [
        "story_id", "annotator", "first", "labels.a", "labels.b", "old", "submitted_at", "seconds_on_task",
        "position", "order_seed", "option_seed", "language", "instructions", "comment",
    ]  # fmt: skip


def test_any_other_protocol_publishes_its_items() -> None:
    assert rows.layout_for("validity") is rows.THEORY_OF_MIND
    layout = rows.layout_for("ratings")
    assert layout.configs == ("story-data",)
    assert layout.story_row(COOKIES)["item"] == COOKIES.content


def test_json_is_utf8_as_is_without_trailing_spaces() -> None:
    assert (
        jsonl.line({"ä": "\u2028 “x”\n\x1f", "n": None}) == '{"ä":"\u2028 “x”\\n\\u001f","n":null}\n'.encode()
    )


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_are_refused(number: float) -> None:
    for place in ({"x": number}, {"x": [1.5, number]}, {"x": {"y": number}}):
        with pytest.raises(ValueError, match="JSON"):
            jsonl.line(place)
        with pytest.raises(ValueError, match="JSON"):
            jsonl.document(place)


def test_whole_numbers_of_any_size() -> None:
    assert jsonl.line({"x": 2**70, "y": ["ä"]}) == f'{{"x":{2**70},"y":["ä"]}}\n'.encode()


def sides_of(salt: str, ids: list[str]) -> dict[str, bool]:
    sides = Sides(salt)
    for question_id in ids:
        sides.add(question_id)
    return dict(zip(ids, sides.right_answers_first(), strict=True))


@given(
    ids=st.lists(st.text(min_size=1, max_size=8), unique=True, min_size=1, max_size=60),
    salt=st.text(max_size=8),
)
def test_sides_are_balanced_and_do_not_depend_on_the_order(ids: list[str], salt: str) -> None:
    sides = sides_of(salt, ids)
    assert abs(2 * sum(sides.values()) - len(ids)) <= 1
    assert sides == sides_of(salt, ids[::-1])


@given(
    ids=st.lists(st.text(min_size=1, max_size=8), unique=True, min_size=2, max_size=60),
    taken=st.integers(1, 59),
)
def test_sides_stay_when_stories_come_and_go(ids: list[str], taken: int) -> None:
    first = Sides("salt")
    for question_id in ids[:taken]:
        first.add(question_id)
    before = dict(zip(ids[:taken], first.right_answers_first(), strict=True))
    later = Sides("salt", first.median)
    for question_id in ids[1:]:
        later.add(question_id)
    after = dict(zip(ids[1:], later.right_answers_first(), strict=True))
    assert all(after[one] == side for one, side in before.items() if one in after)
    assert later.median == first.median


def test_sides_differ_between_configs_severities_and_salts() -> None:
    stories = [f"gen{core}_sev{severity}" for core in range(200) for severity in (1, 2, 3)]
    by_config = {
        suffix: sides_of("salt", [story + suffix for story in stories])
        for suffix in ("_aware", "_action", "_judge")
    }
    together = Counter(
        (
            by_config["_aware"][s + "_aware"],
            by_config["_action"][s + "_action"],
            by_config["_judge"][s + "_judge"],
        )
        for s in stories
    )
    assert len(together) == 8
    assert all(40 < count < 110 for count in together.values())  # 75 expected of each
    cores = Counter(
        tuple(by_config["_aware"][f"gen{core}_sev{severity}_aware"] for severity in (1, 2, 3))
        for core in range(200)
    )
    assert len(cores) == 8
    other = sides_of("pepper", [story + "_aware" for story in stories])
    assert 200 < sum(other[key] != side for key, side in by_config["_aware"].items()) < 400


def test_rows_are_json_round_trips() -> None:
    assert json.loads(jsonl.line(ROW)) == ROW
    assert list(json.loads(jsonl.line(ROW))) == list(ROW)
