"""Shares and coefficients as dots with intervals: one per name, or several distinguished by shape."""

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.charts.base import Column, Row, in_lines, named, row_height, share_axis, tooltips
from publishing.statistics.intervals import wilson

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
