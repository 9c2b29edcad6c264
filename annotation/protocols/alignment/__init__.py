"""The alignment protocol: how many rows of another table of beliefs does each row match?

It follows OmniToM's MatchCount: a person compares a predicted and a gold table of beliefs of one story. A
row that matches none counts 0, and only a belief made of several may count 2 or 3. The wording and the
examples are our own.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from annotation.importing.rows import StoryRow
from annotation.protocols.base import Procedure, Scored, Words, part, read_text
from annotation.protocols.fields import MAX_NAME, MAX_QUESTION, Fields
from annotation.protocols.instructions import in_template
from annotation.protocols.questions import Option, Row, _
from annotation.protocols.tables import LONGEST_KEY, Table, TableProtocol, TableQuestion, read_entries

COUNT = "count"
MOST_MATCHES = 3
JUDGE = "judge"
"""A model's count of an entry, if it is known."""
TABLES = ("predicted", "gold")
FIRST = "table_a"
"""The name of the table that annotators see as A: they are not told which one a model predicted."""
LIMITS = {"actor": MAX_NAME, "belief": MAX_QUESTION}


class Alignment(TableProtocol):
    """One number for every row of both tables. Every pair of tables with all its counts is kept."""

    name = "alignment"
    version = "1"
    title = _("Matching beliefs of two tables")
    questions = (
        TableQuestion(
            key=COUNT,
            title=_("Matches"),
            text=_("How many rows of the other table, about the same person, say the same as this one?"),
            shows=("story", "table_a", "table_b"),
            options=(
                Option("0", "0", _("None says it.")),
                Option("1", "1", _("One says it.")),
                Option("2", "2", _("This row says two things, and a row says each of them.")),
                Option("3", "3", _("This row says three things, and a row says each of them.")),
            ),
            help=_("Other words may say the same. A row that says more or something else does not match."),
        ),
    )
    instructions = in_template("annotation/protocols/alignment.txt")
    others = ("predictor", FIRST)
    tables: ClassVar[Mapping[str, Mapping[str, int]]] = dict.fromkeys(TABLES, LIMITS)
    remedy = (
        'Write [{"id": "b1", "actor": "Anne", "belief": "…"}, …]; “judge”, a model\'s count, may be added.'
    )
    resolution = "majority"
    words = Words(_("pair of tables"), _("pairs of tables of beliefs"))
    follows = Procedure("OmniToM, semantic alignment of belief tables (MatchCount)", votes=2)
    statistics = ("match_count", "strict_agreement")

    def parse(self, content: Mapping[str, Any]) -> Table:
        parts, rows = [part("story", read_text(content, "story"))], []
        for letter, name in _lettered(content):
            said = []
            entries = read_entries(content, name, LIMITS, optional=(JUDGE,), longest_id=LONGEST_KEY - 2)
            for place, entry in enumerate(entries, start=1):
                if type(entry.get(JUDGE, 0)) is not int or not 0 <= entry.get(JUDGE, 0) <= MOST_MATCHES:
                    where = f"{name}[{place - 1}].{JUDGE}"
                    raise ValueError(f"{where}: must be a whole number from 0 to {MOST_MATCHES}.")
                said.append(f"{letter}{place} {entry['actor']}: {entry['belief']}")
                rows.append(Row(_key(letter, entry), said[-1]))
            parts.append(part(f"table_{letter.lower()}", "\n".join(said)))
        return Table(tuple(parts), tuple(rows))

    def scored_rows(self, content: Mapping[str, Any]) -> tuple[Scored, ...]:
        """Return the rows of both tables, by predictor, with the judge's counts."""
        predictor = content.get("predictor") or "not stated"
        return tuple(
            Scored(_key(letter, entry), str(entry.get(JUDGE, "")), MOST_MATCHES + 1, predictor, COUNT, name)
            for letter, name in _lettered(content)
            for entry in content[name]
        )

    def _read(self, fields: Fields) -> StoryRow:
        """Draw the table that is shown first, and take tables of one story together."""
        row = super()._read(fields)
        if FIRST in row.content:
            fields.one_of(FIRST, TABLES)
        drawn = TABLES[hashlib.sha256(row.story_id.encode()).digest()[0] % 2]
        story = hashlib.sha256(str(row.content["story"]).encode()).hexdigest()[:12]
        core_id = row.core_id if fields.data.get("core_id") else f"story-{story}"
        return replace(row, core_id=core_id, content={FIRST: drawn, **row.content})


def _lettered(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the tables in the order in which they are shown, each with its letter."""
    first = content.get(FIRST)
    return list(zip("AB", TABLES if first == TABLES[0] else TABLES[::-1], strict=True))


def _key(letter: str, entry: Mapping[str, Any]) -> str:
    return f"{letter}-{entry['id']}".lower()


PROTOCOL = Alignment()
