"""Grade answers against a key. Pure functions, and the only definition of passing.

Hidden checks allow no mistake. A qualification round has a pass mark; by default it allows none either.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.translation import gettext as _

from annotation.protocols.questions import FormCell


class Cell(NamedTuple):
    """A question (and row of it) about a story."""

    story: str
    question: str
    row: str

    def __str__(self) -> str:
        return "/".join(filter(None, self))


class IncompleteKey(ValueError):
    """The answer key lacks accepted options for something that is asked."""


class IncompleteAttempt(ValueError):
    """Something that was asked has not been answered."""


@dataclass(frozen=True, slots=True)
class Grade:
    """The outcome of an attempt, with the answers that were not accepted."""

    passed: bool
    not_accepted: frozenset[Cell]


@dataclass(frozen=True, slots=True)
class PassMark:
    """A rule of passing: enough acceptable answers, and no mistake about the stories in ``must``.

    ``enough`` None asks for all answers, as published (SimpleToM, appendix G: 19 of 100 people passed).
    """

    enough: int | None = None
    must: frozenset[str] = frozenset()


EVERY_ANSWER = PassMark()


def grade(
    answers: Mapping[Cell, str], key: Mapping[Cell, Collection[str]], mark: PassMark = EVERY_ANSWER
) -> Grade:
    """Grade one attempt against the key.

    ``key`` maps everything that is asked to its set of acceptable options, ``answers`` to the option
    chosen. ``mark`` says how many answers must be acceptable; by default, all of them.

    Raise :class:`IncompleteKey` if a set of acceptable options is empty or an answer is to something that
    the key lacks, and :class:`IncompleteAttempt` if an answer is missing.
    """
    unknown = {cell for cell, options in key.items() if not options} | (answers.keys() - key.keys())
    if unknown or not key:
        raise IncompleteKey(f"The answer key says nothing about {', '.join(map(str, sorted(unknown)))}.")
    missing = key.keys() - answers.keys()
    if missing:
        raise IncompleteAttempt(f"There is no answer to {', '.join(map(str, sorted(missing)))}.")
    not_accepted = frozenset(cell for cell, option in answers.items() if option not in key[cell])
    enough = len(key) if mark.enough is None else mark.enough
    slipped = any(cell.story in mark.must for cell in not_accepted)
    return Grade(len(key) - len(not_accepted) >= enough and not slipped, not_accepted)


def key_problems(
    story_id: str, everything: Collection[FormCell], accepted: Mapping[str, Collection[str]]
) -> Iterator[str]:
    """Yield a sentence for each missing or unknown option in ``accepted`` (by form field)."""
    for name in sorted(accepted.keys() - {cell.field for cell in everything}):
        text = _("%(story)s: the key has “%(field)s”, which the form does not ask.")
        yield text % {"story": story_id, "field": name}
    for cell in everything:
        chosen = accepted.get(cell.field, ())
        about = {"story": story_id, "field": cell.field, "options": ", ".join(sorted(cell.labels))}
        if not chosen:
            text = _("%(story)s, %(field)s: the key accepts nothing; name at least one of %(options)s.")
            yield text % about
        for option in sorted(set(chosen) - cell.labels.keys()):
            text = _("%(story)s, %(field)s: “%(option)s” is not one of %(options)s.")
            yield text % (about | {"option": option})
