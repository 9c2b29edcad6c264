"""Grading answers against a key, as functions of plain values. The only definition of passing.

What passes a qualification round passes a hidden check: every answer is one of those that are accepted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from annotation.protocols.base import Protocol, field_name


class Cell(NamedTuple):
    """One thing that was asked: a question (and row of it) about a story."""

    story: str
    question: str
    row: str


class Asked(NamedTuple):
    """The same as the form asks it: its field, and the options that it offers."""

    question: str
    row: str
    field: str
    options: frozenset[str]


class IncompleteKey(ValueError):
    """The answer key does not say what is acceptable for everything that is asked."""

    def __init__(self, missing: Collection[Cell]) -> None:
        self.missing = sorted(missing)
        super().__init__("The answer key says nothing about " + ", ".join(map(_say, self.missing)) + ".")


class IncompleteAttempt(ValueError):
    """Something that was asked has not been answered."""

    def __init__(self, missing: Collection[Cell]) -> None:
        self.missing = sorted(missing)
        super().__init__("There is no answer to " + ", ".join(map(_say, self.missing)) + ".")


@dataclass(frozen=True, slots=True)
class Grade:
    """The outcome of an attempt: passed, and which answers were not among the acceptable ones."""

    passed: bool
    not_accepted: frozenset[Cell]


def grade(answers: Mapping[Cell, str], key: Mapping[Cell, Collection[str]]) -> Grade:
    """Grade one attempt against the key.

    ``key`` maps everything that is asked to its set of acceptable options, ``answers`` to the option
    chosen. Passed means acceptable on every question of every story (SimpleToM, appendix G).

    Raises :class:`IncompleteKey` when a set of acceptable options is empty or an answer is to
    something the key does not know, and :class:`IncompleteAttempt` when an answer is missing.
    """
    unknown = {cell for cell, options in key.items() if not options} | (answers.keys() - key.keys())
    if unknown or not key:
        raise IncompleteKey(unknown)
    missing = key.keys() - answers.keys()
    if missing:
        raise IncompleteAttempt(missing)
    not_accepted = frozenset(cell for cell, option in answers.items() if option not in key[cell])
    return Grade(passed=not not_accepted, not_accepted=not_accepted)


def asked(protocol: Protocol, item: Any) -> Iterator[Asked]:
    """Everything the protocol asks about an item, in the order of the form."""
    for question in protocol.questions:
        options = frozenset(option.key for option in question.options_for(item))
        for row in question.rows_for(item):
            yield Asked(question.key, row.key, field_name(question.key, row.key), options)


def key_problems(
    story_id: str, everything: Collection[Asked], accepted: Mapping[str, Collection[str]]
) -> Iterator[str]:
    """What is missing in or unknown about the options ``accepted`` by form field, a sentence each."""
    for name in sorted(accepted.keys() - {cell.field for cell in everything}):
        said = _("%(story)s: the key speaks of “%(field)s”, which is not asked.")
        yield said % {"story": story_id, "field": name}
    for cell in everything:
        chosen = accepted.get(cell.field, ())
        about = {"story": story_id, "field": cell.field, "options": ", ".join(sorted(cell.options))}
        if not chosen:
            said = _("%(story)s, %(field)s: the key accepts nothing; name at least one of %(options)s.")
            yield said % about
        for option in sorted(set(chosen) - cell.options):
            said = _("%(story)s, %(field)s: “%(option)s” is not one of %(options)s.")
            yield said % (about | {"option": option})


def _say(cell: Cell) -> str:
    return f"{cell.story}/{cell.question}" + (f".{cell.row}" if cell.row else "")
