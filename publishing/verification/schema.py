"""Shapes that parsed JSON must have; the rows of a release: keys, their order, and values.

Reads votes, stories, skips and decisions.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from annotation.importing.rows import PROVENANCE
from annotation.models import Adjudication, Skip
from annotation.models.studies import STORY_LANGUAGE
from annotation.protocols.fields import MOST_RATED, PREDICTOR
from annotation.protocols.questions import KEY_PATTERN, LONGEST_WORDS, Choice
from annotation.reasons import LONGEST_STATEMENT
from publishing.facts import AskedQuestion, scales_of
from publishing.files import jsonl, rows
from publishing.files.features import Type
from publishing.files.rows import CountedVote, Decision, Layout, ReleasedStory, Row
from publishing.filters import Outcome
from publishing.verification.release import CheckedRelease, Line

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value, named as in “position is not *a whole number from 1 on*”."""

    name: str
    fits: Callable[[Any], bool]


Shape = Kind | list[Any] | dict[str, Any]
"""A kind, ``[shape of each entry]``, or an object with exactly these keys, in this order."""


def moment_of(value: Any) -> datetime:
    """Return the time in a text. Raise ``ValueError`` if it is not written as releases write times."""
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        raise ValueError(f"{value} is not a time")
    return datetime.fromisoformat(value)


def _is_moment(value: Any) -> bool:
    try:
        return bool(moment_of(value))
    except ValueError:
        return False


ANYTHING = Kind("anything", lambda value: True)
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
TEXT = Kind("a text", lambda value: isinstance(value, str))
NAME = Kind("a non-empty text", lambda value: isinstance(value, str) and value != "")
TEXT_OR_NULL = Kind("a text or null", lambda value: isinstance(value, str | None))
NUMBER_OR_NULL = Kind("a whole number or null", lambda value: type(value) in (int, type(None)))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
COUNT = Kind("a whole number from 0 on", lambda value: type(value) is int and value >= 0)
ORDINAL = Kind("a whole number from 1 on", lambda value: type(value) is int and value >= 1)
MOMENT = Kind("a time such as 2026-03-01T09:30:00.250Z", _is_moment)


def one_of(values: Iterable[str]) -> Kind:
    """Return the kind of these texts."""
    known = sorted(values)
    return Kind(f"one of {', '.join(known)}", lambda value: isinstance(value, str) and value in known)


def or_null(shape: Shape) -> Kind:
    """Return the kind of values that are null or have this shape."""
    what = f"an object with {', '.join(shape)}" if isinstance(shape, dict) else "a list"
    return Kind(f"null or {what}", lambda value: value is None or not misfit(value, shape))


def misfit(value: Any, shape: Shape, path: str = "") -> str:
    """Return a sentence about the first part of a value that does not fit, or an empty text."""
    if isinstance(shape, Kind):
        return "" if shape.fits(value) else f"{path} is not {shape.name}."
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{path} is not a list."
        parts: Iterable[tuple[Any, Shape, str]] = (
            (entry, shape[0], f"{path}[{place}]") for place, entry in enumerate(value)
        )
    else:
        if not isinstance(value, dict):
            return f"{path} is not an object."
        if list(value) != list(shape):
            where = f" of {path}" if path else ""
            return f"The keys{where} are {', '.join(value)[:200]}; they should be {', '.join(shape)}."
        parts = (
            (value[key], inner, f"{path}.{key}" if path else key)
            for key, inner in shape.items()
            if type(inner) is not Kind or not inner.fits(value[key])
        )
    for part, inner, where in parts:
        if problem := misfit(part, inner, where):
            return problem
    return ""


CHECK = "schema"
_ANNOTATOR = re.compile(r"annotator-[0-9a-f]{16}")
_KEY = re.compile(KEY_PATTERN)
_WORDS = re.compile(rf"[^\x00-\x1f\x7f-\x9f]{{1,{LONGEST_WORDS}}}")

_PSEUDONYM = Kind(
    "a pseudonym: annotator- and 16 hexadecimal digits",
    lambda value: isinstance(value, str) and _ANNOTATOR.fullmatch(value) is not None,
)
_SECONDS = Kind(
    "a number from 0 on, with three decimals at most",
    lambda value: type(value) in (int, float) and value >= 0 and round(value, 3) == value,
)
_SEED = Kind(
    "null or a whole number from 0 to 2147483647",
    lambda value: value is None or (type(value) is int and 0 <= value < 2**31),
)
_RATING = Kind(
    f"a rating from 1 to {MOST_RATED}", lambda value: type(value) is int and 1 <= value <= MOST_RATED
)
_ENTITIES = Kind(
    "an object of texts that names Person X",
    lambda value: (
        isinstance(value, dict)
        and bool(value.get("Person X"))
        and all(isinstance(name, str) for name in value.values())
    ),
)
_TAG = re.compile(STORY_LANGUAGE)
_LANGUAGE = Kind("a language tag", lambda value: isinstance(value, str) and _TAG.fullmatch(value) is not None)
_REASON = Kind(
    f"a text of 1 to {LONGEST_STATEMENT} characters",
    lambda value: NAME.fits(value) and len(value) <= LONGEST_STATEMENT and "\0" not in value,
)
_QUESTION: Shape = dict.fromkeys(("question_id", "question", "answer_correct", "answer_incorrect"), NAME)
_VALUES: dict[str, Shape] = {
    **dict.fromkeys(("story_id", "revised_from", "labelled", "option"), NAME),
    **dict.fromkeys(("key_information", "story_sentence", "story"), NAME),
    **dict.fromkeys(("core_id", "scenario_name", "story_generator_model", "words", "comment"), TEXT),
    **dict.fromkeys(("submitted_at", "skipped_at", "revised_at", "decided_at"), MOMENT),
    **{name: [NAME] for name in ("changed", "before", "after")},
    "annotator": _PSEUDONYM,
    "seconds_on_task": _SECONDS,
    "position": ORDINAL,
    "order_seed": _SEED,
    "option_seed": _SEED,
    "language": _LANGUAGE,
    "instructions": COUNT,
    "verdict": one_of(Adjudication.Verdict.values),
    "story_prompt_example": TEXT_OR_NULL,
    "severity_original": NUMBER_OR_NULL,
    **{name: [{rated: _RATING, PREDICTOR: TEXT}] for name, rated in rows.PREDICTED.items()},
    "entities": _ENTITIES,
    "questions": [_QUESTION],
    "item": OBJECT,
}
"""The values of each column, whatever the file. Only those of a reason differ."""


def _shape(columns: Iterable[str], reason: Shape = _REASON) -> dict[str, Shape]:
    return {name: reason if name == "reason" else _VALUES[name] for name in columns}


_VOTE, _CONTEXT = _shape(rows.VOTED_ON), _shape(rows.CONTEXT)
_SKIP = _shape(rows.SKIP_COLUMNS, one_of(Skip.Reason.values))
_REVISION = _shape(rows.REVISION_COLUMNS)
_DECISION, _LABEL_DECISION = _shape(rows.DECISION_COLUMNS), _shape(rows.LABEL_DECISION_COLUMNS)


class VoteReader:
    """Reads votes from rows. Caches the answers, because most votes repeat a few."""

    def __init__(self, asked: Sequence[AskedQuestion]) -> None:
        self._asked = {question.key: question for question in asked}
        self._places = {question.key: place for place, question in enumerate(asked)}
        self._needed = {question.key for question in asked if not question.optional}
        self._scales = scales_of(asked)
        self._fields: set[str] = set()
        self._answers = lru_cache(maxsize=rows.CACHE_SIZE)(self._answers_of)

    def read(self, row: Row) -> CountedVote | str:
        """Return the vote in a row, or a sentence about what is wrong."""
        fields = list(row)[len(_VOTE) : -len(_CONTEXT)]
        given = {field: COUNT if field.partition(".")[0] in self._scales else TEXT for field in fields}
        if problem := misfit(row, {**_VOTE, **given, **_CONTEXT}):
            return problem
        answers = self._answers(tuple((field, str(row[field])) for field in fields))
        if isinstance(answers, str):
            return answers
        return CountedVote(row["annotator"], answers, **{key: row[key] for key in rows.CONTEXT_KEYS})

    def columns(self) -> dict[str, Type]:
        """Return the columns of the votes read so far."""
        return rows.vote_columns(sorted(self._fields, key=self._place), self._scales)

    def _place(self, field: str) -> tuple[int, str]:
        question, _, row = field.partition(".")
        return self._places[question], row

    def _answers_of(self, given: tuple[tuple[str, str], ...]) -> tuple[Choice, ...] | str:
        choices = []
        for field, option in given:
            question, _, row = field.partition(".")
            asked = self._asked.get(question)
            if asked is None:
                return f"{field[:60]} is not a question of release.json."
            if asked.options and option not in asked.options:
                return f"{field[:60]}: “{option[:40]}” is not an option of release.json."
            is_sound = _WORDS if asked.in_words else _KEY
            if not is_sound.fullmatch(option) or (row and not _KEY.fullmatch(row)):
                return f"{field[:60]}: “{option[:40]}” is not the key of an option, or words."
            choices.append(Choice(question, row, option))
        if missing := self._needed - {choice.question for choice in choices}:
            return f"There is no answer to {', '.join(sorted(missing))}."
        fields = [field for field, _ in given]
        if fields != sorted(fields, key=self._place):
            return "The answers are not in the order of the questions."
        self._fields.update(fields)
        return tuple(choices)


def sound_skips(release: CheckedRelease) -> Iterator[Row]:
    """Yield the sound rows of skipped stories; the others become findings."""
    return _sound_rows(release, rows.SKIPS_PATH, _SKIP, ("story_id", "skipped_at"))


def sound_revisions(release: CheckedRelease) -> Iterator[Row]:
    """Yield the sound rows of revisions, if there are any; the others become findings."""
    if (release.directory / rows.REVISIONS_PATH).is_file():
        yield from _sound_rows(release, rows.REVISIONS_PATH, _REVISION, ("story_id",))


def read_decisions(release: CheckedRelease, *, of_labels: bool) -> dict[str, dict[str, Decision]]:
    """Return the experts' decisions by story and form field. Unsound rows become findings, left out here."""
    found: defaultdict[str, dict[str, Decision]] = defaultdict(dict)
    shape, order = (_LABEL_DECISION, ("story_id", "labelled")) if of_labels else (_DECISION, ("story_id",))
    for row in _sound_rows(release, rows.ADJUDICATIONS_PATH, shape, order):
        made, field = found[row["story_id"]], row.get("labelled", "")
        if field in made:
            what = f"The story {row['story_id']}{field and ', '}{field}"
            release.report(CHECK, rows.ADJUDICATIONS_PATH, f"{what} occurs twice.")
        verdict = row["option" if of_labels else "verdict"]
        made[field] = Decision(verdict, row["reason"], moment_of(row["decided_at"]))
    return found


def _sound_rows(release: CheckedRelease, path: str, shape: Shape, order: tuple[str, ...]) -> Iterator[Row]:
    last: tuple[str, ...] = ()
    for line in release.lines(path):
        problem = misfit(line.row, shape)
        place = tuple(str(line.row.get(name)) for name in order)
        if not problem and place < last:
            problem = f"The rows are not in order of {' and '.join(order)}."
        if problem:
            release.report(CHECK, path, problem, line.number)
        else:
            last = place
            yield line.row


def read_story(line: Line, layout: Layout, outcome: Outcome) -> ReleasedStory | str:
    """Return the story in a row of the stories with this outcome, or a sentence about what is wrong."""
    row, dropped = line.row, outcome is not Outcome.KEPT
    more = [*(["item"] if layout.story_row is rows.item_row else []), *(["reason"] if dropped else [])]
    wanted = [*layout.story_columns, *more]
    if problem := misfit(row, _shape(wanted, NAME)):
        return problem
    if "item" in row:
        content: Mapping[str, Any] = row["item"]
    elif len(row["questions"]) != 2:
        return "There are not exactly two questions."
    else:
        action = row["questions"][1]
        content = {
            **{name: row[name] for name in ("entities", "key_information", "story_sentence", "story")},
            "question": action["question"],
            "action_unaware": action["answer_correct"],
            "action_aware": action["answer_incorrect"],
        }
    story = ReleasedStory(content=content, **{name: row[name] for name in (*PROVENANCE, *rows.PREDICTED)})
    rebuilt = layout.story_row(story) | ({"reason": row["reason"]} if dropped else {})
    if jsonl.line(rebuilt) != line.data:
        return f"{_differing_column(rebuilt, row)} does not follow from the rest of the row."
    return story


def _differing_column(expected: Row, found: Row) -> str:
    return next(
        (name for name in expected if jsonl.line({"": expected[name]}) != jsonl.line({"": found[name]})),
        "The row",
    )
