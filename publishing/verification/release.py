"""A release directory that is being checked: its files, read strictly, and what is wrong with them."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from publishing.facts import ReleaseFacts
from publishing.files import jsonl
from publishing.files.directory import MANIFEST, file_facts
from publishing.files.rows import Layout

SHOWN = 20
"""Findings kept per check and file; all are counted."""
LONGEST_LINE = 16 << 20
"""In bytes. An imported line has 1 MiB at most, and its row in a release is little longer."""


class Line(NamedTuple):
    """One line of a file: its number (from 1), its bytes, and its object."""

    number: int
    data: bytes
    row: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem. ``line`` is 0 if it concerns the whole file."""

    check: str
    file: str
    line: int
    problem: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Description:
    """The parts of ``release.json`` from which the other files can be recomputed."""

    document: Mapping[str, Any]
    layout: Layout
    facts: ReleaseFacts
    """Those that the files provide; all others are empty."""

    @property
    def decides_by_itself(self) -> bool:
        """True if verdicts follow from the votes alone, and not also from each story."""
        return all(question.options or question.in_words for question in self.facts.asked)


@dataclass(slots=True)
class CheckedRelease:
    """A directory with the findings about it, in bounded memory, and notes about what was not checked."""

    directory: Path
    listed: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of each file that MANIFEST lists, by path."""
    description: Description | None = None
    """None if ``release.json`` is unusable."""
    shown: list[Finding] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    """Notes about what was not checked, as sentences."""
    skipped: set[str] = field(default_factory=set)
    """Checks that were not done at all."""
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def report(self, check: str, file: str, problem: str, line: int = 0) -> None:
        """Add a finding."""
        self._counts[check, file] += 1
        if self._counts[check, file] <= SHOWN:
            self.shown.append(Finding(check, file, line, problem))

    def count(self, check: str, file: str | None = None) -> int:
        return sum(
            count for (name, where), count in self._counts.items() if name == check and file in (None, where)
        )

    def skip(self, why: str, *checks: str) -> None:
        """Note why something was not checked, and which checks were skipped because of it."""
        self.unchecked.append(why)
        self.skipped.update(checks)

    @property
    def total(self) -> int:
        return self._counts.total()

    @property
    def is_sound(self) -> bool:
        """True if there are no findings. ``unchecked`` notes what was not checked."""
        return not self.total

    @property
    def manifest_sha256(self) -> str:
        return file_facts(self.directory, MANIFEST).sha256 if (self.directory / MANIFEST).is_file() else ""

    def has(self, path: str) -> bool:
        """Return True if MANIFEST lists a file that is there."""
        return path in self.listed and (self.directory / path).is_file()

    def document(self, path: str) -> dict[str, Any] | None:
        """Return the object in a JSON file, or None with a finding."""
        try:
            document = json.loads((self.directory / path).read_bytes(), parse_constant=_refuse)
        except FileNotFoundError:
            self.report("schema", path, "The file is missing.")
            return None
        except (ValueError, RecursionError) as error:
            self.report("schema", path, f"This is not JSON: {error}.")
            return None
        if not isinstance(document, dict):
            self.report("schema", path, "This is not a JSON object.")
            return None
        return document

    def lines(self, path: str) -> Iterator[Line]:
        """Yield the rows of a JSON Lines file. Lines without a row become findings and are left out.

        So do lines that are not written as releases write them: with spaces, escapes, or repeated keys.
        """
        try:
            file = open(self.directory / path, "rb", buffering=1 << 20)  # noqa: SIM115 - closed below
        except FileNotFoundError:
            self.report("schema", path, "The file is missing.")
            return
        with file:
            number = 0
            while data := file.readline(LONGEST_LINE):
                number += 1
                if not data.endswith(b"\n"):
                    problem = "The line is cut off" if len(data) < LONGEST_LINE else "The line is too long"
                    self.report("schema", path, f"{problem}; the rest of the file was not read.", number)
                    return
                row = _row(data)
                if row is None:
                    problem = "This is not one JSON object, written without spaces."
                    self.report("schema", path, problem, number)
                else:
                    yield Line(number, data, row)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a number that JSON has")


def _row(data: bytes) -> dict[str, Any] | None:
    for loads in (orjson.loads, json.loads):  # json also reads whole numbers beyond 64 bits
        try:
            row = loads(data)
            if isinstance(row, dict) and jsonl.line(row) == data:
                return row
        except (ValueError, RecursionError):
            continue
    return None
