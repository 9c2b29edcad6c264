"""Raw completions: three stories from each, whatever vendor's object holds it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.annotation.importing.samples import (
    SECTIONS,
    SENTENCE,
    anthropic_message,
    chat_completion,
    completion_row,
    openai_response,
    problems_in,
    stories_in,
    template,
    with_,
    without,
)

VENDORS: dict[str, tuple[Callable[..., dict[str, Any]], str, str]] = {
    "chat-completion": (chat_completion, "chatcmpl-1", "model-1"),
    "anthropic-message": (anthropic_message, "msg_1", "model-2"),
    "openai-response": (openai_response, "resp_1", "model-3"),
}


def test_a_completion_is_three_stories_with_ids_made_of_its_own(subtests: pytest.Subtests) -> None:
    for vendor in VENDORS:
        with subtests.test(vendor):
            make, completion_id, model = VENDORS[vendor]
            stories = stories_in(completion_row(make(template())))
            core = "gen-" + hashlib.sha256(completion_id.encode()).hexdigest()[:12]
            assert [story.story_id for story in stories] == [f"{core}_sev{n}" for n in (1, 2, 3)]
            assert [story.severity_original for story in stories] == [1, 2, 3]
            assert {story.core_id for story in stories} == {core}
            assert {story.story_generator_model for story in stories} == {model}
            assert {story.story_prompt_example for story in stories} == {"milk_carton"}


def test_each_severity_has_its_key_information_and_counterfactual() -> None:
    mild, main, high = stories_in(completion_row(chat_completion(template())))
    assert mild.content["story"] == f"The honey in the jar is from last year. {SENTENCE}"
    assert [story.content["action_aware"] for story in (mild, main, high)] == [
        "take a fresher jar",
        "ask for her money back",
        "call the police",
    ]
    assert {story.content["action_unaware"] for story in (mild, main, high)} == {"pay for the honey"}
    assert main.content["entities"] == {"Person X": "Nadia", "Object Z": "a jar of honey"}


def _swap(old: str, new: str) -> str:
    return template().replace(old, new)


WRITTEN = {
    "the-prompt-had-the-first-header": template(first_header=False),
    "a-word-before": "Here is the story:\n\n" + template(),
    "bold-headers": "\n\n".join(f"**{name}:**\n{text}" for name, text in SECTIONS.items()),
    "bold-names": "\n\n".join(f"**{name}**: {text}" for name, text in SECTIONS.items()),
    "markdown-headers": "\n\n".join(f"## {name}:\n{text}" for name, text in SECTIONS.items()),
    "on-the-same-line": "\n".join(f"{name}: {text}" for name, text in SECTIONS.items()),
    "without-the-notes": _swap(" (Person X doesn't know the KEY INFORMATION)", "").replace(
        " (assume Person X actually knows the KEY INFORMATION)", ""
    ),
    "the-name-in-the-notes": _swap("(Person X doesn't know", "(Nadia doesn't know"),
    "a-rule-at-the-end": template() + "\n\n---\n",
    "the-whole-template": "SCENARIO:\n[Food]\n\nENTITIES:\nPerson X = Nadia\n\n" + template(),
    "windows-line-ends": template().replace("\n", "\r\n"),
}


def test_the_template_is_read_as_models_write_it(subtests: pytest.Subtests) -> None:
    for case in WRITTEN:
        with subtests.test(case):
            stories = stories_in(completion_row(chat_completion(WRITTEN[case])))
            plain = stories_in(completion_row(chat_completion(template())))
            assert [story.content for story in stories] == [story.content for story in plain]


def test_each_choice_of_a_response_is_a_completion_of_its_own() -> None:
    output = chat_completion(template())
    output["choices"].append(
        {"index": 1, "message": {"content": _swap("syrup", "glue")}, "finish_reason": "stop"}
    )
    stories = stories_in(completion_row(output))
    assert len({story.core_id for story in stories}) == 2
    assert stories[:3] == stories_in(completion_row(chat_completion(template())))


NAMES = list(SECTIONS)


def test_a_missing_section_is_named(subtests: pytest.Subtests) -> None:
    for name in NAMES[1:]:
        with subtests.test(name):
            [problem] = problems_in(completion_row(chat_completion(template(without(SECTIONS, name)))))
            assert problem.field == f"output: {name.split(' (')[0]}"
            assert "missing" in problem.message


def test_an_empty_section_is_named(subtests: pytest.Subtests) -> None:
    for name in NAMES:
        with subtests.test(name):
            [problem] = problems_in(completion_row(chat_completion(template(with_(SECTIONS, **{name: " "})))))
            assert problem.field == f"output: {name.split(' (')[0]}"
            assert "empty" in problem.message


CUT = template()[: template().index("HIGH SEVERITY KEY") + 40]
CUT_OFF = {
    "chat-completion": chat_completion(CUT, finish_reason="length"),
    "anthropic-message": anthropic_message(CUT, stop_reason="max_tokens"),
    "openai-response": openai_response(
        CUT, status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    ),
}


def test_a_completion_that_was_cut_off_names_the_section_and_what_is_lost(subtests: pytest.Subtests) -> None:
    for vendor in CUT_OFF:
        with subtests.test(vendor):
            [problem] = problems_in(completion_row(CUT_OFF[vendor]))
            assert problem.field == "output: HIGH SEVERITY KEY INFORMATION"
            assert "HIGH SEVERITY COUNTERFACTUAL ANSWER never came" in problem.message
            assert "output tokens" in problem.remedy


def test_a_completion_cut_off_in_its_last_word_is_refused_too() -> None:
    [problem] = problems_in(completion_row(chat_completion(template(), finish_reason="length")))
    assert problem.field == "output: HIGH SEVERITY COUNTERFACTUAL ANSWER"


REFUSED: dict[str, tuple[Any, str, str]] = {
    "chat-refusal": (
        chat_completion("", message={"content": None, "refusal": "I cannot help."}),
        "output: choices[0]",
        "“I cannot help.”",
    ),
    "chat-filtered": (
        chat_completion("x", finish_reason="content_filter"),
        "output: choices[0]",
        "content_filter",
    ),
    "chat-without-text": (chat_completion("", message={"content": None}), "output: choices[0]", "no text"),
    "chat-without-message": (chat_completion("", message=None), "output: choices[0]", "no message"),
    "chat-without-choices": ({"id": "x", "model": "m", "choices": []}, "output: choices", "no choice"),
    "message-refusal": (anthropic_message("", stop_reason="refusal"), "output", "“refusal”"),
    "message-without-text": (anthropic_message(" "), "output", "no text"),
    "response-refusal": (
        openai_response(
            "", output=[{"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]}]
        ),
        "output",
        "“I cannot.”",
    ),
    "response-failed": (openai_response("x", status="failed"), "output", "“failed”"),
    "error-object": ({"type": "error", "error": {"message": "Overloaded"}}, "output", "“Overloaded”"),
    "unknown-vendor": ({"candidates": [], "modelVersion": "g"}, "output", "“candidates, modelVersion”"),
    "unknown-kind": ({"object": "text_completion"}, "output", "“text_completion”"),
    "text-only": (template(), "output", "not a response object"),
    "broken-json": ('{"id": ', "output", "JSON in the cell"),
    "null": (None, "output", "not a response object"),
    "not-the-template": (chat_completion("I'd rather write a poem."), "output", "not in the template"),
    "without-id": (without(chat_completion(template()), "id"), "output: id", "empty"),
    "without-model": (without(chat_completion(template()), "model"), "output: model", "empty"),
    "a-section-twice": (chat_completion(template() + "\n\nQUESTION:\nAgain?"), "output: QUESTION", "twice"),
    "several-lines": (
        chat_completion(_swap("call the police", "call the police\n\nDone!")),
        "output: HIGH SEVERITY COUNTERFACTUAL ANSWER",
        "line break",
    ),
    "same-actions": (
        chat_completion(_swap("take a fresher jar", "pay for the honey")),
        "output: MILD SEVERITY COUNTERFACTUAL ANSWER",
        "the same",
    ),
}


def test_an_object_without_a_story_is_refused_with_the_reason(subtests: pytest.Subtests) -> None:
    for case in REFUSED:
        with subtests.test(case):
            output, field, message = REFUSED[case]
            [problem] = problems_in(completion_row(output))
            assert problem.field == field
            assert message in problem.message


ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "scenario": ({"scenario": "zoo"}, "scenario"),
    "entities": ({"entities": "Person Y = Nadia"}, "entities"),
    "unknown-field": ({"temperature": 0.5}, "temperature"),
}


def test_the_row_around_the_completion_is_checked_too(subtests: pytest.Subtests) -> None:
    for case in ROWS:
        with subtests.test(case):
            changes, field = ROWS[case]
            [problem] = problems_in(completion_row(chat_completion(template()), **changes))
            assert problem.field == field
