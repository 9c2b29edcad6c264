"""The alignment protocol: how many rows of another table of beliefs does each row match?

It follows OmniToM's MatchCount: a person compares a predicted and a gold table of beliefs of one story. A
row that matches none counts 0, and only a belief made of several may count 2 or 3. The wording and the
examples are our own.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from annotation.protocols.alignment.instructions import INSTRUCTIONS
from annotation.protocols.base import Option, Part, Procedure, Row, Scored, Words, _
from annotation.protocols.tables import (
    LONGEST_KEY,
    Table,
    TableProtocol,
    TableQuestion,
    check_option,
    read_entries,
    read_text,
)
from annotation.protocols.validity.fields import MAX_NAME, MAX_QUESTION
from annotation.protocols.validity.wording import part

COUNT = "count"
JUDGE = "judge"
"""A model's count of an entry, if it is known."""
TABLES = {"predicted": "A", "gold": "B"}
"""The tables, with the letters by which annotators tell them apart; they are not told which one is which."""
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
            shows=("story", *TABLES),
            options=(
                Option("0", "0", _("None says it.")),
                Option("1", "1", _("One says it.")),
                Option("2", "2", _("This row says two things, and a row says each of them.")),
                Option("3", "3", _("This row says three things, and a row says each of them.")),
            ),
            help=_("Other words may say the same. A row that says more or something else does not match."),
        ),
    )
    instructions = INSTRUCTIONS
    example = Path(__file__).with_name("example.jsonl").read_text(encoding="utf-8")
    columns: ClassVar[Mapping[str, str]] = {"category": "scenario_name", "predictor": "story_generator_model"}
    tables: ClassVar[Mapping[str, Mapping[str, int]]] = dict.fromkeys(TABLES, LIMITS)
    remedy = (
        'Write [{"id": "b1", "actor": "Anne", "belief": "…"}, …]; “judge”, a model\'s count, may be added.'
    )
    resolution = "majority"
    words = Words(_("pair of tables"), _("pairs of tables of beliefs"))
    follows = Procedure("OmniToM, semantic alignment of belief tables (MatchCount)", votes=2)
    statistics = ("match_count", "strict_agreement")

    def parse(self, content: Mapping[str, Any]) -> Table:
        """Parse a stored ``content``. Raise ``ValueError`` naming the wrong field."""
        parts, rows = [part("story", read_text(content, "story"))], []
        for name, letter in TABLES.items():
            said = []
            entries = read_entries(content, name, LIMITS, optional=(JUDGE,), longest_id=LONGEST_KEY - 2)
            for place, entry in enumerate(entries, start=1):
                if JUDGE in entry:
                    check_option(self.question(COUNT), entry[JUDGE], f"{name}[{place - 1}].{JUDGE}")
                said.append(f"{letter}{place} {entry['actor']}: {entry['belief']}")
                rows.append(Row(f"{letter}-{entry['id']}".lower(), said[-1]))
            parts.append(part(name, "\n".join(said)))
        return Table(tuple(parts), tuple(rows))

    def scored_rows(self, content: Mapping[str, Any]) -> tuple[Scored, ...]:
        """Return the rows of both tables, with the judge's counts."""
        return tuple(
            Scored(f"{letter}-{entry['id']}".lower(), str(entry.get(JUDGE, "")), 4, kind=name, question=COUNT)
            for name, letter in TABLES.items()
            for entry in content[name]
        )


PROTOCOL = Alignment()
