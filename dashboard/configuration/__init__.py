"""A study's configuration file: one JSON object, read strictly, with every mistake named at once."""

from __future__ import annotations

from pathlib import Path

from dashboard.configuration.fields import read_bytes
from dashboard.configuration.rounds import RoundReader
from dashboard.configuration.study import StudyReader
from dashboard.configuration.values import (
    CheckConfiguration,
    InvalidConfiguration,
    RoundConfiguration,
    StudyConfiguration,
)

__all__ = [
    "CheckConfiguration",
    "InvalidConfiguration",
    "RoundConfiguration",
    "StudyConfiguration",
    "parse_configuration",
    "read_configuration",
    "read_round",
]


def read_configuration(path: Path) -> StudyConfiguration:
    """The study that a file describes; the paths in it are relative to the file.

    Raises :class:`InvalidConfiguration` with everything that is wrong.
    """
    return StudyReader(str(path), path.parent).read(read_bytes(path, "The configuration"))


def parse_configuration(content: bytes, *, name: str) -> StudyConfiguration:
    """The study that the content of a file describes, which must hold everything itself: no path in it.

    Raises :class:`InvalidConfiguration` with everything that is wrong.
    """
    return StudyReader(name, None).read(content)


def read_round(path: Path) -> RoundConfiguration:
    """A qualification round in a file of its own: the object that a study's “qualification” holds.

    Raises :class:`InvalidConfiguration` with everything that is wrong.
    """
    return RoundReader(str(path), path.parent).read_round(read_bytes(path, "The qualification round"))
