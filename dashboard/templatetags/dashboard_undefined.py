"""Why coefficients are undefined, each reason once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import template

register = template.Library()


@register.filter
def undefined_reasons(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of rows of ``dashboard.figures.shown.agreement_rows``: each ``reason`` with its rows' ``titles``."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        for cell in row["cells"]:
            if cell["value"] is None and cell["undefined"]:
                found.setdefault(cell["undefined"], {})[row["title"]] = None
    return [{"reason": reason, "titles": [*titles]} for reason, titles in found.items()]
