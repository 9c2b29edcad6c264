"""The charts of a release. Each stands beside a table of the card that has the same numbers. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from publishing.card.charts import Bar, Group, bar_chart
from publishing.card.markdown import percent

RETENTION_FIGURE = "figures/retention.svg"
AGREEMENT_FIGURE = "figures/agreement.svg"
MACHINE_FIGURE = "figures/machine-validation.svg"

MOST_BARS = 24
"""Bars under one heading; with more, the chart shows the largest groups."""
JOINT = "the story as a whole"

GUESSES = {
    "choice_only": "sees the choices only",
    "question_choice": "question and choices",
    "story_choice": "story and choices",
    "shorter_choice": "always the shorter choice",
}
"""The ways of guessing of machine_validation.json that the card and its chart show."""


def figures(statistics: Mapping[str, Any], machine_validation: Mapping[str, Any] | None) -> dict[str, bytes]:
    """The charts by their paths in the release directory, from the documents of the release."""
    drawn = {RETENTION_FIGURE: _retention(statistics), AGREEMENT_FIGURE: _agreement(statistics)}
    varied = varied_configs(machine_validation)
    return drawn | ({MACHINE_FIGURE: _guesses(varied)} if varied else {})


def varied_configs(machine_validation: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    """The configs in which there is something to guess: whose right answer is not always the same."""
    configs = (machine_validation or {}).get("configs", {})
    return {config: found for config, found in configs.items() if not found["constant_answer"]}


def largest(groups: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    """The groups of stories, those with the most generated ones first."""
    return sorted(groups.items(), key=lambda item: (-item[1]["generated"], item[0]))


def _retention(statistics: Mapping[str, Any]) -> bytes:
    groups = {"All stories": {"all": statistics["stories"]}}
    groups |= {
        "By scenario": statistics["by_scenario"],
        "By generator model": statistics["by_generator_model"],
    }
    drawn = [
        Group(_headed(title, found), tuple(_kept(*item) for item in largest(found)[:MOST_BARS]))
        for title, found in groups.items()
    ]
    return bar_chart("Stories kept of those generated", drawn)


def _headed(title: str, found: Mapping[str, Any]) -> str:
    more = len(found) - MOST_BARS
    return f"{title} (the {MOST_BARS} largest of {len(found):,})" if more > 0 else title


def _kept(name: str, group: Mapping[str, Any]) -> Bar:
    share = group["retention"]
    return Bar(name, share, f"{group['kept']:,} of {group['generated']:,}, {_rounded(share)}")


def _rounded(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def _agreement(statistics: Mapping[str, Any]) -> bytes:
    measured = [*statistics["agreement"].items(), (JOINT, statistics["agreement_on_validity"])]
    bars = []
    for name, found in measured:
        bounds = found["intervals"]["percent"]
        bars.append(Bar(name, found["percent"], percent(found["percent"]), tuple(bounds) if bounds else None))
    return bar_chart(
        "Agreement before the filter", [Group("Pairs of votes with the same answer", tuple(bars))]
    )


def _guesses(varied: Mapping[str, Mapping[str, Any]]) -> bytes:
    groups = []
    for config, found in varied.items():
        scores = [(label, found[key]) for key, label in GUESSES.items()]
        bars = (
            Bar(label, score["accuracy"], percent(score["accuracy"]), tuple(score["interval"] or ()) or None)
            for label, score in scores
        )
        groups.append(Group(config, tuple(bars)))
    return bar_chart("Right answers guessed (dashed: chance)", groups, mark=0.5)
