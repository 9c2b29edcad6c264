"""What has changed since the release before: counted from its own files, in bounded memory."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from publishing.card.markdown import bullets, code, counted, text
from publishing.errors import BrokenDirectory
from publishing.facts import ReleaseFacts
from publishing.files.rows import DROPPED_PATH, STORY_CONFIG, config_path
from publishing.filters import Outcome


@dataclass(frozen=True, slots=True)
class Changes:
    """How a release differs from the one before.

    ``moves`` counts stories by what became of them then and now, for those with a verdict in at least
    one of the two; None is a story that had none (it lacked votes, or was not there).
    """

    before: Mapping[str, Any]
    """The ``release.json`` of the release before."""
    moves: Mapping[tuple[Outcome | None, Outcome | None], int]


class _Judged(NamedTuple):
    story_id: str
    release: int
    outcome: Outcome


def changes_since(before: Path, now: Path) -> Changes:
    """Compare the story files of two release directories and read the older one's ``release.json``.

    Walks the files side by side, which are in the order of the stories' ids. Raises
    :class:`~publishing.errors.BrokenDirectory` when the older directory is not whole or its files are
    in another order.
    """
    try:
        description = json.loads((before / "release.json").read_bytes())
        moves: Counter[tuple[Outcome | None, Outcome | None]] = Counter()
        judged = heapq.merge(*(_judged(place, release) for release, place in enumerate((before, now))))
        then_now: list[Outcome | None] = [None, None]
        story_id = None
        for entry in chain(judged, [None]):
            if story_id is not None and (entry is None or entry.story_id != story_id):
                moves[then_now[0], then_now[1]] += 1
                then_now = [None, None]
            if entry is not None:
                story_id, then_now[entry.release] = entry.story_id, entry.outcome
    except (FileNotFoundError, ValueError, KeyError) as error:
        raise BrokenDirectory(
            f"{before} cannot be compared with the new release: {error}. Put the files of that release back "
            "as they were, or move its directory away, and ask for the release again."
        ) from error
    return Changes(description, dict(moves))


def _judged(place: Path, release: int) -> Iterator[_Judged]:
    """The stories with a verdict in a release, by id."""
    return heapq.merge(
        _stories(place / config_path(STORY_CONFIG), release, Outcome.KEPT),
        _stories(place / DROPPED_PATH, release, Outcome.DROPPED),
    )


def _stories(path: Path, release: int, outcome: Outcome) -> Iterator[_Judged]:
    last = ""
    with path.open("rb") as lines:
        for line in lines:
            story_id = json.loads(line)["story_id"]
            if story_id < last:
                raise ValueError(f"{path}: “{story_id}” comes after “{last}”")
            last = story_id
            yield _Judged(story_id, release, outcome)


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


def _of(
    moves: Mapping[tuple[Outcome | None, Outcome | None], int], *, then: Outcome, now: Outcome, told: str
) -> str:
    """How many of a sum had a verdict on both sides."""
    stories = moves.get((then, now), 0)
    return f" ({stories:,} of them {told})" if stories else ""


def _rule_changes(facts: ReleaseFacts, before: Mapping[str, Any]) -> list[str]:
    """What else differs: the filter, its numbers, the protocol."""
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
    return changed or [text("The filter and the protocol are the same.")]
