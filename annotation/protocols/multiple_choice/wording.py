"""Words shared by the form and the worked examples: the names of the parts of an item."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from django.utils.translation import gettext_lazy

from annotation.protocols.base import Part

# As in the validity protocol: a lazy string behaves as a ``str`` wherever a page shows it.
_ = cast("Callable[[str], str]", gettext_lazy)

PART_LABELS: dict[str, str] = {
    "story": _("Story"),
    "question": _("Question"),
    "choices": _("Answers to choose from"),
}
"""The parts of an item by name, in reading order; choices are a part in worked examples only."""


def part(name: str, text: str) -> Part:
    """The named part of an item with its label. Raises ``KeyError`` for an unknown name."""
    return Part(name=name, label=PART_LABELS[name], text=text)
