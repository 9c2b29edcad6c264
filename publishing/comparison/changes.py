"""Every story, vote and answer key that changed since the previous release, with the reasons. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import repeat
from pathlib import Path
from typing import Any

import orjson

from publishing.comparison.diff import Pair, StoryState, changed_votes, paired_stories
from publishing.files.rows import ADJUDICATIONS_PATH, INCOMPLETE_PATH, Layout, Row, config_path, layout_for
from publishing.filters import Outcome

CHANGES_PATH = "changes.jsonl"
REASONS = ("new-story", "votes", "expert", "filter", "protocol", "text", "sides")
"""Reasons for a change, in the order in which a row names them."""

Questions = tuple[bytes, ...]


def changed_rows(before: Path, now: Path, description: Mapping[str, Any]) -> Iterator[Row]:
    """Yield a row per changed story, in order of id. Read the files of both directories side by side.

    ``description`` is the content of the newer ``release.json``. Raise ``OSError``, ``KeyError`` or
    ``ValueError`` for a directory that is not a release.
    """
    described = [orjson.loads((before / "release.json").read_bytes()), description]
    other = {key for key in ("filter", "protocol") if described[0][key] != described[1][key]}
    listed = (before / INCOMPLETE_PATH).is_file()
    decided = [_decisions(folder) for folder in (before, now)]
    with ExitStack() as files:
        lines = [
            question_lines(folder, layout_for(one["protocol"]["name"]), files)
            for folder, one in zip((before, now), described, strict=True)
        ]
        for pair in paired_stories(before, now, incomplete=True):
            sides = (pair.before, pair.now)
            asked = [questions_of(side, found) for side, found in zip(sides, lines, strict=True)]
            story_id = next(filter(None, sides)).story_id
            experts = decided[0].get(story_id) != decided[1].get(story_id)
            if row := _changed(pair, asked, other | ({"expert"} if experts else set()), listed):
                yield row


def moves_of(rows: Iterable[Row]) -> dict[tuple[Outcome | None, Outcome | None], int]:
    """Count the changed stories by their outcomes then and now."""
    sides = ([Outcome(row[side]) if row[side] else None for side in ("before", "now")] for row in rows)
    return Counter((then, now) for then, now in sides)


def question_lines(directory: Path, layout: Layout, files: ExitStack) -> Iterator[Questions]:
    """Yield the questions about each kept story, unparsed, in the order of the stories."""
    paths = [directory / config_path(one.config) for one in layout.question_sets]
    opened = [files.enter_context(path.open("rb", buffering=1 << 20)) for path in paths]
    return zip(*opened, strict=False) if opened else repeat(())


def questions_of(state: StoryState | None, lines: Iterator[Questions]) -> Questions:
    """Return the questions about a story: the next ones if it is kept, else none."""
    return next(lines, ()) if state and state.outcome is Outcome.KEPT else ()


def _changed(pair: Pair, asked: list[Questions], other: set[str], listed: bool) -> Row | None:
    states = (pair.before, pair.now)
    if pair.before == pair.now and asked[0] == asked[1] and "expert" not in other:
        return None
    stories = [orjson.loads(state.row) if state and state.row else {} for state in states]
    reasons = [story.pop("reason", "") for story in stories]
    votes, answers = [] if pair.same_votes else changed_votes(pair)[0], _answers(asked)
    outcomes = [state.outcome.value if state and state.outcome else None for state in states]
    judged_otherwise = outcomes[0] != outcomes[1] or reasons[0] != reasons[1]
    because = {
        "new-story": pair.before is None and listed,
        "votes": bool(votes),
        "expert": "expert" in other,
        "filter": judged_otherwise and "filter" in other,
        "protocol": judged_otherwise and "protocol" in other,
        "text": bool(stories[0] and stories[1]) and stories[0] != stories[1],
        "sides": bool(answers),
    }
    if not judged_otherwise and not any(because.values()):
        return None
    return {
        "story_id": (stories[1] or stories[0])["story_id"],
        "before": outcomes[0],
        "reason_before": reasons[0],
        "now": outcomes[1],
        "reason_now": reasons[1],
        "because": [reason for reason in REASONS if because[reason]],
        "votes": votes,
        "answers": answers,
    }


def _answers(asked: list[Questions]) -> list[Row]:
    pairs = [[orjson.loads(one) for one in two] for two in zip(*asked, strict=False) if two[0] != two[1]]
    return [
        {"id": now["id"], "before": then["answerKey"], "now": now["answerKey"]}
        for then, now in pairs
        if then["answerKey"] != now["answerKey"]
    ]


def _decisions(directory: Path) -> Mapping[bytes, Any]:
    path = directory / ADJUDICATIONS_PATH
    rows = map(orjson.loads, path.read_bytes().splitlines()) if path.is_file() else ()
    return {row["story_id"].encode(): row["verdict"] for row in rows}
