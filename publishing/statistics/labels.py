"""Statistics of tables that people label: how often all agree, what they changed, and MatchCount. Pure."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum
from typing import Any, NamedTuple

from annotation.protocols.base import Scored
from publishing.files.features import Type
from publishing.files.rows import CountedVote, Row
from publishing.statistics.intervals import over_stories, rounded, rounded_bounds

COLUMNS: dict[str, Type] = {
    **dict.fromkeys(("story_id", "labelled"), "string"),
    "answers": "int64",
    "agreeing": "int64",
    **dict.fromkeys(("label", "suggested"), "string"),
}
"""The columns of :func:`label_rows`."""
ALL = "all"
"""The key of the entry about all kinds together, in statistics.json."""
PREDICTED, GOLD = "predicted", "gold"
"""The kinds of rows that :func:`match_count` compares."""


class Answered(NamedTuple):
    """A question of a complete item, with the option that each annotator chose."""

    core_id: str
    row: Scored
    chosen: Mapping[str, str]
    story_id: str = ""


def strict_agreement(answered: Sequence[Answered]) -> dict[str, Any]:
    """Return the share of rows on which everybody chose the same, as OmniToM reports it per label.

    ``undecided`` are the rows without an answer of more than half of the people.
    """

    def measured(kind: str, rows: Sequence[Answered]) -> dict[str, Any]:
        alike = [
            (row.core_id, int(len({*row.chosen.values()}) == 1), 1) for row in rows if len(row.chosen) > 1
        ]
        return {
            "rows": len(alike),
            "alike": sum(one for _, one, _ in alike),
            **_share(kind, alike),
            "undecided": sum(bool(row.chosen) and majority(row.chosen.values())[0] is None for row in rows),
        }

    return _by_kind(answered, measured)


def suggestions(answered: Sequence[Answered]) -> dict[str, Any]:
    """Return how many answers differ from the suggested one, and on how many rows most people differ."""

    def measured(kind: str, rows: Sequence[Answered]) -> dict[str, Any]:
        suggested = [row for row in rows if row.row.right]
        changed = [
            (row.core_id, sum(option != row.row.right for option in row.chosen.values()), len(row.chosen))
            for row in suggested
        ]
        overruled = sum(2 * differing > votes for _, differing, votes in changed)
        return {
            "rows": len(suggested),
            "answers": sum(votes for _, _, votes in changed),
            "changed": sum(differing for _, differing, _ in changed),
            **_share(kind, changed),
            "overruled": overruled,
        }

    return _by_kind(answered, measured)


def match_count(answered: Sequence[Answered]) -> dict[str, Any]:
    """Return precision, recall and F1 of predicted beliefs against gold ones, by OmniToM's MatchCount.

    Of one person's counts on one story: P is the share of predicted rows with a count above 0, R that of gold
    rows, and F1 = 2PR / (P + R), 0 if both are 0. A story has the mean over its people, and the result is the
    mean over stories. By hand: predicted 1, 1, 1, 1, 1, 1 and gold 1, 1, 0, 2, 1, 1 give 1, 5/6 and 10/11.

    ``judge_agreement`` is the share of rows on which a person and the judge agree that the count is above 0,
    a mean over the people of a story and over stories; None without a judge's counts.
    """
    given: defaultdict[str, defaultdict[str, list[tuple[Scored, int]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    core_of: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for core_id, row, chosen, story_id in answered:
        core_of[story_id] = core_id
        counts.update(chosen.values())
        for annotator, option in chosen.items():
            given[story_id][annotator].append((row, int(option)))
    measured: defaultdict[str, list[float]] = defaultdict(list)
    by_core = []
    for story_id, people in sorted(given.items()):
        each = [_compared(rows) for rows in people.values()]
        for name in ("precision", "recall", "f1", "judge_agreement"):
            values = [one[name] for one in each if name in one]
            if values:
                measured[name].append(fsum(values) / len(values))
        by_core.append((core_of[story_id], measured["f1"][-1], 1))
    overall = {
        "stories": len(by_core),
        **{name: rounded(mean(measured[name])) for name in ("precision", "recall", "f1")},
        "interval": rounded_bounds(over_stories("match_count", by_core)),
        "judge_agreement": rounded(mean(measured["judge_agreement"])),
        **{f"count_{number}": counts[str(number)] for number in range(4)},
    }
    return {"kinds": {}, ALL: overall}


def _compared(rows: Iterable[tuple[Scored, int]]) -> dict[str, float]:
    """Return what one person's counts on a story say; without what has no rows."""
    matched: defaultdict[str, list[bool]] = defaultdict(list)
    judged = []
    for row, count in rows:
        matched[row.kind].append(count > 0)
        if row.right:
            judged.append((count > 0) == (int(row.right) > 0))
    precision, recall = (sum(matched[kind]) / len(matched[kind]) for kind in (PREDICTED, GOLD))
    both = precision + recall
    found = {"precision": precision, "recall": recall, "f1": 2 * precision * recall / both if both else 0.0}
    return found | ({"judge_agreement": sum(judged) / len(judged)} if judged else {})


def _by_kind(
    answered: Sequence[Answered], measured: Callable[[str, Sequence[Answered]], dict[str, Any]]
) -> dict[str, Any]:
    kinds: defaultdict[str, list[Answered]] = defaultdict(list)
    for one in answered:
        kinds[one.row.kind].append(one)
    return {
        "kinds": {kind: measured(kind, rows) for kind, rows in kinds.items()},
        ALL: measured(ALL, answered),
    }


def _share(kind: str, values: Sequence[tuple[str, float, int]]) -> dict[str, Any]:
    """Return Σ numerators / Σ denominators, with the interval of a bootstrap over stories."""
    above, below = sum(one for _, one, _ in values), sum(of for _, _, of in values)
    share = rounded(above / below) if below else None
    return {"share": share, "interval": rounded_bounds(over_stories(kind, values))}


def mean(values: Sequence[float]) -> float | None:
    """Return the mean, which does not depend on the order of the values; None without any."""
    return fsum(values) / len(values) if values else None


def majority(chosen: Iterable[str]) -> tuple[str | None, int]:
    """Return the option of more than half of the answers, or None; and how often the first one was given."""
    counted = Counter(chosen)
    option, votes = max(counted.items(), key=lambda one: one[1])
    return option if 2 * votes > counted.total() else None, votes


def label_rows(story_id: str, votes: Sequence[CountedVote], suggested: Mapping[str, str]) -> Iterable[Row]:
    """Yield the rows of a complete item's labels: for each field the answer of more than half of its votes.

    ``label`` is None where none has more than half: experts decide. ``agreeing`` are the votes for the most
    frequent answer.
    """
    given: defaultdict[str, list[str]] = defaultdict(list)
    for vote in votes:
        for choice in vote.answers:
            given[choice.field].append(choice.option)
    for labelled, options in sorted(given.items()):
        label, agreeing = majority(options)
        yield {
            "story_id": story_id,
            "labelled": labelled,
            "answers": len(options),
            "agreeing": agreeing,
            "label": label,
            "suggested": suggested.get(labelled) or None,
        }
