"""Which questions must stay together: groups, and folds made of whole groups. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from publishing.machine_validation.reading import Question

FOLDS = 5
MOST_SCENARIO_FOLDS = 25
LARGEST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Folds:
    """One way of holding questions out. ``fold_of`` has the fold of each question, from 0.

    ``undefined`` says why there is no such way here, and ``fold_of`` is empty then.
    """

    groups: int
    largest_share: float | None
    count: int | None
    fold_of: tuple[int, ...] = ()
    undefined: str | None = None


def _core(question: Question) -> Iterable[Hashable]:
    return [("core", question.core)]


def _entities(question: Question) -> Iterable[Hashable]:
    return [("core", question.core), *(("entity", text) for text in question.entities)]


def _scenario(question: Question) -> Iterable[Hashable]:
    return [("core", question.core), ("scenario", question.scenario)]


_MARKS: Mapping[str, Callable[[Question], Iterable[Hashable]]] = {
    "core_id": _core,
    "entities": _entities,
    "scenario": _scenario,
}
GROUPINGS = tuple(_MARKS)


def folds_by(grouping: str, questions: Sequence[Question]) -> Folds:
    """The questions in folds of whole groups: five, or one per scenario (25 folds at most)."""
    group_of = components([_MARKS[grouping](question) for question in questions])
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
    fold_of_group = _deal(sizes, wanted)
    return Folds(groups, largest, wanted, tuple(fold_of_group[group] for group in group_of))


def components(marks_of: Sequence[Iterable[Hashable]]) -> list[int]:
    """For each question, its connected component: questions that share a mark, directly or through others.

    Components are numbered from 0 in the order in which they first occur. A question without marks
    is a component by itself.
    """
    parents = list(range(len(marks_of)))

    def root(place: int) -> int:
        while parents[place] != place:
            parents[place] = parents[parents[place]]
            place = parents[place]
        return place

    first_with: dict[Hashable, int] = {}
    for place, marks in enumerate(marks_of):
        for mark in marks:
            one, other = root(first_with.setdefault(mark, place)), root(place)
            parents[max(one, other)] = min(one, other)
    names: dict[int, int] = {}
    return [names.setdefault(root(place), len(names)) for place in range(len(parents))]


def _deal(sizes: Mapping[int, int], folds: int) -> dict[int, int]:
    """Groups to folds, the largest first, each to the fold with the fewest questions so far.

    This is what scikit-learn's GroupKFold does, but with a rule for ties (the first group, the first
    fold), so that the folds do not depend on how a processor sorts equal numbers.
    """
    loads = [0] * folds
    dealt = {}
    for group, size in sorted(sizes.items(), key=lambda entry: (-entry[1], entry[0])):
        fold = loads.index(min(loads))
        dealt[group] = fold
        loads[fold] += size
    return dealt
