"""The item of the validity protocol: a two-sentence story with the two actions that may follow it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.protocols.base import read_text

PERSON_X = "Person X"
TEXT_FIELDS = ("key_information", "story_sentence", "story", "question", "action_unaware", "action_aware")


@dataclass(frozen=True, slots=True)
class ValidityItem:
    """A story as annotators judge it. ``entities`` names its persons and things, with Person X."""

    entities: Mapping[str, str]
    key_information: str
    story_sentence: str
    story: str
    question: str
    action_unaware: str
    action_aware: str

    @property
    def person_x(self) -> str:
        """Return the main character or characters, as the story names them."""
        return self.entities[PERSON_X]


def parse(content: Mapping[str, Any]) -> ValidityItem:
    """Parse a stored ``content``. Raise ``ValueError`` naming the wrong field."""
    entities = content.get("entities")
    if not isinstance(entities, Mapping) or not all(
        isinstance(key, str) and isinstance(value, str) for key, value in entities.items()
    ):
        raise ValueError("entities: must map names such as “Person X” to texts.")
    if not entities.get(PERSON_X):
        raise ValueError("entities: “Person X” is missing.")
    return ValidityItem(entities=entities, **{name: read_text(content, name) for name in TEXT_FIELDS})


def join_story(key_information: str, story_sentence: str) -> str:
    """Join the two sentences of a story.

    Like SimpleToM's generator, add a full stop unless a part ends in one of ``! . , ? ;``.
    """
    return f"{_closed(key_information.strip())} {_closed(story_sentence.strip())}"


def is_story_of(story: str, key_information: str, story_sentence: str) -> bool:
    """Return True if ``story`` is the two sentences, with or without an added full stop in either."""
    firsts = (key_information, _closed(key_information))
    seconds = (story_sentence, _closed(story_sentence))
    return any(story == f"{first} {second}" for first in firsts for second in seconds)


def _closed(part: str) -> str:
    return part if part.endswith(("!", ".", ",", "?", ";")) else part + "."
