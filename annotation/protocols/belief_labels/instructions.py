"""Instructions for labelling beliefs, with a story invented for this page."""

from annotation.protocols.base import Instructions, Section, WorkedExample, _
from annotation.protocols.validity.wording import example

STORY = _(
    "Ruth hides the present for Felix in the wardrobe. Felix watches her through the door. Ruth thinks that "
    "he is asleep."
)


def _example(label: str, option: str, belief: str, why: str) -> WorkedExample:
    return example(label, option, story=STORY, belief=belief, justification=why)


KNOWS = _("Felix: The present is in the wardrobe.")
WATCHED = _("Felix: I watched Ruth hide the present.")
SECRET = _("Ruth: Felix does not know where the present is.")
INSTRUCTIONS = Instructions(
    sections=(
        Section(
            _("Why we ask"),
            (
                _("We want to know how well computer programs read what people in a story think."),
                _("For that we need labels that careful readers agree on."),
            ),
        ),
        Section(
            _("What you see"),
            (
                _("A story, and a list of what it tells and of what people in it believe."),
                _("“World” stands for facts that the story tells."),
                _("A program may have chosen labels already. It is often wrong: check every one of them."),
            ),
        ),
        Section(
            _("How to answer"),
            (
                _("Read the whole story first. It stays in view above the list."),
                _("Go by the story alone, at the moment that the belief is about."),
                _("Every list needs a label. If two seem right, choose the one that comes closer."),
            ),
        ),
    ),
    examples=(
        _example("order", "2", SECRET, _("Ruth has a thought about what Felix knows.")),
        _example("truth", "false", SECRET, _("He saw where she put it.")),
        _example("access", "private", WATCHED, _("Ruth thinks that he was asleep, so he alone knows it.")),
        _example("source", "perception", KNOWS, _("He saw it himself.")),
        _example("content", "epistemic", SECRET, _("It is about what somebody knows.")),
    ),
)
