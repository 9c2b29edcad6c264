"""Two releases of a study side by side: which stories, votes and answer keys differ, and why. Pure.

Two directories are read in parallel, story by story, in bounded memory. One pass is enough, because the files
are in the order of the stories' ids.
"""

import enum
import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby, repeat
from pathlib import Path
from typing import Any

import orjson

from annotation.deciding import span
from publishing.errors import BrokenDirectory
from publishing.facts import ReleaseFacts
from publishing.files import jsonl, rows
from publishing.files.directory import MANIFEST, file_facts
from publishing.files.rows import Layout, Row
from publishing.filters import REVISED, Outcome

_ABOUT_THE_VOTE = ("story_id", "annotator", *rows.CONTEXT_KEYS)
Move = tuple[Outcome | None, Outcome | None]
"""A story's outcomes then and now; None if it was or is not in the release."""


class Difference(enum.StrEnum):
    """The ways in which the verdict on a story can differ between two releases."""

    KEPT_BEFORE = "kept-before"
    KEPT_NOW = "kept-now"
    OTHERWISE = "otherwise"
    """Kept in neither: dropped by other questions, or without a verdict in one release."""


@dataclass(frozen=True, slots=True)
class StoryState:
    """A story in a release's files. ``outcome`` is None without a verdict; rows are unparsed."""

    story_id: bytes
    outcome: Outcome | None
    row: bytes
    votes: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """A story in two releases; None where a release does not mention it."""

    before: StoryState | None
    now: StoryState | None

    @property
    def same_votes(self) -> bool:
        return (self.before.votes if self.before else ()) == (self.now.votes if self.now else ())


def paired_stories(before: Path, now: Path) -> Iterator[Pair]:
    """Yield every story of two release directories, in order of id.

    Raise ``OSError``, or ``ValueError`` for a file in another order.
    """
    sides = heapq.merge(
        ((state.story_id, 0, state) for state in story_states(before)),
        ((state.story_id, 1, state) for state in story_states(now)),
        key=lambda item: item[:2],
    )
    for _, group in groupby(sides, key=lambda item: item[0]):
        found: dict[int, StoryState] = {side: state for _, side, state in group}
        yield Pair(found.get(0), found.get(1))


def difference_in(row: Row) -> Difference | None:
    """Return how the verdict on a changed story differs; None if it is the same, or was and is none."""
    then, now = (None if row[side] == Outcome.INCOMPLETE else row[side] for side in ("before", "now"))
    if then == now and (then != Outcome.DROPPED or row["reason_before"] == row["reason_now"]):
        return None
    if then == Outcome.KEPT:
        return Difference.KEPT_BEFORE
    return Difference.KEPT_NOW if now == Outcome.KEPT else Difference.OTHERWISE


def changed_votes(pair: Pair) -> list[dict[str, Any]]:
    """Return the votes that differ: annotator, and answers before and now, or None."""
    then, now = answers_by_annotator(pair.before), answers_by_annotator(pair.now)
    return [
        {"annotator": person, "before": then.get(person), "now": now.get(person)}
        for person in sorted(then.keys() | now.keys())
        if then.get(person) != now.get(person)
    ]


def answers_by_annotator(state: StoryState | None) -> dict[str, dict[str, str]]:
    """Return the answers of every vote by annotator."""
    votes = [orjson.loads(line) for line in state.votes] if state else []
    return {
        row["annotator"]: {key: answer for key, answer in row.items() if key not in _ABOUT_THE_VOTE}
        for row in votes
    }


def story_states(directory: Path) -> Iterator[StoryState]:
    """Yield every story in the files of a release, in order of id.

    Older releases list no incomplete stories, and those of ratings no dropped ones.
    """
    others = (Outcome.DROPPED, Outcome.INCOMPLETE)
    outcomes = [Outcome.KEPT, *(one for one in others if (directory / rows.STORY_PATHS[one]).is_file())]
    paths = [*(rows.STORY_PATHS[outcome] for outcome in outcomes), rows.VOTES_PATH]
    streams = [jsonl.lines_in_order(directory / path) for path in paths]
    merged = heapq.merge(
        *(_placed(place, stream) for place, stream in enumerate(streams)), key=lambda item: item[:2]
    )
    for story_id, group in groupby(merged, key=lambda item: item[0]):
        outcome, row, votes = None, b"", []
        for _, place, line in group:
            if place < len(outcomes):
                outcome, row = outcomes[place], line
            else:
                votes.append(line)
        yield StoryState(story_id, outcome, row, tuple(votes))


def _placed(place: int, stream: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, int, bytes]]:
    for story_id, line in stream:
        yield story_id, place, line


CHANGES_PATH = "changes.jsonl"
REASONS = ("new-story", "revision", "votes", "expert", "filter", "protocol", "text", "sides")
"""Reasons for a change, in the order in which a row names them."""
RECORDED = ("number", "created", "license", "protocol", "filter", "counts")
"""Keys of the previous release.json that a release repeats, beside the hash of its MANIFEST."""

Questions = tuple[bytes, ...]


def changed_rows(before: Path, now: Path, description: Mapping[str, Any]) -> Iterator[tuple[Row, Row]]:
    """Yield a row per changed story, in order of id, with the story's own row (the newer, if it has two).

    Reads the files of both directories side by side. ``description`` is the content of the newer
    ``release.json``. Raise ``OSError``, ``KeyError`` or ``ValueError`` for a directory that is no release.
    """
    described = [orjson.loads((before / "release.json").read_bytes()), description]
    other = {key for key in ("filter", "protocol") if described[0][key] != described[1][key]}
    listed = (before / rows.INCOMPLETE_PATH).is_file()
    decided = [_decisions(folder) for folder in (before, now)]
    with ExitStack() as files:
        lines = [
            question_lines(folder, rows.layout_for(one["protocol"]["name"]), files)
            for folder, one in zip((before, now), described, strict=True)
        ]
        for pair in paired_stories(before, now):
            sides = (pair.before, pair.now)
            asked = [questions_of(side, found) for side, found in zip(sides, lines, strict=True)]
            story_id = next(filter(None, sides)).story_id
            experts = decided[0].get(story_id) != decided[1].get(story_id)
            if changed := _changed(pair, asked, other | ({"expert"} if experts else set()), listed):
                yield changed


def moves_of(changed: Iterable[Row]) -> dict[Move, int]:
    """Count the changed stories by their outcomes then and now."""
    sides = ([Outcome(row[side]) if row[side] else None for side in ("before", "now")] for row in changed)
    return Counter((then, now) for then, now in sides)


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

    ``description`` is the content of the newer ``release.json``. Raise
    :class:`~publishing.errors.BrokenDirectory` if the older directory is incomplete or out of order.
    """

    def written() -> Iterator[Row]:
        for row, _story in changed_rows(before, now, description):
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


def question_lines(directory: Path, layout: Layout, files: ExitStack) -> Iterator[Questions]:
    """Yield the questions about each kept story, unparsed, in the order of the stories."""
    paths = [directory / rows.config_path(one.config) for one in layout.question_sets]
    opened = [files.enter_context(path.open("rb", buffering=1 << 20)) for path in paths]
    return zip(*opened, strict=False) if opened else repeat(())


def questions_of(state: StoryState | None, lines: Iterator[Questions]) -> Questions:
    """Return the questions about a story: the next ones if it is kept, else none."""
    return next(lines, ()) if state and state.outcome is Outcome.KEPT else ()


def _changed(
    pair: Pair, asked: list[Questions], settings_changed: set[str], before_lists_incomplete: bool
) -> tuple[Row, Row] | None:
    states = (pair.before, pair.now)
    if pair.before == pair.now and asked[0] == asked[1] and "expert" not in settings_changed:
        return None
    stories = [orjson.loads(state.row) if state and state.row else {} for state in states]
    reasons = [story.pop("reason", "") for story in stories]
    votes, answers = [] if pair.same_votes else changed_votes(pair), _answers(asked)
    outcomes = [state.outcome.value if state and state.outcome else None for state in states]
    judged_otherwise = outcomes[0] != outcomes[1] or reasons[0] != reasons[1]
    because = {
        "new-story": pair.before is None and before_lists_incomplete,
        "revision": judged_otherwise and reasons[1] == REVISED,
        "votes": bool(votes),
        "expert": "expert" in settings_changed,
        "filter": judged_otherwise and "filter" in settings_changed,
        "protocol": judged_otherwise and "protocol" in settings_changed,
        "text": bool(stories[0] and stories[1]) and stories[0] != stories[1],
        "sides": bool(answers),
    }
    if not judged_otherwise and not any(because.values()):
        return None
    story = stories[1] or stories[0]
    row = {
        "story_id": next(filter(None, states)).story_id.decode(),
        "before": outcomes[0],
        "reason_before": reasons[0],
        "now": outcomes[1],
        "reason_now": reasons[1],
        "because": [reason for reason in REASONS if because[reason]],
        "votes": votes,
        "answers": answers,
    }
    return row, story


def _answers(asked: list[Questions]) -> list[Row]:
    pairs = [[orjson.loads(one) for one in two] for two in zip(*asked, strict=False) if two[0] != two[1]]
    return [
        {"id": now["id"], "before": then["answerKey"], "now": now["answerKey"]}
        for then, now in pairs
        if then["answerKey"] != now["answerKey"]
    ]


def _without_time(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "reconciled_at"}


def _decisions(directory: Path) -> Mapping[bytes, Any]:
    """Return what experts decided that the release follows, or may: stories, labels, and rows of lists."""
    found: defaultdict[bytes, dict[str, Any]] = defaultdict(dict)
    files = ((rows.ADJUDICATIONS_PATH, "", "verdict"), (rows.LABELS_PATH, "labelled", "label"))
    for name, field, decided in (*files, (rows.RECONCILED_PATH, "row", "change")):
        if (path := directory / name).is_file():
            for row in jsonl.rows(path):
                if decided in row and row.get("decided_by", "expert") == "expert":
                    told = row[decided] if name != rows.RECONCILED_PATH else _without_time(row)
                    found[row["story_id"].encode()][row.get(field, "")] = told
    return found
