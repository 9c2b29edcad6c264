"""Labels of the parts of a story or item, shared by questions and worked examples."""

from annotation.protocols.base import Part
from annotation.protocols.questions import _

PART_LABELS: dict[str, str] = {
    "person": _("Main character"),
    "key_information": _("Key information"),
    "story": _("Story"),
    "question": _("Question"),
    "questions": _("Questions"),
    "action_a": _("Action A"),
    "action_b": _("Action B"),
    "answer_a": _("Answer A"),
    "answer_b": _("Answer B"),
    "choices": _("Answers to choose from"),
    "belief": _("Belief"),
    "table_a": _("Table A"),
    "table_b": _("Table B"),
    "row": _("Row"),
}
"""The parts by name, in reading order; some are in worked examples only."""


def part(name: str, text: str) -> Part:
    """Return a part with its label. Raise ``KeyError`` for an unknown name."""
    return Part(name=name, label=PART_LABELS[name], text=text)
