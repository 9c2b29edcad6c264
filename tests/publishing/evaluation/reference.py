"""The evaluation a second time: plain Python on the files, sharing only numpy's stream of numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from math import ceil, sqrt
from operator import eq
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

SETS = ("mental-state-qa", "behavior-qa", "judgment-qa")
Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class Reference:
    """The scores of one release, by resampling lists of stories."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.stories = read(place / "story-data/test.jsonl")
        self.questions = {name: read(place / name / "test.jsonl") for name in SETS}

        ids = {row["id"] for row in read(place / "hard-questions.jsonl")}
        self.hard = [row["id"] in ids for row in self.questions["behavior-qa"]]

    def right(self, answers: Path) -> dict[str, list[bool]]:
        given = {row["id"]: row["answer"] for row in read(answers)}
        return {
            name: [given[row["id"]] == row["answerKey"] for row in rows]
            for name, rows in self.questions.items()
        }

    def share(self, right: Sequence[Any], among: Sequence[Any]) -> tuple[float, list[float]]:
        cores = [story["core_id"] for story in self.stories]
        counted = [(core, float(r)) for core, r, a in zip(cores, right, among, strict=True) if a]
        share = sum(r for _, r in counted) / len(counted)
        bounds = bootstrap(cores, [r if a else None for r, a in zip(right, among, strict=True)])
        return share, bounds or wilson(share, len({core for core, _ in counted}))

    def difference(self, first: Sequence[Any], second: Sequence[Any]) -> tuple[float, list[float] | None]:
        more = [float(a) - float(b) for a, b in zip(first, second, strict=True)]
        return sum(more) / len(more), bootstrap([story["core_id"] for story in self.stories], more)

    def votes(
        self, model: Path, key: str, near: Callable[[Any, Any], float] = eq
    ) -> dict[str, tuple[float, list[float]] | tuple[float, None]]:
        """Leave one annotator out at a time, pair by pair; ``near`` is how much two answers agree."""
        votes = read(self.place / "annotations/votes.jsonl")
        mine = {row["story_id"]: row.get(key) for row in read(model)}
        complete = [*self.stories, *read(self.place / "annotations/dropped-stories.jsonl")]
        complete.sort(key=lambda story: story["story_id"])
        cores = [story["core_id"] for story in complete]
        theirs, models, close = [], [], []
        for story in complete:
            given = [vote.get(key) for vote in votes if vote["story_id"] == story["story_id"]]
            own, other, wins = [], [], []
            for place, answer in enumerate(given):
                rest = given[:place] + given[place + 1 :]
                own.append(sum(near(one, answer) for one in rest) / len(rest))
                other.append(sum(near(one, mine[story["story_id"]]) for one in rest) / len(rest))
                wins.append(other[-1] >= own[-1] - 1e-12)
            theirs.append(sum(own) / len(own))
            models.append(sum(other) / len(other))
            close.append(sum(wins) / len(wins))
        shares = {"annotators": theirs, "model": models, "at_least_as_close": close}
        found: dict[str, Any] = {
            name: (
                sum(values) / len(values),
                bootstrap(cores, values) or wilson(sum(values) / len(values), len(set(cores))),
            )
            for name, values in shares.items()
        }
        more = [a - b for a, b in zip(models, theirs, strict=True)]
        return found | {"difference": (sum(more) / len(more), bootstrap(cores, more))}


def bootstrap(cores: Sequence[str], values: Sequence[float | None]) -> list[float] | None:
    """The 95 % percentile interval of the mean of the known values, whole cores drawn 1,000 times."""
    names = list(dict.fromkeys(cores))
    members = {name: [v for core, v in zip(cores, values, strict=True) if core == name] for name in names}
    stream, means = np.random.RandomState(1), []
    for _ in range(1000):
        drawn = [v for place in stream.randint(len(names), size=len(names)) for v in members[names[place]]]
        known = [float(v) for v in drawn if v is not None]
        means += [sum(known) / len(known)] if known else []
    if len(means) < 950 or max(means) - min(means) < 1e-12:
        return None
    means.sort()
    places = (ceil(round(len(means) * 0.025, 6)) - 1, ceil(round(len(means) * 0.975, 6)) - 1)
    return [means[place] for place in places]


def wilson(share: float, n: int) -> list[float]:
    z = NormalDist().inv_cdf(0.975)
    middle, half = share + z * z / (2 * n), z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return [max(0.0, (middle - half) / (1 + z * z / n)), min(1.0, (middle + half) / (1 + z * z / n))]
