"""The two shapes a story has on its way in: a row of a file, and a story ready to be stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One row of an import file as parsed, before anybody asked what it means.

    ``header_line`` is the line that names the fields, where one does (CSV); 0 where every row names
    its own. A reader tells what is wrong with the names themselves there, once.
    """

    file: str
    line: int
    data: Mapping[str, Any]
    header_line: int = 0


@dataclass(frozen=True)
class StoryRow:
    """A checked story: provenance common to every protocol, and the content that a protocol parses."""

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
        """SHA-256 (hex) over everything that was imported of the story except its file and line.

        Two rows with the same ``story_id`` are the same story exactly when their hashes are equal.
        """
        facts = {
            "story_id": self.story_id,
            "core_id": self.core_id,
            "scenario_name": self.scenario_name,
            "story_prompt_example": self.story_prompt_example,
            "severity_original": self.severity_original,
            "story_generator_model": self.story_generator_model,
            "content": dict(self.content),
            "harmfulness_predicted": list(self.harmfulness_predicted),
            "unethicality_predicted": list(self.unethicality_predicted),
        }
        return _hashed(facts)

    @cached_property
    def text_hash(self) -> str:
        """SHA-256 (hex) over the content alone: equal for stories that read the same, whatever their ids."""
        return _hashed(self.content)


def _hashed(facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(_CANONICAL.encode(dict(facts)).encode()).hexdigest()


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
