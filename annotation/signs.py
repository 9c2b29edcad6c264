"""Signs of human work: what the browser reports beside a vote, as counts and times, never as content. Pure.

They are advisory: nothing refuses, excludes, delays or pays differently because of them (docs/adr/0044).
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

FIELD = "_signs"
"""The field of a vote's form. No question has this key (``KEY_PATTERN``)."""
MOST_EVENTS = 10_000
MOST_SECONDS = 3600
_SIGNS = re.compile(r"([0-9]{1,9}) ([0-9]{1,9})((?: [a-z0-9_.-]{1,81}:[0-9]{1,9}[.][0-9])*)")


class Signs(NamedTuple):
    """Clicks and key presses that the browser reports as trusted, and those of scripts; None: not known.

    ``seconds`` are those from the answer before, or the story, to the last choice of each field.
    """

    trusted: int | None = None
    untrusted: int | None = None
    seconds: Mapping[str, float] = {}


def read(text: str) -> Signs:
    """Parse ``trusted untrusted field:seconds …``. Cut values at their bounds; ignore any other text."""
    found = _SIGNS.fullmatch(text)
    if found is None:
        return Signs()
    times = (entry.split(":") for entry in found[3].split())
    return Signs(
        min(int(found[1]), MOST_EVENTS),
        min(int(found[2]), MOST_EVENTS),
        {field: min(float(seconds), MOST_SECONDS) for field, seconds in times},
    )
