"""Hidden checks: when somebody is given one, in which order, and what comes of the answers. Pure.

A check is a story with known answers that comes among a person's other stories and looks like them. So
that nobody can tell which story it was, its place in a block of stories is drawn per person with the study's
secret key, and whatever comes of the answers comes at the end of a block. See docs/adr/0028.
"""

from __future__ import annotations

import enum
import hashlib
import hmac
from dataclasses import dataclass

from django.utils.translation import gettext as _

FEWEST_BETWEEN = 5
"""In a shorter block there are too few places to choose from."""

MOST_BETWEEN = 1000


@dataclass(frozen=True, slots=True)
class CheckRules:
    """What a study decides about its checks.

    ``every``: one check in each so many stories of a person (0: none). From ``minimum`` checks on, a share
    of failed ones of ``warn_percent`` or more warns and one of ``suspend_percent`` or more suspends (None:
    does not).
    """

    every: int = 0
    minimum: int = 3
    warn_percent: int | None = None
    suspend_percent: int | None = None

    @property
    def has_consequences(self) -> bool:
        return bool(self.every) and (self.warn_percent, self.suspend_percent) != (None, None)


class Consequence(enum.StrEnum):
    """What comes of too many failed checks."""

    WARN = "warn"
    SUSPEND = "suspend"


def problems(rules: CheckRules) -> dict[str, str]:
    """What is wrong with these rules, by the names of their fields. Empty: they can be."""
    found = {}
    if rules.every and not FEWEST_BETWEEN <= rules.every <= MOST_BETWEEN:
        found["every"] = _("Give a number between %(least)s and %(most)s, or 0 for no checks.") % {
            "least": FEWEST_BETWEEN,
            "most": MOST_BETWEEN,
        }
    if not 1 <= rules.minimum <= MOST_BETWEEN:
        found["minimum"] = _("Give a number between 1 and %(most)s.") % {"most": MOST_BETWEEN}
    shares = {"warn_percent": rules.warn_percent, "suspend_percent": rules.suspend_percent}
    for name, percent in shares.items():
        if percent is not None and not 1 <= percent <= 100:
            found[name] = _("Give a share between 1 and 100 percent, or nothing.")
    warn, suspend = shares.values()
    if not found and warn is not None and suspend is not None and warn >= suspend:
        found["warn_percent"] = _("Somebody must be warned at a smaller share than the one that suspends.")
    return found


def is_due(*, key: str, person: int, position: int, every: int) -> bool:
    """Whether the story at this position of a person (counted from 1) is to be a check.

    Each block of ``every`` positions has one, at a place that HMAC-SHA256 with the study's secret ``key``
    draws anew for each person and block; never at the block's last, where consequences are drawn.
    """
    if not every:
        return False
    block, place = divmod(position - 1, every)
    return place == _drawn(key, f"check place:{person}:{block}") % (every - 1)


def checks_among(stories: float, *, every: int, usable: int) -> float:
    """How many of so many stories of one person are checks: one in ``every`` until they have had all usable.

    The mean over people, who are in the middle of their blocks; so it need not be a whole number.
    """
    return min(float(usable), stories / every) if every else 0.0


def order_mask(*, key: str, person: int) -> int:
    """A signed 64-bit number; checks come to the person in the order of it XOR their order keys.

    So people meet the checks in different orders, and each check is answered about as often as the others.
    """
    return _drawn(key, f"check order:{person}") - 2**63


def consequences_are_due(*, submitted: int, every: int) -> bool:
    """Whether a person who has answered so many stories is at the end of a block."""
    return bool(every) and submitted > 0 and submitted % every == 0


def consequence(*, answered: int, failed: int, rules: CheckRules) -> Consequence | None:
    """What comes of having failed so many of the checks that were answered; the gravest that holds."""
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
    """What the log says beside a consequence. The log has one language, whoever reads it."""
    return f"{failed} of {answered} checks failed"


LOOKS_WRONG = 0.5
"""A check that more than this share of people fail asks to be looked at …"""
LOOKS_WRONG_FROM = 5
"""… once so many have answered it."""


def looks_wrong(*, answered: int, failed: int) -> bool:
    """Whether most people fail a check: then the accepted answers, or the story, may be what is wrong."""
    return answered >= LOOKS_WRONG_FROM and failed > LOOKS_WRONG * answered


def _drawn(key: str, what: str) -> int:
    digest = hmac.new(key.encode(), what.encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big")
