"""What a check of a release finds: where, and what is wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

SHOWN = 20
"""Findings of one check in one file that are kept; all of them are counted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. ``line`` is 0 where it is about the file as a whole."""

    check: str
    file: str
    line: int
    problem: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.problem}"


@dataclass(slots=True)
class Findings:
    """Findings as they come, in bounded memory, and what could not be checked at all."""

    shown: list[Finding] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    """What could not be looked at, as sentences."""
    skipped: set[str] = field(default_factory=set)
    """The checks that could not be done at all."""
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, check: str, file: str, problem: str, line: int = 0) -> None:
        self._counts[check, file] += 1
        if self._counts[check, file] <= SHOWN:
            self.shown.append(Finding(check, file, line, problem))

    def of(self, check: str, file: str | None = None) -> int:
        """How many there are of one check, in one file or in all of them."""
        return sum(
            count for (name, where), count in self._counts.items() if name == check and file in (None, where)
        )

    def skip(self, why: str, *checks: str) -> None:
        """Say why something was not checked, and which checks have not been done for it."""
        self.unchecked.append(why)
        self.skipped.update(checks)

    @property
    def total(self) -> int:
        return self._counts.total()
