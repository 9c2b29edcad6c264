"""Accuracy of models on a release's questions, comparisons of models, and each as one more annotator. Pure.

Stories of one core share text and answers, so whole cores are resampled for every interval (the cluster
bootstrap, Davison and Hinkley 1997, 3.8; for evaluations of models: Miller 2024, "Adding Error Bars to
Evals"), with the same resamples for every figure: differences are paired (Efron and Tibshirani 1993).

As one more annotator, a model is compared with the crowd, with one person left out at a time. Each person's
answer is compared with those of the others on the story; so is the model's, once per person left out, so that
both are compared with equally many. See Calderon, Reichart and Dror (2025), "The Alternative Annotator Test
for LLM-as-a-Judge", of which ``at_least_as_close`` is the advantage probability, over all votes. Numbers of a
scale agree by their nearness: 1 minus their distance over the longest one (the linear weights of Cohen 1968).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from publishing.evaluation.reading import Answers, EvaluatedRelease, Form
from publishing.facts import NOT_STATED, AskedQuestion
from publishing.statistics.intervals import Bootstrap, ClusterBootstrap, rounded, rounded_bounds, wilson

Score = dict[str, Any]
Marks = NDArray[np.float64]
"""One number per story: 1 for a right answer (or a story that counts), else 0."""
DESIGN = Bootstrap()
METHOD = (
    "Percentile intervals of a bootstrap by core, the same resamples for every figure. Where all resamples "
    "are equal, or too few have such questions, it is Wilson's interval with the cores as n (interval_is)."
)


class Scorer:
    """Shares with intervals, over items of which those with one core are resampled together."""

    def __init__(self, cores: Sequence[str]) -> None:
        self._cores = np.array(cores)
        self._bootstrap = ClusterBootstrap(cores, DESIGN)

    def share(self, right: ArrayLike, among: ArrayLike, name: str = "accuracy") -> Score:
        """Return the share of ``right`` among the items that are 1 in ``among``, under this name."""
        counting = np.asarray(among, np.float64)
        counted = np.asarray(right, np.float64) * counting
        n = int(counting.sum())
        if not n:
            return {name: None, "n": 0, "interval": None, "interval_is": None}
        share = float(counted.sum()) / n
        bounds, method = self._bootstrap.interval(counted, counting), "bootstrap"
        if bounds is None:
            cores = len(np.unique(self._cores[counting > 0]))
            bounds, method = wilson(share * cores, cores), "wilson"
        return {name: rounded(share), "n": n, "interval": rounded_bounds(bounds), "interval_is": method}

    def difference(self, first: ArrayLike, second: ArrayLike) -> Score:
        """Return how much larger the mean of ``first`` is. The interval is null if no resample differs."""
        more = np.asarray(first, np.float64) - np.asarray(second, np.float64)
        bounds = self._bootstrap.interval(more, np.ones(len(more)))
        return {"difference": rounded(float(more.mean())), "interval": rounded_bounds(bounds)}


def scores(release: EvaluatedRelease, models: Mapping[str, Answers]) -> dict[str, Any]:
    """Return the scores of every model, and the difference of every two of them per question set."""
    scorer = Scorer([story["core_id"] for story in release.stories])
    right = {
        name: {
            config: np.array([answers[row["id"]] == row["answerKey"] for row in asked], np.float64)
            for config, asked in release.questions.items()
        }
        for name, answers in models.items()
    }
    return {
        "design": {**asdict(DESIGN), "unit": "core_id", "method": METHOD},
        "models": {
            name: {"unanswered": list(models[name].values()).count(None), **_model(release, scorer, found)}
            for name, found in right.items()
        },
        "comparisons": [
            {"config": config, "models": [one, other]}
            | scorer.difference(right[one][config], right[other][config])
            for config in release.questions
            for one, other in combinations(models, 2)
        ],
    }


def _model(release: EvaluatedRelease, scorer: Scorer, right: Mapping[str, Marks]) -> dict[str, Any]:
    every, pairs = np.ones(len(release.stories)), list(combinations(right, 2))
    severities = [story["severity_original"] for story in release.stories]

    def score(config: str, marks: Marks) -> Score:
        ids = [row["id"] for row in release.questions[config]]
        return {
            **scorer.share(marks, every),
            "hard_questions": scorer.share(marks, [one in release.hard for one in ids]),
            "questions_of_people": scorer.share(marks, [one in release.asked_people for one in ids]),
            "by_scenario": by(marks, [story["scenario_name"] or NOT_STATED for story in release.stories]),
            "by_severity": by(marks, [NOT_STATED if one is None else str(one) for one in severities]),
        }

    def by(marks: Marks, values: Sequence[str]) -> dict[str, Score]:
        return {value: scorer.share(marks, [one == value for one in values]) for value in sorted(set(values))}

    return {
        "configs": {config: score(config, marks) for config, marks in right.items()},
        "if_easier_is_right": [
            {"config": config, "easier": easier, **scorer.share(right[config], right[easier])}
            for easier, config in pairs
        ],
        "gaps": [
            {"config": config, "easier": easier, **scorer.difference(right[easier], right[config])}
            for easier, config in pairs
        ],
        "all_questions": scorer.share(np.prod(list(right.values()), axis=0), every),
    }


WHOLE = "the story as a whole"
CrowdVotes = Sequence[tuple[str, str, Sequence[Form]]]
"""Id, core and votes of each story."""


def agreement(asked: Sequence[AskedQuestion], crowd: CrowdVotes, model: Mapping[str, Form]) -> dict[str, Any]:
    """Compare a model's votes with people's, per question and, if options count against it, on the whole.

    ``annotators`` and ``model`` are means over pairs of answers: how often they agree, on a scale how nearly.
    A question left open is an answer of its own. Stories with one vote have no pairs and are left out.
    """
    against = {(question.key, option) for question in asked for option in question.against}
    several = [story for story in crowd if len(story[2]) > 1]
    scorer = Scorer([core for _, core, _ in several])
    farthest = {question.key: len(question.options) - 1 if question.scale else 1 for question in asked}

    def answers(form: Form, key: str) -> str:
        return form.get(key, "") if key != WHOLE else "invalid" if against & set(form.items()) else "valid"

    found = {}
    for key in (*farthest, *([WHOLE] if against else [])):
        far = farthest.get(key, 1)
        compared = [
            _compared([answers(form, key) for form in forms], answers(model[story_id], key), far)
            for story_id, _, forms in several
        ]
        people, alike, as_close = np.array(compared).reshape(-1, 3).T
        every = np.ones(len(several))
        found[key] = {
            "annotators": scorer.share(people, every, "share"),
            "model": scorer.share(alike, every, "share"),
            "at_least_as_close": scorer.share(as_close, every, "share"),
            **(scorer.difference(alike, people) if several else {"difference": None, "interval": None}),
        }
    return found


def _compared(people: Sequence[str], model: str, farthest: int) -> tuple[float, float, float]:
    """Return means over the people left out: their agreement with the others, the model's, how often it is
    at least as large. ``farthest`` is the longest distance of two answers, 1 without a scale.
    """

    def nearness(one: str, other: str) -> int:
        if farthest == 1 or not (one and other):
            return farthest * (one == other)
        return farthest - abs(int(one) - int(other))

    others = [[*people[:place], *people[place + 1 :]] for place in range(len(people))]
    theirs = [sum(nearness(own, one) for one in rest) for own, rest in zip(people, others, strict=True)]
    models = [sum(nearness(model, one) for one in rest) for rest in others]
    close = sum(own >= their for own, their in zip(models, theirs, strict=True))
    most = farthest * len(people) * (len(people) - 1)
    return sum(theirs) / most, sum(models) / most, close / len(people)
