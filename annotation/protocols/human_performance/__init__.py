"""The human-performance protocol: two-choice questions composed from causal templates.

The procedure is that of BigToM (Gandhi et al., experiment 2): six conditions of each template, and people's
accuracy in each. The wording and the examples are our own.

A template is a row of texts about one event: the story up to it, how somebody learns or does not learn of it,
what they do in either case, the questions, and the answers of who is aware and of who is not. Nothing is
written anew: a question's story is the template's, then one of these texts.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.protocols.base import Procedure
from annotation.protocols.fields import MAX_ACTION, MAX_NAME, MAX_SENTENCE, Fields, Reported
from annotation.protocols.instructions import in_template
from annotation.protocols.multiple_choice import MultipleChoiceProtocol
from annotation.protocols.questions import _

BIGTOM = "Gandhi et al., BigToM: Understanding Social Reasoning in Language Models"
TEMPLATE_COLUMNS = (
    "story", "aware", "unaware", "action_aware", "action_unaware", "belief_question", "desire_question",
    "action_question", "belief_answer_aware", "desire_answer_aware", "action_answer_aware",
    "belief_answer_unaware", "desire_answer_unaware", "action_answer_unaware", "random_event",
    "random_event_aware", "random_event_unaware", "author", "number",
)  # fmt: skip
"""The columns of BigToM's file, which has no header."""
USED = [name for name in TEMPLATE_COLUMNS if not name.startswith(("desire_", "random_", "author", "number"))]
"""The texts of which questions are composed; the others may be missing."""
KINDS = {
    "forward-belief": ("", "belief"),
    "forward-action": ("", "action"),
    "backward-belief": ("action_", "belief"),
}
"""For each kind of question the name, without ``aware``, of what its story ends with, and what is asked."""
BELIEFS = {"true": ("aware", "unaware"), "false": ("unaware", "aware")}
"""For a true and a false belief the ending of the texts that hold, and of the others."""


def compose(row: SourceRow, reported: Reported) -> Iterator[SourceRow | Problem]:
    """Yield a template's questions as rows of a question set, or everything that is wrong with it."""
    fields = Fields(row, reported, frozenset((*TEMPLATE_COLUMNS, "id")))
    texts = {name: fields.text(name, MAX_SENTENCE if name == "story" else MAX_ACTION) for name in USED}
    known = hashlib.sha256(repr(texts).encode()).hexdigest()[:10]
    template = fields.identifier("id") if "id" in row.data else f"template-{known}"
    author = fields.optional_text("author", MAX_NAME)
    for name in ("belief_answer_aware", "action_answer_aware"):
        if texts[name] and texts[name] == texts[name.replace("aware", "unaware")]:
            fields.refuse(name, "Who is aware and who is not answer the same.", "Give each an answer.")
    yield from fields.problems
    for kind, (told_by, asked) in KINDS.items() if not fields.failed else ():
        for belief, (holds, other) in BELIEFS.items():
            condition = f"{kind}-{belief}"
            answers = [texts[f"{asked}_answer_{ending}"] for ending in (holds, other)]
            question: dict[str, Any] = {
                "id": f"{template}_{condition}",
                "core_id": template,
                "config": condition,
                "scenario_name": condition,
                "story": f"{texts['story']} {texts[told_by + holds]}",
                "question": texts[f"{asked}_question"],
                "story_generator_model": author,
            }
            second = hashlib.sha256(question["id"].encode()).digest()[0] % 2
            choices = {"text": answers[::-1] if second else answers, "label": ["A", "B"]}
            yield replace(
                row, data={**question, "choices": choices, "answerKey": "AB"[second]}, header_line=0
            )


class HumanPerformance(MultipleChoiceProtocol):
    """One question of one condition with two answers. Accuracy is reported by condition."""

    name = "human-performance"
    version = "1"
    title = _("Questions about beliefs and actions")
    instructions = in_template("annotation/protocols/human_performance.txt")
    columns: ClassVar[Mapping[str, str]] = {"condition": "scenario_name"}
    headerless = TEMPLATE_COLUMNS
    resolution = "mean"
    statistics = ("accuracy",)
    follows = Procedure(BIGTOM, votes=20)

    def read(self, rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
        """Yield the questions of all conditions of a template. A row with choices is a composed question."""
        reported: Reported = set()
        for row in rows:
            for one in [row] if "choices" in row.data else compose(row, reported):
                yield from (one,) if isinstance(one, Problem) else super().read([one])


PROTOCOL = HumanPerformance()
