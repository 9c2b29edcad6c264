"""The learner against scikit-learn's own pipeline, trained from the texts of each fold anew."""

from __future__ import annotations

import random

import numpy as np
import pytest

from publishing.machine_validation import groups, learner
from publishing.machine_validation.questions import Question


def questions() -> list[Question]:
    """Severities of twenty cores, many of whose words occur in no other core: unknown when held out."""
    generator = random.Random(5)

    def words(core: int) -> str:
        return " ".join(f"w{generator.choice((core, generator.randrange(25)))}x" for _ in range(5))

    return [
        Question(
            f"{n}",
            f"core {n // 3}",
            "scenario",
            (),
            words(n // 3),
            words(n),
            words(n // 3),
            words(n // 3),
            "A",
        )
        for n in range(60)
    ]


@pytest.mark.parametrize("given", list(learner.INPUTS))
def test_the_learner_is_scikit_learns_pipeline_in_grouped_folds(given: str) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    asked, text = questions(), learner.INPUTS[given]
    folds = groups.folds_by("core_id", asked)
    fold_of_row = np.repeat(folds.fold_of, 2)
    rows = np.array(
        [text(question, choice) for question in asked for choice in question.choices], dtype=object
    )
    labels = np.arange(len(rows)) % 2 == 0
    scores = np.zeros(len(rows))
    for fold in range(5):
        held_out = fold_of_row == fold
        pipeline = make_pipeline(
            TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
            LogisticRegression(C=10, solver="liblinear", max_iter=1000),
        )
        pipeline.fit(rows[~held_out], labels[~held_out])
        scores[held_out] = pipeline.decision_function(rows[held_out]).round(9)
    expected = np.where(scores[::2] == scores[1::2], 0.5, scores[::2] > scores[1::2])
    counts, _ = learner.count(asked, text)
    assert learner.ranked_right(counts, folds).tolist() == expected.tolist()
    assert {0.0, 1.0} <= set(expected.tolist())
