"""Marks texts for translation without Django's settings, for use in scripts."""


def gettext_noop(message: str) -> str:
    """Return the message. ``make messages`` finds it by this function's name."""
    return message
