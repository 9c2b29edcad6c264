"""The shape of a study's configuration file: a JSON Schema per object, with each problem in words.

``configuration_schema.toml`` has the schemas.
"""

import difflib
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from jsonschema import Draft4Validator, ValidationError

from annotation.actions.studies import usual_settings
from annotation.intake import FEWEST_IN_GROUP
from annotation.models.studies import STORY_LANGUAGE
from publishing.facts import Statement
from qualification.models import Round

Schema = dict[str, Any]
"""A JSON Schema. Its own keyword ``says`` tells people what the value must be."""
_SHAPES: Schema = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
STUDY, ROUND, KEY, CHECKS = _SHAPES["STUDY"], _SHAPES["ROUND"], _SHAPES["KEY"], _SHAPES["CHECKS"]
DESIGN, INSTRUCTIONS = _SHAPES["DESIGN"], _SHAPES["INSTRUCTIONS"]
STATEMENT, JOIN_LINK = _SHAPES["STATEMENT"], _SHAPES["JOIN_LINK"]

_TEXT: Schema = {"type": "string"}
_settings = {name: _TEXT if isinstance(usual, str) else {} for name, usual in usual_settings().items()}
STUDY["properties"] = _settings | {"qualification_required": {}} | STUDY["properties"]
STUDY["properties"]["story_language"]["pattern"] = STORY_LANGUAGE
STUDY["properties"]["intake_group"]["minimum"] = FEWEST_IN_GROUP
STATEMENT["properties"] = {item.name: _TEXT for item in fields(Statement)} | STATEMENT["properties"]
_kinds = Round.Kind.values
ROUND["properties"]["kind"] |= {"enum": _kinds, "says": f"must be one of {', '.join(_kinds)}."}
CHECKS["properties"] |= {"stories": ROUND["properties"]["stories"], "key": KEY["properties"]["stories"]}


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
        return f"must be a whole number from {error.schema['minimum']}, not {error.instance!r}."
    return says or f"must be text, not {type(error.instance).__name__}."
