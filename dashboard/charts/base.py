"""The Chart class, and parts that specifications share: shares and coefficients as dots with intervals."""

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from publishing.statistics.intervals import wilson

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
WIDTH = 640
"""CSS pixels of a chart that stands alone; on a page it is as wide as there is room."""
TITLE_LETTERS, CAPTION_LETTERS, LABEL_LETTERS = 72, 100, 20
"""Characters per line: Vega does not wrap text."""
LINE = 14
"""Pixels between the lines of a label: two more than its letters are high, as Vega has it."""

Kind = Literal["text", "count", "share", "number", "time"]
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a chart's table. ``share`` is 0..1, ``time`` a moment in ISO 8601 (UTC)."""

    key: str
    label: str
    kind: Kind = "text"


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart, in the reader's language.

    ``finding`` describes in a sentence what the chart shows, also for readers who cannot see it; ``how`` is
    the source of the numbers; ``drawing`` is the Vega-Lite specification without data, title and colours.
    """

    name: str
    title: str
    finding: str
    how: str
    columns: tuple[Column, ...]
    rows: Sequence[Row]
    drawing: Mapping[str, Any]
    lists: str = ""
    """The filter of the list of stories under which a row's ``name`` is found; empty where there is none."""

    def spec(self) -> dict[str, Any]:
        """Return the whole specification, which any Vega-Lite program can draw."""
        return {
            "$schema": SCHEMA,
            "title": {
                "text": textwrap.wrap(self.title, TITLE_LETTERS),
                "subtitle": textwrap.wrap(self.how, CAPTION_LETTERS),
            },
            "description": self.finding,
            "width": WIDTH,
            "data": {"values": [dict(row) for row in self.rows]},
            **self.drawing,
        }


def in_lines(name: str) -> str:
    """Break a long name into lines after spaces, hyphens, underscores, slashes and dots.

    Only the one space at a break is dropped, so two names never become the same.
    """
    lines = [""]
    for part in re.findall(r"[^\s_\-/.]*[\s_\-/.]?", name):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > LABEL_LETTERS:
            lines.append("")
        lines[-1] += part
    return "\n".join([*(line.removesuffix(" ") for line in lines[:-1]), lines[-1]])


def row_height(labels: Iterable[str]) -> int:
    """Return the height in pixels of a row that fits the longest of the labels (of :func:`in_lines`)."""
    lines = max((label.count("\n") + 1 for label in labels), default=1)
    return max(34, lines * LINE + 10)


def named(field: str, *, title: str | None = None, sort: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the encoding of names, one per row of the chart, in the order of the rows.

    Vega puts the first line of a label beside its mark, so labels are moved up by half of their other lines.
    """
    up = f"{-LINE / 2:g} * (length(split(datum.label, '\\n')) - 1)"
    axis = {
        "labelExpr": "split(datum.label, '\\n')",
        "labelOffset": {"condition": {"test": "true", "expr": up}, "value": 0},
        "ticks": False,
        "domain": False,
        "labelPadding": 10,
    }
    return {"field": field, "type": "nominal", "sort": sort, "title": title, "axis": axis}


def share_axis(title: str, *, lowest: float = 0.0) -> dict[str, Any]:
    """Return the scale and axis of shares. They always reach 1, so neighbouring charts can be compared."""
    return {
        "type": "quantitative",
        "title": title,
        "scale": {"domain": [lowest, 1], "nice": False},
        "axis": {"format": ".0%", "tickCount": 5, "offset": 6},
    }


def tooltips(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Return the tooltip of a mark: its row as in the table."""
    formats = {"share": ".1%", "number": ".3f", "count": ",d"}
    return [
        {"field": column.key, "title": column.label, "type": "temporal", "timeUnit": "utcyearmonthdatehours"}
        if column.kind == "time"
        else {"field": column.key, "title": column.label}
        | (
            {"type": "quantitative", "format": formats[column.kind]}
            if column.kind in formats
            else {"type": "nominal"}
        )
        for column in columns
    ]


INTERVAL_MARK = {"type": "rule", "strokeWidth": 2, "strokeCap": "round"}
DOT = {"type": "point", "filled": True, "size": 80, "opacity": 1}


def with_share(row: Row, part: int, whole: int) -> dict[str, Any]:
    """Add ``share`` (part / whole) and Wilson's 95 % interval (``low``, ``high``) to a row."""
    interval = wilson(part, whole)
    low, high = interval or (None, None)
    return {
        **row,
        "label": in_lines(row["name"]),
        "share": part / whole if whole else None,
        "low": low,
        "high": high,
    }


def without_interval(row: Row) -> dict[str, Any]:
    """Keep only the share of a row of :func:`with_share`."""
    return {**row, "low": None, "high": None}


def one_each(
    axis: str, columns: Sequence[Column], *, rows: Sequence[Row], whole: float | None
) -> dict[str, Any]:
    """Draw a dot for each of ``rows`` (of :func:`with_share`), with its interval if any.

    ``whole`` is marked by a line through all rows.
    """
    x = {"field": "share", **share_axis(axis)}
    y = named("label")
    line = {"type": "rule", "strokeDash": [4, 4], "style": "reference"}
    reference = {"mark": line, "encoding": {"x": {**share_axis(axis), "datum": whole}}}
    interval = {"y": y, "x": {**x, "field": "low"}, "x2": {"field": "high"}}
    return {
        "height": {"step": row_height(row["label"] for row in rows)},
        "transform": [{"filter": "isValid(datum.share)"}],
        "layer": [
            *([reference] if whole is not None else []),
            {"transform": [{"filter": "isValid(datum.low)"}], "mark": INTERVAL_MARK, "encoding": interval},
            {"mark": DOT, "encoding": {"y": y, "x": x, "tooltip": tooltips(columns)}},
        ],
    }


def several_each(
    x: Mapping[str, Any], columns: Sequence[Column], *, group: str, groups: Sequence[str]
) -> dict[str, Any]:
    """Draw several dots per name, distinguished by shape and colour, with their intervals if any.

    Rows have ``label``, the field of ``x``, ``low``, ``high`` and the field ``group``.
    """
    value = x["field"]
    told = {"field": group, "type": "nominal", "sort": list(groups), "title": None}
    shared = {
        "y": {**named("label"), "scale": {"paddingInner": 0.3}},
        "yOffset": {"field": group, "type": "nominal", "sort": list(groups)},
        "color": told,
    }
    interval = {"x": {**x, "field": "low"}, "x2": {"field": "high"}}
    return {
        "height": {"step": 15},
        "transform": [{"filter": f"isValid(datum.{value})"}],
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": INTERVAL_MARK,
                "encoding": {**shared, **interval},
            },
            {"mark": DOT, "encoding": {**shared, "x": dict(x), "shape": told, "tooltip": tooltips(columns)}},
        ],
    }
