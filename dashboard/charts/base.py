"""The Chart class, its columns, and its drawing from a template in ``drawings/``."""

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from django.utils.translation import gettext as _

from annotation.models import Study
from publishing.statistics.intervals import wilson
from tomannot.text_templates import environment

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
WIDTH = 640
"""CSS pixels of a chart that stands alone; on a page it is as wide as there is room."""
TITLE_LETTERS, CAPTION_LETTERS, LABEL_LETTERS = 72, 100, 20
"""Characters per line: Vega does not wrap text."""
LINE = 14
"""Pixels between the lines of a label: the font size plus two, Vega's default."""

Kind = Literal["text", "count", "share", "number", "time"]
Row = Mapping[str, Any]


class Source(NamedTuple):
    """The figures of a study; ``document`` is that of :func:`dashboard.figures.compute.figures`."""

    study: Study
    document: Mapping[str, Any]
    begun_at: datetime


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


def with_share(row: Row, part: int, whole: int, *, has_interval: bool = True) -> dict[str, Any]:
    """Add ``share`` (part / whole) and Wilson's 95 % interval (``low``, ``high``; else None) to a row."""
    low, high = (wilson(part, whole) if has_interval else None) or (None, None)
    return {
        **row,
        "label": in_lines(row["name"]),
        "share": part / whole if whole else None,
        "low": low,
        "high": high,
    }


def drawing(name: str, columns: Sequence[Column], **values: Any) -> dict[str, Any]:
    """Return the Vega-Lite specification of ``drawings/name.jinja``; its tooltips show the columns."""
    template = environment(Path(__file__).parent / "drawings").get_template(f"{name}.jinja")
    shown = template.render(LINE=LINE, tooltips=json.dumps(tooltips(columns)), **values)
    found: dict[str, Any] = json.loads(shown)
    return found


def kept_of_each(columns: Sequence[Column], *, rows: Sequence[Row], whole: float | None) -> dict[str, Any]:
    """Draw a dot for the kept share in each of ``rows`` (of :func:`with_share`), with its interval if any.

    ``whole`` is marked by a line through all rows.
    """
    lines = max((row["label"].count("\n") + 1 for row in rows), default=1)  # of the longest label
    return drawing("one_each", columns, title=_("Kept"), height=max(34, lines * LINE + 10), whole=whole)
