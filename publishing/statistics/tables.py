"""Statistics by kind of question that are shown in tables, with their words. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.utils.translation import gettext_noop

from publishing.statistics.answered import ALL, OVERALL, Answered
from publishing.statistics.labels import match_count, strict_agreement, suggestions
from publishing.statistics.mixed import contrasts
from publishing.statistics.pairs import pairwise_f1
from publishing.statistics.reconciled import extraction


class Cell(NamedTuple):
    """A number of a table, and its interval if it has one."""

    label: str
    value: int | float | None
    interval: Sequence[float] | None


@dataclass(frozen=True, slots=True)
class TableStatistic:
    """A statistic by kind of question, with its words: English for cards, translated on pages.

    ``columns`` are the headings of the numbers by their keys; the interval is that of ``measure``.
    """

    compute: Callable[[Sequence[Answered]], dict[str, Any]]
    heading: str
    explanation: str
    columns: Mapping[str, str]
    measure: str = ""
    named: str = gettext_noop("Question")
    """The heading of the rows' names."""

    def rows(self, found: Mapping[str, Any]) -> list[tuple[str, list[Cell]]]:
        """Return a row for each kind, and last for all of them under the name :data:`OVERALL`."""
        entries = [*found["kinds"].items(), *([(OVERALL, found[ALL])] if ALL in found else [])]
        return [
            (
                kind,
                [
                    Cell(label, entry[key], entry["interval"] if key == self.measure else None)
                    for key, label in self.columns.items()
                ],
            )
            for kind, entry in entries
        ]


TABLES: Mapping[str, TableStatistic] = {
    "pairwise_f1": TableStatistic(
        pairwise_f1,
        gettext_noop("Agreement of pairs"),
        gettext_noop(
            "For every two participants who answered the same questions: the F1 of each answer that either "
            "gave (twice how often both gave it, by how often each did), and its mean over these answers, "
            "macro-F1. The agreement is the mean over the pairs; 1 is full agreement."
        ),
        {
            "questions": gettext_noop("questions"),
            "pairs": gettext_noop("pairs"),
            "macro_f1": gettext_noop("mean macro-F1"),
            "lowest": gettext_noop("lowest pair"),
            "highest": gettext_noop("highest pair"),
        },
    ),
    "strict_agreement": TableStatistic(
        strict_agreement,
        gettext_noop("Strict agreement"),
        gettext_noop(
            "The share of rows on which everybody chose the same. Brackets show the interval (95 %) of a "
            "bootstrap over stories."
        ),
        {
            "rows": gettext_noop("rows"),
            "alike": gettext_noop("all the same"),
            "share": gettext_noop("strict agreement"),
            "undecided": gettext_noop("no majority"),
        },
        "share",
    ),
    "suggestions": TableStatistic(
        suggestions,
        gettext_noop("What participants changed"),
        gettext_noop(
            "Rows for which an answer was suggested: how many answers differ from it, and on how many rows "
            "more than half of the answers do. People agree with a suggestion more often once they have seen "
            "it."
        ),
        {
            "rows": gettext_noop("rows"),
            "answers": gettext_noop("answers"),
            "changed": gettext_noop("changed"),
            "share": gettext_noop("share changed"),
            "overruled": gettext_noop("rows overruled"),
        },
        "share",
    ),
    "match_count": TableStatistic(
        match_count,
        gettext_noop("Predicted against gold beliefs"),
        gettext_noop(
            "Precision is the share of predicted beliefs that match a gold one, recall the share of gold "
            "beliefs that match a predicted one, F1 their harmonic mean: means over the participants of a "
            "story, and over stories. The judge agrees where both find a match, or both find none."
        ),
        {
            "stories": gettext_noop("stories"),
            "precision": gettext_noop("precision"),
            "recall": gettext_noop("recall"),
            "f1": "F1",
            "judge_agreement": gettext_noop("agreement with the judge"),
            **{f"count_{number}": f"× {number}" for number in range(4)},
        },
        "f1",
    ),
    "extraction": TableStatistic(
        extraction,
        gettext_noop("Overlap of the lists"),
        gettext_noop(
            "Rows of the lists that experts have reconciled: those that everybody listed in the same words, "
            "and those that the experts kept without a remark, by which OmniToM measures the overlap. "
            "Brackets show the interval (95 %) of a bootstrap over stories."
        ),
        {
            "stories": gettext_noop("stories reconciled"),
            "rows": gettext_noop("rows"),
            "by_all": gettext_noop("listed by all"),
            "revised": gettext_noop("revised"),
            "added": gettext_noop("added"),
            "left_out": gettext_noop("left out"),
            "share": gettext_noop("share without a remark"),
        },
        "share",
        gettext_noop("Kinds of stories"),
    ),
    "contrasts": TableStatistic(
        contrasts,
        gettext_noop("Differences between kinds of items"),
        gettext_noop(
            "The mean rating of one kind of item minus that of another, in a linear mixed model with items "
            "and participants as random effects. A rating is the mean of a participant’s answers about an "
            "item. Brackets show the interval (95 %) by Student’s t."
        ),
        {"items": gettext_noop("items"), "difference": gettext_noop("difference")},
        "difference",
        gettext_noop("Kinds of items"),
    ),
}
"""Statistics in tables, by their keys in statistics.json. Accuracy has a page and a figure of its own."""
