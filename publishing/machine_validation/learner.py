"""The shallow learner: a linear model of words and pairs of words.

Every choice is a row, labelled right or wrong, so half of the rows are right and guessing the more frequent
label gains nothing. The answer to a question is the choice with the higher score. scikit-learn is imported
only when needed, to keep it out of web processes.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from publishing.machine_validation.groups import Folds
from publishing.machine_validation.questions import Question

NGRAMS = (1, 2)
C = 10.0
MAX_ITERATIONS = 1000
CUES = 10
LEAST_CORES = 2

Text = Callable[[Question, str], str]
INPUTS: dict[str, Text] = {
    "choice_only": lambda question, choice: choice,
    "question_choice": lambda question, choice: f"{question.question} {choice}",
    "story_choice": lambda question, choice: f"{question.story} {choice}",
}


def count(questions: Sequence[Question], text: Text) -> tuple[Any, Sequence[str]]:
    """Count each n-gram in each choice, shown as one of :data:`INPUTS`. Return the counts and the n-grams.

    The counts are a sparse matrix; rows 2i and 2i + 1 are the right and the wrong choice of question i,
    columns are n-grams in alphabetical order. None if the texts contain no words.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    rows = [text(question, choice) for question in questions for choice in question.choices]
    vectorizer = CountVectorizer(ngram_range=NGRAMS, dtype=np.float64)
    analyze = vectorizer.build_analyzer()
    if not any(analyze(row) for row in rows):  # the vectorizer refuses texts without a single word
        return None, ()
    return vectorizer.fit_transform(rows), vectorizer.get_feature_names_out()


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit linear algebra to one thread: a fixed order of sums, and processors left for other workers."""
    import sklearn.linear_model  # only libraries that are loaded already can be limited
    from threadpoolctl import threadpool_limits

    # Checks of our own parameters and numbers would be a third of the work on a small release.
    unchecked = sklearn.config_context(assume_finite=True, skip_parameter_validation=True)
    with threadpool_limits(limits=1), unchecked:
        yield


def ranked_right(counts: Any, folds: Folds) -> NDArray[np.float64]:
    """Return for each question whether a model trained on the other folds ranks the right choice first.

    ``counts`` come from :func:`count`. 1 for yes, 0 for no, 0.5 for equal scores. Nothing of the held-out
    fold is known in training: neither its n-grams nor their frequency.
    """
    fold_of_row = np.repeat(np.array(folds.fold_of, dtype=np.intp), 2)
    scores = np.zeros(len(fold_of_row))
    for fold in range(folds.count or 0):
        held_out = fold_of_row == fold
        train = counts[~held_out]
        known = np.flatnonzero(train.getnnz(axis=0))
        if len(known):  # else all scores stay equal
            train = train[:, known]
            weigher, model = _fit(train)
            found = model.decision_function(weigher.transform(counts[held_out][:, known]))
            scores[held_out] = found.round(9)  # a text may not win over itself by the last bit of a sum
    right, wrong = scores[0::2], scores[1::2]
    return np.where(right == wrong, 0.5, (right > wrong).astype(np.float64))


def _fit(counts: Any) -> tuple[Any, Any]:
    """Fit the n-gram weights and the model. Overwrites the counts to save memory."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression

    weigher = TfidfTransformer(sublinear_tf=True).fit(counts)
    weighed = weigher.transform(counts, copy=False)
    # For sparse text liblinear is several times faster than the default, and its primal form draws nothing.
    model = LogisticRegression(C=C, max_iter=MAX_ITERATIONS, solver="liblinear")
    model.fit(weighed, np.arange(counts.shape[0]) % 2 == 0)
    return weigher, model


def strongest_cues(questions: Sequence[Question]) -> list[dict[str, Any]]:
    """Return the n-grams with the largest weights, from one fit on all rows of the choices.

    Only n-grams in at least two cores: one of a single core says nothing about the others. ``right`` and
    ``wrong`` count questions whose right or wrong choice contains the n-gram, ``questions`` those where
    either does.
    """
    counts, names = count(questions, INPUTS["choice_only"])
    if counts is None:
        return []
    present = counts.tocsc()
    weights = _fit(counts)[1].coef_[0].round(2)
    cues: list[dict[str, Any]] = []
    # Equal weights come in the order of the alphabet: the names are sorted, and so stays their order.
    for term in np.argsort(-np.abs(weights), kind="stable"):
        rows = present.indices[present.indptr[term] : present.indptr[term + 1]]
        if not weights[term] or len(cues) == CUES:
            break
        if len({questions[row // 2].core for row in rows}) >= LEAST_CORES:
            cues.append(
                {
                    "text": str(names[term]),
                    "weight": float(weights[term]),
                    "points_to": "right" if weights[term] > 0 else "wrong",
                    "questions": len({int(row) // 2 for row in rows}),
                    "right": int(np.sum(rows % 2 == 0)),
                    "wrong": int(np.sum(rows % 2 == 1)),
                }
            )
    return cues
