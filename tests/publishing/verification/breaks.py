"""Broken releases whose hashes are right. Breaks that can be found together are made together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.publishing.verification.support import Row, edit_document, edit_rows

VOTES = "annotations/votes.jsonl"
KEPT = "story-data/test.jsonl"
DROPPED = "annotations/dropped-stories.jsonl"
INCOMPLETE = "annotations/incomplete-stories.jsonl"
DECISIONS = "annotations/adjudications.jsonl"
MENTAL, BEHAVIOR = "mental-state-qa/test.jsonl", "behavior-qa/test.jsonl"
HARD = "hard-questions.jsonl"
INSTRUMENT, FORM = "instrument/instrument.json", "instrument/form-0-en.md"
Damage = Callable[[Path], object]


@dataclass(frozen=True, slots=True)
class Break:
    """One damaged release, and what ``check`` must find in it: words of one finding each, by file."""

    name: str
    damage: Damage
    check: str
    found: dict[str, tuple[str, ...]]


def together(*damages: Damage) -> Damage:
    def damage(place: Path) -> None:
        for one in damages:
            one(place)

    return damage


def row_by_row(path: str, *changes: Callable[[Row], object]) -> Damage:
    """Change the first row of a file by the first of these, the second by the second, and so on."""

    def change(rows: list[Row]) -> None:
        for row, one in zip(rows, changes, strict=False):
            one(row)

    return edit_rows(path, change)


def release(name: str, words: str, change: Callable[[Row], object], check: str = "schema") -> Break:
    return Break(name, edit_document("release.json", change), check, {"release.json": (words,)})


def instrument(name: str, words: str, damage: Damage) -> Break:
    return Break(name, damage, "instrument", {INSTRUMENT: (words,)})


def put(key: str, value: Any) -> Callable[[Row], None]:
    def change(row: Row) -> None:
        row[key] = value

    return change


def bytes_added(path: str, data: bytes) -> Damage:
    def damage(place: Path) -> None:
        with open(place / path, "ab") as file:
            file.write(data)

    return damage
