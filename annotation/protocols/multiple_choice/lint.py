"""Lint the choices of an item: warn about cues that reveal the answer without the story."""

import re

from annotation.importing.rows import StoryRow
from annotation.protocols.base import Finding, _
from annotation.protocols.multiple_choice.item import parse

LABELS_OF_CODES = {
    "choice_in_story": _("Some choices occur word for word in the story"),
    "uneven_choices": _("One choice is much longer than another"),
    "same_text": _("The same as another item"),
    "near_duplicate": _("Nearly the same story as another"),
}

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_RATIO, _DIFFERENCE = 2, 4
"""A choice is much longer than another if it has twice as many words, and at least four more."""


def lint(story: StoryRow) -> list[Finding]:
    """Yield warnings about cues. Choices of one word are not searched for in the story."""
    item = parse(story.content)
    read = f" {' '.join(_words(item.story))} "
    lengths = [len(_words(choice.text)) for choice in item.choices]
    quoted = [
        choice.text
        for choice, length in zip(item.choices, lengths, strict=True)
        if length > 1 and f" {' '.join(_words(choice.text))} " in read
    ]
    findings = []
    if quoted and len(quoted) < len(item.choices):
        findings.append(Finding("choice_in_story", "choices", f"The story says “{quoted[0]}” word for word."))
    least, most = min(lengths), max(lengths)
    if most >= _RATIO * least and most - least >= _DIFFERENCE:
        message = f"The choices have {least} to {most} words; length may give the answer away."
        findings.append(Finding("uneven_choices", "choices", message))
    return findings


def text_for_duplicates(story: StoryRow) -> str:
    """Return the story in lower case without punctuation. Questions about one story share a core and are
    not compared.
    """
    return " ".join(_words(str(story.content["story"])))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
