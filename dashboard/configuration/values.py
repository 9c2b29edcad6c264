"""What a study's configuration file says, as values, and what is wrong with one that cannot be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.actions import StudySettings
from annotation.checks import CheckRules
from publishing.facts import Statement
from recruitment.joining import JoinSettings


class InvalidConfiguration(Exception):
    """A configuration that cannot be used; ``problems`` says everything that is wrong with it."""

    def __init__(self, file: Path | str, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(f"{file}: {problem}" for problem in problems))


@dataclass(frozen=True, slots=True)
class RoundConfiguration:
    """A qualification round: its stories, the answers that are accepted, and why."""

    stories: Path | Sequence[Mapping[str, Any]]
    """A story file, or the rows of one."""
    acceptable: Mapping[str, Mapping[str, list[str]]]
    title: str = ""
    attempts: int = 1
    pays_on_fail: bool = True
    note: str = ""
    reasons: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckConfiguration:
    """Hidden checks: their stories, the answers that are accepted (by story id), and the rules for them."""

    rules: CheckRules
    stories: Path | Sequence[Mapping[str, Any]]
    """A story file, or the rows of one."""
    acceptable: Mapping[str, Mapping[str, list[str]]]


@dataclass(frozen=True, slots=True)
class StudyConfiguration:
    """Everything that a configuration file says about a study.

    ``qualified_through`` is the slug of a study: only people qualified there may take part. People take
    the ``rounds`` in turn.
    """

    settings: StudySettings
    consent: str
    rounds: tuple[RoundConfiguration, ...] = ()
    stories: list[Path] = field(default_factory=list)
    statement: Statement = field(default_factory=Statement)
    join_link: JoinSettings | None = None
    qualified_through: str = ""
    rehearsal: bool = False
    checks: CheckConfiguration | None = None
