"""Queries about submissions: a campaign's list, and how people did in the test."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Value, prefetch_related_objects

from annotation.models import Study
from dashboard.parameters import number_in
from qualification.models import Attempt
from recruitment.marketplace import NEVER_APPROVED
from recruitment.models import Campaign, Payment, Submission


@dataclass(frozen=True, slots=True)
class SubmissionsPage:
    """A page of a campaign's submissions; ``next`` is the cursor of the following page, if there is one."""

    rows: list[Submission]
    next: str


def submissions_page(
    campaign: Campaign, *, after: str = "", only: int | None = None, size: int
) -> SubmissionsPage:
    """Return the submissions that were handed in, or answered here and then returned or timed out.

    Those that wait for a decision (``waits``) come first, then the rest, each the newest first; with visits
    and payments. ``after`` is the cursor of the page before; anything else starts at the beginning.
    ``only`` selects one submission by its id.
    """
    waits, last = _parsed(after)
    rows = _newest_below(_waiting(campaign), last if waits else None, size) if waits else []
    if only:
        rows = [found for rows in (_waiting(campaign), _others(campaign)) for found in rows.filter(pk=only)]
    elif len(rows) <= size:
        rows += _newest_below(_others(campaign), None if waits else last, size - len(rows))
    for row in rows:
        row.campaign = campaign
    prefetch_related_objects(rows, "payments")
    shown = rows[:size]
    return SubmissionsPage(shown, _cursor(shown[-1]) if len(rows) > size else "")


def _waiting(campaign: Campaign) -> QuerySet[Submission]:
    submitted = Submission.objects.filter(campaign=campaign, status=Submission.Status.SUBMITTED)
    return submitted.filter(~Exists(_decided())).annotate(waits=Value(True))


def _others(campaign: Campaign) -> QuerySet[Submission]:
    decided = Q(status=Submission.Status.SUBMITTED) & Exists(_decided())
    over = Q(status__in=[Submission.Status.APPROVED, Submission.Status.REJECTED])
    answered = Q(status__in=NEVER_APPROVED, visit__session__stories_submitted__gt=0)
    found = Submission.objects.filter(decided | over | answered, campaign=campaign)
    return found.annotate(waits=Value(False))


def _decided() -> QuerySet[Payment]:
    # A submission whose rejection was withdrawn or refused waits again. One that was paid in another way
    # waits, too, if it is handed in afterwards: the platform still asks for a decision.
    decisions = Payment.objects.filter(submission=OuterRef("pk"), kind__in=["approval", "rejection"])
    return decisions.exclude(kind="rejection", state__in=["failed", "withdrawn"])


def _newest_below(found: QuerySet[Submission], last: int | None, size: int) -> list[Submission]:
    """Return the newest ``size`` + 1 submissions below ``last``."""
    older = found if last is None else found.filter(pk__lt=last)
    return list(older.select_related("visit__session", "annotator").order_by("-pk")[: size + 1])


def _parsed(after: str) -> tuple[bool, int | None]:
    """Return whether the cursor is among those that wait, and the last id shown."""
    number = number_in(after[1:])
    return (True, None) if number is None or after[0] not in "wo" else (after[0] == "w", number)


def _cursor(row: Submission) -> str:
    return f"{'w' if row.waits else 'o'}{row.pk}"  # type: ignore[attr-defined]  # annotated above


@dataclass(frozen=True, slots=True)
class TestResult:
    """An annotator's newest attempt. ``passed`` is None until it is handed in."""

    passed: bool | None
    right: int
    """Stories without a mistake."""
    stories: int


def test_results(study: Study, annotators: Collection[int]) -> dict[int, TestResult]:
    """Return the newest results of those annotators who began the test, by annotator. One query."""
    story, mistaken = "answers__round_story", Q(answers__accepted=False)
    attempts = (
        Attempt.objects.filter(enrollment__study=study, enrollment__annotator__in=annotators)
        .exclude(state="void")
        .annotate(looked_at=Count(story, distinct=True), wrong=Count(story, filter=mistaken, distinct=True))
        .order_by("pk")
        .values_list("enrollment__annotator", "passed", "looked_at", "wrong")
    )
    return {
        annotator: TestResult(passed, looked_at - wrong, looked_at)
        for annotator, passed, looked_at, wrong in attempts
    }
