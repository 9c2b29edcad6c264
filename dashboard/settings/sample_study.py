"""Sample stories and consent text, to preview a study before it has its own."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from django.conf import settings

from annotation.importing.problems import Problem
from annotation.importing.rows import SourceRow
from annotation.protocols import multiple_choice, validity
from annotation.protocols.base import Protocol

SAMPLE_STUDY = settings.BASE_DIR / "sample_study" / "study.json"
"""The study that ships with tomannot: stories made for it, a qualification round and its key."""
SAMPLE_PROTOCOL = validity.PROTOCOL.name


def sample_consent() -> str:
    """Return the sample consent text; ``{contact}`` marks the place of the contact."""
    return (SAMPLE_STUDY.parent / "consent.txt").read_text(encoding="utf-8").strip()


def sample_item(protocol: Protocol) -> Any:
    """Return a sample story as an item of the protocol; None if there is none for it."""
    content = _contents().get(protocol.name)
    return protocol.parse(content) if content else None


@cache
def _contents() -> dict[str, Mapping[str, Any]]:
    with (SAMPLE_STUDY.parent / "qualification.jsonl").open(encoding="utf-8") as lines:
        row = json.loads(next(lines))
    asked = {
        "id": f"{row['story_id']}_action",
        "scenario_name": row["scenario_name"],
        "story": row["story"],
        "question": row["question"],
        "choices": {"text": [row["action_unaware"], row["action_aware"]], "label": ["A", "B"]},
        "answerKey": "A",
    }
    return {
        protocol.name: _content(protocol, data)
        for protocol, data in ((validity.PROTOCOL, row), (multiple_choice.PROTOCOL, asked))
    }


def _content(protocol: Protocol, data: Mapping[str, Any]) -> Mapping[str, Any]:
    story = next(iter(protocol.read([SourceRow("qualification.jsonl", 1, data)])))
    if isinstance(story, Problem):
        raise ValueError(f"A sample story that ships with tomannot cannot be read: {story}")
    return story.content
