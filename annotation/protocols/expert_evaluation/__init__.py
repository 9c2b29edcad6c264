"""The expert-evaluation protocol: two experts judge every condition of a causal template.

It follows the expert evaluation of BigToM (Gandhi et al.): does a condition follow its structure, and
how well does it test the desired behaviour, from 1 to 5? A template is shown with its 25 conditions, or with
the six that the human-performance protocol asks people about. The wording and the example are our own.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice, product
from typing import Any, ClassVar

from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.protocols.base import Procedure, Scored, Words, part, read_text
from annotation.protocols.fields import MAX_QUESTION, Reported, read_row
from annotation.protocols.human_performance import BELIEFS, BIGTOM, KINDS, TEMPLATE_COLUMNS, compose
from annotation.protocols.instructions import in_template
from annotation.protocols.questions import Question, Row, _
from annotation.protocols.tables import Table, TableProtocol, TableScale, read_entries

CONDITIONS = "conditions"
SENTENCES = 5
"""Sentences of a story: where somebody is, what they want, do and see, what they believe, what happens."""
MAIN = len(KINDS) * len(BELIEFS)
"""Conditions of templates that lack a random event, or whose story has more or fewer sentences."""
RANDOM = ("random_event", "random_event_aware", "random_event_unaware")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
LIMITS = {"text": MAX_QUESTION + MAX_QUESTION}


class ExpertEvaluation(TableProtocol):
    """Two scales for every condition of a template. Every template with all its ratings is kept."""

    name = "expert-evaluation"
    version = "2"
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
    columns: ClassVar[Mapping[str, str]] = {"group": "scenario_name", "author": "story_generator_model"}
    headerless = TEMPLATE_COLUMNS
    tables: ClassVar[Mapping[str, Mapping[str, int]]] = {CONDITIONS: LIMITS}
    remedy = 'Write [{"id": "forward-belief-false", "text": "…"}, …].'
    resolution = "mean"
    words = Words(_("template"), _("templates of short stories"))
    follows = Procedure(BIGTOM, votes=2)
    statistics = ("strict_agreement",)

    def parse(self, content: Mapping[str, Any]) -> Table:
        entries = read_entries(content, CONDITIONS, LIMITS)
        rows = tuple(Row(entry["id"], f"{entry['id']}: {entry['text']}") for entry in entries)
        return Table((part("story", read_text(content, "story")),), rows)

    def read(self, rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
        """Yield a template per row, also of BigToM's file, whose conditions are composed."""
        reported: Reported = set()
        for row in rows:
            for one in (row,) if CONDITIONS in row.data else _composed(row, reported):
                if isinstance(one, Problem):
                    yield one
                else:
                    yield from read_row(one, reported, self.known, self._read)

    def scored_rows(self, content: Mapping[str, Any]) -> tuple[Scored, ...]:
        """Return both judgements of every condition. None of them is right or wrong."""
        return tuple(
            Scored(entry["id"], "", len(one.options), kind=one.key, question=one.key)
            for entry in content[CONDITIONS]
            for one in self.questions
        )


def _composed(row: SourceRow, reported: Reported) -> Iterator[SourceRow | Problem]:
    """Yield a template of BigToM's file with its conditions as rows, or everything that is wrong with it."""
    composed = list(compose(row, reported))
    yield from (problem for problem in composed if isinstance(problem, Problem))
    first = next((one for one in composed if isinstance(one, SourceRow)), None)
    if first is None:
        return
    texts = {name: str(row.data.get(name) or "").strip() for name in TEMPLATE_COLUMNS}
    sentences = _SENTENCE_END.split(texts["story"])
    are_all = len(sentences) == SENTENCES and all(texts[name] for name in RANDOM)
    known = {"story_id": first.data["core_id"], "story": texts["story"]}
    known["author"] = first.data["story_generator_model"]
    conditions = list(islice(conditions_of(texts), None if are_all else MAIN))
    yield replace(row, data={**known, CONDITIONS: conditions}, header_line=0)


def conditions_of(texts: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield BigToM's 25 conditions of a template, each as id and text, first the six that people are asked.

    Forward belief, forward action and backward belief, each with a true and a false belief and a control for
    either, in which a random event stands for the one that matters; all of them with the sentence that says
    what is believed at first, and without it. The last one asks for the belief before anything happens.
    """
    for hidden, is_control, kind, belief in product((False, True), (False, True), KINDS, BELIEFS):
        yield _condition(texts, kind, belief, hidden=hidden, is_control=is_control)
    asked = f"{texts['belief_question']} {_answers(texts, 'belief')}"
    yield {"id": "percept-to-belief", "text": f"(Only the first three sentences.) {asked}"}


def _condition(
    texts: Mapping[str, str], kind: str, belief: str, *, hidden: bool, is_control: bool
) -> dict[str, str]:
    told_by, asked = KINDS[kind]
    holds, _other = BELIEFS[belief]
    ending = texts[told_by + holds]
    if is_control:
        ending = texts["action_unaware"] if told_by else texts[f"random_event_{holds}"]
        ending = f"(Instead of the last sentence:) {texts['random_event']} {ending}"
    without = "(Without the fourth sentence.) " if hidden else ""
    name = f"{kind}-{belief}{'-control' * is_control}{'-hidden' * hidden}"
    return {"id": name, "text": f"{without}{ending} {texts[f'{asked}_question']} {_answers(texts, asked)}"}


def _answers(texts: Mapping[str, str], asked: str) -> str:
    return " · ".join(texts[f"{asked}_answer_{ending}"] for ending in ("aware", "unaware"))


PROTOCOL = ExpertEvaluation()
