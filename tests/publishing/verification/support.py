"""Releases to check, and how to break them so that only a closer look can tell."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from annotation.protocols import get_protocol
from annotation.protocols.questions import Choice
from publishing.facts import AskedQuestion
from publishing.files import jsonl
from publishing.files.directory import MANIFEST, file_facts
from publishing.files.rows import Decision, JudgedStory
from publishing.instrument import form_of
from tests.publishing.test_builder import INSTRUMENT, START, build, crowd

STORIES = 24
Row = dict[str, Any]


def pseudonymous(judged: JudgedStory) -> JudgedStory:
    """The same story with annotators named as releases name them."""
    votes = tuple(
        vote._replace(annotator=f"annotator-{int(vote.annotator[10:-1]):015x}a") for vote in judged.votes
    )
    return dataclasses.replace(judged, votes=votes)


def sound_release(place: Path, **changes: Any) -> Path:
    stories = [pseudonymous(judged) for judged in crowd(STORIES)]
    for number, verdict in ((3, "valid"), (8, "invalid"), (9, "invalid")):  # two that were dropped, one kept
        decision = Decision(verdict, f"Because of {number}.", START)
        stories[number] = dataclasses.replace(stories[number], decisions={"": decision})
    build(place, stories, **changes)
    return place


def items_release(place: Path) -> Path:
    """A release of items with choices of their own, some with nested content, as multiple choice has."""
    stories = []
    for number, judged in enumerate(map(pseudonymous, crowd(STORIES))):
        content = {"story": f"Story {number}.", "choices": [{"key": "a", "text": "x"}], "odd": [1, "two", {}]}
        votes = tuple(
            vote._replace(answers=(Choice("answer", "", "ab"[place % 2]),))
            for place, vote in enumerate(judged.votes)
        )
        story = dataclasses.replace(judged.story, content=content)
        stories.append(JudgedStory(story, votes, frozenset()))
    shown = INSTRUMENT | {
        "protocol": {"name": "multiple-choice", "version": "1"},
        "forms": [form_of(get_protocol("multiple-choice"), "en")],
    }
    asked = (AskedQuestion("answer", "Your answer"),)
    build(place, stories, protocol_name="multiple-choice", asked=asked, instrument=shown)
    return place


def edit_rows(path: str, change: Callable[[list[Row]], object]) -> Callable[[Path], None]:
    """A break of the rows of a JSON Lines file."""

    def broken(place: Path) -> None:
        file = place / path
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        change(rows)
        file.write_bytes(b"".join(map(jsonl.line, rows)))

    return broken


def edit_document(path: str, change: Callable[[Row], object]) -> Callable[[Path], None]:
    """A break of a JSON document."""

    def broken(place: Path) -> None:
        document = json.loads((place / path).read_bytes())
        change(document)
        (place / path).write_bytes(jsonl.document(document))

    return broken


def edit_text(path: str, old: str, new: str) -> Callable[[Path], None]:
    def broken(place: Path) -> None:
        text = (place / path).read_text(encoding="utf-8")
        assert old in text
        (place / path).write_text(text.replace(old, new, 1), encoding="utf-8")

    return broken


def edit_copy(path: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    """A break of a Parquet copy; ``change`` makes another table of it."""

    def broken(place: Path) -> None:
        pq.write_table(change(pq.read_table(place / path)), place / path)

    return broken


def seal(place: Path) -> None:
    """Make the hashes right again, in croissant.json and in MANIFEST."""
    described = json.loads((place / "croissant.json").read_bytes())
    for one in described["distribution"]:
        if (place / one["contentUrl"]).is_file():
            facts = file_facts(place, one["contentUrl"])
            one.update(sha256=facts.sha256, contentSize=f"{facts.size} B")
    (place / "croissant.json").write_bytes(jsonl.document(described))
    write_manifest(place)


def write_manifest(place: Path) -> None:
    paths = sorted(
        str(path.relative_to(place)) for path in place.rglob("*") if path.is_file() and path.name != MANIFEST
    )
    lines = [f"{file_facts(place, path).sha256}  {path}\n" for path in paths]
    (place / MANIFEST).write_text("".join(lines), encoding="utf-8")
