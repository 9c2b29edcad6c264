"""Results of reviews: counts of a sample, and the confidence interval of the rejected share."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.models import Enrollment, ReviewItem, ReviewSample, SpotCheck, Study
from dashboard.figures import store
from publishing.statistics.intervals import wilson

Decision = SpotCheck.Decision


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of the decisions about a sample, or about one person in it."""

    accepted: int
    uncounted: int
    rejected: int

    @property
    def judged(self) -> int:
        return self.accepted + self.uncounted + self.rejected

    @property
    def rejected_share(self) -> float | None:
        """Return the share in 0..1, or None before anything is judged."""
        return self.rejected / self.judged if self.judged else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return Wilson's 95 % interval of the rejected share."""
        return wilson(self.rejected, self.judged)


def counted(decisions: Iterable[str]) -> Tally:
    """Count the decisions by kind."""
    found = list(decisions)
    return Tally(
        *(found.count(decision) for decision in (Decision.ACCEPT, Decision.UNCOUNTED, Decision.REJECT))
    )


def tallies(samples: Sequence[ReviewSample]) -> dict[int, Tally]:
    """Return, by sample, counts of the last decisions about its answers, from any sample. Two queries."""
    items = list(ReviewItem.objects.filter(sample__in=samples).values_list("sample", "vote__assignment"))
    standing = standing_checks({assignment for _, assignment in items})
    found: dict[int, list[str]] = {sample.pk: [] for sample in samples}
    for sample, assignment in items:
        if assignment in standing:
            found[sample].append(standing[assignment].decision)
    return {sample: counted(decisions) for sample, decisions in found.items()}


def standing_checks(assignments: Collection[int]) -> dict[int, SpotCheck]:
    """Return the last decision about each judged assignment. One query."""
    checks = SpotCheck.objects.filter(vote__assignment__in=assignments).order_by("pk")
    return {check.vote.assignment_id: check for check in checks.select_related("vote", "by")}


def tally(rows: Iterable[Mapping[str, Any]]) -> Tally:
    """Count the decisions in the rows of a sample's page."""
    return counted(row["check"].decision for row in rows if row["check"])


def by_person(rows: Iterable[Mapping[str, Any]]) -> dict[str, Tally]:
    """Count decisions by pseudonym. Unjudged rows are skipped: they must not name the annotator."""
    decisions: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row["check"]:
            decisions[row["pseudonym"]].append(row["check"].decision)
    return {pseudonym: counted(found) for pseudonym, found in decisions.items()}


def flagged_people(study: Study) -> list[int]:
    """Return the enrollments with a flag in their newest figures."""
    flagged = store.flagged(study)
    return list(Enrollment.objects.filter(study=study, pseudonym__in=flagged).values_list("pk", flat=True))
