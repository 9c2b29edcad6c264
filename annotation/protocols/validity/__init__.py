"""The validity protocol: is a two-sentence theory-of-mind story fit to be a test item?

The four questions and the rule (one "no" from anybody drops a story, "possibly" keeps it) follow
the procedure of SimpleToM (Gu et al., appendix G). The wording is our own.
"""

from annotation.protocols.base import Part, Procedure, Protocol, Words, part
from annotation.protocols.instructions import in_template
from annotation.protocols.questions import Option, Question, _
from annotation.protocols.validity import lint as linting, reading
from annotation.protocols.validity.item import ValidityItem, parse

DIFFERENT_FROM_COMMONSENSE = Question(
    key="q1",
    title=_("Out of the ordinary"),
    text=_(
        "Is the key information out of the ordinary: "
        "something other than a regular occurrence or accepted practice?"
    ),
    help=_(
        "Think of what most people take for granted about such a thing, place or person. "
        "It does not matter whether the key information is good or bad, or whether anybody can see it."
    ),
    shows=("person", "key_information"),
    option_order="scale",
    options=(
        Option("yes", _("Yes"), _("Out of the ordinary: most people would not expect it.")),
        Option("possibly", _("Possibly"), _("It happens now and then: people could disagree.")),
        Option("no", _("No"), _("A regular occurrence or an accepted practice."), counts_against=True),
    ),
)

UNLIKELY_TO_BE_NOTICED = Question(
    key="q2",
    title=_("Unlikely to be noticed"),
    text=_("Would the main character, noticing what people normally notice, miss the key information?"),
    help=_(
        "The key information is the first sentence of the story. Think only of what the main character "
        "would normally see, hear, smell, read or be told in this story, without special checks."
    ),
    shows=("story",),
    option_order="scale",
    options=(
        Option("yes", _("Yes"), _("They would miss it: nothing in the story shows it or tells them.")),
        Option("possibly", _("Possibly"), _("Some people would notice it here, others would not.")),
        Option("no", _("No"), _("They would notice it, or they know it already."), counts_against=True),
    ),
)

ACTION_WHEN_NOT_AWARE = Question(
    key="q3",
    title=_("Action A: only when not aware"),
    text=_("Is Action A likely only if the main character is not aware of the key information?"),
    help=_(
        "Imagine the story twice: first with a main character who does not know the key "
        "information, then with one who does. Action A should suit the first but not the second."
    ),
    shows=("story", "question", "action_a", "action_b"),
    option_order="scale",
    options=(
        Option("yes", _("Yes"), _("Likely when not aware, unlikely when aware.")),
        Option("no", _("No"), _("Likely when aware too, or unlikely in any case."), counts_against=True),
    ),
)

ACTION_WHEN_AWARE = Question(
    key="q4",
    title=_("Action B: only when aware"),
    text=_("Is Action B likely only if the main character is aware of the key information?"),
    help=_(
        "Suppose the main character has somehow learned the key information, even if the story gives them "
        "no way to. Action B should suit them now, but not somebody who knows nothing of it."
    ),
    shows=("story", "question", "action_a", "action_b"),
    option_order="scale",
    options=(
        Option("yes", _("Yes"), _("Likely when aware, unlikely when not aware.")),
        Option("no", _("No"), _("Likely when not aware too, or unlikely in any case."), counts_against=True),
    ),
)


class ValidityProtocol(Protocol):
    """Four questions about a story, which is kept if nobody answers "no" to any of them."""

    name = "validity"
    version = "1"
    title = _("Story validity")
    questions = (DIFFERENT_FROM_COMMONSENSE, UNLIKELY_TO_BE_NOTICED, ACTION_WHEN_NOT_AWARE, ACTION_WHEN_AWARE)
    instructions = in_template("annotation/protocols/validity.txt")
    finding_labels = linting.LABELS_OF_CODES
    layout = "theory-of-mind"
    words = Words(_("story"), _("two-sentence stories"))
    follows = Procedure(
        reference="Gu et al., SimpleToM: Exposing the Gap between Explicit ToM Inference and Implicit ToM "
        "Application in LLMs, appendix G",
        votes=3,
        passed=(19, 100),
    )
    parse = staticmethod(parse)
    read = staticmethod(reading.read)
    lint = staticmethod(linting.lint)
    text_for_duplicates = staticmethod(linting.text_for_duplicates)

    def parts(self, item: ValidityItem) -> tuple[Part, ...]:
        """Return main character, key information, story, question, Action A and Action B, in this order."""
        return (
            part("person", item.person_x),
            part("key_information", item.key_information),
            part("story", item.story),
            part("question", item.question),
            part("action_a", item.action_unaware),
            part("action_b", item.action_aware),
        )

    def summary(self, item: ValidityItem) -> tuple[Part, ...]:
        """Return the story only."""
        return (part("story", item.story),)


PROTOCOL = ValidityProtocol()
