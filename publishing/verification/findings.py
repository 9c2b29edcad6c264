"""The findings of the checks."""

from collections import Counter
from dataclasses import dataclass, field

SHOWN = 20
"""Findings kept per check and file; all are counted."""


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


@dataclass(slots=True)
class Findings:
    """Collects findings in bounded memory, and notes about what was not checked."""

    shown: list[Finding] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    """Notes about what was not checked, as sentences."""
    skipped: set[str] = field(default_factory=set)
    """Checks that were not done at all."""
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, check: str, file: str, problem: str, line: int = 0) -> None:
        self._counts[check, file] += 1
        if self._counts[check, file] <= SHOWN:
            self.shown.append(Finding(check, file, line, problem))

    def of(self, check: str, file: str | None = None) -> int:
        """Count the findings of one check, in one file or in all."""
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
