"""Read the generator's processed rows: two per story, ``<id>_aware`` and ``<id>_action``."""

import struct
from collections.abc import Iterator
from dataclasses import astuple

from annotation.importing.problems import Problem, quote
from annotation.importing.rows import SourceRow, StoryRow
from annotation.protocols.validity.fields import MAX_ACTION, MAX_SENTENCE, Fields, Told
from annotation.protocols.validity.item import PERSON_X
from annotation.protocols.validity.stories import (
    Asked,
    check_actions_differ,
    check_aware_question,
    check_level,
    core_of,
    make_story,
    read_entities,
    read_provenance,
    read_sentences,
)

_SHARED = (
    "scenario_name", "story_prompt_example", "severity", "generator_model", "entities",
    "key_information", "story_sentence", "story",
)  # fmt: skip
"""Fields that must be equal in the two rows of a pair."""
_OWN = ("question", "answer_correct", "answer_incorrect")
_MARKS = struct.Struct(f"{len(_SHARED) + len(_OWN)}q")
FIELDS = frozenset(("id", *_SHARED, *_OWN))

Waiting = tuple[str, int, str, bytes]
"""A row without its mate: file, line, half (``aware`` or ``action``), hashes of its values (or ``b""``)."""


class Pairs:
    """Matches the two rows of each story, wherever they are in the file.

    The ``_action`` row makes the story as soon as it is read. Only eleven hashes of the ``_aware`` row are
    kept, so that a file with all rows of one kind first needs little memory.
    """

    def __init__(self, told: Told) -> None:
        self._told = told
        self._waiting: dict[str, Waiting] = {}

    def read(self, row: SourceRow) -> Iterator[StoryRow | Problem]:
        """Yield the story of an ``_action`` row, or the problems of either row and of the pair."""
        fields = Fields(row, self._told)
        fields.check_names(FIELDS)
        row_id = fields.identifier("id")
        base, _, half = row_id.rpartition("_")
        if row_id and (half not in _MATE or not base):
            message = f"The id {quote(row_id)} ends neither in “_aware” nor in “_action”."
            remedy = "Give each story two rows, <id>_aware and <id>_action, or one with a “story_id”."
            fields.refuse("id", message, remedy)
            half = ""
        story, values = _read_half(fields, base, half)
        if half:
            self._match(fields, base, half, values)
        yield from fields.problems
        if story is not None and not fields.failed:
            yield story

    def unmatched(self) -> Iterator[Problem]:
        """Yield problems for rows without a mate, by line. Call it after the last row."""
        for base, (file, line, half, _) in self._waiting.items():
            mine, other = quote(f"{base}_{half}"), quote(f"{base}_{_MATE[half]}")
            message = f"The row {mine} has no row {other} beside it."
            yield Problem(file, line, "id", message, "Add the other row, or remove this one.")

    def _match(self, fields: Fields, base: str, half: str, values: tuple[object, ...]) -> None:
        marks = b"" if fields.failed else _MARKS.pack(*map(hash, values))
        waiting = self._waiting.get(base)
        if waiting is None:
            self._waiting[base] = (fields.row.file, fields.row.line, half, marks)
            return
        file, line, other, other_marks = waiting
        if other != half:
            del self._waiting[base]
        if not marks or not other_marks:
            return
        place = f"line {line}" if file == fields.row.file else f"{file}, line {line}"
        names: tuple[str, ...]
        if other == half:
            names, message = _SHARED + _OWN, "The same id stands at {} with another {}."
            remedy = "Give each row an id of its own."
        else:
            names, message = _SHARED, "The two rows of the story do not agree: {} has another {}."
            remedy = "Make it the same in both rows."
        for name, ours, theirs in zip(names, _MARKS.unpack(marks), _MARKS.unpack(other_marks), strict=False):
            if ours != theirs:
                fields.refuse(name, message.format(place, name), remedy)


_MATE = {"aware": "action", "action": "aware"}


def _read_half(fields: Fields, story_id: str, half: str) -> tuple[StoryRow | None, tuple[object, ...]]:
    """Return the story (of an ``_action`` row without problems), and the values to compare with its mate."""
    provenance = read_provenance(fields, severity="severity", model="generator_model")
    check_level(fields, story_id, provenance.severity_original, "severity")
    entities = read_entities(fields)
    sentences = read_sentences(fields)
    limit = MAX_SENTENCE * 2 if half == "aware" else MAX_ACTION
    question = fields.text("question", limit)
    correct, incorrect = (fields.text(name, MAX_ACTION) for name in ("answer_correct", "answer_incorrect"))
    story = None
    if half == "aware":
        texts = (question, correct, incorrect)
        check_aware_question(fields, "question", texts, entities.get(PERSON_X, ""), sentences.key_information)
    elif half == "action":
        asked = Asked(question, correct, incorrect)
        check_actions_differ(fields, asked, "answer_incorrect")
        if not fields.failed:
            core_id = core_of(story_id)
            story = make_story(fields, story_id, core_id, provenance, entities, sentences, asked)
    names = tuple(sorted(entities.items()))
    return story, (*astuple(provenance), names, *astuple(sentences), question, correct, incorrect)
