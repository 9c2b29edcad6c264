"""A chart on a page, and its rows as a table."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django import template
from django.template import RequestContext
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _

from dashboard.charts.base import Chart, Column
from dashboard.charts.catalogue import chart_called

MOST_ROWS = 200
"""In a table on a page; the file has all."""

register = template.Library()


@register.inclusion_tag("dashboard/_chart.html", takes_context=True)
def chart(context: RequestContext, name: str) -> dict[str, Any]:
    """The chart of this name, of the page's ``study`` and ``figures``; nothing if it has nothing to draw."""
    study, figures = context["study"], context["figures"]
    made = chart_called(name, study, figures)
    return {"chart": made, "study": study, "figures": figures, "most_rows": MOST_ROWS}


@register.filter
def table_rows(chart: Chart) -> Iterator[list[dict[str, str]]]:
    """The first rows of a chart as cells: their ``text`` in the reader's language, and their ``kind``.

    The first cell of a row whose stories can be listed has the ``search`` for them.
    """
    for row in chart.rows[:MOST_ROWS]:
        cells = [{"text": _said(row[column.key], column), "kind": column.kind} for column in chart.columns]
        if chart.lists and row["name"]:
            cells[0]["search"] = urlencode({chart.lists: row["name"]})
        yield cells


def _said(value: Any, column: Column) -> str:
    if value is None:
        return "–"
    if column.kind == "share":
        return _("%(percent)s %%") % {"percent": round(100 * value)}
    if column.kind == "time":
        return date_format(datetime.fromisoformat(value), "DATETIME_FORMAT")
    if column.kind == "number":
        return number_format(value, decimal_pos=3)
    return number_format(value) if column.kind == "count" else str(value)
