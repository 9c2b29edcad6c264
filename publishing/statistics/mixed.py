"""Differences between groups of items in a linear mixed model of people's ratings. Pure.

The model is that of BigToM's first experiment (Gandhi et al. 2023): the aggregate rating of person j for item
i of group g is y = μ_g + a_i + b_j + e, with independent normal a (items), b (people) and e. It is fitted
by restricted maximum likelihood, profiled over the fixed effects and the residual variance (Bates, Mächler,
Bolker and Walker 2015, "Fitting Linear Mixed-Effects Models Using lme4", sections 3.4 and 3.5).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from statistics import fmean
from typing import Any

import numpy as np

from publishing.statistics.answered import Answered
from publishing.statistics.intervals import Floats, quantile_of_t

MOST_ANSWERED = 15_000
"""Questions about items that are looked at: 5,000 items with three scales."""
MOST_EFFECTS = 500
"""The most items or people, whichever are fewer: a fit costs their cube."""
MOST_GROUPS = 12
HIGHEST = 50.0
"""Deviations beyond so many times the residual one mean that the ratings hold no residual."""
DECIMALS = 3
"""The optimum is found to more than these."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The means of the groups with their covariance, and standard deviations by their names."""

    means: Floats
    covariance: Floats
    spread: dict[str, float]

    def difference(self, one: int, other: int) -> tuple[float, float]:
        """Return the mean of one group minus that of another, and its standard error."""
        variance = self.covariance
        error = variance[one, one] + variance[other, other] - 2 * variance[one, other]
        return float(self.means[one] - self.means[other]), sqrt(float(error))


def contrasts(answered: Sequence[Answered]) -> dict[str, Any]:
    """Return the difference between every two groups, with its 95 % interval, and the deviations.

    A rating is the mean of a person's answers on all scales of an item. Intervals are by Student's t, with
    the number of items less that of groups as degrees of freedom (those that contain the difference). Items
    count as independent: where they are versions of one core, the intervals are too wide.

    Return nothing unless there are two groups or more, each of two items or more, and twice as many ratings
    as items and people, so that the deviations can be told apart; nor for studies beyond the limits above.
    """
    if len(answered) > MOST_ANSWERED:
        return {}
    given: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
    for question in answered:
        for person, option in question.chosen.items():
            given[question.group, question.story_id, person].append(int(option))
    items: defaultdict[str, set[str]] = defaultdict(set)
    for group, item, _ in given:
        items[group].add(item)
    groups = sorted(group for group, its in items.items() if len(its) > 1)
    ratings = [(*who, fmean(numbers)) for who, numbers in sorted(given.items()) if who[0] in groups]
    number, people = sum(len(items[group]) for group in groups), {person for _, _, person, _ in ratings}
    if not 2 <= len(groups) <= MOST_GROUPS or len(people) < 2 or min(number, len(people)) > MOST_EFFECTS:
        return {}
    found = fit(ratings, groups) if len(ratings) >= 2 * (number + len(people)) else None
    if found is None:
        return {}
    kinds, t = {}, quantile_of_t(number - len(groups), 0.975)
    for one, other in combinations(range(len(groups)), 2):
        difference, error = found.difference(one, other)
        bounds = [round(difference + side * t * error, DECIMALS) for side in (-1, 1)]
        its = len(items[groups[one]]) + len(items[groups[other]])
        entry = {"items": its, "difference": round(difference, DECIMALS), "interval": bounds}
        kinds[f"{groups[one]} − {groups[other]}"] = entry
    spread = {name: round(value, DECIMALS) for name, value in found.spread.items()}
    return {"kinds": kinds, "standard_deviations": spread}


def fit(ratings: Sequence[tuple[str, str, str, float]], groups: Sequence[str]) -> Fit | None:
    """Fit the model to (group, item, person, rating). Return None without a residual or an optimum.

    With θ the deviations of items and people over that of e, and Z their indicators, the restricted
    likelihood needs [X y]ᵀ(I + ZθθᵀZᵀ)⁻¹[X y]. The more numerous of the two are eliminated first, since their
    block is diagonal.
    """
    from scipy.linalg import cho_factor, cho_solve
    from scipy.optimize import minimize

    items, item_of = np.unique([f"{group}\0{item}" for group, item, _, _ in ratings], return_inverse=True)
    people, person_of = np.unique([person for _, _, person, _ in ratings], return_inverse=True)
    together = np.zeros((len(items), len(people)))
    np.add.at(together, (item_of, person_of), 1)
    table = np.zeros((len(ratings), len(groups) + 1))
    table[range(len(ratings)), [groups.index(group) for group, _, _, _ in ratings]] = 1
    table[:, -1] = [rating for _, _, _, rating in ratings]
    of_items, of_people = np.zeros((len(items), table.shape[1])), np.zeros((len(people), table.shape[1]))
    np.add.at(of_items, item_of, table)
    np.add.at(of_people, person_of, table)
    whole, free = table.T @ table, len(ratings) - len(groups)
    swapped = len(people) > len(items)
    if swapped:
        together, of_items, of_people = together.T, of_people, of_items

    def profiled(theta: Sequence[float]) -> tuple[float, Floats, Floats, float]:
        """Return the restricted deviance, the means, the inverse of their precision, and e's variance."""
        a, b = theta
        diagonal = 1 + a**2 * together.sum(axis=1)
        shared = a * b * together / diagonal[:, None]
        block = np.diag(1 + b**2 * together.sum(axis=0)) - a * b * together.T @ shared
        rest = b * of_people - a * shared.T @ of_items
        factor = cho_factor(block)
        inner = whole - a**2 * of_items.T @ (of_items / diagonal[:, None]) - rest.T @ cho_solve(factor, rest)
        precision = inner[:-1, :-1]
        means = np.linalg.solve(precision, inner[:-1, -1])
        variance = max(inner[-1, -1] - inner[:-1, -1] @ means, 0.0) / free
        logs = np.log(diagonal).sum() + 2 * np.log(np.diag(factor[0])).sum()
        deviance = logs + np.linalg.slogdet(precision)[1] + free * np.log(max(variance, 1e-300))
        return float(deviance), means, np.linalg.inv(precision), float(variance)

    if profiled((0.0, 0.0))[3] < 1e-12:
        return None
    best = minimize(
        lambda theta: profiled(theta)[0],
        (1.0, 1.0),
        method="Nelder-Mead",
        bounds=((0, HIGHEST), (0, HIGHEST)),
        options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 2000},
    )
    if not best.success or max(best.x) > HIGHEST / 2:
        return None
    _, means, inverse, variance = profiled(best.x)
    residual, theta = sqrt(variance), best.x[::-1] if swapped else best.x
    names = {"items": theta[0] * residual, "people": theta[1] * residual, "residual": residual}
    return Fit(means, inverse * variance, {name: float(value) for name, value in names.items()})
