"""Walking two release directories side by side, story by story, in bounded memory. Pure.

The files of a release are in the order of the stories' ids, so that one pass is enough.
"""

from __future__ import annotations

import enum
import heapq
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from publishing.files import jsonl
from publishing.files.rows import DROPPED_PATH, STORY_CONFIG, VOTES_PATH, config_path
from publishing.filters import Outcome

READ = (config_path(STORY_CONFIG), DROPPED_PATH, VOTES_PATH)
"""The files that are walked through."""
_ABOUT_THE_VOTE = ("story_id", "annotator", "submitted_at", "seconds_on_task")


class Kind(enum.StrEnum):
    """How a story differs between two releases."""

    KEPT_BEFORE = "kept-before"
    KEPT_NOW = "kept-now"
    OTHERWISE = "otherwise"
    """Kept in neither; dropped by other questions, or without a verdict in one of them."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a release's files tell of a story. ``outcome`` is None without a verdict; rows are unread."""

    story_id: bytes
    outcome: Outcome | None
    row: bytes
    votes: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """A story of at least one of two releases; None where a release does not speak of it."""

    before: Told | None
    now: Told | None

    @property
    def outcomes(self) -> tuple[Outcome | None, Outcome | None]:
        return self.before.outcome if self.before else None, self.now.outcome if self.now else None

    @property
    def same_votes(self) -> bool:
        return (self.before.votes if self.before else ()) == (self.now.votes if self.now else ())


def pairs(before: Path, now: Path) -> Generator[Pair]:
    """Every story of two release directories, in the order of their ids.

    Raises ``OSError``, and ``ValueError`` for a file that is in another order.
    """
    sides = heapq.merge(
        ((told.story_id, 0, told) for told in _told(before)),
        ((told.story_id, 1, told) for told in _told(now)),
        key=lambda item: item[:2],
    )
    for _, group in groupby(sides, key=lambda item: item[0]):
        found: dict[int, Told] = {side: told for _, side, told in group}
        yield Pair(found.get(0), found.get(1))


def kind_of(pair: Pair) -> tuple[Kind, dict[str, Any]] | None:
    """How the releases differ about a story, and the row that tells it; None when they agree.

    The row: ``story_id``, ``scenario_name``, ``story_generator_model``, ``before`` and ``now`` (each
    ``outcome``, empty without a verdict, and ``reason``), ``votes`` (those that differ: ``annotator``, the
    answers ``before`` and ``now``, None where there is no such vote), ``same_votes`` (how many do not).
    """
    then, now = pair.outcomes
    if then is now and (then is not Outcome.DROPPED or pair.before == pair.now):
        return None
    rows = [orjson.loads(side.row) if side and side.row else {} for side in (pair.before, pair.now)]
    reasons = [row.get("reason", "") for row in rows]
    if then is now and reasons[0] == reasons[1]:
        return None
    kind = (
        Kind.KEPT_BEFORE if then is Outcome.KEPT else Kind.KEPT_NOW if now is Outcome.KEPT else Kind.OTHERWISE
    )
    story, votes = rows[1] or rows[0], [_votes(side) for side in (pair.before, pair.now)]
    people = sorted(votes[0].keys() | votes[1].keys())
    changed = [person for person in people if votes[0].get(person) != votes[1].get(person)]
    return kind, {
        "story_id": story["story_id"],
        "scenario_name": story["scenario_name"],
        "story_generator_model": story["story_generator_model"],
        "before": {"outcome": then.value if then else "", "reason": reasons[0]},
        "now": {"outcome": now.value if now else "", "reason": reasons[1]},
        "votes": [
            {"annotator": person, "before": votes[0].get(person), "now": votes[1].get(person)}
            for person in changed
        ],
        "same_votes": len(people) - len(changed),
    }


def _votes(told: Told | None) -> dict[str, dict[str, str]]:
    """The answers of every vote, by the annotator's pseudonym."""
    rows = [orjson.loads(line) for line in told.votes] if told else []
    return {
        row["annotator"]: {key: answer for key, answer in row.items() if key not in _ABOUT_THE_VOTE}
        for row in rows
    }


def _told(directory: Path) -> Iterator[Told]:
    """Every story that the files of a release speak of, in the order of their ids."""
    streams = [_lines(directory / path) for path in READ]
    merged = heapq.merge(
        *(_placed(place, stream) for place, stream in enumerate(streams)),
        key=lambda item: item[:2],
    )
    outcomes = (Outcome.KEPT, Outcome.DROPPED)
    for story_id, group in groupby(merged, key=lambda item: item[0]):
        outcome, row, votes = None, b"", []
        for _, place, line in group:
            if place < len(outcomes):
                outcome, row = outcomes[place], line
            else:
                votes.append(line)
        yield Told(story_id, outcome, row, tuple(votes))


def _placed(place: int, stream: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, int, bytes]]:
    for story_id, line in stream:
        yield story_id, place, line


def _lines(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """The lines of a file with their stories' ids. Raises ``ValueError`` where these are not in order."""
    last = b""
    with path.open("rb", buffering=1 << 20) as file:
        for line in file:
            story_id = jsonl.story_id(line)
            if story_id < last:
                raise ValueError(f"{path}: “{story_id.decode()}” comes after “{last.decode()}”")
            last = story_id
            yield story_id, line
