"""The questions of the validity protocol, its rule, and what people read before they answer."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from annotation.protocols import get_protocol
from annotation.protocols.base import IncompleteForm
from annotation.protocols.questions import KEY_PATTERN, Choice, Question
from annotation.protocols.validity import PROTOCOL

KEY_INFORMATION = "The kettle in the staff kitchen has a cracked bottom."
SENTENCE = "Milan comes in from the rain and takes a tea bag."
CONTENT = {
    "entities": {"Person X": "Milan", "Object Z": "a kettle"},
    "key_information": KEY_INFORMATION,
    "story_sentence": SENTENCE,
    "story": f"{KEY_INFORMATION} {SENTENCE}",
    "question": "What will Milan likely do next?",
    "action_unaware": "fill the kettle",
    "action_aware": "heat water in a pot",
}
COMPLETE = {"q1": "possibly", "q2": "yes", "q3": "no", "q4": "yes"}

by_key = pytest.mark.parametrize("question", PROTOCOL.questions, ids=lambda question: question.key)


def test_it_is_installed_under_its_name() -> None:
    assert get_protocol("validity") is PROTOCOL
    assert PROTOCOL.version == "1"


def test_the_four_questions_are_those_of_the_procedure() -> None:
    scale = [(question.key, [option.key for option in question.options]) for question in PROTOCOL.questions]
    assert scale == [
        ("q1", ["yes", "possibly", "no"]),
        ("q2", ["yes", "possibly", "no"]),
        ("q3", ["yes", "no"]),
        ("q4", ["yes", "no"]),
    ]


def test_each_question_shows_what_it_is_asked_about() -> None:
    assert {question.key: question.shows for question in PROTOCOL.questions} == {
        "q1": ("person", "key_information"),
        "q2": ("story",),
        "q3": ("story", "question", "action_a", "action_b"),
        "q4": ("story", "question", "action_a", "action_b"),
    }


@by_key
def test_only_no_counts_against_a_story(question: Question) -> None:
    choices = [Choice(question.key, "", option.key) for option in question.options]
    assert [choice.option for choice in choices if PROTOCOL.counts_against(None, choice)] == ["no"]


@by_key
def test_every_question_and_option_is_worded(question: Question) -> None:
    assert all(str(text).strip() for text in (question.title, question.text, question.help))
    assert str(question.text).endswith("?")
    for option in question.options:
        assert re.match(KEY_PATTERN, option.key)
        assert str(option.label).strip()
        assert str(option.hint).endswith(".")


def test_the_parts_of_a_story_are_labelled_and_in_reading_order() -> None:
    parts = PROTOCOL.parts(PROTOCOL.parse(CONTENT))
    assert [(part.name, str(part.label), part.text) for part in parts] == [
        ("person", "Main character", "Milan"),
        ("key_information", "Key information", CONTENT["key_information"]),
        ("story", "Story", CONTENT["story"]),
        ("question", "Question", "What will Milan likely do next?"),
        ("action_a", "Action A", "fill the kettle"),
        ("action_b", "Action B", "heat water in a pot"),
    ]


def test_a_complete_form_is_read_in_the_order_of_the_questions() -> None:
    submitted = dict(reversed(COMPLETE.items()))
    assert PROTOCOL.read_form(PROTOCOL.parse(CONTENT), submitted) == (
        Choice("q1", "", "possibly"),
        Choice("q2", "", "yes"),
        Choice("q3", "", "no"),
        Choice("q4", "", "yes"),
    )


@by_key
def test_a_missing_answer_is_named(question: Question) -> None:
    submitted = {key: value for key, value in COMPLETE.items() if key != question.key}
    with pytest.raises(IncompleteForm) as refused:
        PROTOCOL.read_form(PROTOCOL.parse(CONTENT), submitted)
    assert set(refused.value.errors) == {question.key}


@by_key
def test_an_unknown_answer_is_named(question: Question) -> None:
    with pytest.raises(IncompleteForm) as refused:
        PROTOCOL.read_form(PROTOCOL.parse(CONTENT), COMPLETE | {question.key: "perhaps"})
    assert set(refused.value.errors) == {question.key}
    assert "perhaps" in refused.value.errors[question.key]


@pytest.mark.parametrize("key", ["q3", "q4"])
def test_possibly_is_no_answer_to_a_question_about_an_action(key: str) -> None:
    with pytest.raises(IncompleteForm) as refused:
        PROTOCOL.read_form(PROTOCOL.parse(CONTENT), COMPLETE | {key: "possibly"})
    assert set(refused.value.errors) == {key}


def test_all_faults_of_a_form_are_named_at_once() -> None:
    with pytest.raises(IncompleteForm) as refused:
        PROTOCOL.read_form(PROTOCOL.parse(CONTENT), {"q1": "yes", "q2": "maybe", "q3": ""})
    assert set(refused.value.errors) == {"q2", "q3", "q4"}


def test_every_option_has_exactly_one_worked_example() -> None:
    expected = Counter(
        (question.key, option.key) for question in PROTOCOL.questions for option in question.options
    )
    assert len(expected) == 10
    assert (
        Counter((example.question, example.option) for example in PROTOCOL.instructions.examples) == expected
    )


def test_the_examples_come_in_the_order_of_questions_and_options() -> None:
    order = [(question.key, option.key) for question in PROTOCOL.questions for option in question.options]
    assert [(example.question, example.option) for example in PROTOCOL.instructions.examples] == order


def test_an_example_shows_what_its_question_shows_and_says_why(subtests: pytest.Subtests) -> None:
    for example in PROTOCOL.instructions.examples:
        with subtests.test(f"{example.question}-{example.option}"):
            assert tuple(part.name for part in example.parts) == PROTOCOL.question(example.question).shows
            assert all(str(part.text).strip() for part in example.parts)
            assert 2 <= len(re.findall(r"[.?!](?:\s|$)", str(example.justification))) <= 4
            texts = [*(part.text for part in example.parts), example.justification]
            assert sum(len(str(text).split()) for text in texts) <= 120, (
                "An example has to be readable on a phone."
            )


def test_no_two_examples_share_a_story() -> None:
    shown = [str(part.text) for example in PROTOCOL.instructions.examples for part in example.parts]
    assert len(shown) == len(set(shown))


def test_the_instructions_fit_on_a_short_page() -> None:
    sections = PROTOCOL.instructions.sections
    assert sum(len(str(text).split()) for section in sections for text in section.paragraphs) <= 300


def test_the_instructions_speak_of_every_part_of_a_story() -> None:
    text = " ".join(str(text) for part in PROTOCOL.instructions.sections for text in part.paragraphs).lower()
    for part in PROTOCOL.parts(PROTOCOL.parse(CONTENT)):
        assert str(part.label).lower() in text
