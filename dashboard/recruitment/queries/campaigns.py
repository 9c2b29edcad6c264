"""Queries about a study's campaigns: visits, submissions by status, open mismatches."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery, TextChoices, Value
from django.db.models.functions import Coalesce

from annotation.models import Assignment, Study, WorkSession
from dashboard.cache import cached_for_a_minute
from recruitment.models import Campaign, Mismatch, Submission, Visit
from recruitment.places import Places, places_of

T = TypeVar("T")
MANY = 20_000
"""Submissions of a campaign; summing more is too slow for a page."""


def cached(of: Study | Campaign, what: str, query: Callable[[Any], T], *, size: int) -> T:
    """Return the query's result for a study or campaign of so many submissions.

    With more than :data:`MANY`, the result may be up to a minute old.
    """
    if size <= MANY:
        return query(of)
    return cached_for_a_minute(of, f"recruiting:{what}", lambda: query(of), is_large=lambda _found: True)


def campaigns_of(study: Study, *, now: datetime) -> list[Campaign]:
    """Return the study's campaigns with their counts, the newest first."""
    mismatches = Mismatch.objects.filter(campaign=OuterRef("pk"), settled_at=None).order_by()
    number = mismatches.values("campaign").annotate(number=Count("pk")).values("number")
    campaigns: list[Campaign] = list(
        Campaign.objects.filter(study=study)
        .annotate(
            open_mismatches=Coalesce(Subquery(number, output_field=IntegerField()), Value(0)),
            offer_is_over=Q(state=Campaign.State.LIVE, offered_until__lte=now),
        )
        .order_by("-number")
    )
    visits = cached(study, "visits", _visits_of, size=size_of(study))
    for campaign in campaigns:
        states = visits.get(campaign.pk, Counter())
        campaign.arrived, campaign.confirmed = sum(states.values()), states["confirmed"]  # type: ignore[attr-defined]
    return campaigns


def places(study: Study) -> Places:
    """Return the votes that the study needs and what its campaigns can bring; cached in large studies."""
    votes = Assignment.objects.filter(story__study=study)[: MANY + 1].count()
    return cached(study, "places", places_of, size=votes)


def size_of(study: Study) -> int:
    """Return how many submissions the study's campaigns have."""
    return Submission.objects.filter(campaign__study=study).count()


def _visits_of(study: Study) -> dict[int, Counter[str]]:
    """Count the visits of each campaign by state."""
    rows = Visit.objects.filter(campaign__study=study).order_by().values_list("campaign", "session__state")
    found: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for campaign, state, number in rows.annotate(number=Count("pk")):
        found[campaign][state] = number
    return dict(found)


def visits_by_state(campaign: Campaign) -> dict[str, int]:
    """Count the campaign's visits by state."""
    return dict.fromkeys(WorkSession.State.values, 0) | _counted(campaign.visits.all(), "session__state")


def ends_of(campaign: Campaign) -> list[tuple[str, int]]:
    """Return (reason, count) pairs: why visits ended with less work than asked for."""
    return labelled(_counted(campaign.visits.exclude(ended_by=""), "ended_by"), Visit.End)


def numbers_by_status(campaign: Campaign) -> dict[str, int]:
    """Count the submissions that the platform lists, by status."""
    return _counted(campaign.submissions.all(), "status")


def _counted(rows: QuerySet[Any], field: str) -> dict[str, int]:
    return dict(rows.order_by().values_list(field).annotate(count=Count("pk")))


def labelled(numbers: Mapping[str, int], choices: type[TextChoices]) -> list[tuple[str, int]]:
    """Return (label, count) pairs in the order of the choices."""
    return [(str(label), numbers[value]) for value, label in choices.choices if value in numbers]


def votes_waiting(study: Study) -> int:
    """Count the answers that hold a slot until a platform confirms their visit."""
    return Assignment.objects.filter(
        enrollment__study=study, session__isnull=False, state=Assignment.State.PENDING
    ).count()


def open_mismatches(study: Study) -> QuerySet[Mismatch]:
    """Return the open mismatches of all campaigns, the oldest first."""
    return (
        Mismatch.objects.filter(campaign__study=study, settled_at=None)
        .select_related(
            "campaign",
            "visit__session",
            "visit__enrollment__annotator",
            "submission__visit__session",
            "submission__annotator",
        )
        .order_by("pk")
    )
