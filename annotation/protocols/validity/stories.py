"""Read whole stories, and what other kinds of rows share with them: entities, sentences, actions."""

import re
from functools import lru_cache
from typing import Any, NamedTuple

from annotation.importing.rows import StoryRow, quote
from annotation.protocols.fields import (
    MAX_ACTION,
    MAX_NAME,
    MAX_QUESTION,
    MAX_SENTENCE,
    MAX_STORY,
    UNREADABLE,
    Fields,
)
from annotation.protocols.validity.item import PERSON_X, is_story_of, join_story
from annotation.protocols.validity.lint import SCENARIOS

FIELDS = frozenset(
    (
        "story_id", "core_id", "scenario_name", "story_prompt_example", "entities", "severity_original",
        "key_information", "story_sentence", "story", "story_generator_model", "question",
        "action_unaware", "action_aware", "questions", "harmfulness_predicted", "unethicality_predicted",
    )
)  # fmt: skip
_LEVEL = re.compile(r"(.+)_sev([1-3])")
_LINE = re.compile(r"([^=\n]+)=([^\n]*)")
_ROLE = re.compile(r"(person|object|action|place) ([a-z])", re.IGNORECASE)


class Provenance(NamedTuple):
    """A story's origin, from its row."""

    scenario_name: str
    story_prompt_example: str
    severity_original: int | None
    story_generator_model: str


class Sentences(NamedTuple):
    """The key information, the second sentence and the story made of them."""

    key_information: str
    story_sentence: str
    story: str


class NextAction(NamedTuple):
    """The question about Person X's next action, and the two actions; empty after a problem."""

    question: str = ""
    action_unaware: str = ""
    action_aware: str = ""


def read_story(fields: Fields) -> StoryRow | None:
    story_id = fields.identifier("story_id")
    core_id = core_of(story_id) if fields.data.get("core_id") in (None, "") else fields.identifier("core_id")
    provenance = read_provenance(fields, severity="severity_original", model="story_generator_model")
    check_level(fields, story_id, provenance.severity_original, "severity_original")
    entities = read_entities(fields)
    sentences = read_sentences(fields)
    if fields.data.get("questions") in (None, ""):
        asked = _read_asked(fields)
    else:
        asked = _read_questions(fields, entities.get(PERSON_X, ""), sentences.key_information)
    predicted = {
        f"{rated}_predicted": fields.predictions(f"{rated}_predicted", rated)
        for rated in ("harmfulness", "unethicality")
    }
    if fields.failed:
        return None
    return make_story(fields, story_id, core_id, provenance, entities, sentences, asked, **predicted)


def read_provenance(fields: Fields, *, severity: str, model: str) -> Provenance:
    """Read a story's origin; ``severity`` and ``model`` name the fields of these two."""
    return Provenance(
        fields.one_of("scenario_name", SCENARIOS),
        fields.optional_text("story_prompt_example", MAX_NAME),
        fields.severity(severity),
        fields.optional_text(model, MAX_NAME),
    )


def read_sentences(fields: Fields) -> Sentences:
    """Read the two sentences, and the story, which must consist of them if it is given."""
    first = fields.text("key_information", MAX_SENTENCE)
    second = fields.text("story_sentence", MAX_SENTENCE)
    if fields.data.get("story") in (None, ""):
        return Sentences(first, second, join_story(first, second))
    story = fields.text("story", MAX_STORY)
    if first and second and story and not is_story_of(story, first, second):
        message = f"The story is not its two sentences: {_difference(story, join_story(first, second))}"
        remedy = (
            "Make it key_information, a space and story_sentence (full stops may be added), or leave it out."
        )
        fields.refuse("story", message, remedy)
    return Sentences(first, second, story)


def read_entities(fields: Fields) -> dict[str, str]:
    """Read the entities: ``{"Person X": "Mary", "Object Z": "a bag of chips"}``.

    Also accepted: that object as JSON in a text, the generator's lines ``Person X = Mary``, or one
    field per name (``Person X``, ``Object Z``). Person X has to be among them.
    """
    given = fields.structure("entities")
    if fields.entity_columns and given in (None, ""):
        given = fields.entity_columns
    elif fields.entity_columns:
        message = "Entities are given twice, in “entities” and in fields of their own."
        fields.refuse("entities", message, "Keep one.")
        return {}
    if given is UNREADABLE:
        return {}
    roles = _from_lines(fields, given) if type(given) is str else given
    if not isinstance(roles, dict):
        remedy = 'Write {"Person X": "Mary", "Object Z": "a bag of chips"}.'
        if "entities" not in fields.data:
            fields.refuse_missing("entities", remedy)
        elif isinstance(given, str):
            fields.refuse("entities", f"The entities cannot be read from {quote(given)}.", remedy)
        else:
            fields.refuse("entities", "The entities are not an object.", remedy)
        return {}
    entities: dict[str, str] = {}
    for name, value in roles.items():
        _add_entity(fields, entities, name, value)
    was_refused = any(name.strip().casefold() == PERSON_X.casefold() for name in roles)
    if PERSON_X not in entities and not was_refused:
        remedy = 'Add "Person X": "their name".'
        fields.refuse("entities", "Person X, the main character, is missing.", remedy)
    return entities


def _read_asked(fields: Fields) -> NextAction:
    actions = (fields.text(name, MAX_ACTION) for name in ("action_unaware", "action_aware"))
    asked = NextAction(fields.text("question", MAX_QUESTION), *actions)
    check_actions_differ(fields, asked, "action_aware")
    return asked


def _read_questions(fields: Fields, person_x: str, key_information: str) -> NextAction:
    """Read the ``questions`` of a released story, about the action and about awareness.

    Return the question about the action with its two answers; empty after a problem.
    """
    given = fields.structure("questions")
    if given is UNREADABLE:
        return NextAction()
    if not isinstance(given, list):
        fields.refuse("questions", "The questions are not a list.", "Write [{…}, {…}].")
        return NextAction()
    asked: NextAction | None = None
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
            asked = NextAction(*texts)
            check_actions_differ(fields, asked, place)
    if asked is None:
        remedy = "Add the question whose question_id ends in “_action”."
        fields.refuse("questions", "There is no question about the action.", remedy)
        return NextAction()
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


def _check_flat_fields(fields: Fields, asked: NextAction) -> None:
    """Check that question and actions in fields of their own are the same."""
    for name in ("question", "action_unaware", "action_aware"):
        value = fields.optional_text(name, MAX_QUESTION)
        other = getattr(asked, name)
        if value and other and value != other:
            message = f"The field differs from the one in “questions”: {quote(value)}."
            fields.refuse(name, message, "Keep one of the two.")


def check_actions_differ(fields: Fields, asked: NextAction, field: str) -> None:
    if asked.action_unaware and _bare(asked.action_unaware) == _bare(asked.action_aware):
        remedy = "Give the action of somebody who knows, another one."
        fields.refuse(field, "The two actions are the same.", remedy)


def check_aware_question(
    fields: Fields, field: str, texts: tuple[str, str, str], person_x: str, key_information: str
) -> None:
    """Check the question about awareness: it quotes the key information, and its answer is No."""
    question, correct, incorrect = texts
    if question and key_information and _bare(key_information) not in question.casefold():
        remedy = f"Write: Is {person_x or PERSON_X} likely to be aware that “{key_information}”?"
        fields.refuse(field, f"The question {quote(question)} does not quote the key information.", remedy)
    if (correct and correct != "No") or (incorrect and incorrect != "Yes"):
        message = f"The right answer is {quote(correct)} and the wrong one {quote(incorrect)}."
        remedy = "In these stories Person X is not aware: the right answer is “No”, the wrong one “Yes”."
        fields.refuse(field, message, remedy)


def core_of(story_id: str) -> str:
    """Return the story's core: its id without the ending ``_sev1`` to ``_sev3``."""
    level = _LEVEL.fullmatch(story_id)
    return level[1] if level else story_id


def check_level(fields: Fields, story_id: str, severity: int | None, field: str) -> None:
    """Check that an id ending in ``_sev2`` has severity 2, and so on."""
    level = _LEVEL.fullmatch(story_id)
    if level and severity is not None and int(level[2]) != severity:
        message = f"The severity is {severity}, but the id {quote(story_id)} says {level[2]}."
        fields.refuse(field, message, "Correct the one that is wrong.")


def make_story(
    fields: Fields,
    story_id: str,
    core_id: str,
    provenance: Provenance,
    entities: dict[str, str],
    sentences: Sentences,
    asked: NextAction,
    **predicted: tuple[Any, ...],
) -> StoryRow:
    """Make the story of a row whose fields were read without a problem. ``predicted``: lists of ratings."""
    content = {"entities": entities, **sentences._asdict(), **asked._asdict()}
    row, more = fields.row, provenance._asdict() | predicted
    return StoryRow(row.file, row.line, story_id, core_id, **more, content=content)


def _from_lines(fields: Fields, text: str) -> dict[str, str] | None:
    """Parse lines ``Person X = Mary``, as the generator writes entities."""
    found: dict[str, str] = {}
    for line in text.strip().splitlines():
        pair = _LINE.fullmatch(line.strip())
        if not pair:
            return None
        name = pair[1].strip()
        if name in found:
            fields.refuse("entities", f"{quote(name)} is given twice.", "Keep one of the two.")
        found[name] = pair[2]
    return found


def _add_entity(fields: Fields, entities: dict[str, str], name: str, value: Any) -> None:
    key = _role(name) or fields.check("entities", name, MAX_NAME)
    if type(value) is not str:
        remedy = "Give each name as a text in double quotes."
        fields.refuse("entities", f"{quote(name)} is not a text.", remedy)
        return
    text = fields.check(f"entities: {name}", value, MAX_NAME * 2)
    if key in entities:
        fields.refuse("entities", f"{quote(key)} is given twice.", "Keep one of the two.")
    elif key and text:
        entities[key] = text


@lru_cache(maxsize=1024)
def _role(name: str) -> str:
    """Return ``Person X`` for ``person x``; ``""`` for an unknown role."""
    role = _ROLE.fullmatch(name.strip())
    return f"{role[1].capitalize()} {role[2].upper()}" if role else ""


def _bare(text: str) -> str:
    return text.strip().rstrip(".!?,;").casefold()


def _difference(story: str, expected: str) -> str:
    """Show where the two texts differ, with a few words of each."""
    at = next((i for i, (a, b) in enumerate(zip(story, expected, strict=False)) if a != b), None)
    at = min(len(story), len(expected)) if at is None else at
    start = story.rfind(" ", 0, max(0, at - 10)) + 1
    return f"it has {quote(story[start:], 40)} where they give {quote(expected[start:], 40)}."
