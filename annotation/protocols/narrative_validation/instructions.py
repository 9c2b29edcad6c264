"""Instructions for answering the questions of a narrative, with a narrative invented for this page."""

from annotation.protocols.base import Instructions, Section, _
from annotation.protocols.multiple_choice.instructions import MOTIVATION
from annotation.protocols.validity.wording import example

ITEM = Section(
    _("What you see"),
    (
        _("A story of up to two pages, and several questions with two or three answers each."),
        _("The story stays in view above the questions and scrolls by itself."),
    ),
)
ADVICE = Section(
    _("How to answer"),
    (
        _("Read the whole story first, then answer its questions in any order."),
        _("Some questions are about where things are or who knows it, others about how somebody feels."),
        _("A person in the story knows what they saw or were told there, even if you know better."),
        _("Every question needs an answer. If two seem possible, choose the one that comes closer."),
    ),
)
STORY = _(
    "Ruth keeps the good chocolate in the tin on the piano. Felix does not like chocolate in the living "
    "room. One morning, while Ruth is in the shower, he carries it to the cellar. Later Ruth walks to the "
    "piano."
)
EXAMPLES = (
    example(
        "answer",
        "no",
        story=STORY,
        question=_("Does Ruth know at the end that the chocolate is in the cellar?"),
        choices=_("Yes · No"),
        answer=_("No"),
        justification=_("She was in the shower, and nobody told her."),
    ),
    example(
        "answer",
        "neg",
        story=STORY,
        question=_("How would Ruth feel about the move if she knew of it?"),
        choices=_("Positive · Neutral · Negative"),
        answer=_("Negative"),
        justification=_("She chose the place herself, and her chocolate was taken from it behind her back."),
    ),
)
INSTRUCTIONS = Instructions((MOTIVATION, ITEM, ADVICE), EXAMPLES)
