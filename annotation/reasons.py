"""The reasons that researchers give: how long each may be, and what is wrong with one."""

from django.utils.translation import gettext as _

from annotation.errors import ReasonMissing

LONGEST_REASON = 300
"""Characters of the reason for a suspension, and for excluding or restoring votes."""
LONGEST_STATEMENT = 1000
"""Characters of a reason that a release publishes, or that is published about it."""


def check_reason(reason: str, *, most: int = LONGEST_REASON, message: str = "") -> str:
    """Return the reason, stripped. Raise :class:`ReasonMissing` if it is empty or too long."""
    reason = reason.strip()
    if "\0" in reason or not 1 <= len(reason) <= most:
        message = message or _("Give a reason of 1 to %(most)s characters.")
        raise ReasonMissing(message, most=most)
    return reason
