"""The seven labels of a belief, with OmniToM's names and our own definitions."""

from annotation.protocols.questions import Option, _
from annotation.protocols.tables import TableQuestion


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
"""Each label as a question about every belief; options stand in the published order."""
