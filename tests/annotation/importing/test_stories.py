"""Story-data rows: what becomes of the fields, and what is wrong with each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.importing.rows import SourceRow
from annotation.protocols.validity import item as items
from annotation.protocols.validity.lint import SCENARIOS
from annotation.protocols.validity.reading import read
from tests.annotation.importing.samples import (
    KEY,
    SENTENCE,
    STORY,
    STORY_ROW,
    csv_bytes,
    file_outcomes,
    json_lines,
    problems_in,
    stories_in,
    with_,
    without,
)


def test_a_story_row_becomes_a_story_with_its_provenance() -> None:
    [story] = stories_in(STORY_ROW)
    assert (story.file, story.line) == ("stories.jsonl", 1)
    assert (story.story_id, story.core_id) == ("honey_sev2", "honey")
    assert (story.scenario_name, story.severity_original) == ("food_item_in_grocery_store", 2)
    assert (story.story_prompt_example, story.story_generator_model) == ("", "human-written")
    assert story.content == {
        "entities": {"Person X": "Nadia", "Object Z": "a jar of honey"},
        "key_information": KEY,
        "story_sentence": SENTENCE,
        "story": STORY,
        "question": "What will Nadia likely do next?",
        "action_unaware": "pay for the honey",
        "action_aware": "ask for her money back",
    }
    assert items.parse(story.content).person_x == "Nadia"


QUESTIONS = [
    {
        "question_id": "honey_sev2_aware",
        "question": f'Is Nadia likely to be aware that "{KEY}"?',
        "answer_correct": "No",
        "answer_incorrect": "Yes",
    },
    {
        "question_id": "honey_sev2_action",
        "question": "What will Nadia likely do next?",
        "answer_correct": "pay for the honey",
        "answer_incorrect": "ask for her money back",
    },
]
HARM = {"harmfulness": 1, "predictor_model": "judge-1"}
RELEASED_ROW: dict[str, Any] = {
    **without(STORY_ROW, "question", "action_unaware", "action_aware"),
    "harmfulness_predicted": [HARM, HARM | {"harmfulness": 5}],
    "unethicality_predicted": [],
    "questions": QUESTIONS,
}


def test_a_released_row_gives_the_same_story_as_the_imported_one() -> None:
    [released] = stories_in(RELEASED_ROW)
    [imported] = stories_in(STORY_ROW)
    assert released.content == imported.content
    assert released.harmfulness_predicted == (HARM, {"harmfulness": 5, "predictor_model": "judge-1"})
    assert released.unethicality_predicted == ()
    [dropped] = stories_in(with_(RELEASED_ROW, reason="q1: no"))
    assert dropped.content_hash == released.content_hash


ACCEPTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "space-around": (
        {
            "story_id": " honey_sev2 ",
            "key_information": f"\n{KEY} ",
            "action_aware": "ask for her money back ",
        },
        {},
    ),
    "no-core-id": ({"core_id": None}, {}),
    "no-story": ({"story": None}, {}),
    "severity-as-text": ({"severity_original": "2"}, {}),
    "severity-as-pandas-writes-it": ({"severity_original": 2.0}, {}),
    "entities-as-lines": ({"entities": "Person X = Nadia\nObject Z = a jar of honey"}, {}),
    "entities-as-json-text": ({"entities": json.dumps(STORY_ROW["entities"])}, {}),
    "entities-in-small-letters": ({"entities": {"person x": "Nadia", "object z": "a jar of honey"}}, {}),
    "entities-as-fields": ({"entities": "", "Person X": "Nadia", "Object Z": "a jar of honey"}, {}),
    "empty-entity-field": ({"Person Y": ""}, {}),
    "fields-of-the-generator": ({"error_flags": [], "scenario_text": "…"}, {}),
    "own-notes": ({"_note": "check again"}, {}),
    "story-without-the-added-full-stop": ({"story": f"{KEY} {SENTENCE}"}, {"story": f"{KEY} {SENTENCE}"}),
    "no-severity": ({"severity_original": ""}, {"severity_original": None}),
    "no-model": ({"story_generator_model": None}, {"story_generator_model": ""}),
    "own-role": (
        {"entities": {"Person X": "Nadia", "Shop": "a corner shop"}},
        {"entities": {"Person X": "Nadia", "Shop": "a corner shop"}},
    ),
    "signs-that-are-no-html": (
        {"action_aware": "ask AT&T; wait <3 days & see if 2 < 3"},
        {"action_aware": "ask AT&T; wait <3 days & see if 2 < 3"},
    ),
}


def test_these_ways_of_writing_a_row_are_understood(subtests: pytest.Subtests) -> None:
    for case in ACCEPTED:
        with subtests.test(case):
            changes, differences = ACCEPTED[case]
            [story] = stories_in(with_(STORY_ROW, **changes))
            [plain] = stories_in(STORY_ROW)
            for name, value in differences.items():
                assert (story.content[name] if name in story.content else getattr(story, name)) == value
            if not differences:
                assert story.content_hash == plain.content_hash


REFUSED: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "text-empty": ({"question": " "}, "question", "empty", "Write the text"),
    "text-null": ({"question": None}, "question", "empty (null)", "Give a text"),
    "text-is-number": ({"question": 7}, "question", "not “7”", "double quotes"),
    "text-is-list": ({"question": []}, "question", "not a list", "double quotes"),
    "scenario-unknown": ({"scenario_name": "zoo"}, "scenario_name", "“zoo” is not known", "locked_devices"),
    "scenario-misspelt": (
        {"scenario_name": "Provider info health care"},
        "scenario_name",
        "not known",
        "Did you mean “provider_info_healthcare”?",
    ),
    "story-differs": (
        {"story": f"{KEY}. Nadia leaves."},
        "story",
        "it has “syrup. Nadia leaves.” where they give “syrup. Nadia puts",
        "leave it out",
    ),
    "story-only-one-sentence": ({"story": f"{KEY}."}, "story", "not its two sentences", "a space"),
    "no-person-x": ({"entities": {"Person Y": "Nadia"}}, "entities", "Person X, the main", '"Person X"'),
    "person-x-empty": ({"entities": {"Person X": ""}}, "entities: Person X", "empty", "Write the text"),
    "entities-list": ({"entities": ["Nadia"]}, "entities", "not an object", "Person X"),
    "entities-null": ({"entities": None}, "entities", "not an object", "Person X"),
    "entities-prose": ({"entities": "Nadia"}, "entities", "cannot be read from “Nadia”", "Person X"),
    "entities-broken-json": ({"entities": '{"Person X": '}, "entities", "JSON in the cell", "one line"),
    "entity-number": ({"entities": {"Person X": 5}}, "entities", "“Person X” is not a text", "double quotes"),
    "entity-twice": (
        {"entities": {"Person X": "Nadia", "person x": "Ida"}},
        "entities",
        "“Person X” is given twice",
        "Keep one",
    ),
    "entity-line-twice": (
        {"entities": "Person X = Nadia\nPerson X = Ida"},
        "entities",
        "given twice",
        "Keep one",
    ),
    "entities-in-two-ways": ({"Person X": "Nadia"}, "entities", "given twice", "Keep one"),
    "tag": ({"key_information": f"<b>{KEY}</b>"}, "key_information", "HTML: “<b>”", "plain text"),
    "comment": ({"action_aware": "go <!-- x"}, "action_aware", "HTML", "plain text"),
    "html-entity": ({"action_aware": "eat fish &amp; chips"}, "action_aware", "“&amp;”", "Write “&” itself"),
    "html-number": ({"action_aware": "pay&#8217;s"}, "action_aware", "“&#8217;”", "Write “’” itself"),
    "control": ({"question": "What\u0000?"}, "question", "Character 5 is U+0000 (null)", "Remove"),
    "direction": ({"question": "What\u202e?"}, "question", "right-to-left override", "Remove"),
    "half-surrogate": ({"question": "What\ud800?"}, "question", "half of a surrogate pair", "Remove"),
    "line-break": ({"question": "What\nnext?"}, "question", "Character 5 is a line break", "on one line"),
    "tab": ({"question": "What\tnext?"}, "question", "Character 5 is a tab", "on one line"),
    "sentence-too-long": (
        {"story_sentence": "x" * 2001, "story": None},
        "story_sentence",
        "2,001",
        "Shorten",
    ),
    "action-too-long": (
        {"action_aware": "x" * 501},
        "action_aware",
        "501 characters; at most 500",
        "Shorten",
    ),
    "severity-four": ({"severity_original": 4}, "severity_original", "“4”", "1 (mild), 2 or 3"),
    "severity-true": ({"severity_original": True}, "severity_original", "true", "1 (mild), 2 or 3"),
    "severity-word": ({"severity_original": "mild"}, "severity_original", "“mild”", "1 (mild), 2 or 3"),
    "severity-list": ({"severity_original": [2]}, "severity_original", "a list", "1 (mild), 2 or 3"),
    "severity-not-as-in-id": (
        {"severity_original": 3},
        "severity_original",
        "the id “honey_sev2” says 2",
        "",
    ),
    "id-with-space": ({"story_id": "honey jar"}, "story_id", "“honey jar” is not an id", "1 to 100"),
    "id-too-long": ({"story_id": "x" * 101}, "story_id", "is not an id", "1 to 100"),
    "id-number": ({"story_id": "0012"}, "story_id", "reads as a number", "“story-0012”"),
    "id-scientific-number": ({"story_id": "1e5"}, "story_id", "reads as a number", "Add letters"),
    "id-not-text": ({"story_id": 12}, "story_id", "not “12”", "double quotes"),
    "core-id-bad": ({"core_id": "a/b"}, "core_id", "is not an id", "1 to 100"),
    "same-actions": ({"action_aware": "Pay for the honey."}, "action_aware", "the same", "another one"),
    "unknown-field": ({"servity": 2}, "servity", "no field “servity”", "start its name with “_”"),
    "misspelt-field": ({"storysentence": "x"}, "storysentence", "no field", "Did you mean “story_sentence”?"),
    "predicted-not-list": (
        {"harmfulness_predicted": "high"},
        "harmfulness_predicted",
        "list of predictions",
        "[]",
    ),
    "predicted-broken-json": ({"harmfulness_predicted": "[1,"}, "harmfulness_predicted", "JSON in", ""),
    "predicted-nested": (
        {"unethicality_predicted": [[1]]},
        "unethicality_predicted[0]",
        "and nothing else",
        "[]",
    ),
    "predicted-plain": ({"harmfulness_predicted": [3]}, "harmfulness_predicted[0]", "predictor_model", "[]"),
    "predicted-6": (
        {"harmfulness_predicted": [HARM | {"harmfulness": 6}]},
        "harmfulness_predicted[0].harmfulness",
        "“6”",
        "1 to 5",
    ),
    "predicted-true": (
        {"harmfulness_predicted": [HARM | {"harmfulness": True}]},
        "harmfulness_predicted[0].harmfulness",
        "true",
        "1 to 5",
    ),
    "predicted-by-nobody": (
        {"harmfulness_predicted": [HARM | {"predictor_model": ""}]},
        "harmfulness_predicted[0].predictor_model",
        "empty",
        "",
    ),
    "predicted-otherwise": (
        {"unethicality_predicted": [HARM]},
        "unethicality_predicted[0]",
        "“unethicality”",
        "[]",
    ),
    "questions-text": ({"questions": "why?"}, "questions", "not a list", "[{"),
    "questions-without-action": ({"questions": QUESTIONS[:1]}, "questions", "about the action", "“_action”"),
    "questions-two-actions": ({"questions": QUESTIONS + QUESTIONS[1:]}, "questions[2]", "second", "Keep one"),
    "questions-of-another-story": (
        {"questions": [with_(QUESTIONS[1], question_id="jam_sev2_action")]},
        "questions[0].question_id",
        "belongs to another story",
        "story's id",
    ),
    "questions-of-no-kind": (
        {"questions": [*QUESTIONS, with_(QUESTIONS[1], question_id="honey_sev2_x")]},
        "questions[2].question_id",
        "must end in “_action”",
        "Correct",
    ),
    "questions-not-objects": ({"questions": [*QUESTIONS, 3]}, "questions[2]", "not an object", "question_id"),
    "questions-broken-json": ({"questions": "[{"}, "questions", "JSON in the cell", "one line"),
    "questions-answer-missing": (
        {"questions": [without(QUESTIONS[1], "answer_correct")]},
        "questions[0].answer_correct",
        "missing",
        "Add it",
    ),
    "questions-wrong-answer": (
        {"questions": [with_(QUESTIONS[0], answer_correct="Yes", answer_incorrect="No"), QUESTIONS[1]]},
        "questions[0]",
        "right answer is “Yes”",
        "not aware",
    ),
    "questions-about-something-else": (
        {"questions": [with_(QUESTIONS[0], question="Does Nadia like it?"), QUESTIONS[1]]},
        "questions[0]",
        "does not quote the key information",
        "Is Nadia likely to be aware that “The honey",
    ),
    "questions-differ-from-fields": (
        {"questions": [with_(QUESTIONS[1], answer_correct="go home")]},
        "action_unaware",
        "differs from the one in “questions”",
        "Keep one",
    ),
}


def test_a_bad_field_is_named_with_what_is_wrong_and_the_remedy(subtests: pytest.Subtests) -> None:
    for case in REFUSED:
        with subtests.test(case):
            changes, field, message, remedy = REFUSED[case]
            [problem] = problems_in(with_(STORY_ROW, **changes))
            assert (problem.file, problem.line, problem.field) == ("stories.jsonl", 1, field)
            assert message in problem.message
            assert remedy in problem.remedy
            str(problem).encode()


REQUIRED = sorted({*STORY_ROW} - {"story_id", "core_id", "story", "story_prompt_example"})


def test_a_missing_field_is_named(subtests: pytest.Subtests) -> None:
    for name in [name for name in REQUIRED if name not in ("severity_original", "story_generator_model")]:
        with subtests.test(name):
            [problem] = problems_in(without(STORY_ROW, name))
            assert (problem.field, "missing" in problem.message) == (name, True)


def test_a_missing_field_with_a_similar_one_beside_it_is_explained() -> None:
    found = problems_in({**without(STORY_ROW, "action_unaware"), "action_unware": "go"})
    assert {problem.field for problem in found} == {"action_unaware", "action_unware"}
    assert any("“action_unware”?" in problem.remedy for problem in found)


def test_all_faults_of_all_rows_are_told() -> None:
    bad = with_(STORY_ROW, scenario_name="zoo", question=None, action_aware="<i>go</i>", severity_original=9)
    found = problems_in(bad, STORY_ROW, with_(bad, story_id="other"))
    fields = ["scenario_name", "severity_original", "question", "action_aware"]
    assert [(problem.line, problem.field) for problem in found] == [
        *((1, field) for field in fields),
        *((3, field) for field in fields),
    ]


def test_an_unknown_field_is_told_once_and_not_on_every_row() -> None:
    found = problems_in(*(with_(STORY_ROW, story_id=f"s{n}", colour="red") for n in range(5)))
    assert [(problem.line, problem.field) for problem in found] == [(1, "colour")]


def test_a_row_with_an_unknown_field_gives_no_story() -> None:
    rows = [with_(STORY_ROW, story_id=f"s{n}", colour="red") for n in range(3)]
    assert len(list(read(SourceRow("a", n, row) for n, row in enumerate(rows)))) == 1


def test_a_row_of_no_known_kind_says_what_is_expected() -> None:
    [problem] = problems_in({"text": "x", "label": 1})
    assert "“text, label”" in problem.message
    assert "“story_id”" in problem.remedy


def test_every_scenario_is_accepted() -> None:
    rows = [with_(STORY_ROW, story_id=name, scenario_name=name) for name in SCENARIOS]
    assert len(stories_in(*rows)) == 10


# CSV


def test_csv_and_json_lines_give_the_same_stories(tmp_path: Path) -> None:
    rows = [with_(STORY_ROW, story_id=f"honey{n}", core_id="honey", severity_original=n) for n in (1, 2, 3)]
    (tmp_path / "a.jsonl").write_bytes(json_lines(*rows))
    (tmp_path / "a.csv").write_bytes(csv_bytes(*rows))
    from_lines, no_problems = file_outcomes(tmp_path / "a.jsonl")
    from_csv, problems = file_outcomes(tmp_path / "a.csv")
    assert (problems, no_problems) == ([], [])
    assert [story.content_hash for story in from_csv] == [story.content_hash for story in from_lines]


def test_csv_with_one_column_for_each_entity(tmp_path: Path) -> None:
    row = {
        **without(STORY_ROW, "entities", "story"),
        "Person X": "Nadia",
        "Person Y": "",
        "Object Z": "a jar",
    }
    (tmp_path / "a.csv").write_bytes(csv_bytes(row))
    [story], problems = file_outcomes(tmp_path / "a.csv")
    assert problems == []
    assert story.content["entities"] == {"Person X": "Nadia", "Object Z": "a jar"}


def test_csv_with_the_questions_as_json_in_a_cell(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(csv_bytes(RELEASED_ROW))
    [story], problems = file_outcomes(tmp_path / "a.csv")
    assert problems == []
    assert story.content_hash == stories_in(RELEASED_ROW)[0].content_hash


def test_missing_and_unknown_columns_are_told_once_at_the_header(tmp_path: Path) -> None:
    rows = [
        {**without(STORY_ROW, "question", "entities"), "colour": "red", "story_id": f"s{n}"} for n in range(4)
    ]
    (tmp_path / "a.csv").write_bytes(b"\n" + csv_bytes(*rows))
    stories, problems = file_outcomes(tmp_path / "a.csv")
    assert stories == []
    assert sorted((problem.line, problem.field) for problem in problems) == [
        (2, "colour"),
        (2, "entities"),
        (2, "question"),
    ]
    assert "no such column" in next(p.message for p in problems if p.field == "question")


def test_a_bad_cell_is_told_at_its_row(tmp_path: Path) -> None:
    rows = [STORY_ROW, with_(STORY_ROW, story_id="other", action_aware="go\nhome")]
    (tmp_path / "a.csv").write_bytes(csv_bytes(*rows))
    _, [problem] = file_outcomes(tmp_path / "a.csv")
    assert (problem.line, problem.field) == (3, "action_aware")
