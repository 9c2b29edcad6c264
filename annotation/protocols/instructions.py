"""Instructions as plain text: those that come with a protocol, and what researchers write themselves."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

from django.template.loader import render_to_string
from django.utils.translation import get_language, gettext as _

from annotation.protocols.base import Instructions, Part, Section, WorkedExample, part
from annotation.protocols.questions import Question

ANSWER, WHY = "Answer", "Why"
"""Labels of an example's last two lines."""


class _InTemplate:
    def __init__(self, template: str) -> None:
        self.template = template

    def __get__(self, protocol: object, owner: type) -> Instructions:
        return _translated(self.template, get_language())


def in_template(template: str) -> Instructions:
    """Return a protocol's instructions as a template says them in the language of the reader.

    The page is written as :func:`sections_of` reads it. Examples follow, each below “## question: option”
    with a line “name: text” for every part, then “answer: …” if the options are the item's own, and “why: …”.
    """
    return cast("Instructions", _InTemplate(template))


@cache
def _translated(template: str, language: str | None) -> Instructions:
    page, *examples = render_to_string(template).split("\n## ")
    return Instructions(sections_of(page), tuple(_worked(example) for example in examples))


def _worked(text: str) -> WorkedExample:
    about, *lines = (line.split(": ", 1) for line in text.strip().splitlines())
    said = dict(lines)
    why, answer = said.pop("why"), said.pop("answer", "")
    parts = tuple(part(name, words) for name, words in said.items())
    return WorkedExample(about[0], about[1], parts, why, answer)


def _blocks(text: str) -> list[str]:
    return [block for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip()) if block.strip()]


def sections_of(page: str) -> tuple[Section, ...]:
    """Parse a page: paragraphs between blank lines, and lines “# Title” that begin a section."""
    found: list[tuple[str, list[str]]] = []
    for block in _blocks(page):
        title, _line, text = block.partition("\n") if block.startswith("#") else ("", "", block)
        if title or not found:
            found.append((title.lstrip("# ").strip(), []))
        if text.strip():
            found[-1][1].append(text.strip())
    return tuple(Section(title, tuple(paragraphs)) for title, paragraphs in found)


def read_examples(question: Question, text: str) -> list[dict[str, Any]]:
    """Parse a question's examples for storing. Raise ``ValueError`` with what is wrong.

    Examples stand between blank lines: lines “Label: text” for what is shown, then “Answer: …” and “Why: …”.
    """
    keys = {str(option.label).casefold(): option.key for option in question.options}
    keys |= {option.key: option.key for option in question.options}
    found = []
    for number, block in enumerate(_blocks(text), start=1):
        lines = {}
        for line in block.splitlines():
            label, _colon, said = line.partition(":")
            lines[label.strip()] = said.strip()
        answer, why = lines.pop(ANSWER, ""), lines.pop(WHY, "")
        if not (lines and answer and why and all(lines.values())):
            raise ValueError(
                _("Example %(n)s needs lines like “Story: …”, then “Answer: …” and “Why: …”.") % {"n": number}
            )
        option = keys.get(answer.casefold(), "")
        if keys and not option:
            message = _("Example %(n)s: “%(answer)s” is not an answer to this question.")
            raise ValueError(message % {"n": number, "answer": answer})
        parts = [list(part) for part in lines.items()]
        found.append({"parts": parts, "option": option, "answer": "" if option else answer, "why": why})
    return found


def stored_examples(examples: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[WorkedExample]:
    """Yield the worked examples that :func:`read_examples` made, by question."""
    for question, said in examples.items():
        for one in said:
            parts = tuple(Part(label, label, text) for label, text in one["parts"])
            yield WorkedExample(question, one["option"], parts, one["why"], one["answer"])


def as_written(instructions: Instructions, questions: Iterable[Question]) -> dict[str, Any]:
    """Return instructions as a researcher would write them: the page, and the examples by question."""
    page = ["\n\n".join([f"# {one.title}", *map(str, one.paragraphs)]) for one in instructions.sections]
    examples = {
        question.key: "\n\n".join(
            _written(question, one) for one in instructions.examples if one.question == question.key
        )
        for question in questions
    }
    return {"page": "\n\n".join(page), "examples": examples}


def _written(question: Question, example: WorkedExample) -> str:
    answer = example.answer or question.option(example.option).label
    lines = [
        *((part.label, part.text) for part in example.parts),
        (ANSWER, answer),
        (WHY, example.justification),
    ]
    return "\n".join(f"{label}: {text}" for label, text in lines)
