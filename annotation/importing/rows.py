"""The two forms of a story during import: a row of a file, and a checked story."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

Row = TypeVar("Row")

PROVENANCE = (
    "story_id", "core_id", "scenario_name", "story_prompt_example", "severity_original",
    "story_generator_model",
)  # fmt: skip
IMPORTED = (*PROVENANCE, "content", "harmfulness_predicted", "unethicality_predicted")
"""Everything imported of a story, by the names of :class:`StoryRow`, the model and releases."""


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One parsed row of an import file, not interpreted yet.

    ``header_line`` is the line with the field names (CSV), or 0 if every row names its own fields.
    Problems with the names themselves are reported there, once.
    """

    file: str
    line: int
    data: Mapping[str, Any]
    header_line: int = 0


@dataclass(frozen=True)
class StoryRow:
    """A checked story: provenance common to all protocols, and the content that a protocol parses."""

    file: str
    line: int
    story_id: str
    core_id: str
    scenario_name: str
    story_prompt_example: str
    severity_original: int | None
    story_generator_model: str
    content: Mapping[str, Any]
    harmfulness_predicted: tuple[Any, ...] = field(default=())
    unethicality_predicted: tuple[Any, ...] = field(default=())

    @cached_property
    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of everything imported of the story except its file and line.

        Two rows with the same ``story_id`` are the same story exactly when their hashes are equal.
        """
        facts = {name: getattr(self, name) for name in IMPORTED}
        return hash_of(facts | {"content": dict(self.content)})

    @cached_property
    def text_hash(self) -> str:
        """Return the SHA-256 (hex) of the content alone, equal for stories with the same text."""
        return hash_of(self.content)


def hash_of(facts: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of parsed JSON, whatever the order of its keys."""
    return hashlib.sha256(_CANONICAL.encode(dict(facts)).encode()).hexdigest()


def batches(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """Yield the rows of a stream in lists of ``size``; the last may be shorter."""
    iterator = iter(rows)
    while batch := list(islice(iterator, size)):
        yield batch


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
