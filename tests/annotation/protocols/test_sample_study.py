"""The sample study is complete and consistent, and its stories pass the import."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from annotation.importing.rows import SourceRow, StoryRow
from annotation.protocols import get_protocol
from annotation.protocols.questions import Choice

SAMPLE = Path(__file__).resolve().parents[3] / "sample_study"
SCENARIOS = {
    "food_item_in_grocery_store",
    "hidden_body_part_feature",
    "seller_info_in_second_hand_market",
    "inside_containers_for_personal_belongings",
    "inside_reuse_labeled_containers",
    "true_property_pretentious_labels",
    "provider_info_healthcare",
    "behind_the_scene_service_industry",
    "locked_devices_accounts",
    "unobserved_unethical_actions",
}
FIELDS = {
    "story_id",
    "core_id",
    "scenario_name",
    "story_prompt_example",
    "entities",
    "severity_original",
    "key_information",
    "story_sentence",
    "story",
    "story_generator_model",
    "question",
    "action_unaware",
    "action_aware",
}

Record = dict[str, Any]


def read_json(name: str) -> Record:
    with (SAMPLE / name).open(encoding="utf-8") as file:
        data: Record = json.load(file)
    return data


def read_lines(name: str) -> list[Record]:
    return [json.loads(line) for line in (SAMPLE / name).read_text(encoding="utf-8").splitlines()]


STUDY = read_json("study.json")
STORIES = read_lines(STUDY["stories"])
QUALIFICATION = read_lines(STUDY["qualification"]["stories"])
KEY = read_json(STUDY["qualification"]["key"])
TRUTH = read_json(STUDY["truth"])
PROTOCOL = get_protocol(STUDY["protocol"])
OPTIONS = {question.key: {option.key for option in question.options} for question in PROTOCOL.questions}


def is_valid(story_id: str) -> bool:
    answers = TRUTH[story_id]
    return not any(PROTOCOL.counts_against(None, Choice(key, "", option)) for key, option in answers.items())


def test_the_study_states_everything_people_are_told() -> None:
    assert STUDY["slug"] == "sample"
    assert (STUDY["votes_per_story"], STUDY["story_cap"], STUDY["lease_minutes"]) == (3, 500, 30)
    assert (Decimal(STUDY["pay_rate"]), STUDY["currency"]) == (Decimal("15.00"), "USD")
    assert STUDY["license"] == "CC-BY-4.0"
    assert STUDY["qualification"]["attempts"] == 1
    consent = STUDY["consent"]
    for said in (STUDY["pay_rate"], str(STUDY["story_cap"]), STUDY["contact"], "CC BY 4.0", "pseudonym"):
        assert said in consent


def test_ids_are_unique_across_the_study_and_its_qualification_round() -> None:
    ids = Counter(story["story_id"] for story in STORIES + QUALIFICATION)
    assert [story_id for story_id, times in ids.items() if times > 1] == []


def test_there_are_enough_stories_in_every_scenario() -> None:
    assert len(STORIES) >= 40
    assert len(QUALIFICATION) == 5
    counts = Counter(story["scenario_name"] for story in STORIES)
    assert set(counts) == SCENARIOS
    assert min(counts.values()) >= 4
    assert {story["scenario_name"] for story in QUALIFICATION} <= SCENARIOS


def test_a_story_has_every_field_and_is_its_two_sentences() -> None:
    for story in STORIES + QUALIFICATION:
        assert set(story) == FIELDS
        assert story["story"] == f"{story['key_information']} {story['story_sentence']}"
        assert story["entities"]["Person X"]
        assert story["severity_original"] in {1, 2, 3}
        assert story["story_generator_model"] == "human"
        assert json.dumps(story, ensure_ascii=False).isascii()


def test_a_core_keeps_its_second_sentence_and_differs_in_severity() -> None:
    cores: dict[str, list[Record]] = {}
    for story in STORIES:
        cores.setdefault(story["core_id"], []).append(story)
    whole = [core for core in cores.values() if len(core) == 3]
    assert len(whole) >= 5
    for core in cores.values():
        severities = [story["severity_original"] for story in core]
        assert len(severities) == len(set(severities))
        assert len({story["story_sentence"] for story in core}) == 1
        assert len({story["key_information"] for story in core}) == len(core)


@pytest.mark.parametrize("name", [STUDY["stories"], STUDY["qualification"]["stories"]])
def test_every_story_passes_the_import(name: str) -> None:
    rows = [SourceRow(file=name, line=line, data=data) for line, data in enumerate(read_lines(name), start=1)]
    results = list(PROTOCOL.read(rows))
    assert [str(result) for result in results if not isinstance(result, StoryRow)] == []
    assert len(results) == len(rows)
    for story, row in zip(results, rows, strict=True):
        assert isinstance(story, StoryRow)
        assert PROTOCOL.parse(story.content).action_unaware == row.data["action_unaware"]


def test_the_truth_answers_every_question_of_every_story() -> None:
    assert set(TRUTH) == {story["story_id"] for story in STORIES + QUALIFICATION}
    for answers in TRUTH.values():
        assert set(answers) == set(OPTIONS)
        assert all(option in OPTIONS[key] for key, option in answers.items())


def test_the_stories_are_of_varied_quality() -> None:
    valid = [story["story_id"] for story in STORIES if is_valid(story["story_id"])]
    assert 0.40 <= len(valid) / len(STORIES) <= 0.65
    for question in PROTOCOL.questions:
        failed = [story for story in STORIES if TRUTH[story["story_id"]][question.key] == "no"]
        assert len(failed) >= 3, f"Too few stories fail {question.key}."
    assert {story["scenario_name"] for story in STORIES if is_valid(story["story_id"])} == SCENARIOS


def test_the_key_accepts_known_options_for_every_question_of_the_round() -> None:
    ids = [story["story_id"] for story in QUALIFICATION]
    assert list(KEY["stories"]) == ids
    assert list(KEY["notes"]) == ids
    for accepted in KEY["stories"].values():
        assert set(accepted) == set(OPTIONS)
        for key, options in accepted.items():
            assert options
            assert len(options) == len(set(options))
            assert set(options) < OPTIONS[key], "A key that accepts every answer tests nothing."
    assert all(note.strip() for note in KEY["notes"].values())


def test_the_truth_of_the_round_passes_its_key() -> None:
    for story_id, accepted in KEY["stories"].items():
        assert all(TRUTH[story_id][key] in options for key, options in accepted.items())


@pytest.mark.parametrize("answer", ["yes", "no", "possibly"])
def test_nobody_passes_the_round_by_giving_the_same_answer_throughout(answer: str) -> None:
    accepted = [options for story in KEY["stories"].values() for options in story.values()]
    assert sum(answer not in options for options in accepted) >= 5


def test_the_key_has_room_for_judgement_and_asks_for_no_often_enough() -> None:
    accepted = [options for story in KEY["stories"].values() for options in story.values()]
    assert any(len(options) > 1 for options in accepted)
    assert sum(options == ["no"] for options in accepted) >= 4
    for key in OPTIONS:
        assert any(story[key] == ["no"] for story in KEY["stories"].values()), f"{key} is never No."
