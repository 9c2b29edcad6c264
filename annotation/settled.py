"""Which settings of a study can still be changed, and why the others cannot. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

SETTINGS = (
    "title",
    "description",
    "contact",
    "protocol",
    "votes_per_story",
    "story_cap",
    "lease_minutes",
    "change_hours",
    "pay_rate",
    "currency",
    "license",
    "serving_seed",
)
"""What a researcher decides about a study, by the names of ``StudySettings``."""
_NOTED = re.compile(r"(?P<name>[a-z_]+): (?P<before>[^ “]+) → (?P<after>[^ “]+)")


NONE = "none"
"""How a setting without a value is noted."""


def noted(before: Mapping[str, Any], after: Mapping[str, Any], names: Iterable[str]) -> str:
    """What changed from what to what, for the audit log: a line per setting, whatever texts hold."""
    return "\n".join(f"{name}: {_shown(before[name])} → {_shown(after[name])}" for name in names)


def noted_changes(note: str) -> dict[str, tuple[str, str]]:
    """What :func:`noted` wrote: per setting that is not a text, what it was before and after."""
    found = (_NOTED.fullmatch(line) for line in note.split("\n"))
    return {match["name"]: (match["before"], match["after"]) for match in found if match}


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f"“{' ⏎ '.join(value.splitlines())}”"
    return NONE if value is None else str(value)


def fixed_settings(*, state: str, has_stories: bool) -> dict[str, str]:
    """The settings that cannot be changed any more, each with the reason.

    A draft is free, but for what its stories were read and placed by. Once a study has been opened,
    what people agreed to and what decides about stories stays.
    """
    fixed = {}
    if has_stories:
        fixed["protocol"] = _(
            "The stories that are here, those of the test too, were read by this protocol and stay. For "
            "another protocol make another study."
        )
        fixed["serving_seed"] = _("The stories that are here have their places by this seed.")
    if state != "draft":
        opened = _("The study has been opened, and people know it by this form.")
        fixed["protocol"] = fixed.get("protocol", opened)
        fixed["serving_seed"] = fixed.get("serving_seed", opened)
        fixed["votes_per_story"] = _(
            "The study has been opened: every story must be decided by the same number of votes."
        )
        fixed["currency"] = _("The study has been opened: people agreed to be paid in it.")
        fixed["license"] = _("The study has been opened: people agreed to this licence.")
    return fixed


def pay_problem(*, state: str, before: Decimal | None, after: Decimal | None) -> str:
    """Why the pay cannot become this; nothing: it can. After the opening it can only be raised."""
    if state == "draft" or before is None or (after is not None and after >= before):
        return ""
    return _("The study has been opened: people agreed to %(rate)s per hour, so it can only be raised.") % {
        "rate": before
    }
