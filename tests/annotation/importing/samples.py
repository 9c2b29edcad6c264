"""Small stories and files of our own, in every accepted form, to be bent by the tests."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from annotation.importing.files import read_rows
from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.protocols.validity.reading import read

KEY = "The honey jar holds coloured syrup"
SENTENCE = "Nadia puts the jar in her trolley and walks to the till."
STORY = f"{KEY}. {SENTENCE}"

STORY_ROW: dict[str, Any] = {
    "story_id": "honey_sev2",
    "core_id": "honey",
    "scenario_name": "food_item_in_grocery_store",
    "story_prompt_example": None,
    "entities": {"Person X": "Nadia", "Object Z": "a jar of honey"},
    "severity_original": 2,
    "key_information": KEY,
    "story_sentence": SENTENCE,
    "story": STORY,
    "story_generator_model": "human-written",
    "question": "What will Nadia likely do next?",
    "action_unaware": "pay for the honey",
    "action_aware": "ask for her money back",
}

_PAIR = {
    "scenario_name": "food_item_in_grocery_store",
    "story_prompt_example": "milk_carton",
    "entities": {"Person X": "Nadia", "Object Z": "a jar of honey"},
    "story": STORY,
    "severity": 2,
    "key_information": KEY,
    "story_sentence": SENTENCE,
    "generator_model": "model-1",
    "error_flags": [],
}
AWARE_ROW: dict[str, Any] = {
    "id": "honey_sev2_aware",
    **_PAIR,
    "question": f'Is Nadia likely to be aware that "{KEY}"?',
    "answer_correct": "No",
    "answer_incorrect": "Yes",
}
ACTION_ROW: dict[str, Any] = {
    "id": "honey_sev2_action",
    **_PAIR,
    "question": "What will Nadia likely do next?",
    "answer_correct": "pay for the honey",
    "answer_incorrect": "ask for her money back",
}

SECTIONS = {
    "KEY INFORMATION": "The honey jar holds coloured syrup.",
    "STORY SECOND SENTENCE": SENTENCE,
    "QUESTION": "What will Nadia likely do next?",
    "CORRECT ANSWER (Person X doesn't know the KEY INFORMATION)": "pay for the honey",
    "COUNTERFACTUAL ANSWER (assume Person X actually knows the KEY INFORMATION)": "ask for her money back",
    "MILD SEVERITY KEY INFORMATION": "The honey in the jar is from last year.",
    "MILD SEVERITY COUNTERFACTUAL ANSWER": "take a fresher jar",
    "HIGH SEVERITY KEY INFORMATION": "The honey in the jar is poisonous.",
    "HIGH SEVERITY COUNTERFACTUAL ANSWER": "call the police",
}


def template(sections: Mapping[str, str] = SECTIONS, *, first_header: bool = True) -> str:
    """A completion in the generation template; the prompt may have ended with the first header."""
    text = "\n\n".join(f"{name}:\n{value}" for name, value in sections.items())
    return text if first_header else text.removeprefix("KEY INFORMATION:\n")


def chat_completion(text: str, **choice: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "model-1",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"content": text}, **choice}],
    }


def anthropic_message(text: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "model-2",
        "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": text}],
        "stop_reason": "end_turn",
        **changes,
    }


def openai_response(text: str, **changes: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    return {
        "id": "resp_1",
        "object": "response",
        "model": "model-3",
        "status": "completed",
        "output": [{"type": "reasoning", "summary": []}, {"type": "message", "content": content}],
        **changes,
    }


def completion_row(output: Any, **changes: Any) -> dict[str, Any]:
    return {
        "story_example": "milk_carton",
        "scenario": "food_item_in_grocery_store",
        "scenario_text": "[Food in shops]",
        "entities": "Person X = Nadia\nObject Z = a jar of honey",
        "output": output,
        **changes,
    }


def with_(row: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    return {**row, **changes}


def without(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def source_rows(rows: Iterable[Mapping[str, Any]], file: str = "stories.jsonl") -> Iterator[SourceRow]:
    for line, data in enumerate(rows, start=1):
        yield SourceRow(file, line, data)


def stories_in(*rows: Mapping[str, Any]) -> list[StoryRow]:
    """The stories of rows that must hold no problem."""
    outcomes = list(read(source_rows(rows)))
    problems = [str(outcome) for outcome in outcomes if isinstance(outcome, Problem)]
    assert problems == []
    return [outcome for outcome in outcomes if isinstance(outcome, StoryRow)]


def problems_in(*rows: Mapping[str, Any]) -> list[Problem]:
    return [outcome for outcome in read(source_rows(rows)) if isinstance(outcome, Problem)]


def file_outcomes(path: Path, name: str = "") -> tuple[list[StoryRow], list[Problem]]:
    """Everything a file gives, from its bytes to its stories."""
    problems: list[Problem] = []

    def rows() -> Iterator[SourceRow]:
        for outcome in read_rows(path, name=name or path.name):
            if isinstance(outcome, Problem):
                problems.append(outcome)
            else:
                yield outcome

    stories: list[StoryRow] = []
    for outcome in read(rows()):
        if isinstance(outcome, Problem):
            problems.append(outcome)
        else:
            stories.append(outcome)
    return stories, problems


def json_lines(*rows: Mapping[str, Any]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def csv_bytes(*rows: Mapping[str, Any], newline: str = "\r\n") -> bytes:
    """The rows as CSV, with ``entities`` and other structures as JSON in a cell."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator=newline)
    writer.writeheader()
    for row in rows:
        writer.writerow({k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in row.items()})
    return out.getvalue().encode()
