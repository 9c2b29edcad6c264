"""Read items from the rows of a question set, as in a release's ``test.jsonl``.

A row is ``{"id", "story", "question", "scenario_name", "choices": {"text", "label"}, "answerKey"}``.
``config`` names the question set; it may be left out where the id's ending says it. ``core_id``,
``severity_original`` and ``story_generator_model`` may be given; a sample drawn from a release has them.
"""

import re
from collections.abc import Iterable, Iterator

from annotation.importing.problems import Problem
from annotation.importing.rows import SourceRow, StoryRow
from annotation.protocols.multiple_choice.item import parse
from annotation.protocols.validity.fields import (
    MAX_NAME,
    MAX_SENTENCE,
    MAX_STORY,
    UNREADABLE,
    Fields,
    read_each,
)

FIELDS = frozenset(
    (
        "id", "story", "question", "scenario_name", "choices", "answerKey", "config", "core_id",
        "severity_original", "story_generator_model",
    )
)  # fmt: skip
CONFIG_OF_ENDING = {"_aware": "mental-state-qa", "_action": "behavior-qa", "_judge": "judgment-qa"}
"""The question sets of a release by the endings of their ids."""
MAX_ASKED = 2 * MAX_SENTENCE
"""Room for a question that quotes the key information, or both actions."""
_CONFIG = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_LEVEL = re.compile(r"_sev[1-3]$")
_CHOICES = 'Write {"text": ["…", "…"], "label": ["A", "B"]}.'


def read(rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
    """Yield the rows' items, and a problem for everything that is wrong with a row."""
    return read_each(rows, FIELDS, _read)


def _read(fields: Fields) -> StoryRow | None:
    item_id = fields.identifier("id")
    content = {
        "config": _config(fields, item_id),
        "story": fields.text("story", MAX_STORY),
        "question": fields.text("question", MAX_ASKED),
        "choices": fields.structure("choices"),
        "answerKey": fields.text("answerKey", MAX_NAME),
    }
    row = StoryRow(
        file=fields.row.file,
        line=fields.row.line,
        story_id=item_id,
        core_id=fields.optional_text("core_id", MAX_NAME) or core_of(item_id),
        scenario_name=fields.text("scenario_name", MAX_NAME),
        story_prompt_example="",
        severity_original=fields.severity("severity_original"),
        story_generator_model=fields.optional_text("story_generator_model", MAX_NAME),
        content=content,
    )
    if fields.failed or content["choices"] is UNREADABLE:
        return None
    try:
        parse(content)
    except ValueError as error:
        field, _, message = str(error).partition(": ")
        remedy = _CHOICES if field == "choices" else "Give the label of the right choice."
        fields.refuse(field, message[:1].upper() + message[1:], remedy)
        return None
    return row


def core_of(item_id: str) -> str:
    """Return the id without its two endings, which all questions about a story's versions share."""
    ending = next((ending for ending in CONFIG_OF_ENDING if item_id.endswith(ending)), "")
    return _LEVEL.sub("", item_id.removesuffix(ending))


def _config(fields: Fields, item_id: str) -> str:
    """Return the row's question set, from its field or from its id."""
    if fields.data.get("config") in (None, ""):
        for ending, config in CONFIG_OF_ENDING.items():
            if item_id.endswith(ending):
                return config
        message = "Nothing says which question set the row belongs to."
        fields.refuse("config", message, "Add “config”, such as “behavior-qa”.")
        return ""
    config = fields.text("config", MAX_NAME)
    if config and not _CONFIG.fullmatch(config):
        remedy = "Use 1 to 40 lower-case letters, digits, “_” and “-”."
        fields.refuse("config", f"“{config}” is not the name of a question set.", remedy)
    return config
