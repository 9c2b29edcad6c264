"""Sample stories and consent text, to preview a study before it has its own."""

import json
from csv import DictReader
from io import StringIO
from typing import Any

from django.conf import settings

from annotation.importing.rows import Problem, SourceRow
from annotation.protocols import validity
from annotation.protocols.base import Protocol

SAMPLE_STUDY = settings.BASE_DIR / "sample_study" / "study.json"
"""The study that ships with tomannot: stories made for it, a qualification round and its key."""
DEFAULT_SAMPLE = "validity"
SAMPLES = {DEFAULT_SAMPLE: SAMPLE_STUDY} | {
    place.parent.name: place for place in sorted(SAMPLE_STUDY.parent.glob("*/study.json"))
}
"""The configurations of all sample studies, by the names that ``make demo`` takes."""
SAMPLE_PROTOCOL = validity.PROTOCOL.name


def sample_consent() -> str:
    """Return the sample consent text; ``{contact}`` marks the place of the contact."""
    return (SAMPLE_STUDY.parent / "consent.txt").read_text(encoding="utf-8").strip()


def sample_item(protocol: Protocol) -> Any:
    """Return the first story of the protocol's example file as an item; None if it has no such file."""
    text = protocol.example
    if not text:
        return None
    row = json.loads(text.partition("\n")[0]) if text.startswith("{") else next(DictReader(StringIO(text)))
    story = next(iter(protocol.read([SourceRow("example", 1, row)])))
    if isinstance(story, Problem):
        raise ValueError(f"The example of the protocol {protocol.name} cannot be read: {story}")
    return protocol.parse(story.content)
