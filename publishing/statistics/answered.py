"""Answers to the rows that statistics are about, and what statistics by kind have in common. Pure."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import fsum
from typing import Any, NamedTuple

from annotation.protocols.base import Scored
from publishing.statistics.intervals import over_stories, rounded, rounded_bounds

ALL = "all"
"""The key of the entry about all kinds together, in statistics.json."""
OVERALL = ""
"""Stands for all kinds together, where they have names."""


class Answered(NamedTuple):
    """A question of a complete item, with the option that each annotator chose."""

    core_id: str
    row: Scored
    chosen: Mapping[str, str]
    story_id: str = ""
    group: str = ""
    """The kind of item."""


def by_kind(
    answered: Sequence[Answered], measured: Callable[[str, Sequence[Answered]], dict[str, Any]]
) -> dict[str, Any]:
    """Return what is measured of the rows of each kind, and of all together."""
    kinds: defaultdict[str, list[Answered]] = defaultdict(list)
    for one in answered:
        kinds[one.row.kind].append(one)
    return {
        "kinds": {kind: measured(kind, rows) for kind, rows in kinds.items()},
        ALL: measured(ALL, answered),
    }


def share(kind: str, values: Sequence[tuple[str, float, int]]) -> dict[str, Any]:
    """Return Σ numerators / Σ denominators, with the interval of a bootstrap over stories."""
    above, below = sum(one for _, one, _ in values), sum(of for _, _, of in values)
    measured = rounded(above / below) if below else None
    return {"share": measured, "interval": rounded_bounds(over_stories(kind, values))}


def mean(values: Sequence[float]) -> float | None:
    """Return the mean, which does not depend on the order of the values; None without any."""
    return fsum(values) / len(values) if values else None
