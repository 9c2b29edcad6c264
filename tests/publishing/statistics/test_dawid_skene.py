"""The model against a known implementation's results, and against what it is for."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from publishing.statistics.dawid_skene import dawid_skene

REFERENCE = json.loads((Path(__file__).parent / "dawid_skene_reference.json").read_text())
"""Posteriors after twenty iterations on ``answers(classes, seed)`` by crowd-kit 1.4.2:
``DawidSkene(n_iter=20, tol=0).fit(answers).probas_``, for two classes (seed 1) and three (seed 2)."""

SKILL = (0.95, 0.9, 0.9, 0.85, 0.8, 0.7, 0.55, 0.3)


def answers(classes: int, seed: int, items: int = 40) -> NDArray[np.int64]:
    """Three of eight people per item, some careful and some not; rows of (item, person, answer)."""
    chance = random.Random(seed)
    rows = []
    for item in range(items):
        truth = chance.randrange(classes)
        for person in chance.sample(range(len(SKILL)), 3):
            right = chance.random() < SKILL[person]
            answer = truth if right else (truth + 1 + chance.randrange(classes - 1)) % classes
            rows.append((item, person, answer))
    return np.array(rows)


@pytest.mark.parametrize(("classes", "seed"), [(2, 1), (3, 2)])
def test_gives_what_crowd_kit_gives(classes: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("publishing.statistics.dawid_skene.ITERATIONS", 20)
    monkeypatch.setattr("publishing.statistics.dawid_skene.TOLERANCE", -1)
    items, people, given = answers(classes, seed).T
    estimate = dawid_skene(items, people, given, classes=classes)
    assert estimate.iterations == 20
    np.testing.assert_allclose(estimate.posteriors, REFERENCE[str(classes)], atol=1e-8)


def test_sees_through_a_person_who_answers_upside_down() -> None:
    """Four people of one mind, and a fifth who always says the opposite: the fifth's word is evidence too."""
    truth = [item % 2 for item in range(30)]
    rows = [(item, person, truth[item]) for item in range(30) for person in range(2)]
    rows += [(item, 4, 1 - truth[item]) for item in range(30)]
    items, people, given = np.array(rows).T
    estimate = dawid_skene(items, people, given, classes=2)
    assert estimate.converged
    assert estimate.posteriors.argmax(axis=1).tolist() == truth


def test_probabilities_are_probabilities() -> None:
    items, people, given = answers(3, 5).T
    estimate = dawid_skene(items, people, given, classes=3)
    np.testing.assert_allclose(estimate.posteriors.sum(axis=1), 1)


def test_refuses_what_it_cannot_fit() -> None:
    none = np.array([], dtype=np.int64)
    with pytest.raises(ValueError, match="no answers"):
        dawid_skene(none, none, none, classes=2)
    with pytest.raises(ValueError, match="equally long"):
        dawid_skene(np.array([0]), none, none, classes=2)
