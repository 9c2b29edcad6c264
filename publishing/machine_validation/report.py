"""The content of ``machine_validation.json``: figures, methods and warnings."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from publishing.files.rows import Layout
from publishing.machine_validation import groups, learner, rules, warnings
from publishing.machine_validation import questions as reading
from publishing.machine_validation.questions import Question, Sample
from publishing.statistics.intervals import Bootstrap, ClusterBootstrap

Score = dict[str, Any]
DESIGN = Bootstrap()
DECIMALS = 4

_CONSTANT = "The right answer is the same in every question, so there is nothing to tell choices apart by."
_NO_WORDS = "The texts hold no words to learn from."
_NO_QUESTIONS = "There are no questions."


def document(directory: Path, layout: Layout) -> dict[str, Any]:
    """Return the content of ``machine_validation.json`` for a release with written data files.

    Reads ``story-data`` and the question sets of ``layout``. The same files give the same document. Undefined
    values are null, with the reason in ``undefined`` beside them. Raise
    :class:`~publishing.errors.BrokenDirectory` if the files do not match, or ``OSError``.
    """
    sample = reading.read_stories(directory)
    if layout.question_sets:
        groups.join_duplicates(sample)
    with learner.one_thread():
        configs = {
            question_set.config: _config(reading.read_questions(directory, question_set, sample))
            for question_set in layout.question_sets
        }
    return {"design": _design(sample), "configs": configs, "warnings": warnings.of(configs)}


def hard_questions(directory: Path, layout: Layout) -> dict[str, dict[str, list[str]]]:
    """Return the ids of questions that the shallow rules get wrong, by config and rule.

    For reporting results on them separately. ``choice_only`` is the learner with cores held out,
    ``shorter_choice`` the rule; an undecided rule counts as wrong. Configs with a constant answer and
    undefined designs are left out.
    """
    sample = reading.read_stories(directory)
    groups.join_duplicates(sample)
    found: dict[str, dict[str, list[str]]] = {}
    for question_set in layout.question_sets:
        questions = reading.read_questions(directory, question_set, sample)
        if rules.constant_answer(questions) is not None:
            continue
        correct = {"shorter_choice": np.array([rules.shorter_choice(question) for question in questions])}
        folds = groups.folds_by("core_id", questions)
        with learner.one_thread():
            counts, _ = learner.count(questions, learner.INPUTS["choice_only"])
            if folds.undefined is None and counts is not None:
                correct["choice_only"] = learner.ranked_right(counts, folds)
        found[question_set.config] = {
            rule: [question.id for question, right in zip(questions, marks, strict=True) if right < 1]
            for rule, marks in sorted(correct.items())
        }
    return found


def _config(questions: Sequence[Question]) -> dict[str, Any]:
    bootstrap = ClusterBootstrap([question.core for question in questions], DESIGN)
    constant = rules.constant_answer(questions)
    undefined = _CONSTANT if constant is not None else None if questions else _NO_QUESTIONS
    score = partial(_score, len(questions), bootstrap, undefined)
    by_group = _learned(questions, bootstrap, undefined)
    letter, share = rules.position_majority(questions)
    more = np.array([rules.more_overlap(question) for question in questions])
    return {
        "questions": len(questions),
        "constant_answer": constant is not None,
        "answer": constant,
        "position_majority": None if share is None else round(share, DECIMALS),
        "position_letter": letter,
        **{name: by_group["core_id"][name] for name in learner.INPUTS},
        "shorter_choice": {
            **score(np.array([rules.shorter_choice(question) for question in questions])),
            "median_extra_words": None if undefined else rules.median_extra_words(questions),
        },
        "overlap": {"more": score(more), "less": score(1 - more)},
        "by_group": by_group,
        "cues": [] if undefined else learner.strongest_cues(questions),
    }


def _learned(
    questions: Sequence[Question], bootstrap: ClusterBootstrap, undefined: str | None
) -> dict[str, dict[str, Any]]:
    """Return the learner's scores by grouping and input."""
    folds_of = {grouping: groups.folds_by(grouping, questions) for grouping in groups.GROUPINGS}
    by_group: dict[str, dict[str, Any]] = {
        grouping: {
            "groups": folds.groups,
            "folds": folds.count,
            "largest_group": None if folds.largest_share is None else round(folds.largest_share, DECIMALS),
        }
        for grouping, folds in folds_of.items()
    }
    for name, text in learner.INPUTS.items():
        counts = None if undefined else learner.count(questions, text)[0]
        for grouping, folds in folds_of.items():
            why = undefined or (_NO_WORDS if counts is None else folds.undefined)
            correct = None if why else learner.ranked_right(counts, folds)
            by_group[grouping][name] = _score(len(questions), bootstrap, why, correct)
    return by_group


def _score(
    questions: int, bootstrap: ClusterBootstrap, undefined: str | None, correct: NDArray[np.float64] | None
) -> Score:
    if undefined is not None or correct is None:
        return {"accuracy": None, "n": questions, "interval": None, "undefined": undefined}
    bounds = bootstrap.interval(correct, np.ones(questions))
    return {
        "accuracy": round(float(correct.mean()), DECIMALS),
        "n": questions,
        "interval": bounds and [round(bound, DECIMALS) for bound in bounds],
    }


def _design(sample: Sample) -> dict[str, Any]:
    import sklearn

    return {
        "group_by": "core_id",
        "folds": groups.FOLDS,
        "features": "sublinear TF-IDF of {}- to {}-grams of words, lower case".format(*learner.NGRAMS),
        "model": f"logistic regression, C={learner.C:g}, solver liblinear",
        "library": f"scikit-learn {sklearn.__version__}",
        "task": "Each choice is a row, right or wrong; a question is answered with the choice scored higher; "
        "equal scores count one half. Guessing gives 0.5.",
        "groups": {
            "core_id": "Stories of one core are in one fold, as are stories with the same or nearly the same "
            "text; they count as one core everywhere here.",
            "entities": "Stories that share an entity other than Person X and Person Y, exactly or through "
            "other stories, are in one fold, as are those of one core.",
            "scenario": "Stories of one scenario are in one fold, as are those of one core; each scenario is "
            f"held out once (in {groups.MOST_SCENARIO_FOLDS} folds, if there are more).",
        },
        "rules": {
            "shorter_choice": "The choice with fewer characters is right.",
            "overlap": "The choice of whose different words a larger (or smaller) share occurs in the story "
            "is right.",
            "position_majority": "The letter that is right most often is right.",
        },
        "cues": "From one fit on all rows of the choices alone, so not held out; the largest weights among "
        f"the n-grams found in {learner.LEAST_CORES} cores or more.",
        "bootstrap": {
            "resamples": DESIGN.resamples,
            "level": DESIGN.level,
            "unit": "core_id",
            "method": "percentile",
        },
        "seed": DESIGN.seed,
        "stories": sample.total,
        "sampled_stories": None if sample.is_whole else len(sample.stories),
        "sample": None
        if sample.is_whole
        else "Whole cores, those with the smallest SHA-256 of core_id, "
        f"{reading.MOST_STORIES} stories and {reading.MOST_BYTES} bytes of story-data at most.",
    }
