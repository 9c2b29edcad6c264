"""Statistics of tables that people label: how often all agree, what they changed, and MatchCount. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any

from annotation.protocols.base import Scored
from annotation.rules import majority
from publishing.files.features import Type
from publishing.files.rows import AnyVotes, Decisions, Row
from publishing.statistics.answered import Answered, by_kind, mean, share
from publishing.statistics.intervals import over_stories, rounded, rounded_bounds

COLUMNS: dict[str, Type] = {
    **dict.fromkeys(("story_id", "labelled"), "string"),
    "answers": "int64",
    "agreeing": "int64",
    **dict.fromkeys(("label", "decided_by", "suggested"), "string"),
}
"""The columns of :func:`label_rows`."""
PREDICTED, GOLD = "predicted", "gold"
"""The tables that :func:`match_count` compares."""
MEASURES = ("precision", "recall", "f1", "judge_agreement")


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
            **share(kind, alike),
            "undecided": sum(bool(row.chosen) and majority(row.chosen.values())[0] is None for row in rows),
        }

    return by_kind(answered, measured)


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
            **share(kind, changed),
            "overruled": overruled,
        }

    return by_kind(answered, measured)


def match_count(answered: Sequence[Answered]) -> dict[str, Any]:
    """Return precision, recall and F1 of predicted beliefs against gold ones, by OmniToM's MatchCount.

    Of one person's counts on one story: P is the share of predicted rows with a count above 0, R that of gold
    rows, and F1 = 2PR / (P + R), 0 if both are 0. A story has the mean over its people, and the result is the
    mean over stories. By hand: predicted 1, 1, 1, 1, 1, 1 and gold 1, 1, 0, 2, 1, 1 give 1, 5/6 and 10/11.

    ``judge_agreement`` is the share of rows on which a person and the judge agree that the count is above 0,
    a mean over the people of a story and over stories; None without a judge's counts.
    """

    def measured(kind: str, rows: Sequence[Answered]) -> dict[str, Any]:
        given: defaultdict[tuple[str, str, str], list[tuple[Scored, int]]] = defaultdict(list)
        for one in rows:
            for annotator, option in one.chosen.items():
                given[one.story_id, one.core_id, annotator].append((one.row, int(option)))
        people: defaultdict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
        for (story_id, core_id, _), counts in sorted(given.items()):
            people[core_id, story_id].append(_compared(counts))
        means: defaultdict[str, list[tuple[str, float, int]]] = defaultdict(list)
        for (core_id, _), each in people.items():
            for name in each[0]:
                means[name].append((core_id, fsum(one[name] for one in each) / len(each), 1))
        chosen_counts = Counter(option for row in rows for option in row.chosen.values())
        return {
            "stories": len(people),
            **{name: rounded(mean([one for _, one, _ in means[name]])) for name in MEASURES},
            "interval": rounded_bounds(over_stories(kind, means["f1"])),
            **{f"count_{number}": chosen_counts[str(number)] for number in range(4)},
        }

    return by_kind(answered, measured)


def _compared(counts: Iterable[tuple[Scored, int]]) -> dict[str, float]:
    """Return the measures of one person's counts on a story; no agreement where the judge gave none."""
    matched: defaultdict[str, list[bool]] = defaultdict(list)
    judged = []
    for row, count in counts:
        matched[row.table].append(count > 0)
        if row.right:
            judged.append((count > 0) == (int(row.right) > 0))
    precision, recall = (sum(matched[table]) / len(matched[table]) for table in (PREDICTED, GOLD))
    both = precision + recall
    found = {"precision": precision, "recall": recall, "f1": 2 * precision * recall / both if both else 0.0}
    return found | ({"judge_agreement": sum(judged) / len(judged)} if judged else {})


def label_rows(
    story_id: str, votes: AnyVotes, decisions: Decisions, suggested: Mapping[str, str]
) -> Iterable[Row]:
    """Yield the rows of a complete item's labels: for each field the answer of more than half of its votes.

    Where none has more than half, ``label`` is that of an expert, or None; ``decided_by`` says so.
    ``agreeing`` are the votes for the most frequent answer.
    """
    given: defaultdict[str, list[str]] = defaultdict(list)
    for vote in votes:
        for choice in vote.answers:
            given[choice.field].append(choice.option)
    for labelled, options in sorted(given.items()):
        label, agreeing = majority(options)
        decided_by = "votes" if label else "expert" if labelled in decisions else None
        if decided_by == "expert":
            label = decisions[labelled].verdict
        yield {
            "story_id": story_id,
            "labelled": labelled,
            "answers": len(options),
            "agreeing": agreeing,
            "label": label,
            "decided_by": decided_by,
            "suggested": suggested.get(labelled) or None,
        }
