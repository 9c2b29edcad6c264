"""Chart of participants' pace against their agreement with others."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from django.template.defaultfilters import floatformat
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.charts.base import Chart, Column, share_axis, tooltips

MOST = 500
"""People in the chart: those with flags first, then those with most votes."""


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
    told = {"field": "flags", "type": "nominal", "scale": {"domain": kinds}, "title": None}
    seconds = {
        "field": "median_seconds",
        "type": "quantitative",
        "title": _("Median seconds per story"),
        "scale": {"zero": True},
        "axis": {"tickCount": 8},
    }
    dots = {
        "mark": {"type": "point", "filled": True, "size": 90, "opacity": 0.85},
        "encoding": {
            "x": seconds,
            "y": {"field": "agreement", **share_axis(_("Agrees with others"), lowest=lowest)},
            "color": told,
            "shape": told,
            "tooltip": tooltips(columns),
        },
    }
    # Who has a flag is drawn last, on top of the others.
    layers = [
        {"transform": [{"filter": f"isValid(datum.agreement) && {which}datum.flagged"}], **dots}
        for which in ("!", "")
    ]
    middle = {
        "mark": {"type": "rule", "strokeDash": [4, 4], "style": "reference"},
        "encoding": {"x": {"datum": median_seconds, "type": "quantitative"}},
    }
    how = _(
        "Counted votes. Agreement is the share of agreeing pairs of an answer and another participant’s "
        "answer to the same question. The dashed line is the median over all votes."
    )
    if lowest:
        how += " " + _("The axis of agreement begins at %(percent)s %%.") % {"percent": round(100 * lowest)}
    if everybody > len(found):
        how += " " + _("%(shown)s of %(people)s people: those with flags, then those with most votes.") % {
            "shown": len(found),
            "people": everybody,
        }
    return Chart(
        name="people",
        title=_("Pace and agreement of people"),
        finding=ngettext(
            "%(flagged)s of %(people)s person has a flag; the median pace is %(seconds)s seconds a story.",
            "%(flagged)s of %(people)s people have a flag; the median pace is %(seconds)s seconds a story.",
            len(found),
        )
        % {
            "flagged": flagged,
            "people": len(found),
            "seconds": "–" if median_seconds is None else floatformat(median_seconds, 1),
        },
        how=how,
        columns=columns,
        rows=found,
        drawing={"height": 300, "layer": layers if median_seconds is None else [middle, *layers]},
    )
