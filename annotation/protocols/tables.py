"""Items with tables: a story, and entries about it that are the rows of the questions. Pure."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from textwrap import shorten
from typing import Any, ClassVar

from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.protocols.base import Part, Protocol
from annotation.protocols.fields import MAX_NAME, Fields, read_each
from annotation.protocols.questions import KEY_PATTERN, FormCell, Question, Row, Scale, Text

SUMMARY = 200
"""Characters by which people recognise a story."""
MOST_ENTRIES = 60
LONGEST_KEY = 40
MAX_TEXT = 10_000
"""Characters of the text above a table."""


@dataclass(frozen=True, slots=True)
class Table:
    """An item as annotators see it: its texts, its rows, and the options suggested for them, by field."""

    parts: tuple[Part, ...]
    rows: tuple[Row, ...]
    suggested: Mapping[str, str] = field(default_factory=dict)


class TableQuestion(Question):
    """A question about every row of a :class:`Table`."""

    def rows_for(self, item: Table) -> tuple[Row, ...]:
        return item.rows


class TableScale(TableQuestion, Scale):
    """A scale for every row of a :class:`Table`."""


class TableText(TableQuestion, Text):
    """Words for every row of a :class:`Table`."""


def read_entries(
    content: Mapping[str, Any],
    name: str,
    texts: Collection[str],
    *,
    others: Collection[str] = (),
    optional: Collection[str] = (),
    most: int = MOST_ENTRIES,
    longest_id: int = LONGEST_KEY,
) -> list[Mapping[str, Any]]:
    """Return the entries of ``content[name]``: objects with an ``id``, these texts, and other fields.

    Raise ``ValueError`` naming the wrong one. The values of ``others`` and ``optional`` are not checked.
    """
    entries = content.get(name)
    if not isinstance(entries, list) or not 1 <= len(entries) <= most:
        raise ValueError(f"{name}: must be a list of 1 to {most} objects.")
    needed = ("id", *texts, *others)
    for place, entry in enumerate(entries):
        where = f"{name}[{place}]"
        if not isinstance(entry, Mapping) or {*entry} - {*optional} != {*needed}:
            more = f" and may have {', '.join(optional)}" if optional else ""
            raise ValueError(f"{where}: has {', '.join(needed)}{more}.")
        for text in ("id", *texts):
            if not isinstance(entry[text], str) or not entry[text].strip():
                raise ValueError(f"{where}.{text}: must be a text that is not empty.")
        if not re.match(KEY_PATTERN, entry["id"]) or len(entry["id"]) > longest_id:
            characters = f"1 to {longest_id} lower-case letters, digits, “_” and “-”"
            raise ValueError(f"{where}.id: must have {characters}.")
    if len({entry["id"] for entry in entries}) < len(entries):
        raise ValueError(f"{name}: two of them have the same id.")
    return entries


def cells_as_read(protocol: Protocol, item: Any) -> list[FormCell]:
    """Return what a form asks in the order of the page: row by row if the protocol asks so."""
    cells = list(protocol.cells(item))
    if not protocol.by_row:
        return cells
    rows = {cell.row.key: place for place, cell in reversed(list(enumerate(cells)))}
    return sorted(cells, key=lambda cell: rows[cell.row.key])


class TableProtocol(Protocol):
    """A protocol whose item is a story with tables. Subclasses parse the content into a :class:`Table`.

    ``columns`` names the columns of import files that hold the kind of story and its author.
    """

    columns: ClassVar[Mapping[str, str]] = {"category": "scenario_name", "source": "story_generator_model"}
    tables: ClassVar[Mapping[str, Mapping[str, int]]] = {}
    """The texts of each table's entries, with the most characters of each."""
    text: ClassVar[str] = "story"
    """The column of the text above the tables."""
    group: ClassVar[str] = "stories"
    """The scenario of a row that states none."""
    others: ClassVar[tuple[str, ...]] = ()
    """Further columns of import files, each with a name, which go into the content."""
    remedy: ClassVar[str]
    """The form of a table, for messages about one that has another."""

    def parts(self, item: Table) -> tuple[Part, ...]:
        """Return the story, and the tables if they are shown whole."""
        return item.parts

    def summary(self, item: Table) -> tuple[Part, ...]:
        """Return the beginning of the story."""
        story = item.parts[0]
        return (replace(story, text=shorten(story.text, SUMMARY, placeholder="…")),)

    def text_for_duplicates(self, story: StoryRow) -> str:
        """Return the text in lower case."""
        return str(story.content[self.text]).lower()

    def suggested(self, item: Table) -> Mapping[str, str]:
        return item.suggested

    @cached_property
    def known(self) -> frozenset[str]:
        """The columns of import files; ``core_id``, :attr:`columns` and :attr:`others` may be missing."""
        return frozenset(("story_id", "core_id", self.text, *self.columns, *self.others, *self.tables))

    def read(self, rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
        """Yield an item per row."""
        return read_each(rows, self.known, self._read)

    def _read(self, fields: Fields) -> StoryRow:
        story_id = fields.identifier("story_id")
        kind, author = (fields.optional_text(column, MAX_NAME) for column in self.columns)
        content = {
            self.text: fields.paragraphs(self.text, MAX_TEXT),
            **{name: found for name in self.others if (found := fields.optional_text(name, MAX_NAME))},
            **{name: fields.structure(name) for name in self.tables},
        }
        if not fields.failed and fields.check_content(self.parse, content, self.remedy):
            for name, limits in self.tables.items():
                content[name] = [
                    dict(entry)
                    | {text: fields.check(f"{name}.{text}", entry[text], limits[text]) for text in limits}
                    for entry in content[name]
                ]
        return StoryRow(
            fields.row.file,
            fields.row.line,
            story_id,
            fields.optional_text("core_id", MAX_NAME) or story_id,
            kind or self.group,
            content,
            story_generator_model=author,
        )
