"""Marks texts for translation without Django's settings, so that pure modules can be used in any script."""

from __future__ import annotations


def gettext_noop(message: str) -> str:
    """The message as it is. ``make messages`` finds it by this function's name."""
    return message
