"""Horizontal bar charts as SVG: deterministic, accessible, readable on light and dark pages. Pure.

Drawn by a template of our own, because a chart must have the same bytes on every machine. Text stays text.
Colours and sizes are attributes, so charts are readable where styles are blocked; a style only adds the dark
scheme.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from publishing.card.markdown import one_line
from tomannot.text_templates import environment

WIDTH = 400
"""In user units; small, so that text stays legible when a phone shows the chart 350 pixels wide."""
_MARGIN, _VALUE = 16, 112
_BAR = WIDTH - 2 * _MARGIN - _VALUE
_ROW, _THICK, _HEAD = 36, 10, 26
_LONGEST_LABEL, _LONGEST_TITLE = 52, 44


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: label, length as a share in 0..1 (None: no bar), and figure."""

    label: str
    share: float | None
    figure: str
    bounds: tuple[float, float] | None = None
    """An interval in 0..1, drawn as a line over the bar."""


@dataclass(frozen=True, slots=True)
class Group:
    """Bars with a common heading."""

    title: str
    bars: tuple[Bar, ...]


def bar_chart(title: str, groups: Sequence[Group], *, mark: float | None = None) -> bytes:
    """Draw the chart. ``mark`` is a share marked by a line through all bars, such as chance."""
    bars = sum(len(group.bars) for group in groups)
    sizes = {"WIDTH": WIDTH, "MARGIN": _MARGIN, "BAR": _BAR, "ROW": _ROW, "THICK": _THICK, "HEAD": _HEAD}
    chart = environment(Path(__file__).parent / "text").get_template("chart.jinja")
    text = chart.render(
        title=title,
        groups=groups,
        mark=mark,
        height=_MARGIN + 20 + _HEAD * len(groups) + _ROW * bars + _MARGIN // 2,
        length=lambda share: round(_BAR * min(max(share, 0.0), 1.0), 1),
        label=_text,
        LONGEST_LABEL=_LONGEST_LABEL,
        LONGEST_TITLE=_LONGEST_TITLE,
        **sizes,
    )
    return f"{text}\n".encode()


def _text(value: str, longest: int = 0) -> str:
    line = one_line(value)
    shown = f"{line[: longest - 1]}…" if longest and len(line) > longest else line
    return escape(shown, {'"': "&quot;"})
