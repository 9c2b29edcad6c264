"""Decide which settings of a study can still change, and why others cannot. Pure functions."""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

_NOTED = re.compile(r"(?P<name>[a-z_]+): (?P<before>[^ “]+) → (?P<after>[^ “]+)")


NONE = "none"
"""The log's word for a setting without a value."""


def noted(before: Mapping[str, Any], after: Mapping[str, Any], names: Iterable[str]) -> str:
    """Describe the changes for the audit log: one line per setting, whatever its texts contain."""
    return "\n".join(f"{name}: {_shown(before[name])} → {_shown(after[name])}" for name in names)


def noted_changes(note: str) -> dict[str, tuple[str, str]]:
    """Parse a note of :func:`noted`: the values before and after of each setting that is not a text."""
    found = (_NOTED.fullmatch(line) for line in note.split("\n"))
    return {match["name"]: (match["before"], match["after"]) for match in found if match}


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f"“{' ⏎ '.join(value.splitlines())}”"
    if isinstance(value, Mapping):
        return ", ".join(f"{' '.join(name.split())} {_shown(one)}" for name, one in value.items())
    return NONE if value is None else str(value)


def fixed_settings(*, state: str, has_stories: bool) -> dict[str, str]:
    """Return the settings that can no longer change, each with the reason.

    In a draft only the settings that its stories were imported and ordered by are fixed. Once a study has
    been opened, so is everything that annotators agreed to or that decides about stories.
    """
    fixed = {}
    if state != "draft":
        opened = _("The study has been opened, and people know it by this form.")
        fixed = dict.fromkeys(("protocol", "option_order", "serving_seed"), opened)
        decided = _("The study has been opened: every story must be decided by the same rule.")
        fixed |= dict.fromkeys(("votes_per_story", "most_votes", "decided_by"), decided)
        fixed["currency"] = _("The study has been opened: people agreed to be paid in it.")
        answered = _("The study has been opened: people answered because of it.")
        fixed |= dict.fromkeys(("intake_questions", "intake_group"), answered)
        fixed["license"] = _("The study has been opened: people agreed to this licence.")
    if has_stories:
        fixed["protocol"] = _(
            "The imported stories, including the test’s, were read by this protocol. For another "
            "protocol, create another study."
        )
        fixed["serving_seed"] = _("The imported stories were ordered with this seed.")
    return fixed


def pay_problem(*, state: str, before: Decimal | None, after: Decimal | None) -> str:
    """Return why the pay rate cannot change to this, or "". After the opening it can only rise."""
    if state == "draft" or before is None or (after is not None and after >= before):
        return ""
    return _("The study has been opened: people agreed to %(rate)s per hour, so it can only be raised.") % {
        "rate": before
    }
