"""The belief-labels protocol: seven labels for every belief in a story, which people check or choose.

It follows the second stage of OmniToM: a model may suggest labels, three people check each of them, and the
label of more than half of the people stands. The definitions and the examples are our own.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from annotation.protocols.base import Procedure, Scored, Words, part, read_text
from annotation.protocols.fields import MAX_NAME, MAX_QUESTION
from annotation.protocols.instructions import in_template
from annotation.protocols.questions import Option, Question, Row, _, field_name
from annotation.protocols.tables import Table, TableProtocol, TableQuestion, read_entries

BELIEFS = "beliefs"


def _label(key: str, title: str, text: str, *options: Option) -> TableQuestion:
    return TableQuestion(key, title, text, options)


LABELS = (
    _label(
        "order",
        _("Order"),
        _("How many minds is the belief inside?"),
        Option("0", "0", _("A fact that the story itself tells.")),
        Option("1", "1", _("Somebody thinks something about the world.")),
        Option("2", "2", _("Somebody thinks that somebody else thinks something.")),
        Option("3", "3", _("One more mind around that.")),
    ),
    _label(
        "truth",
        _("Truth"),
        _("Is what is believed true in the story?"),
        Option("true", _("True")),
        Option("false", _("False")),
        Option("unknown", _("Unknown"), _("The story does not settle it.")),
    ),
    _label(
        "access",
        _("Access"),
        _("Who in the story believes or knows it?"),
        Option("private", _("Private"), _("One person alone.")),
        Option("shared", _("Shared"), _("Some people, and not all.")),
        Option("public", _("Public"), _("Everybody in the story.")),
    ),
    _label(
        "representation",
        _("Representation"),
        _("Does the story say it in words?"),
        Option("explicit", _("Explicit"), _("It says so.")),
        Option("implicit", _("Implicit"), _("It has to be concluded.")),
    ),
    _label(
        "content",
        _("Content"),
        _("What is the belief about?"),
        Option("location", _("Location"), _("Where something or somebody is.")),
        Option("state", _("Contents or state"), _("What is in something, or how it is.")),
        Option("identity", _("Identity or relation"), _("Who somebody is, or is to others.")),
        Option("epistemic", _("Knowledge"), _("Who knows, sees or thinks what.")),
        Option("desire", _("Desire or intention"), _("What somebody wants or plans.")),
        Option("emotion", _("Emotion"), _("How somebody feels.")),
        Option("trait", _("Trait or value"), _("What somebody is like, or finds important.")),
        Option("event", _("Action or event"), _("What somebody does, or what happens.")),
    ),
    _label(
        "source",
        _("Source"),
        _("Where does the person have it from?"),
        Option("narration", _("Narration"), _("The story tells it, and nobody in it has to know.")),
        Option("perception", _("Perception"), _("Seen, heard or felt.")),
        Option("memory", _("Memory"), _("Known from before.")),
        Option("testimony", _("Testimony"), _("Told by somebody.")),
        Option("inference", _("Inference"), _("Concluded from something else.")),
        Option("imagination", _("Imagination"), _("Made up, dreamt or pretended.")),
        Option("unknown", _("Unknown"), _("The story does not say.")),
    ),
    _label(
        "context",
        _("Context"),
        _("In what setting does the belief stand?"),
        Option("deceptive", _("Deceptive"), _("Somebody wants it to be believed though it is false.")),
        Option("temporal", _("Temporal"), _("It was so before, or will be so later.")),
        Option("counterfactual", _("Counterfactual"), _("It would be so if something were different.")),
        Option("neutral", _("Neutral"), _("None of these.")),
    ),
)
"""Each label as a question about every belief, with OmniToM's name; options stand in the published order."""
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
    tables: ClassVar[Mapping[str, Mapping[str, int]]] = {BELIEFS: {"actor": MAX_NAME, "belief": MAX_QUESTION}}
    remedy = (
        'Write [{"id": "b1", "actor": "Anne", "belief": "…", "labels": {"order": "1"}}, …], or no labels.'
    )
    resolution = "majority"
    words = Words(_("story"), _("stories, each with a list of beliefs to label"))
    follows = Procedure("OmniToM, stage 2: labels of beliefs", votes=3)
    statistics = ("strict_agreement", "suggestions")

    def parse(self, content: Mapping[str, Any]) -> Table:
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
