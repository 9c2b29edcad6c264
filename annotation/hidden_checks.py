"""Decide when hidden checks come, in which order, and what their consequences are. Pure functions.

A check is a story with known answers among an annotator's other stories. So that nobody can tell which
story it was, its position in a block of stories is drawn per annotator with the study's secret key, and
consequences come at the end of a block. See docs/adr/0028.
"""

import enum
import hashlib
import hmac
import math
from dataclasses import dataclass

from django.utils.translation import gettext as _

FEWEST_BETWEEN = 5
"""A shorter block has too few positions to choose from."""

MOST_BETWEEN = 1000


@dataclass(frozen=True, slots=True)
class CheckRules:
    """A study's rules for hidden checks.

    ``every``: one check per this many stories of an annotator (0: none). After ``minimum`` checks, failing
    ``warn_percent`` or more of them warns, and failing ``suspend_percent`` or more suspends (None: never).
    """

    every: int = 0
    minimum: int = 3
    warn_percent: int | None = None
    suspend_percent: int | None = None

    @property
    def has_consequences(self) -> bool:
        return bool(self.every) and (self.warn_percent, self.suspend_percent) != (None, None)


class Consequence(enum.StrEnum):
    """The consequence of too many failed checks."""

    WARN = "warn"
    SUSPEND = "suspend"


def problems(rules: CheckRules) -> dict[str, str]:
    """Return the problems of these rules by field; empty if they are valid."""
    found = {}
    if rules.every and not FEWEST_BETWEEN <= rules.every <= MOST_BETWEEN:
        text = _("Give a number between %(least)s and %(most)s, or 0 for no checks.")
        found["every"] = text % {"least": FEWEST_BETWEEN, "most": MOST_BETWEEN}
    if not 1 <= rules.minimum <= MOST_BETWEEN:
        found["minimum"] = _("Give a number between 1 and %(most)s.") % {"most": MOST_BETWEEN}
    warn, suspend = rules.warn_percent, rules.suspend_percent
    for name, percent in (("warn_percent", warn), ("suspend_percent", suspend)):
        if percent is not None and not 1 <= percent <= 100:
            found[name] = _("Give a share between 1 and 100 percent, or nothing.")
    if not found and warn is not None and suspend is not None and warn >= suspend:
        found["warn_percent"] = _("The share for a warning must be smaller than the share for a suspension.")
    return found


def is_due(*, key: str, person: int, position: int, every: int, whole: int = 0) -> bool:
    """Return True if the annotator's story at this position (from 1) is to be a check.

    Each block of ``every`` positions has one. HMAC-SHA256 with the study's secret ``key`` draws its position
    per annotator and block; never the last one, after which consequences come. Of a ``whole`` set with its
    checks, the last block may be shorter, so that everybody gets as many.
    """
    if not every:
        return False
    block, place = divmod(position - 1, every)
    left = whole - block * every
    size = left if 1 < left < every else every
    return place == drawn(key, f"check place:{person}:{block}") % (size - 1)


def checks_among(stories: float, *, every: int, usable: int) -> float:
    """Return the mean number of checks among this many stories: one in ``every``, up to ``usable``.

    It may be a fraction, because annotators are in the middle of their blocks.
    """
    return min(float(usable), stories / every) if every else 0.0


def most_checks_among(others: int, *, every: int) -> int:
    """Return the most checks that one annotator can get among so many other stories."""
    return math.ceil(others / (every - 1)) if every else 0


def order_mask(*, key: str, person: int) -> int:
    """Return a signed 64-bit mask; an annotator gets the checks in the order of their order keys XOR it.

    So annotators get the checks in different orders, and each check is answered about equally often.
    """
    return drawn(key, f"check order:{person}") - 2**63


def consequences_are_due(*, submitted: int, every: int) -> bool:
    """Return True if an annotator with this many answered stories is at the end of a block."""
    return bool(every) and submitted > 0 and submitted % every == 0


def consequence(*, answered: int, failed: int, rules: CheckRules) -> Consequence | None:
    """Return the gravest consequence of failing this many of the answered checks, or None."""
    if not rules.has_consequences or answered < max(1, rules.minimum):
        return None
    for percent, what in (
        (rules.suspend_percent, Consequence.SUSPEND),
        (rules.warn_percent, Consequence.WARN),
    ):
        if percent is not None and 100 * failed >= percent * answered:
            return what
    return None


NOTED = r"^\d+ of \d+ checks failed$"
"""The notes of :func:`noted`, as a regular expression."""


def noted(*, answered: int, failed: int) -> str:
    """Return the log's note for a consequence. The log is in English for every reader."""
    return f"{failed} of {answered} checks failed"


LOOKS_WRONG = 0.5
"""Share of annotators: a check that more than these fail needs attention."""
LOOKS_WRONG_FROM = 5
"""Answers to a check before it can need attention."""


def looks_wrong(*, answered: int, failed: int) -> bool:
    """Return True if most annotators fail a check: then its key, or its story, may be wrong."""
    return answered >= LOOKS_WRONG_FROM and failed > LOOKS_WRONG * answered


def drawn(key: str, what: str) -> int:
    """Draw a number from 0 to 2^64 - 1 by HMAC-SHA256 with the study's secret key."""
    digest = hmac.new(key.encode(), what.encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big")
