"""The shape of a study's configuration file: a JSON Schema per object, with each problem in words."""

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

from jsonschema import Draft4Validator, ValidationError

from annotation.actions import StudySettings
from annotation.intake import FEWEST_IN_GROUP
from annotation.models.studies import STORY_LANGUAGE
from publishing.facts import Statement
from qualification.models import Round

Schema = dict[str, Any]
"""A JSON Schema. Its own keyword ``says`` tells people what the value must be."""

_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_STORIES: Schema = {
    "type": ["string", "array"],
    "minItems": 1,
    "items": {"type": "object", "says": "must be the name of a story file, or a list of its rows."},
    "says": "must be the name of a story file, or a list of its rows.",
}


def _whole(least: int) -> Schema:
    return {"type": "integer", "minimum": least, "says": f"must be a whole number from {least}"}


def _texts(what: str) -> Schema:
    says = f"must be a list of {what}."
    return {"type": "array", "items": _TEXT | {"says": says}, "says": says}


def _each(value: Schema, says: str) -> Schema:
    return {"type": "object", "additionalProperties": value | {"says": says}, "says": says}


def _object(says: str, required: Iterable[str] = (), **properties: Schema) -> Schema:
    shape = {"type": "object", "properties": properties, "additionalProperties": False, "says": says}
    return shape | ({"required": list(required)} if required else {})


ACCEPTABLE = _each(
    _each(_texts("options"), 'must be like {"q1": ["yes", "possibly"]}.'),
    'must be like {"q1": ["yes", "possibly"]}.',
) | {"says": "must be an object with an entry for each story."}
KEY = _object(
    "must be an answer key, or the name of its file.",
    stories=ACCEPTABLE,
    reasons=_each(_each(_TEXT, 'must be like {"q1": "Because …"}.'), 'must be like {"q1": "Because …"}.'),
    notes=_each(_TEXT, "must be an object with a text for each story."),
    note=_TEXT,
    enough=_whole(1),
    must_pass=_texts("story ids"),
)
ROUND = _object(
    "must be an object with stories and key.",
    ("stories", "key"),
    kind={"enum": Round.Kind.values, "says": f"must be one of {', '.join(Round.Kind.values)}."},
    title=_TEXT,
    attempts=_whole(1),
    stories=_STORIES,
    key={"type": ["string", "object"], "says": "must be an answer key, or the name of its file."},
    pays_on_fail=_FLAG,
)
CHECKS = _object(
    "must be an object with stories and key.",
    ("stories",),
    every=_whole(0),
    minimum=_whole(0),
    warn_percent=_whole(1),
    suspend_percent=_whole(1),
    stories=_STORIES,
    key=ACCEPTABLE,
)
DESIGN = _object(
    "must be an object with by and load.",
    ("by", "load"),
    by=_TEXT,
    load=_each(_whole(1), "must be an object with a number for each stratum."),
)
INSTRUCTIONS = _object(
    "must be an object with page, examples, before_test and thanks.",
    ("page",),
    page=_TEXT,
    examples=_each(_TEXT, "must be text."),
    before_test=_TEXT,
    thanks=_TEXT,
)
STATEMENT = _object(
    "must be an object.", **{item.name: _TEXT for item in fields(Statement)} | {"creators": _texts("names")}
)
JOIN_LINK = _object(
    "must be an object.",
    **dict.fromkeys(
        ("parameter", "placeholder", "source", "return_url", "screen_out_url", "leave_url"), _TEXT
    ),
    adds_parameter=_FLAG,
    least_stories=_whole(1),
)
"""Not when it closes: that is of one study alone."""
STUDY = _object(
    "must be a JSON object.",
    ("title", "contact", "consent"),
    **{item.name: _TEXT if item.type in (str, "str") else {} for item in fields(StudySettings)}
    | dict.fromkeys(("votes_per_story", "story_cap", "lease_minutes"), _whole(1))
    | {"most_votes": _whole(2)}
    | dict.fromkeys(("change_hours", "incomplete_after", "skip_allowance", "serving_seed"), _whole(0))
    | {
        "currency": _TEXT | {"pattern": r"^[A-Z]{3}\Z", "says": "must be three capital letters, like USD."},
        "story_language": _TEXT
        | {"pattern": STORY_LANGUAGE, "says": "must be a language tag, like en or pt-BR."},
        "intake_questions": _texts("questions"),
        "intake_group": _whole(FEWEST_IN_GROUP),
        "qualification_required": _FLAG,
        "rehearsal": _FLAG,
        "stories": {
            "type": ["string", "array"],
            "items": _TEXT | {"says": "must be the name of a file, or a list of names."},
            "says": "must be the name of a file, or a list of names.",
        },
    }
    | dict.fromkeys(("consent", "qualified_through", "slug", "truth"), _TEXT)
    | {part: {} for part in ("qualification", "checks", "design", "instructions", "statement", "join_link")},
)


def problems(data: Any, schema: Schema) -> Iterator[tuple[list[str | int], str]]:
    """Yield each problem of an object: the path of names and numbers to it, and what to change."""
    for error in Draft4Validator(schema).iter_errors(data):
        path = list(error.absolute_path)
        if error.validator == "additionalProperties":
            known = error.schema["properties"]
            yield from (([*path, name], _unknown(name, known)) for name in sorted(set(data) - set(known)))
        elif error.validator == "required":
            missing = [name for name in error.validator_value if error.message.startswith(repr(name))]
            yield from (([*path, name], "is missing.") for name in missing)
        else:
            yield path, _in_words(error)


def _unknown(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return "is not a setting." + (
        f" Did you mean “{close[0]}”?" if close else f" Known: {', '.join(sorted(known))}."
    )


def _in_words(error: ValidationError) -> str:
    says, kind = error.schema.get("says"), error.schema.get("type")
    if kind == "boolean":
        return f"must be true or false, not {error.instance!r}."
    if kind == "integer":
        return f"{says}, not {error.instance!r}."
    return says or f"must be text, not {type(error.instance).__name__}."
