"""The expert-evaluation protocol: two experts judge every condition of a causal template.

It follows the expert evaluation of BigToM (Gandhi et al.): does a condition follow its structure, and
how well does it test the desired behaviour, from 1 to 5? A template is shown with all conditions that the
human-performance protocol composes of it. The wording and the example are our own.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.protocols.base import Procedure, Scored, Words
from annotation.protocols.human_performance import TEMPLATE_COLUMNS, compose
from annotation.protocols.instructions import in_template
from annotation.protocols.questions import Question, Row, _
from annotation.protocols.tables import Table, TableProtocol, TableScale, read_entries, read_text
from annotation.protocols.validity.fields import MAX_QUESTION, Told, read_row
from annotation.protocols.wording import part

CONDITIONS = "conditions"
LIMITS = {"text": MAX_QUESTION + MAX_QUESTION}


class ExpertEvaluation(TableProtocol):
    """Two scales for every condition of a template. Every template with all its ratings is kept."""

    name = "expert-evaluation"
    version = "1"
    title = _("Expert evaluation of templates")
    questions = (
        TableScale(
            key="structure",
            title=_("Structure"),
            text=_("Does it follow the structure that its name says?"),
            low=0,
            high=1,
            lowest=_("No"),
            highest=_("Yes"),
        ),
        TableScale(
            key="behaviour",
            title=_("Behaviour"),
            text=_("Does it test what its name says?"),
            lowest=_("Not at all"),
            highest=_("Very well"),
        ),
    )
    by_row = Question(
        key="conditions",
        title=_("Conditions"),
        text=_("Judge every condition of this template by its own text."),
        options=(),
        shows=("story",),
    )
    instructions = in_template("annotation/protocols/expert_evaluation.txt")
    example = Path(__file__).with_name("example.jsonl").read_text(encoding="utf-8")
    columns: ClassVar[Mapping[str, str]] = {"group": "scenario_name", "author": "story_generator_model"}
    headerless = TEMPLATE_COLUMNS
    tables: ClassVar[Mapping[str, Mapping[str, int]]] = {CONDITIONS: LIMITS}
    remedy = 'Write [{"id": "forward-belief-false", "text": "…"}, …].'
    resolution = "mean"
    words = Words(_("template"), _("templates of short stories"))
    follows = Procedure("Gandhi et al., BigToM: Understanding Social Reasoning in Language Models", votes=2)
    statistics = ("strict_agreement",)

    def parse(self, content: Mapping[str, Any]) -> Table:
        """Parse a stored ``content``. Raise ``ValueError`` naming the wrong field."""
        entries = read_entries(content, CONDITIONS, LIMITS)
        rows = tuple(Row(entry["id"], f"{entry['id']}: {entry['text']}") for entry in entries)
        return Table((part("story", read_text(content, "story")),), rows)

    def read(self, rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
        """Yield a template per row, also of BigToM's file, whose conditions are composed."""
        told: Told = set()
        for row in rows:
            for one in (row,) if CONDITIONS in row.data else _composed(row, told):
                if isinstance(one, Problem):
                    yield one
                else:
                    yield from read_row(one, told, self.known, self._read)

    def scored_rows(self, content: Mapping[str, Any]) -> tuple[Scored, ...]:
        """Return both judgements of every condition. None of them is right or wrong."""
        return tuple(
            Scored(entry["id"], "", len(one.options), kind=one.key, question=one.key)
            for entry in content[CONDITIONS]
            for one in self.questions
        )


def _composed(row: SourceRow, told: Told) -> Iterator[SourceRow | Problem]:
    """Yield a template of BigToM's file with its conditions as rows, or everything that is wrong with it."""
    conditions = []
    for one in compose(row, told):
        if isinstance(one, Problem):
            yield one
            continue
        asked, story = one.data, row.data["story"].strip()
        rest = asked["story"].removeprefix(story).strip()
        choices = " · ".join(asked["choices"]["text"])
        conditions.append({"id": asked["config"], "text": f"{rest} {asked['question']} {choices}"})
    if conditions:
        known = {"story_id": asked["core_id"], "story": story, "author": asked["story_generator_model"]}
        yield replace(row, data={**known, CONDITIONS: conditions}, header_line=0)


PROTOCOL = ExpertEvaluation()
