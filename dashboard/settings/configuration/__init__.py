"""Strict reading of a study's configuration file, a JSON object; all mistakes are reported at once."""

from pathlib import Path

from dashboard.settings.configuration.reading import Reader, read_bytes
from dashboard.settings.configuration.values import (
    CheckConfiguration,
    InvalidConfiguration,
    RoundConfiguration,
    StudyConfiguration,
)


def read_configuration(path: Path) -> StudyConfiguration:
    """Read a study's configuration from a file; paths in it are relative to the file.

    Raise :class:`InvalidConfiguration` with every problem.
    """
    return Reader(str(path), path.parent).read_study(read_bytes(path, "The configuration"))


def parse_configuration(content: bytes, *, name: str) -> StudyConfiguration:
    """Read a study's configuration from a file's content, which must not contain paths.

    Raise :class:`InvalidConfiguration` with every problem.
    """
    return Reader(name, None).read_study(content)


def read_round(path: Path) -> RoundConfiguration:
    """Read a qualification round from its own file: the object under a study's “qualification”.

    Raise :class:`InvalidConfiguration` with every problem.
    """
    return Reader(str(path), path.parent).read_round(read_bytes(path, "The qualification round"))
