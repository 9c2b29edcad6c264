"""The belief-labels protocol: seven labels for every belief in a story, which people check or choose.

It follows the second stage of OmniToM: a model may suggest labels, three people check each of them, and the
label of more than half of the people stands. The definitions and the examples are our own.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from annotation.protocols.base import Procedure, Scored, Words, part, read_text
from annotation.protocols.belief_labels.labels import LABELS
from annotation.protocols.instructions import in_template
from annotation.protocols.questions import Question, Row, _, field_name
from annotation.protocols.tables import Table, TableProtocol, read_entries
from annotation.protocols.validity.fields import MAX_NAME, MAX_QUESTION

BELIEFS = "beliefs"
KEYS = [label.key for label in LABELS]


class BeliefLabels(TableProtocol):
    """Seven labels for each belief. Every story with all its labels is kept."""

    name = "belief-labels"
    version = "1"
    title = _("Labels of beliefs")
    questions = LABELS
    by_row = Question(
        key="labels",
        title=_("Beliefs"),
        text=_("Check every label of each belief, and change those that are wrong or missing."),
        options=(),
        shows=("story",),
    )
    instructions = in_template("annotation/protocols/belief_labels.txt")
    example = Path(__file__).with_name("example.jsonl").read_text(encoding="utf-8")
    columns: ClassVar[Mapping[str, str]] = {"category": "scenario_name", "source": "story_generator_model"}
    tables: ClassVar[Mapping[str, Mapping[str, int]]] = {BELIEFS: {"actor": MAX_NAME, "belief": MAX_QUESTION}}
    remedy = (
        'Write [{"id": "b1", "actor": "Anne", "belief": "…", "labels": {"order": "1"}}, …], or no labels.'
    )
    resolution = "majority"
    words = Words(_("story"), _("stories, each with a list of beliefs to label"))
    follows = Procedure("OmniToM, stage 2: labels of beliefs", votes=3)
    statistics = ("strict_agreement", "suggestions")

    def parse(self, content: Mapping[str, Any]) -> Table:
        """Parse a stored ``content``. Raise ``ValueError`` naming the wrong field."""
        rows, suggested = [], {}
        for place, entry in enumerate(
            read_entries(content, BELIEFS, self.tables[BELIEFS], optional=("labels",))
        ):
            rows.append(Row(entry["id"], f"{entry['actor']}: {entry['belief']}"))
            where, given = f"{BELIEFS}[{place}].labels", entry.get("labels", {})
            if not isinstance(given, Mapping) or not {*given} <= {*KEYS}:
                raise ValueError(f"{where}: may have {', '.join(KEYS)}.")
            for key, value in given.items():
                known = [option.key for option in self.question(key).options]
                if value not in known:
                    raise ValueError(f"{where}.{key}: must be one of {', '.join(known)}, in double quotes.")
                suggested[field_name(key, entry["id"])] = value
        return Table((part("story", read_text(content, "story")),), tuple(rows), suggested)

    def scored_rows(self, content: Mapping[str, Any]) -> tuple[Scored, ...]:
        """Return every label of every belief, with the suggested one."""
        item = self.parse(content)
        return tuple(
            Scored(
                row.key,
                item.suggested.get(field_name(label.key, row.key), ""),
                len(label.options),
                kind=label.key,
                question=label.key,
            )
            for row in item.rows
            for label in LABELS
        )


PROTOCOL = BeliefLabels()
