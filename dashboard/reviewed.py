"""What came of looking at answers: counts of a sample, with an interval where they stand for all votes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation import rules
from annotation.models import Enrollment, ReviewItem, ReviewSample, SpotCheck, Study
from dashboard.figures import kept
from publishing.baseline.accuracy import wilson

Decision = SpotCheck.Decision


@dataclass(frozen=True, slots=True)
class Tally:
    """How the judged answers of a sample, or of one person in it, fared."""

    accepted: int
    uncounted: int
    rejected: int

    @property
    def judged(self) -> int:
        """How many have been judged."""
        return self.accepted + self.uncounted + self.rejected

    @property
    def rejected_share(self) -> float | None:
        """In 0..1; None before anything is judged."""
        return self.rejected / self.judged if self.judged else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's 95 % interval of that share."""
        return wilson(self.rejected, self.judged)


def counted(decisions: Iterable[str]) -> Tally:
    """So many decisions of each kind."""
    found = list(decisions)
    return Tally(
        *(found.count(decision) for decision in (Decision.ACCEPT, Decision.UNCOUNTED, Decision.REJECT))
    )


def tallies(samples: Sequence[ReviewSample]) -> dict[int, Tally]:
    """Per sample, by its number: what was decided last about each of its answers, here or in another sample.

    Two queries.
    """
    items = list(ReviewItem.objects.filter(sample__in=samples).values_list("sample", "vote__assignment"))
    standing = standing_checks({assignment for _, assignment in items})
    found: dict[int, list[str]] = {sample.pk: [] for sample in samples}
    for sample, assignment in items:
        if assignment in standing:
            found[sample].append(standing[assignment].decision)
    return {sample: counted(decisions) for sample, decisions in found.items()}


def standing_checks(assignments: Collection[int]) -> dict[int, SpotCheck]:
    """Per assignment that was judged: what was decided last about its answer, whichever way. One query."""
    checks = SpotCheck.objects.filter(vote__assignment__in=assignments).order_by("pk")
    return {check.vote.assignment_id: check for check in checks.select_related("vote", "by")}


def tally(rows: Iterable[Mapping[str, Any]]) -> Tally:
    """Of the rows of a sample's page."""
    return counted(row["check"].decision for row in rows if row["check"])


def by_person(rows: Iterable[Mapping[str, Any]]) -> dict[str, Tally]:
    """The same per pseudonym, of what has been judged: of anything else nobody is told whose it is."""
    decisions: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row["check"]:
            decisions[row["pseudonym"]].append(row["check"].decision)
    return {pseudonym: counted(found) for pseudonym, found in decisions.items()}


def flagged_people(study: Study) -> list[int]:
    """The enrollments of those whose newest figures have a flag."""
    flagged = kept.flagged(study)
    people = Enrollment.objects.filter(study=study).values_list("pk", "annotator") if flagged else []
    return [pk for pk, annotator in people if rules.pseudonym(study.pseudonym_key, annotator) in flagged]
