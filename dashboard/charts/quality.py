"""Charts of agreement by question and coefficient, and of participants' pace against it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from django.template.defaultfilters import floatformat
from django.utils.translation import gettext as _

from dashboard.charts.base import Chart, Column, drawing, in_lines

MAIN = "gwet_ac1"
"""The coefficient that the sentence speaks of: it stays sensible where nearly all answers are one."""


def agreement(rows: Sequence[Mapping[str, Any]]) -> Chart:
    """Chart the rows of :func:`dashboard.figures.tables.agreement_rows`."""
    found = [
        {
            "name": row["title"],
            "label": in_lines(row["title"]),
            "coefficient": str(cell["label"]),
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
    return Chart(
        title=_("Agreement by question"),
        finding=_finding(rows),
        how=_("Over the complete stories, with the interval (95 %) of a bootstrap over stories."),
        columns=columns,
        rows=found,
        drawing=drawing(
            "several_each",
            columns,
            field="value",
            title=_("Agreement"),
            lowest=min([0.0, *known]),
            group="coefficient",
            groups=list(dict.fromkeys(row["coefficient"] for row in found)),
        ),
    )


def _finding(rows: Sequence[Mapping[str, Any]]) -> str:
    values = [
        (cell["value"], row["title"])
        for row in rows
        for cell in row["cells"]
        if cell["name"] == MAIN and cell["value"] is not None and row["key"] != "validity"
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


MOST = 500
"""Participants in the chart: those with flags first, then those with most votes."""


def people(rows: Sequence[Mapping[str, Any]], *, median_seconds: float | None, everybody: int) -> Chart:
    """Chart ``rows`` with ``pseudonym``, ``votes``, ``median_seconds``, ``agreement``, ``flags`` (titles)."""
    none = _("no flag")
    found = [
        {
            **{key: row[key] for key in ("pseudonym", "votes", "median_seconds", "agreement")},
            "flags": ", ".join(row["flags"]) or none,
            "flagged": bool(row["flags"]),
        }
        for row in rows[:MOST]
    ]
    kinds = sorted({row["flags"] for row in found}, key=lambda kind: (kind != none, kind))
    flagged = sum(row["flagged"] for row in found)
    agreed = [row["agreement"] for row in found if row["agreement"] is not None]
    lowest = max(0, math.floor(10 * min(agreed, default=0) - 0.1)) / 10  # a tenth below the lowest share
    columns = (
        Column("pseudonym", _("Person")),
        Column("votes", _("Votes"), "count"),
        Column("median_seconds", _("Median seconds"), "number"),
        Column("agreement", _("Agrees with others"), "share"),
        Column("flags", _("Flags")),
    )
    how = _(
        "Counted votes. Agreement is the share of agreeing pairs of an answer and another participant’s "
        "answer to the same question. The dashed line is the median over all votes."
    )
    if lowest:
        how += " " + _("The axis of agreement begins at %(percent)s %%.") % {"percent": round(100 * lowest)}
    if everybody > len(found):
        how += " " + _(
            "%(shown)s of %(people)s participants: those with flags, then those with most votes."
        ) % {"shown": len(found), "people": everybody}
    return Chart(
        title=_("Pace and agreement of participants"),
        finding=_("%(flagged)s of %(people)s participants flagged. Median pace: %(seconds)s seconds a story.")
        % {
            "flagged": flagged,
            "people": len(found),
            "seconds": "–" if median_seconds is None else floatformat(median_seconds, 1),
        },
        how=how,
        columns=columns,
        rows=found,
        drawing=drawing(
            "people",
            columns,
            median=median_seconds,
            pace=_("Median seconds per story"),
            agreement=_("Agrees with others"),
            lowest=lowest,
            kinds=kinds,
        ),
    )
