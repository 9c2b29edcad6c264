"""The meanings of the files and columns of a release, for the card and for ``croissant.json``. Pure."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from publishing.facts import AskedQuestion

MEANINGS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    (Path(__file__).parent / "text/meanings.toml").read_text(encoding="utf-8")
)
"""Meanings of files, columns and items of the statement, by table of ``text/meanings.toml``."""


def meaning_of(place: str, asked: Sequence[AskedQuestion]) -> str:
    """Return the meaning of a column, or of a key inside one (``choices/text``).

    An answer to a question that only an older version of the form had is described by its name alone.
    """
    for question in asked:
        if place.partition(".")[0] == question.key:
            return " ".join(
                f"answer to “{question.title}”{', ' if question.scale else ''}{question.ends}".split()
            )
    column, _slash, key = place.partition("/")
    meaning = MEANINGS["columns"].get(column, column)
    return f"{key}, in {meaning}" if key else meaning
