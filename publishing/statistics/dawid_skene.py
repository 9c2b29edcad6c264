"""The Dawid-Skene model: estimates true classes while allowing for each person's errors. Pure.

Dawid and Skene (1979), "Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm",
Applied Statistics 28(1). Every item has one true class; every person has their own table of error rates (how
often they say l when the truth is j); expectation maximisation estimates both together.

For comparison only. A story is kept because of what people said, not because of a model's opinion of them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ITERATIONS = 100
TOLERANCE = 1e-5
_LEAST = 1e-10
"""Floor for shares, so that logarithms exist: unobserved is not impossible."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimates of the model.

    ``posteriors`` (items × classes) sum to 1 per item. ``iterations`` counts repetitions of the two steps;
    ``converged`` is True if the likelihood stopped rising.
    """

    posteriors: NDArray[np.float64]
    iterations: int
    converged: bool


def dawid_skene(
    items: NDArray[np.int64], people: NDArray[np.int64], answers: NDArray[np.int64], *, classes: int
) -> Estimate:
    """Fit the model to answers: person ``people[k]`` gave item ``items[k]`` the class ``answers[k]``.

    The three arrays are equally long; items, people and classes are counted from 0 without gaps. Start
    from the share of each answer per item (the authors' choice, equation 3.1) and stop when the mean log
    likelihood per answer rises by less than :data:`TOLERANCE`. Memory: items × classes and people × classes².
    Raise ``ValueError`` for arrays of different lengths, and when there is no answer.
    """
    if not len(items) == len(people) == len(answers):
        raise ValueError("Items, people and answers must be equally long.")
    if not len(items):
        raise ValueError("There are no answers to learn from.")
    size = int(items.max()) + 1
    posteriors = _shares(_sums(items * classes + answers, None, size * classes).reshape(size, classes))
    count = int(people.max()) + 1
    before = -np.inf
    for iteration in range(1, ITERATIONS + 1):
        # The share of each answer per person and true class (equation 2.3).
        seen = np.empty((count, classes, classes))
        for truth in range(classes):
            given = _sums(people * classes + answers, posteriors[items, truth], count * classes)
            seen[:, truth, :] = given.reshape(count, classes)
        # Class probabilities per item (equation 2.5), and the mean log likelihood per answer.
        logs = np.log(np.maximum(_shares(seen), _LEAST))
        joint = np.tile(np.log(np.maximum(posteriors.mean(axis=0), _LEAST)), (size, 1))
        for truth in range(classes):
            joint[:, truth] += _sums(items, logs[people, truth, answers], size)
        highest = joint.max(axis=1, keepdims=True)
        scaled = np.exp(joint - highest)
        totals = scaled.sum(axis=1, keepdims=True)
        likelihood = float((highest + np.log(totals)).sum()) / len(items)
        posteriors = scaled / totals
        if likelihood - before < TOLERANCE:
            return Estimate(posteriors, iteration, converged=True)
        before = likelihood
    return Estimate(posteriors, ITERATIONS, converged=False)


def _sums(places: NDArray[np.int64], weights: NDArray[np.float64] | None, size: int) -> NDArray[np.float64]:
    return np.bincount(places, weights=weights, minlength=size).astype(np.float64)


def _shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert counts to shares of their row; a row of zeros is spread evenly."""
    totals = counts.sum(axis=-1, keepdims=True)
    even = np.full_like(counts, 1 / counts.shape[-1])
    np.divide(counts, totals, out=even, where=totals > 0)
    return even
