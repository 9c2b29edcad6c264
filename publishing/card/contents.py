"""The files and columns of a release, their meanings, and the items of the researchers' statement. Pure."""

import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from publishing.card.markdown import cell, code, paragraphs, text
from publishing.facts import AskedQuestion, ReleaseFacts, Statement
from publishing.files import rows
from publishing.files.features import Type
from publishing.files.rows import Layout
from publishing.results import PerItem, per_item

MEANINGS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    (Path(__file__).parent / "text/meanings.toml").read_text(encoding="utf-8")
)
"""The meanings of files, columns, items of the statement, figures and reasons, by table of the file."""
FILES, STATED = MEANINGS["files"], MEANINGS["statement"]


def name_of(path: str) -> str:
    """Return the name of a file of rows: ``story-data``, ``votes``."""
    return path.removesuffix(".jsonl").removesuffix("/test").rpartition("/")[2]


def summary_of(path: str, *, selects: bool) -> str:
    """Return what a file holds. ``selects``: whether the release's filter can drop stories."""
    folder = path.partition("/")[0]
    usual = MEANINGS["configs"].get(folder) or FILES.get(path) or FILES.get(f"{folder}/", "")
    other = MEANINGS["without_selection"]
    return usual if selects else other.get(path) or other.get(folder, usual)


def configs(layout: Layout, results: PerItem | None, *, also: Collection[str] = ()) -> dict[str, str]:
    """Return the paths of the files that ``datasets`` loads, by the names of their configurations.

    ``also`` has the paths that only some releases have, here and below: a baseline, or revisions.
    """
    found = {config: rows.config_path(config) for config in layout.configs}
    found |= {results.config: results.path} if results else {}
    revised = rows.REVISIONS_PATH
    return found | ({name_of(revised): revised} if revised in also else {})


def copied(layout: Layout, results: PerItem | None, *, also: Collection[str] = ()) -> list[str]:
    """Return the paths of the files that have a Parquet copy."""
    return [*configs(layout, results, also=also).values(), rows.VOTES_PATH, rows.SKIPS_PATH]


def paths(layout: Layout, results: PerItem | None, *, selects: bool, also: Collection[str]) -> list[str]:
    """Return the files of a release, and its folders of several files, which end in a slash."""
    there = {path: path in also for path in (rows.BASELINE, rows.REVISIONS_PATH)}
    there[rows.DROPPED_PATH] = selects
    there |= {path: bool(results and path == results.path) for path in rows.RESULTS_PATHS}
    return [*map(rows.config_path, layout.configs), *(path for path in FILES if there.get(path, True))]


def files(facts: ReleaseFacts, layout: Layout, *, also: Collection[str]) -> list[tuple[str, str]]:
    """Return every file with what it holds."""
    selects = facts.rule.selects
    results = per_item(facts.protocol_name, facts.asked)
    found = paths(layout, results, selects=selects, also=also)
    return [(code(path), summary_of(path, selects=selects)) for path in found]


def columns(
    asked: Sequence[AskedQuestion], types: Mapping[str, Mapping[str, Type]]
) -> list[tuple[str, str, str]]:
    """Return every column with its meaning and its files; ``types`` are the columns of every file."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in sorted(types):
        for column in types[path]:
            found.setdefault((cell(column), text(meaning_of(column, asked))), []).append(name_of(path))
    return [(*column, ", ".join(files)) for column, files in found.items()]


def load_snippet(names: Iterable[str], *, directory: str = "path/to/this/directory") -> str:
    """Return Python that loads every config from the directory, one line each."""
    loads = [f'load_dataset("{directory}", "{one}", split="test")' for one in names]
    return "\n".join(["from datasets import load_dataset", "", *loads])


def silent(statement: Statement) -> list[str]:
    """Return the items that the researchers' statement leaves empty."""
    return [heading.lower() for name, heading in STATED.items() if not paragraphs(getattr(statement, name))]


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
