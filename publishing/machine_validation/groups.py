"""Groups of questions that must stay together, and folds made of whole groups. Pure."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from annotation.importing.duplicates import NearDuplicates
from publishing.machine_validation.questions import Question, Sample

FOLDS = 5
MOST_SCENARIO_FOLDS = 25
LARGEST_SHARE = 0.5
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Folds:
    """One way of holding questions out. ``fold_of`` has the fold of each question, from 0.

    If there is no such way, ``undefined`` has the reason and ``fold_of`` is empty.
    """

    groups: int
    largest_share: float | None
    count: int | None
    fold_of: tuple[int, ...] = ()
    undefined: str | None = None


_MARKS: Mapping[str, Callable[[Question], Iterable[Hashable]]] = {
    "core_id": lambda question: [],
    "entities": lambda question: [("entity", text) for text in question.entities],
    "scenario": lambda question: [("scenario", question.scenario)],
}
"""The marks that connect questions under each grouping, beside their core."""
GROUPINGS = tuple(_MARKS)


def folds_by(grouping: str, questions: Sequence[Question], repetition: int = 0) -> Folds:
    """Split the questions into folds of whole groups: five, or one per scenario (25 at most).

    Each ``repetition`` is another split of the same kind.
    """
    group_of = components([[("core", question.core), *_MARKS[grouping](question)] for question in questions])
    sizes = Counter(group_of)
    groups = len(sizes)
    largest = max(sizes.values()) / len(questions) if questions else None
    by_scenario = grouping == "scenario"
    wanted = max(2, min(groups, MOST_SCENARIO_FOLDS)) if by_scenario else FOLDS
    if groups < wanted:
        kind = "scenarios" if by_scenario else "groups"
        why = f"Holding out needs at least {wanted} {kind} of stories; here are {groups}."
        return Folds(groups, largest, None, undefined=why)
    if largest is not None and largest > LARGEST_SHARE:
        why = f"One group holds {100 * largest:.1f} % of the questions: too few are left to learn from."
        return Folds(groups, largest, None, undefined=why)
    fold_of_group = _deal(sizes, wanted, repetition)
    return Folds(groups, largest, wanted, tuple(fold_of_group[group] for group in group_of))


def components(marks_of: Sequence[Iterable[Hashable]]) -> list[int]:
    """Return the connected component of each question; sharing a mark connects two questions.

    Components are numbered from 0 in order of occurrence. A question without marks is its own component.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    numbers: dict[Hashable, int] = {}
    questions = len(marks_of)
    edges = [
        (place, questions + numbers.setdefault(mark, len(numbers)))
        for place, marks in enumerate(marks_of)
        for mark in marks
    ]
    size = questions + len(numbers)
    graph = coo_array((np.ones(len(edges)), np.array(edges, int).reshape(-1, 2).T), shape=(size, size))
    _, labels = connected_components(graph, directed=False)
    names: dict[int, int] = {}
    return [names.setdefault(label, len(names)) for label in labels[:questions].tolist()]


def join_duplicates(sample: Sample) -> None:
    """Give all stories with the same, or nearly the same, text one core."""
    seen, marks = NearDuplicates(), list[list[Hashable]]()
    for place, story in enumerate(sample.stories.values()):
        text = story["story"].lower()
        for role, name in story["entities"].items():
            text = text.replace(name.lower(), "person") if role.startswith("Person") else text
        similar = seen.add(str(place), story["core_id"], " ".join(_WORD.findall(text)))
        marks.append([("core", story["core_id"]), *(("story", near) for near in (str(place), *similar))])
    first: dict[int, str] = {}
    for group, story in zip(components(marks), sample.stories.values(), strict=True):
        story["core_id"] = first.setdefault(group, story["core_id"])


def _deal(sizes: Mapping[int, int], folds: int, repetition: int) -> dict[int, int]:
    """Assign groups to folds, largest first, each to the fold with the fewest questions.

    Like scikit-learn's GroupKFold, but with a rule for ties (first group, first fold), so that folds do not
    depend on how a processor sorts equal numbers. A later repetition orders equal groups by a seeded shuffle.
    """
    shuffled = np.random.RandomState(repetition).permutation(len(sizes)) if repetition else range(len(sizes))
    loads = [0] * folds
    dealt = {}
    for group, size in sorted(sizes.items(), key=lambda entry: (-entry[1], shuffled[entry[0]])):
        fold = loads.index(min(loads))
        dealt[group] = fold
        loads[fold] += size
    return dealt
