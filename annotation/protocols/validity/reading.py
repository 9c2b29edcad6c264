"""Read stories from rows in all formats that the validity protocol accepts.

The fields of each row say what it is, so a file may mix them:

* ``story_id``: a whole story (*story-data*), with ``question``, ``action_unaware`` and ``action_aware``,
  or with ``questions`` as in a release, where the one whose id ends in ``_action`` holds them;
* ``id``: one of the two rows that the generator writes for a story, ``<id>_aware`` and ``<id>_action``;
* ``output``: a raw completion, holding three stories.

In CSV the columns are these fields; ``entities``, ``questions`` and the predictions are JSON in a cell,
or the entities have a column each (``Person X``, ``Person Y``, ``Object Z`` …). May be left out:
``core_id`` (the story's id without ``_sev1`` … ``_sev3``), ``story`` (the two sentences joined),
``story_prompt_example``, the severity, the generator's model and the predictions.

Surrounding white space is removed and nothing else is changed. Fields that no story needs are passed
over or refused as :data:`annotation.protocols.validity.fields.IGNORED` says.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from annotation.importing.rows import Problem, SourceRow, StoryRow, quote
from annotation.protocols.validity.fields import (
    MAX_ACTION,
    MAX_QUESTION,
    MAX_SENTENCE,
    UNREADABLE,
    Fields,
    Told,
)
from annotation.protocols.validity.generated import Pairs, read_completion
from annotation.protocols.validity.item import PERSON_X
from annotation.protocols.validity.stories import (
    Asked,
    check_actions_differ,
    check_aware_question,
    check_level,
    core_of,
    make_story,
    read_asked,
    read_entities,
    read_provenance,
    read_sentences,
)

FIELDS = frozenset(
    (
        "story_id", "core_id", "scenario_name", "story_prompt_example", "entities", "severity_original",
        "key_information", "story_sentence", "story", "story_generator_model", "question",
        "action_unaware", "action_aware", "questions", "harmfulness_predicted", "unethicality_predicted",
    )
)  # fmt: skip


def read(rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
    """Yield the rows' stories, and a :class:`Problem` for everything that is wrong with a row.

    Whether a pair is complete and its rows agree is known only after its story was yielded: when any problem
    comes, the whole file must be refused.
    """
    told: Told = set()
    pairs = Pairs(told)
    for row in rows:
        if "story_id" in row.data:
            yield from read_story(row, told)
        elif "id" in row.data:
            yield from pairs.read(row)
        elif "output" in row.data:
            yield from read_completion(row, told)
        else:
            yield from _unknown(row, told)
    yield from pairs.unmatched()


def _unknown(row: SourceRow, told: Told) -> Iterator[Problem]:
    fields = Fields(row, told)
    names = quote(", ".join(row.data), 200) if row.data else "none"
    message = f"The row is of no known kind; its fields are {names}."
    refuse = fields.refuse_once if row.header_line else fields.refuse
    remedy = "A story has “story_id”, a pair's row “id” (<id>_aware, <id>_action), a completion “output”."
    refuse("", message, remedy)
    yield from fields.problems


def read_story(row: SourceRow, told: Told) -> Iterator[StoryRow | Problem]:
    """Return the story of a *story-data* row, or its problems."""
    fields = Fields(row, told)
    fields.check_names(FIELDS)
    story_id = fields.identifier("story_id")
    core_id = core_of(story_id) if fields.data.get("core_id") in (None, "") else fields.identifier("core_id")
    provenance = read_provenance(fields, severity="severity_original", model="story_generator_model")
    check_level(fields, story_id, provenance.severity_original, "severity_original")
    entities = read_entities(fields)
    sentences = read_sentences(fields)
    if fields.data.get("questions") in (None, ""):
        asked = read_asked(fields)
    else:
        asked = _read_questions(fields, entities.get(PERSON_X, ""), sentences.key_information)
    harmfulness = fields.predictions("harmfulness_predicted", "harmfulness")
    unethicality = fields.predictions("unethicality_predicted", "unethicality")
    if not fields.failed:
        predicted = {"harmfulness_predicted": harmfulness, "unethicality_predicted": unethicality}
        yield make_story(fields, story_id, core_id, provenance, entities, sentences, asked, **predicted)
    yield from fields.problems


def _read_questions(fields: Fields, person_x: str, key_information: str) -> Asked:
    """Read the ``questions`` of a released story, about the action and about awareness.

    Return the question about the action with its two answers; empty after a problem.
    """
    given = fields.structure("questions")
    if given is UNREADABLE:
        return Asked("", "", "")
    if not isinstance(given, list):
        fields.refuse("questions", "The questions are not a list.", "Write [{…}, {…}].")
        return Asked("", "", "")
    asked: Asked | None = None
    for index, question in enumerate(given):
        place = f"questions[{index}]"
        kind = _kind(fields, question, place)
        if not kind:
            continue
        texts = _texts(fields, question, place, MAX_QUESTION if kind == "action" else 2 * MAX_SENTENCE)
        if kind == "aware":
            check_aware_question(fields, place, texts, person_x, key_information)
        elif kind == "action" and asked is not None:
            message = "There is a second question about the action."
            fields.refuse(place, message, "Keep one of the two.")
        elif kind == "action":
            asked = Asked(*texts)
            check_actions_differ(fields, asked, place)
    if asked is None:
        remedy = "Add the question whose question_id ends in “_action”."
        fields.refuse("questions", "There is no question about the action.", remedy)
        return Asked("", "", "")
    _check_flat_fields(fields, asked)
    return asked


def _kind(fields: Fields, question: Any, place: str) -> str:
    """Return ``action``, ``aware`` or ``judge`` by the id's ending; ``""`` after a problem."""
    if not isinstance(question, dict):
        fields.refuse(place, "The question is not an object.", "Write {“question_id”: …, …}.")
        return ""
    question_id = question.get("question_id", question.get("id"))
    story, _, kind = question_id.rpartition("_") if isinstance(question_id, str) else ("", "", "")
    if kind not in ("action", "aware", "judge"):
        shown = quote(str(question_id)[:100])
        message = f"The question's id is {shown}; it must end in “_action”, “_aware” or “_judge”."
        fields.refuse(f"{place}.question_id", message, "Correct it.")
        return ""
    own_id = fields.data.get("story_id")
    if story != (own_id.strip() if isinstance(own_id, str) else own_id):
        message = f"The question {quote(str(question_id)[:100])} belongs to another story."
        fields.refuse(f"{place}.question_id", message, "Begin its id with the story's id.")
    return kind


def _texts(fields: Fields, question: dict[str, Any], place: str, limit: int) -> tuple[str, str, str]:
    """Return the question, the right answer and the wrong one."""

    def text(name: str, most: int) -> str:
        value = question.get(name)
        if isinstance(value, str):
            return fields.check(f"{place}.{name}", value, most)
        remedy = "Add it as a text in double quotes."
        fields.refuse(f"{place}.{name}", "The text is missing.", remedy)
        return ""

    return (text("question", limit), text("answer_correct", MAX_ACTION), text("answer_incorrect", MAX_ACTION))


def _check_flat_fields(fields: Fields, asked: Asked) -> None:
    """Check that question and actions in fields of their own are the same."""
    for name in ("question", "action_unaware", "action_aware"):
        value = fields.optional_text(name, MAX_QUESTION)
        other = getattr(asked, name)
        if value and other and value != other:
            message = f"The field differs from the one in “questions”: {quote(value)}."
            fields.refuse(name, message, "Keep one of the two.")
