"""Texts of refusals, which ``refusals.txt`` among the templates holds, and what kind of end each is."""

from datetime import datetime
from functools import cache
from typing import NamedTuple

from django.template.loader import render_to_string
from django.utils.translation import get_language

from annotation.rules import DONE, NoChange, Reason, Refusal


class RefusalPage(NamedTuple):
    """A reason with its texts; ``next`` says what to do now, ``sign`` what kind of end it is."""

    code: str
    title: str
    text: str
    next: str
    sign: str
    """``wait`` (there may be stories later), ``done`` (nothing more to answer) or ``end``."""
    retry_at: datetime | None


_WAITS = (
    *(Reason.NOTHING_FREE, Reason.NOTHING_GIVEN, Reason.PROTOCOL_CHANGED),
    *(Reason.STUDY_PAUSED, Reason.STUDY_NOT_OPEN),
)
_SIGNS = dict.fromkeys(_WAITS, "wait") | dict.fromkeys(DONE, "done")


def texts_of(reason: str, template: str = "annotation/refusals.txt") -> list[str]:
    """Return a reason's texts in the reader's language. Raise ``KeyError`` for one that has none."""
    return _texts(get_language(), template)[reason]


@cache
def _texts(language: str | None, template: str) -> dict[str, list[str]]:
    _head, *sections = render_to_string(template).split("\n## ")
    return {reason: texts for reason, *texts in (section.strip().split("\n") for section in sections)}


def refusal_page(refusal: Refusal) -> RefusalPage:
    """Return a refusal's page. Raise ``KeyError`` for reasons that redirect to a page of their own."""
    title, text, step = texts_of(refusal.reason)
    sign = _SIGNS.get(refusal.reason, "end")
    return RefusalPage(refusal.reason.value, title, text, step, sign, refusal.retry_at)


def no_change_text(reason: NoChange | None) -> str:
    """Say why an answer cannot be changed; empty if it can."""
    return texts_of(reason)[0] if reason else ""
