"""The changes since the previous release, counted from its files in bounded memory."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from annotation.deciding import span
from publishing.comparison.changes import changed_rows, moves_of
from publishing.errors import BrokenDirectory
from publishing.facts import ReleaseFacts
from publishing.files import jsonl
from publishing.files.directory import MANIFEST, file_facts
from publishing.files.rows import Row
from publishing.filters import Outcome

Move = tuple[Outcome | None, Outcome | None]
"""A story's outcomes then and now; None if it was or is not in the release."""
RECORDED = ("number", "created", "license", "protocol", "filter", "counts")


@dataclass(frozen=True, slots=True)
class Changes:
    """The difference from the previous release."""

    before: Mapping[str, Any]
    """The entry of ``release.json`` about the previous release."""
    moves: Mapping[Move, int]
    """The changed stories."""

    def stories(self, then: Collection[Outcome | None], now: Collection[Outcome | None]) -> int:
        """Count the stories that had one of the outcomes ``then`` and have one of ``now``."""
        return sum(stories for (old, new), stories in self.moves.items() if old in then and new in now)


def changes_since(
    before: Path, description: Mapping[str, Any], now: Path, write: Callable[[bytes], object]
) -> Changes:
    """Compare two release directories, and write a row for every changed story.

    ``description`` is the content of the newer ``release.json``.

    Raise :class:`~publishing.errors.BrokenDirectory` if the older directory is incomplete or out of order.
    """

    def written() -> Iterator[Row]:
        for row in changed_rows(before, now, description):
            write(jsonl.line(row))
            yield row

    try:
        described = orjson.loads((before / "release.json").read_bytes())
        recorded = {key: described[key] for key in RECORDED}
        manifest = file_facts(before, MANIFEST).sha256
        return Changes(recorded | {"manifest_sha256": manifest}, moves_of(written()))
    except (FileNotFoundError, ValueError, KeyError) as error:
        raise BrokenDirectory(
            f"{before} cannot be compared with the new release: {error}. Restore the files of that release, "
            "or move its directory away, and request the release again."
        ) from error


def changed_rules(facts: ReleaseFacts, before: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return the settings that changed, each with its value before and now."""
    parameters = before["filter"]["parameters"]
    votes = span(parameters["votes_per_story"], parameters.get("most_votes"))
    pairs = [
        ("filter", before["filter"]["name"], facts.filter_name),
        ("votes per story", votes, facts.votes_told),
        ("protocol", before["protocol"]["name"], facts.protocol_name),
        ("version of the protocol", before["protocol"]["version"], facts.protocol_version),
        ("licence", before.get("license", facts.license), facts.license),
    ]
    return [(what, str(old), new) for what, old, new in pairs if old != new]
