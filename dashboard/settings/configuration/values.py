"""Values of a configuration file, and the error for an invalid one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.actions import StudySettings
from annotation.hidden_checks import CheckRules
from publishing.facts import Statement
from qualification.models import Round


class InvalidConfiguration(Exception):
    """An invalid configuration; ``problems`` lists everything that is wrong with it."""

    def __init__(self, file: Path | str, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(f"{file}: {problem}" for problem in problems))


@dataclass(frozen=True, slots=True)
class RoundConfiguration:
    """A qualification round: its stories, the accepted answers, and the reasons."""

    stories: Path | Sequence[Mapping[str, Any]]
    """A story file, or the rows of one."""
    acceptable: Mapping[str, Mapping[str, list[str]]]
    title: str = ""
    attempts: int = 1
    pays_on_fail: bool = True
    note: str = ""
    reasons: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    enough: int | None = None
    must_pass: Sequence[str] = ()
    kind: Round.Kind = Round.Kind.TEST


@dataclass(frozen=True, slots=True)
class CheckConfiguration:
    """Hidden checks: their stories, accepted answers by story id, and rules."""

    rules: CheckRules
    stories: Path | Sequence[Mapping[str, Any]]
    """A story file, or the rows of one."""
    acceptable: Mapping[str, Mapping[str, list[str]]]


@dataclass(frozen=True, slots=True)
class StudyConfiguration:
    """Everything in a configuration file.

    ``qualified_through`` is the slug of a study: only annotators qualified there may take part. They take the
    ``rounds`` in turn.
    """

    settings: StudySettings
    consent: str
    rounds: tuple[RoundConfiguration, ...] = ()
    stories: list[Path] = field(default_factory=list)
    statement: Statement = field(default_factory=Statement)
    join_link: Mapping[str, Any] | None = None
    qualified_through: str = ""
    rehearsal: bool = False
    checks: CheckConfiguration | None = None
    instructions: Mapping[str, Any] | None = None
