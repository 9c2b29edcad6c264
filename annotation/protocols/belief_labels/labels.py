"""The seven labels of a belief, with OmniToM's names and our own definitions."""

from annotation.protocols.base import Option, _
from annotation.protocols.tables import TableQuestion

LABELS = (
    TableQuestion(
        key="order",
        title=_("Order"),
        text=_("How many minds is the belief inside?"),
        options=(
            Option("0", "0", _("A fact that the story itself tells.")),
            Option("1", "1", _("Somebody thinks something about the world.")),
            Option("2", "2", _("Somebody thinks that somebody else thinks something.")),
            Option("3", "3", _("One more mind around that.")),
        ),
    ),
    TableQuestion(
        key="truth",
        title=_("Truth"),
        text=_("Is what is believed true in the story?"),
        options=(
            Option("true", _("True")),
            Option("false", _("False")),
            Option("unknown", _("Unknown"), _("The story does not settle it.")),
        ),
    ),
    TableQuestion(
        key="access",
        title=_("Access"),
        text=_("Who knows that it is so?"),
        options=(
            Option("private", _("Private"), _("One person alone.")),
            Option("shared", _("Shared"), _("Some people, and not all.")),
            Option("public", _("Public"), _("Everybody in the story.")),
        ),
    ),
    TableQuestion(
        key="representation",
        title=_("Representation"),
        text=_("Does the story say it in words?"),
        options=(
            Option("explicit", _("Explicit"), _("It says so.")),
            Option("implicit", _("Implicit"), _("It has to be concluded.")),
        ),
    ),
    TableQuestion(
        key="content",
        title=_("Content"),
        text=_("What is the belief about?"),
        options=(
            Option("location", _("Location"), _("Where something or somebody is.")),
            Option("state", _("Contents or state"), _("What is in something, or how it is.")),
            Option("identity", _("Identity or relation"), _("Who somebody is, or is to others.")),
            Option("epistemic", _("Knowledge"), _("Who knows, sees or thinks what.")),
            Option("desire", _("Desire or intention"), _("What somebody wants or plans.")),
            Option("emotion", _("Emotion"), _("How somebody feels.")),
            Option("trait", _("Trait or value"), _("What somebody is like, or finds important.")),
            Option("event", _("Action or event"), _("What somebody does, or what happens.")),
        ),
    ),
    TableQuestion(
        key="source",
        title=_("Source"),
        text=_("Where does the person have it from?"),
        options=(
            Option("narration", _("Narration"), _("The story tells it, and nobody in it has to know.")),
            Option("perception", _("Perception"), _("Seen, heard or felt.")),
            Option("memory", _("Memory"), _("Known from before.")),
            Option("testimony", _("Testimony"), _("Told by somebody.")),
            Option("inference", _("Inference"), _("Concluded from something else.")),
            Option("imagination", _("Imagination"), _("Made up, dreamt or pretended.")),
            Option("unknown", _("Unknown"), _("The story does not say.")),
        ),
    ),
    TableQuestion(
        key="context",
        title=_("Context"),
        text=_("In what setting does the belief stand?"),
        options=(
            Option("deceptive", _("Deceptive"), _("Somebody wants it to be believed though it is false.")),
            Option("temporal", _("Temporal"), _("It was so before, or will be so later.")),
            Option("counterfactual", _("Counterfactual"), _("It would be so if something were different.")),
            Option("neutral", _("Neutral"), _("None of these.")),
        ),
    ),
)
"""Each label as a question about every belief; options stand in the published order."""
