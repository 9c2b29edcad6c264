"""What has changed since the release before: counted from its own files, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from publishing.card.markdown import bullets, code, counted, text
from publishing.errors import BrokenDirectory
from publishing.facts import ReleaseFacts
from publishing.files import jsonl
from publishing.files.rows import DROPPED_PATH, STORY_CONFIG, config_path
from publishing.filters import Outcome

Move = tuple[Outcome | None, Outcome | None]
"""What became of a story then and now; None when it had no verdict: it lacked votes, or was not there."""

_FILES = {Outcome.KEPT: config_path(STORY_CONFIG), Outcome.DROPPED: DROPPED_PATH}
COMPARED = ("release.json", *_FILES.values())
"""The files of the release before that are read."""


@dataclass(frozen=True, slots=True)
class Changes:
    """How a release differs from the one before: the stories with a verdict in at least one of them."""

    before: Mapping[str, Any]
    """The ``release.json`` of the release before."""
    moves: Mapping[Move, int]


_END = b"\xff"
"""After the last id of a file: greater than every text in UTF-8."""


def changes_since(before: Path, now: Path) -> Changes:
    """Compare the story files of two release directories and read the older one's ``release.json``.

    Walks the files side by side, which are in the order of the stories' ids. Raises
    :class:`~publishing.errors.BrokenDirectory` when the older directory is not whole or its files are
    in another order.
    """
    try:
        description = orjson.loads((before / "release.json").read_bytes())
        return Changes(description, _moves(before, now))
    except (FileNotFoundError, ValueError, KeyError) as error:
        raise BrokenDirectory(
            f"{before} cannot be compared with the new release: {error}. Put the files of that release back "
            "as they were, or move its directory away, and ask for the release again."
        ) from error


def _moves(before: Path, now: Path) -> dict[Move, int]:
    """How many stories have each pair of outcomes, then and now."""
    moves: Counter[Move] = Counter()
    files = [(side, outcome) for side in (before, now) for outcome in _FILES]
    streams = [_ids(side / _FILES[outcome]) for side, outcome in files]
    heads = [next(stream, _END) for stream in streams]
    while (smallest := min(heads)) != _END:
        outcomes: list[Outcome | None] = [None, None]
        for place, head in enumerate(heads):
            if head == smallest:
                outcomes[place // len(_FILES)] = files[place][1]
                heads[place] = next(streams[place], _END)
        moves[outcomes[0], outcomes[1]] += 1
    return dict(moves)


def _ids(path: Path) -> Iterator[bytes]:
    """The ids of a file's stories, which have to be in the order of their bytes."""
    last = b""
    with path.open("rb") as lines:
        for line in lines:
            story_id = jsonl.story_id(line)
            if story_id < last:
                raise ValueError(f"{path}: “{story_id.decode()}” comes after “{last.decode()}”")
            last = story_id
            yield story_id


def changes(facts: ReleaseFacts, found: Changes | None) -> list[str]:
    """The section on what has changed."""
    heading = "## Changes since the previous release"
    if facts.number == 1:
        return [heading, "This is the first release of the study."]
    if found is None:
        return [
            heading,
            f"The files of release {facts.number - 1} were not at hand when this release was made, so the "
            "two are not compared here.",
        ]
    kept, dropped = Outcome.KEPT, Outcome.DROPPED
    moves = found.moves
    newly = sum(stories for (then, now), stories in moves.items() if now is kept and then is not kept)
    gone = sum(stories for (then, now), stories in moves.items() if then is kept and now is not kept)
    told = [
        f"Kept in both: {moves.get((kept, kept), 0):,}.",
        f"Newly kept: {newly:,}{_of(moves, then=dropped, now=kept, told='were dropped before')}.",
        f"No longer kept: {gone:,}{_of(moves, then=kept, now=dropped, told='are dropped now')}.",
        f"Newly dropped, without a verdict before: {moves.get((None, dropped), 0):,}.",
        *_rule_changes(facts, found.before),
    ]
    before = found.before["counts"]
    return [
        heading,
        f"Release {found.before['number']} was asked for on {found.before['created'][:10]} and kept "
        f"{counted(before['kept'], 'story', 'stories')} of {before['stories']:,}, with "
        f"{counted(before['votes'], 'counted vote', 'counted votes')}.",
        bullets(told),
    ]


def _of(moves: Mapping[Move, int], *, then: Outcome, now: Outcome, told: str) -> str:
    """How many of a sum had a verdict on both sides."""
    stories = moves.get((then, now), 0)
    return f" ({stories:,} of them {told})" if stories else ""


def _rule_changes(facts: ReleaseFacts, before: Mapping[str, Any]) -> list[str]:
    """What else differs: the filter, its numbers, the protocol, the licence."""
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
    return changed or [text("The filter, the protocol and the licence are the same.")]
