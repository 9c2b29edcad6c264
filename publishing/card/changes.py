"""The section on changes since the previous release, counted from its files in bounded memory."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from publishing.card.markdown import bullets, code, counted, text
from publishing.comparison.changes import CHANGES_PATH, changed_rows, moves_of
from publishing.errors import BrokenDirectory
from publishing.facts import ReleaseFacts, Tally
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


def changes(facts: ReleaseFacts, tally: Tally, found: Changes | None) -> list[str]:
    """Return the section on changes."""
    heading = "## Changes since the previous release"
    if facts.number == 1:
        return [heading, "This is the first release of the study."]
    if found is None:
        return [
            heading,
            f"The files of release {facts.number - 1} were not available when this release was built, so the "
            "two are not compared here.",
        ]
    kept, dropped = Outcome.KEPT, Outcome.DROPPED
    moves = found.moves
    newly = sum(stories for (then, now), stories in moves.items() if now is kept and then is not kept)
    gone = sum(stories for (then, now), stories in moves.items() if then is kept and now is not kept)
    judged = sum(
        stories for (then, now), stories in moves.items() if now is dropped and then not in (kept, now)
    )
    items = [
        f"Kept in both: {tally.outcomes[kept] - newly:,}.",
        f"Newly kept: {newly:,}{_of(moves, then=dropped, now=kept, what='were dropped before')}.",
        f"No longer kept: {gone:,}{_of(moves, then=kept, now=dropped, what='are dropped now')}.",
        f"Newly dropped, without a verdict before: {judged:,}.",
        f"Every changed story, vote and answer key, with the reasons: {sum(moves.values()):,}, in "
        f"{code(CHANGES_PATH)}.",
        *_rule_changes(facts, found.before),
    ]
    before = found.before["counts"]
    return [
        heading,
        f"Release {found.before['number']} was requested on {found.before['created'][:10]} and kept "
        f"{counted(before['kept'], 'story', 'stories')} of {before['stories']:,}, with "
        f"{counted(before['votes'], 'counted vote', 'counted votes')}.",
        bullets(items),
    ]


def _of(moves: Mapping[Move, int], *, then: Outcome, now: Outcome, what: str) -> str:
    """Return how many of these stories had a verdict on both sides, in brackets."""
    stories = moves.get((then, now), 0)
    return f" ({stories:,} of them {what})" if stories else ""


def _rule_changes(facts: ReleaseFacts, before: Mapping[str, Any]) -> list[str]:
    """Return the changed settings: filter, votes per story, protocol, licence."""
    votes = before["filter"]["parameters"]["votes_per_story"]
    pairs = [
        ("filter", before["filter"]["name"], facts.filter_name),
        ("votes per story", str(votes), str(facts.votes_per_story)),
        ("protocol", before["protocol"]["name"], facts.protocol_name),
        ("version of the protocol", before["protocol"]["version"], facts.protocol_version),
        ("licence", before.get("license", facts.license), facts.license),
    ]
    changed = [
        f"**The {what} has changed**: {code(str(old))} before, {code(new)} now."
        for what, old, new in pairs
        if old != new
    ]
    return changed or [text("The filter, the protocol and the licence are unchanged.")]
