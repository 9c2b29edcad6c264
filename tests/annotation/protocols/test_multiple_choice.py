"""The multiple-choice protocol: what it reads and refuses, what it asks, and that it keeps the key back."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.forms import instructions_context
from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.protocols import get_protocol
from annotation.protocols.base import IncompleteForm
from annotation.protocols.multiple_choice import PROTOCOL, core_of, right_key
from annotation.protocols.questions import Choice

STORY = (
    "Mike replaced the Oreo cookies in the package with dog treats that look similar to Oreos. "
    "Mike's friend spots the Oreo package on the kitchen table and reaches for it."
)
KEY_INFORMATION = "Mike replaced the Oreo cookies in the package with dog treats that look similar to Oreos."
ROW: dict[str, Any] = {
    "id": "gen1169_sev3_aware",
    "story": STORY,
    "question": f'Is Mike\'s friend likely to be aware that "{KEY_INFORMATION}"?',
    "scenario_name": "inside_reuse_labeled_containers",
    "choices": {"text": ["Yes", "No"], "label": ["A", "B"]},
    "answerKey": "B",
}
"""The example row of the published dataset."""


def read(**changes: Any) -> StoryRow | Problem:
    (outcome,) = PROTOCOL.read([SourceRow("questions.jsonl", 7, ROW | changes)])
    return outcome


def story(**changes: Any) -> StoryRow:
    outcome = read(**changes)
    assert isinstance(outcome, StoryRow), outcome
    return outcome


def test_it_is_installed_under_its_name() -> None:
    assert get_protocol("multiple-choice", "1") is PROTOCOL


def test_a_row_of_a_question_set_is_an_item() -> None:
    read_story = story()
    assert (read_story.story_id, read_story.core_id) == ("gen1169_sev3_aware", "gen1169")
    assert read_story.scenario_name == "inside_reuse_labeled_containers"
    assert read_story.content == {
        "config": "mental-state-qa",
        **{name: ROW[name] for name in ("story", "question", "choices", "answerKey")},
    }
    assert right_key(read_story.content) == "b"


def test_the_ending_of_the_id_says_the_question_set(subtests: pytest.Subtests) -> None:
    for ending, config in [("aware", "mental-state-qa"), ("action", "behavior-qa"), ("judge", "judgment-qa")]:
        with subtests.test(ending):
            assert story(id=f"s1_sev2_{ending}").content["config"] == config
            assert core_of(f"s1_sev2_{ending}") == "s1"


def test_what_a_row_says_of_its_origin_wins() -> None:
    given = story(
        id="q1", config="trivia", core_id="c1", severity_original=2, story_generator_model="model-1"
    )
    assert given.content["config"] == "trivia"
    assert (given.core_id, given.severity_original, given.story_generator_model) == ("c1", 2, "model-1")


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"id": "q1"}, "config", "which question set"),
    ({"config": "Behaviour QA"}, "config", "not the name"),
    ({"answerKey": "C"}, "answerKey", "label of one of the choices"),
    ({"answerKey": "b"}, "answerKey", "label of one of the choices"),
    ({"choices": None}, "choices", "Must be"),
    ({"choices": {"text": ["Yes"], "label": ["A"]}}, "choices", "there are 1".capitalize()),
    ({"choices": {"text": ["Yes", "No"], "label": ["A"]}}, "choices", "same length"),
    ({"choices": {"text": ["Yes", "yes "], "label": ["A", "B"]}}, "choices", "say the same"),
    ({"choices": {"text": ["Yes", "No"], "label": ["b", "B"]}}, "choices", "same label"),
    ({"choices": {"text": ["Yes", ""], "label": ["A", "B"]}}, "choices", "not empty"),
    ({"choices": {"text": ["Yes", "No"], "label": ["A", "<b>"]}}, "choices", "letters"),
    ({"story": ""}, "story", "empty"),
    ({"question": "Is <b>Mike</b> aware?"}, "question", "HTML"),
    ({"right": "B"}, "right", "no field"),
]


def test_a_wrong_row_is_refused_with_its_field(subtests: pytest.Subtests) -> None:
    for changes, field, says in WRONG:
        with subtests.test(str(changes)):
            outcome = read(**changes)
            assert isinstance(outcome, Problem)
            assert (outcome.line, outcome.field) == (7, field)
            assert says in outcome.message
            assert outcome.remedy


def test_the_options_are_the_items_own_choices_and_none_counts_against_it() -> None:
    item = PROTOCOL.parse(story().content)
    (question,) = PROTOCOL.questions
    assert [(option.key, option.label) for option in question.options_for(item)] == [
        ("a", "Yes"),
        ("b", "No"),
    ]
    assert PROTOCOL.read_form(item, {"answer": "b"}) == (Choice("answer", "", "b"),)
    assert not any(PROTOCOL.counts_against(item, Choice("answer", "", key)) for key in ("a", "b"))
    with pytest.raises(IncompleteForm):
        PROTOCOL.read_form(item, {"answer": "c"})


def test_the_item_that_pages_get_does_not_depend_on_the_right_answer() -> None:
    assert PROTOCOL.parse(story(answerKey="A").content) == PROTOCOL.parse(story(answerKey="B").content)


def test_every_worked_example_names_its_answer_and_is_of_no_dataset() -> None:
    (group,) = instructions_context(PROTOCOL, None)["examples_by_question"]
    assert len(group["examples"]) == 3
    for example in group["examples"]:
        offered, option = str(example["parts"][-1].text).split(" · "), example["option"]
        assert str(option.label) == offered["ab".index(option.key)]


def test_the_lint_warns_of_choices_that_stand_out(subtests: pytest.Subtests) -> None:
    for texts, codes in [
        (["Yes", "No"], set()),
        (["eat the treats", "reaches for it"], {"choice_in_story"}),
        (["leave", "call Mike and ask him what is in the package"], {"uneven_choices"}),
    ]:
        with subtests.test(str(texts)):
            found = PROTOCOL.lint(story(choices={"text": texts, "label": ["A", "B"]}))
            assert {finding.code for finding in found} == codes
            assert codes <= set(PROTOCOL.finding_labels)
