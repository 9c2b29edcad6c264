"""Chart of agreement by question and coefficient."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.template.defaultfilters import floatformat
from django.utils.translation import gettext as _

from dashboard.charts.base import Chart, Column, in_lines
from dashboard.charts.shares import several_each

MAIN = "gwet_ac1"
"""The coefficient that the sentence speaks of: it stays sensible where nearly all answers are one."""


def agreement(rows: Sequence[Mapping[str, Any]]) -> Chart:
    """Chart the rows of :func:`dashboard.figures.tables.agreement_rows`."""
    names = {
        "percent": _("Pairs that agree"),
        "fleiss_kappa": _("Fleiss’ kappa"),
        "krippendorff_alpha": _("Krippendorff’s alpha"),
        "gwet_ac1": _("Gwet’s AC1"),
    }
    found = [
        {
            "name": row["title"],
            "label": in_lines(row["title"]),
            "coefficient": names[cell["name"]],
            "stories": row["stories"],
            "value": cell["value"],
            "low": cell["interval"][0] if cell["interval"] else None,
            "high": cell["interval"][1] if cell["interval"] else None,
        }
        for row in rows
        for cell in row["cells"]
    ]
    columns = (
        Column("name", _("Question")),
        Column("coefficient", _("Coefficient")),
        Column("stories", _("Stories"), "count"),
        Column("value", _("Agreement"), "number"),
        Column("low", _("Interval from"), "number"),
        Column("high", _("to"), "number"),
    )
    known = [bound for row in found for bound in (row["value"], row["low"]) if bound is not None]
    x = {
        "field": "value",
        "type": "quantitative",
        "title": _("Agreement"),
        "scale": {"domain": [min([0.0, *known]), 1], "nice": False},
        "axis": {"format": ".1f", "tickCount": 6, "offset": 6},
    }
    return Chart(
        name="agreement",
        title=_("Agreement by question"),
        finding=_finding(rows),
        how=_(
            "Over the complete stories, before the filter, with the interval (95 %) of a bootstrap over "
            "stories."
        ),
        columns=columns,
        rows=found,
        drawing=several_each(x, columns, group="coefficient", groups=list(names.values())),
    )


def _finding(rows: Sequence[Mapping[str, Any]]) -> str:
    values = [
        (cell["value"], row["title"])
        for row in rows
        for cell in row["cells"]
        if cell["name"] == MAIN and cell["value"] is not None
    ]
    if not values:
        return _("No coefficient can be computed yet.")
    most, least = max(values), min(values)
    return _("Gwet’s AC1 is highest for “%(most)s” (%(high)s) and lowest for “%(least)s” (%(low)s).") % {
        "most": most[1],
        "high": floatformat(most[0], 2),
        "least": least[1],
        "low": floatformat(least[0], 2),
    }
