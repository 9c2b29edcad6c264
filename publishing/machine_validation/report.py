"""Machine validation of a release: figures, methods, warnings, and the questions that no shortcut answers."""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from publishing.files.rows import Layout, Row
from publishing.machine_validation import groups, learner, questions as reading, rules, warnings
from publishing.machine_validation.questions import Question, Sample
from publishing.statistics.intervals import Bootstrap, ClusterBootstrap

Score = dict[str, Any]
Marks = NDArray[np.float64]
BootstrapOf = Callable[[tuple[str, ...]], ClusterBootstrap]
"""Returns the bootstrap of items, given the core of each."""
REPETITIONS = 5
DESIGN = Bootstrap()
DECIMALS = 6

_CONSTANT = "The right answer is the same in every question, so there is nothing to tell choices apart by."
_NO_WORDS = "The texts hold no words to learn from."
_NO_QUESTIONS = "There are no questions."


@dataclass(frozen=True, slots=True)
class Validation:
    """The content of ``machine_validation.json`` and the rows of ``hard-questions.jsonl``."""

    document: dict[str, Any]
    hard: list[Row]


def validate(directory: Path, layout: Layout) -> Validation:
    """Validate a release with written data files.

    Reads ``story-data`` and the question sets of ``layout``. The same files give the same result. Undefined
    values are null, with the reason in ``undefined`` beside them. Raise
    :class:`~publishing.errors.BrokenDirectory` if the files do not match, or ``OSError``.
    """
    sample = reading.read_stories(directory)
    if layout.question_sets:
        groups.join_duplicates(sample)
    asked = {one.config: reading.read_questions(directory, one, sample) for one in layout.question_sets}
    configs, hard = {}, list[Row]()
    # The question sets are about the same stories: their resamples are drawn once, and go with this call.
    bootstrap_of: BootstrapOf = cache(lambda cores: ClusterBootstrap(cores, DESIGN))
    with learner.one_thread():
        for config, questions in asked.items():
            configs[config], ids = _config(questions, bootstrap_of)
            hard += [{"id": found, "config": config} for found in ids]
    joint = {"shorter_choice": _joint(list(asked.values()), bootstrap_of)} if asked else {}
    warned = [*warnings.of_sets(configs), *warnings.of_all_questions(joint)]
    document = {"design": _design(sample), "configs": configs, "all_questions": joint, "warnings": warned}
    return Validation(document, hard)


def _joint(sets: Sequence[Sequence[Question]], bootstrap_of: BootstrapOf) -> Score:
    """Score the shorter choice as the answer to every question of a story."""
    marks = np.prod([[rules.shorter_choice(one) for one in questions] for questions in sets], axis=0)
    bootstrap = bootstrap_of(tuple(question.core for question in sets[0]))
    undefined = None if sets[0] else _NO_QUESTIONS
    return {**_score(len(sets[0]), bootstrap, undefined, marks), "chance": 0.5 ** len(sets)}


def _config(questions: Sequence[Question], bootstrap_of: BootstrapOf) -> tuple[dict[str, Any], list[str]]:
    """Return the figures of a question set, and the ids of its questions that no shortcut answers."""
    bootstrap = bootstrap_of(tuple(question.core for question in questions))
    constant = rules.constant_answer(questions)
    undefined = _CONSTANT if constant is not None else None if questions else _NO_QUESTIONS
    score = partial(_score, len(questions), bootstrap, undefined)
    by_group, learned = _learned(questions, bootstrap, undefined)
    letter, share = rules.position_majority(questions)
    more = np.array([rules.more_overlap(question) for question in questions])
    shorter = np.array([rules.shorter_choice(question) for question in questions])
    found = {
        "questions": len(questions),
        "constant_answer": constant is not None,
        "answer": constant,
        "position_majority": None if share is None else round(share, DECIMALS),
        "position_letter": letter,
        **{name: by_group["core_id"][name] for name in learner.INPUTS},
        "shorter_choice": {
            **score(shorter),
            "median_extra_words": None if undefined else rules.median_extra_words(questions),
        },
        "overlap": {"more": score(more), "less": score(1 - more)},
        "by_group": by_group,
        "cues": [] if undefined else learner.strongest_cues(questions),
    }
    marks, sides = {"choice_only": learned, "shorter_choice": shorter, "overlap": more}, warnings.sides(found)
    solved = [marks[rule] if side > 0 else 1 - marks[rule] for rule, side in sides.items()]
    ids = [question.id for at, question in enumerate(questions) if all(one[at] <= 0.5 for one in solved)]
    hard = ids if constant is None else []
    return found | {
        "shortcuts": ["constant_answer"] if constant else list(sides),
        "hard_questions": len(hard),
    }, hard


def _learned(
    questions: Sequence[Question], bootstrap: ClusterBootstrap, undefined: str | None
) -> tuple[dict[str, dict[str, Any]], Marks]:
    """Return the learner's scores by grouping and input, and how often it answers each question rightly.

    The latter is for the choices alone, over all repetitions.
    """
    folds_of = {grouping: groups.folds_by(grouping, questions) for grouping in groups.GROUPINGS}
    by_group: dict[str, dict[str, Any]] = {
        grouping: {
            "groups": folds.groups,
            "folds": folds.count,
            "largest_group": None if folds.largest_share is None else round(folds.largest_share, DECIMALS),
        }
        for grouping, folds in folds_of.items()
    }
    alone = np.full(len(questions), 0.5)
    for name, text in learner.INPUTS.items():
        counts = None if undefined else learner.count(questions, text)[0]
        for grouping, folds in folds_of.items():
            why = undefined or (_NO_WORDS if counts is None else folds.undefined)
            correct = None if why else learner.ranked_right(counts, folds)
            by_group[grouping][name] = _score(len(questions), bootstrap, why, correct)
            if correct is not None and (grouping, name) == ("core_id", "choice_only"):
                dealt = (groups.folds_by(grouping, questions, number) for number in range(1, REPETITIONS))
                marks = np.array([correct, *(learner.ranked_right(counts, again) for again in dealt)])
                by_group[grouping][name]["repeated"] = _spread(marks.mean(axis=1))
                alone = marks.mean(axis=0)
    return by_group, alone


def _spread(accuracies: Marks) -> dict[str, float]:
    figures = {
        "mean": accuracies.mean(),
        "sd": accuracies.std(ddof=1),
        "lowest": accuracies.min(),
        "highest": accuracies.max(),
    }
    return {name: round(float(value), DECIMALS) for name, value in figures.items()}


def _score(
    questions: int, bootstrap: ClusterBootstrap, undefined: str | None, correct: Marks | None
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

    methods = (Path(__file__).parent / "design.toml").read_text(encoding="utf-8")
    constants = {"most_scenario_folds": groups.MOST_SCENARIO_FOLDS, "least_cores": learner.LEAST_CORES}
    return {
        "group_by": "core_id",
        "folds": groups.FOLDS,
        "repetitions": REPETITIONS,
        "features": "sublinear TF-IDF of {}- to {}-grams of words, lower case".format(*learner.NGRAMS),
        "model": f"logistic regression, C={learner.C:g}, solver liblinear",
        "library": f"scikit-learn {sklearn.__version__}",
        **tomllib.loads(methods.format(**constants)),
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
