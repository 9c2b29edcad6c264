"""The belief-extraction protocol: which beliefs does a story contain?

People list them, and experts make one list of their lists.

It follows the first stage of OmniToM: two people list independently who believes what, then reconcile their
lists. The wording and the examples are our own.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from annotation.protocols.base import Procedure, Words, part, read_text
from annotation.protocols.fields import MAX_NAME
from annotation.protocols.instructions import in_template
from annotation.protocols.questions import OpenTable, Question, _
from annotation.protocols.tables import Table, TableProtocol, TableText

LONGEST_BELIEF = 300


class BeliefExtraction(TableProtocol):
    """A list of beliefs, each with the person who holds it. Every story with its list is kept."""

    name = "belief-extraction"
    version = "1"
    title = _("Lists of beliefs")
    questions = (
        TableText(key="actor", title=_("Who"), text=_("Who believes it?"), longest=MAX_NAME),
        TableText(key="belief", title=_("Belief"), text=_("What do they believe?"), longest=LONGEST_BELIEF),
    )
    by_row = Question(
        key="beliefs",
        title=_("Beliefs"),
        text=_("List who believes what, one belief in each row. Write “World” for a fact of the story."),
        options=(),
        shows=("story",),
    )
    open_table = OpenTable()
    instructions = in_template("annotation/protocols/belief_extraction.txt")
    remedy = "Write the story as a text."
    resolution = "reconciled"
    words = Words(_("story"), _("stories whose beliefs are to be listed"))
    follows = Procedure("OmniToM, stage 1: extraction of beliefs", votes=2)
    statistics = ("extraction",)

    def parse(self, content: Mapping[str, Any]) -> Table:
        return Table((part("story", read_text(content, "story")),), self.open_table.rows)


PROTOCOL = BeliefExtraction()
