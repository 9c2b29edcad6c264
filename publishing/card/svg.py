"""Horizontal bar charts as SVG: deterministic, accessible, readable on light and dark pages. Pure.

Written by hand, because a chart must have the same bytes on every machine. Text stays text. Colours and sizes
are attributes, so charts are readable where styles are blocked; a style only adds the dark scheme.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from publishing.card.markdown import one_line

WIDTH = 400
"""In user units; small, so that text stays legible when a phone shows the chart 350 pixels wide."""
_MARGIN, _VALUE = 16, 112
_BAR = WIDTH - 2 * _MARGIN - _VALUE
_ROW, _THICK, _HEAD = 36, 10, 26
_LONGEST_LABEL, _LONGEST_TITLE = 52, 44

_STYLE = (
    "@media (prefers-color-scheme: dark) { .ground { fill: #1d2326 } .ink { fill: #e7e4dd } "
    ".soft { fill: #a9b2b6 } .track { fill: #333b3f } .bar { fill: #2f8f84 } .line { stroke: #e7e4dd } }"
)


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
    rows: list[str] = []
    top = _MARGIN + 20
    for group in groups:
        top += _HEAD
        rows.append(
            f'<text class="ink" x="{_MARGIN}" y="{top - 8}" font-weight="600" fill="#20272a">'
            f"{_text(group.title, _LONGEST_TITLE)}</text>"
        )
        for bar in group.bars:
            rows += _bar(bar, top, mark)
            top += _ROW
    height = top + _MARGIN // 2
    described = ". ".join(_in_words(group) for group in groups)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title description" '
            f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" font-size="13" '
            f"font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif\">",
            f'<title id="title">{_text(title)}</title>',
            f'<desc id="description">{_text(described)}</desc>',
            f"<style>{_STYLE}</style>",
            f'<rect class="ground" width="{WIDTH}" height="{height}" rx="8" fill="#fff"/>',
            f'<text class="ink" x="{_MARGIN}" y="{_MARGIN + 10}" font-size="15" font-weight="600" '
            f'fill="#20272a">{_text(title, _LONGEST_TITLE)}</text>',
            *rows,
            "</svg>\n",
        ]
    ).encode()


def _bar(bar: Bar, top: int, mark: float | None) -> list[str]:
    """Draw the label above the bar and the figure beside it."""
    base, ink = top + 17, 'stroke="#20272a" stroke-width="1.5" fill="none"'
    label, figure = _text(bar.label, _LONGEST_LABEL), _text(bar.figure)
    drawn = [
        f'<text class="soft" x="{_MARGIN}" y="{top + 10}" fill="#566066">{label}</text>',
        _rect("track", base, _BAR, "#e6e2d9"),
    ]
    if bar.share is not None:
        drawn.append(_rect("bar", base, _length(bar.share), "#3f9c92"))
    if bar.bounds is not None:
        low, high = (_MARGIN + _length(bound) for bound in bar.bounds)
        ends = "".join(f"M{end:.1f} {base - 2}v{_THICK + 4}" for end in (low, high))
        drawn.append(f'<path class="line" d="M{low:.1f} {base + _THICK // 2}H{high:.1f}{ends}" {ink}/>')
    if mark is not None:
        place = f"M{_MARGIN + _length(mark):.1f} {base - 4}v{_THICK + 8}"
        drawn.append(f'<path class="line" d="{place}" stroke-dasharray="3 2" {ink}/>')
    drawn.append(
        f'<text class="ink" x="{WIDTH - _MARGIN}" y="{base + _THICK}" text-anchor="end" fill="#20272a">'
        f"{figure}</text>"
    )
    return drawn


def _rect(kind: str, top: int, width: float, fill: str) -> str:
    where = f'x="{_MARGIN}" y="{top}" width="{width}" height="{_THICK}" rx="2"'
    return f'<rect class="{kind}" {where} fill="{fill}"/>'


def _length(share: float) -> float:
    return round(_BAR * min(max(share, 0.0), 1.0), 1)


def _in_words(group: Group) -> str:
    """Describe the group in words, for readers who do not see the chart."""
    return f"{group.title}: " + "; ".join(f"{bar.label}, {bar.figure}" for bar in group.bars)


def _text(value: str, longest: int = 0) -> str:
    line = one_line(value)
    shown = f"{line[: longest - 1]}…" if longest and len(line) > longest else line
    return escape(shown, {'"': "&quot;"})
