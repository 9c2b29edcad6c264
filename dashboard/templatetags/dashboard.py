"""Tags and filters of the researchers' pages: the menu, charts, times, code to copy."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django import template
from django.template import RequestContext
from django.template.defaultfilters import floatformat
from django.urls import reverse
from django.utils.formats import date_format, number_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from annotation.models import Study
from annotation.protocols.questions import FormCell
from dashboard.charts.base import Chart, Column
from dashboard.charts.catalogue import chart_called
from dashboard.charts.stories import percent
from dashboard.figures import flags
from dashboard.navigation import menu
from recruitment.links import absolute

MOST_ROWS = 200
"""In a table on a page; the file has all."""

register = template.Library()
register.filter("percent", percent)
register.filter("flag_title", flags.title)


@register.inclusion_tag("dashboard/_menu.html", takes_context=True)
def study_menu(context: RequestContext) -> dict[str, Any]:
    return menu(context["request"], context["study"])


@register.inclusion_tag("dashboard/_python.html")
def use_in_python(study: Study) -> dict[str, Any]:
    """Show code for this study, to copy."""
    return {"study": study, "api": absolute(reverse("api:study", args=[study.slug]))}


@register.filter
def moment(value: datetime | str | None) -> SafeString | str:
    """Render a time as ``<time datetime="…">2026-11-22 08:01 UTC</time>``; empty for anything else."""
    if not isinstance(value, datetime):  # nothing, or what a page does not have
        return ""
    said = date_format(localtime(value), "DATETIME_FORMAT")
    return format_html('<time datetime="{}">{}</time>', value.isoformat(), said)


@register.simple_block_tag
def scroll(content: SafeString, label: str = "", labelledby: str = "") -> SafeString:
    """Let a wide table scroll, also by keyboard; ``labelledby`` is the id of an element that names it."""
    name = format_html('aria-labelledby="{}"' if labelledby else 'aria-label="{}"', labelledby or label)
    return format_html('<div class="table-scroll" role="region" {} tabindex="0">{}</div>', name, content)


@register.simple_block_tag(takes_context=True)
def press(context: Any, content: str, name: str, *args: Any, quiet: bool = True, **sent: str) -> SafeString:
    """Show a form of one button, which posts ``sent`` to the page of this name."""
    return format_html(
        '<form class="actions" method="post" action="{}"><input type="hidden" name="csrfmiddlewaretoken" '
        'value="{}"><button class="button{}" type="submit"{}>{}</button></form>',
        reverse(f"dashboard:{name}", args=args),
        context["csrf_token"],
        " button--quiet" if quiet else "",
        format_html_join("", ' name="{}" value="{}"', sent.items()),
        content,
    )


@register.filter
def hundredfold(share: float, digits: int = 0) -> float:
    """Return a share (0..1) as a number of per cent, rounded to so many digits."""
    return round(100 * share, digits or None)


@register.filter
def words(cell: FormCell, option: str) -> str:
    """Return the label of a cell's option; the option itself if the form does not offer it."""
    return cell.labels.get(option, option)


@register.inclusion_tag("dashboard/charts/_chart.html", takes_context=True)
def chart(context: RequestContext, name: str) -> dict[str, Any]:
    """Return the context of a chart with this name; empty if it has nothing to draw."""
    study, figures = context["study"], context["figures"]
    made = chart_called(name, study, figures)
    return {"name": name, "chart": made, "study": study, "figures": figures, "most_rows": MOST_ROWS}


@register.filter
def table_rows(chart: Chart) -> Iterator[list[dict[str, str]]]:
    """Return a chart's first rows as cells: ``text`` in the reader's language, and ``kind``.

    If a row's stories can be listed, its first cell has their ``search``.
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
        return percent(value)
    if column.kind == "time":
        return date_format(datetime.fromisoformat(value), "DATETIME_FORMAT")
    if column.kind == "number":
        return floatformat(value, 3)
    return number_format(value) if column.kind == "count" else str(value)
