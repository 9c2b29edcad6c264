"""The item of the multiple-choice protocol: a story, a question and its choices, without the right one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LABEL = re.compile(r"[A-Za-z0-9]{1,8}")
MOST_CHOICES = 9
"""One for each digit key."""


@dataclass(frozen=True, slots=True)
class AnswerChoice:
    """A choice: ``label`` as in the question set (``A``), ``key`` for forms (``a``)."""

    label: str
    text: str

    @property
    def key(self) -> str:
        return key_of(self.label)


@dataclass(frozen=True, slots=True)
class MultipleChoiceItem:
    """A question as annotators see it.

    ``config`` names the question set (``behavior-qa``). The right choice is deliberately not here, so that
    no page can show it. Use :func:`right_key` to compare answers.
    """

    config: str
    story: str
    question: str
    choices: tuple[AnswerChoice, ...]


def key_of(label: str) -> str:
    """Return the option key of a choice's label: ``a`` for ``A``."""
    return label.lower()


def parse(content: Mapping[str, Any]) -> MultipleChoiceItem:
    """Parse a stored ``content`` without its right answer. Raise ``ValueError`` naming the wrong field."""
    texts = {}
    for name in ("config", "story", "question"):
        value = content.get(name)
        if not isinstance(value, str) or not value:
            raise ValueError(f"{name}: must be a text that is not empty.")
        texts[name] = value
    choices = read_choices(content.get("choices"))
    if content.get("answerKey") not in [choice.label for choice in choices]:
        raise ValueError("answerKey: must be the label of one of the choices.")
    return MultipleChoiceItem(choices=choices, **texts)


def right_key(content: Mapping[str, Any]) -> str:
    """Return the option key of the right answer. Never show it to annotators."""
    return key_of(str(content["answerKey"]))


def read_choices(value: Any) -> tuple[AnswerChoice, ...]:
    """Read the choices of ``{"text": […], "label": […]}``. Raise ``ValueError`` with the problem."""
    if not isinstance(value, Mapping) or set(value) != {"text", "label"}:
        raise ValueError('choices: must be {"text": ["…", "…"], "label": ["A", "B"]}.')
    texts, labels = value["text"], value["label"]
    if not isinstance(texts, list) or not isinstance(labels, list) or len(texts) != len(labels):
        raise ValueError("choices: “text” and “label” must be two lists of the same length.")
    if not 2 <= len(texts) <= MOST_CHOICES:
        raise ValueError(f"choices: there are {len(texts)}; 2 to {MOST_CHOICES} can be offered.")
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise ValueError("choices: every text must be a text that is not empty.")
    if not all(isinstance(label, str) and LABEL.fullmatch(label) for label in labels):
        raise ValueError("choices: a label is 1 to 8 letters (A-Z, a-z) and digits.")
    if len({text.strip().casefold() for text in texts}) < len(texts):
        raise ValueError("choices: two of them say the same.")
    if len({key_of(label) for label in labels}) < len(labels):
        raise ValueError("choices: two of them have the same label.")
    return tuple(AnswerChoice(label, text) for label, text in zip(labels, texts, strict=True))
