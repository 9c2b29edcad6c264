"""A release's charts, each beside a table in the card with the same numbers. Pure.

They are horizontal bars as SVG: deterministic, accessible, readable on light and dark pages. They are drawn
by a template of our own, because a chart must have the same bytes on every machine. Text stays text.
Colours and sizes are attributes, so charts are readable where styles are blocked; a style only adds the dark
scheme.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from publishing.card.contents import MEANINGS
from publishing.card.markdown import NOTHING, decimal, one_line, percent
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


RETENTION_FIGURE = "figures/retention.svg"
AGREEMENT_FIGURE = "figures/agreement.svg"
RATINGS_FIGURE = "figures/ratings.svg"
ACCURACY_FIGURE = "figures/accuracy.svg"
PEOPLE_FIGURE = "figures/human-baseline.svg"
MACHINE_FIGURE = "figures/machine-validation.svg"

MOST_BARS = 24
"""Bars per group; larger groups are shown first."""
JOINT = "the story as a whole"

GUESSES = MEANINGS["guesses"]


def figures(
    statistics: Mapping[str, Any],
    machine_validation: Mapping[str, Any],
    people: Mapping[str, Any] | None,
    *,
    selects: bool = True,
) -> dict[str, bytes]:
    """Draw the charts from the documents of the release; returns them by path.

    ``selects``: whether the release's filter can drop stories.
    """
    drawn = {RETENTION_FIGURE: _retention(statistics)} if selects else {}
    if statistics["agreement"]:
        drawn[AGREEMENT_FIGURE] = _agreement(statistics)
    if "ratings" in statistics:
        drawn[RATINGS_FIGURE] = _ratings(statistics["ratings"])
    if "accuracy" in statistics:
        drawn[ACCURACY_FIGURE] = _people(statistics["accuracy"]["configs"], {})
    varied = varied_configs(machine_validation)
    if people:
        drawn[PEOPLE_FIGURE] = _people(people["configs"], varied)
    return drawn | ({MACHINE_FIGURE: _guesses(varied)} if varied else {})


def varied_configs(machine_validation: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the configs whose right answer is not always the same."""
    configs = machine_validation["configs"].items()
    return {config: found for config, found in configs if not found["constant_answer"]}


def largest(groups: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the groups of stories, largest first."""
    return sorted(groups.items(), key=lambda item: (-item[1]["generated"], item[0]))


def _retention(statistics: Mapping[str, Any]) -> bytes:
    groups = {"All stories": {"all": statistics["stories"]}}
    groups |= {"By scenario": statistics["by_scenario"], "By author": statistics["by_generator_model"]}
    drawn = [
        Group(_headed(title, found), tuple(_kept(*item) for item in largest(found)[:MOST_BARS]))
        for title, found in groups.items()
    ]
    return bar_chart("Stories kept", drawn)


def _ratings(found: Mapping[str, Any]) -> bytes:
    scenarios = [*next(iter(found.values()))["by_scenario"]][:MOST_BARS]
    drawn: dict[str, Mapping[str, Any]] = {"All items": found}
    drawn |= {name: {key: one["by_scenario"][name] for key, one in found.items()} for name in scenarios}
    groups = [
        Group(title, tuple(_rating(key, one) for key, one in rated.items())) for title, rated in drawn.items()
    ]
    return bar_chart("Mean ratings", groups)


def _rating(name: str, found: Mapping[str, Any]) -> Bar:
    low, *_between, high = map(int, found["chosen"])
    level, bounds = found["mean"], found["intervals"]["mean"]
    share = None if level is None else (level - low) / (high - low)
    drawn = ((bounds[0] - low) / (high - low), (bounds[1] - low) / (high - low)) if bounds else None
    return Bar(name, share, f"{_decimal(level)} of {low}–{high}", drawn)


def _headed(title: str, found: Mapping[str, Any]) -> str:
    more = len(found) - MOST_BARS
    return f"{title} (the {MOST_BARS} largest of {len(found):,})" if more > 0 else title


def _kept(name: str, group: Mapping[str, Any]) -> Bar:
    share = group["retention"]
    rounded = "–" if share is None else f"{100 * share:.0f} %"
    return Bar(name, share, f"{group['kept']:,} of {group['generated']:,}, {rounded}")


def _agreement(statistics: Mapping[str, Any]) -> bytes:
    joint = statistics.get("agreement_on_validity")
    measured = [*statistics["agreement"].items(), *([(JOINT, joint)] if joint else [])]
    drawn = [
        Group(title, tuple(_coefficient(name, found, key, shown) for name, found in measured))
        for key, title, shown in (
            ("percent", "Pairs of votes with the same answer", percent),
            ("gwet_ac1", "Corrected for chance: Gwet's AC1", _decimal),
        )
    ]
    return bar_chart("Agreement before the filter" if joint else "Agreement", drawn)


def _coefficient(name: str, found: Mapping[str, Any], key: str, shown: Callable[[float | None], str]) -> Bar:
    bounds = found["intervals"][key]
    return Bar(name, found[key], shown(found[key]), tuple(bounds) if bounds else None)


def _decimal(value: float | None) -> str:
    return NOTHING if value is None else decimal(value)


def _guesses(varied: Mapping[str, Mapping[str, Any]]) -> bytes:
    groups = [
        accuracies(config, {label: found[key] for key, label in GUESSES.items()})
        for config, found in varied.items()
    ]
    return bar_chart("Right answers guessed (dashed: chance)", groups, mark=0.5)


def _people(configs: Mapping[str, Mapping[str, Any]], varied: Mapping[str, Mapping[str, Any]]) -> bytes:
    groups = []
    for config, found in configs.items():
        guesses = {label: varied[config][key] for key, label in GUESSES.items()} if config in varied else {}
        scores = {"people": found, "the majority of people": found["majority"], **guesses}
        groups.append(accuracies(config, scores))
    chances = {found["chance"] for found in configs.values()} - {None}
    if chances - {0.5}:
        return bar_chart("Right answers of people", groups)
    return bar_chart("Right answers of people (dashed: chance)", groups, mark=0.5)


def accuracies(title: str, scores: Mapping[str, Mapping[str, Any]]) -> Group:
    """Return a bar for each score, by label."""
    return Group(
        title,
        tuple(
            Bar(label, score["accuracy"], percent(score["accuracy"]), tuple(score["interval"] or ()) or None)
            for label, score in scores.items()
        ),
    )
