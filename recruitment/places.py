"""Places of campaigns: how many are wanted and free, and who still finds a story. Reads only."""

import math
from collections import Counter
from dataclasses import dataclass

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.hidden_checks import checks_among
from annotation.models import HELD, Assignment, Enrollment, Story, Study, WorkSession
from annotation.queries import votes_wanted
from annotation.strata import usable_checks, with_strata
from recruitment.models import Campaign, Submission, Visit

ON_OFFER = (Campaign.State.CREATING, Campaign.State.LIVE, Campaign.State.PAUSING, Campaign.State.PAUSED)
TAKEN = Q(session__state=WorkSession.State.CONFIRMED) | Q(
    submission__status__in=[Submission.Status.SUBMITTED, Submission.Status.APPROVED]
)


@dataclass(frozen=True, slots=True)
class Places:
    """Votes of a study: wanted in all, given so far, being given, and covered by places still offered."""

    wanted: int
    given: int
    held: int
    offered: int

    @property
    def left(self) -> int:
        """Votes that nobody has given or is giving."""
        return max(0, self.wanted - self.given - self.held)

    @property
    def uncovered(self) -> int:
        """Votes left for which no place is offered; negative if too many are."""
        return self.left - self.offered


def places_of(study: Study) -> Places:
    """Return the votes on wanted stories, and what the study's campaigns on a platform can still bring."""
    stories = Story.objects.wanted().filter(study=study)
    votes = Assignment.objects.living().filter(story__in=stories)
    numbers = votes.aggregate(all=Count("pk"), held=Count("pk", filter=Q(state__in=HELD)))
    campaigns = study.campaigns.filter(purpose=Campaign.Purpose.STORIES, state__in=ON_OFFER)
    return Places(
        wanted=votes_wanted(study),
        given=numbers["all"] - numbers["held"],
        held=numbers["held"] - (_reserved_for_later(study) if study.stratum_field else 0),
        offered=sum(free_places(found) * found.stories_per_visit for found in campaigns),
    )


AT_WORK = Q(session__state=WorkSession.State.OPEN, handed_in_at=None)


def _reserved_for_later(study: Study) -> int:
    """Return the items kept by a design for people from platforms beyond what their open visits ask for."""
    came = Visit.objects.filter(enrollment=OuterRef("enrollment"), campaign__isnull=False)
    held = Assignment.objects.filter(Exists(came), enrollment__study=study, state__in=HELD)
    later = Counter(held.values_list("enrollment_id", flat=True))
    visits = Visit.objects.filter(AT_WORK, enrollment__in=later).select_related("session")
    for session in (visit.session for visit in visits if visit.session):
        later[session.enrollment_id] -= session.story_limit - session.stories_submitted
    return sum((+later).values())


def free_places(campaign: Campaign) -> int:
    """Return the places that nobody has taken: without visits that are open or were handed in."""
    taken = campaign.visits.filter(TAKEN | Q(session__state=WorkSession.State.OPEN), replaced_at=None)
    return max(0, campaign.seats - taken.exclude(submission__status=Submission.Status.SCREENED_OUT).count())


def concurrent_visits(campaign: Campaign) -> int:
    """Return how many people may work at once: those at work, and those who still find stories."""
    per_visit = max(1, campaign.stories_per_visit)
    working = campaign.visits.filter(AT_WORK).count()
    return max(1, min(campaign.seats, working + math.ceil(places_of(campaign.study).left / per_visit)))


def seats_needed(study: Study, *, stories_per_visit: int) -> int:
    """Return how many full visits it takes until every main story has its votes.

    The votes that are there, or being given now, are not wanted any more. Of a visit's stories some are
    hidden checks, as long as its author has not had all of them: reckoned for people who come once.
    """
    among = checks_among(stories_per_visit, every=study.check_every, usable=usable_checks(study))
    return math.ceil(places_of(study).left / (stories_per_visit - among))


def has_story_for_newcomers(study: Study) -> bool:
    """Return True if somebody who can come now finds a story: a newcomer, or a qualified participant."""
    free = Story.objects.filter(study=study, has_free_slot=True)
    number = 0 if study.only_given else free.count()
    if number and study.gate == Study.Gate.NOT_REQUIRED:
        return True
    people = Enrollment.objects.filter(study=study, state=Enrollment.State.QUALIFIED)
    people = people.filter(stories_submitted__lt=F("study__story_cap"))
    visits = Visit.objects.filter(enrollment=OuterRef("pk"), campaign__isnull=False)
    back = Q(_HOLDS, Exists(visits), ~Exists(visits.filter(AT_WORK)))
    if study.stratum_field:
        return people.filter(back | lacks_items(study, free)).exists()
    # Those with fewer answers than stories have not had all: no need to compare.
    if people.filter(stories_submitted__lt=number).exists():
        return True
    if people.filter(back, given_items=True).exists():
        return True
    return bool(number) and people.exclude(pk__in=people_with_every_story(free, study=study)).exists()


_HOLDS = Exists(Assignment.objects.filter(enrollment=OuterRef("pk"), state__in=HELD))


def lacks_items(study: Study, stories: QuerySet[Story]) -> Exists:
    """Select enrollments in a design that lack an item of some stratum and have not had all of these."""
    person = OuterRef(OuterRef("pk"))
    there = Assignment.objects.living().filter(enrollment=person, stratum=OuterRef("pk")).order_by()
    counted = Subquery(there.values("stratum").annotate(there=Count("pk")).values("there"))
    had = Assignment.objects.filter(enrollment=OuterRef(person), story=OuterRef("pk"))
    left = with_strata(study, stories).filter(
        ~Exists(had.exclude(state=Assignment.State.EXPIRED)), stratum=OuterRef("name")
    )
    return Exists(study.strata.filter(Exists(left), load__gt=Coalesce(counted, 0)))


def people_with_items(study: Study, stories: QuerySet[Story]) -> QuerySet[Enrollment]:
    """Return people who hold items, or in a design lack some and have not had all of these."""
    lacking = lacks_items(study, stories) if study.stratum_field else Q(pk__in=[])
    return Enrollment.objects.filter(_HOLDS | lacking, study=study)


def people_with_every_story(stories: QuerySet[Story], *, study: Study) -> QuerySet[Enrollment, int]:
    """Return the ids of people who have had every one of these stories, and wait for none given by name."""
    number = max(stories.count(), 1)
    is_one = Q(assignments__story__in=stories) & ~Q(assignments__state=Assignment.State.EXPIRED)
    people = Enrollment.objects.filter(study=study, stories_submitted__gte=number)
    had = people.annotate(had=Count("assignments", filter=is_one))
    return had.filter(had__gte=number).exclude(_HOLDS, given_items=True).values_list("pk", flat=True)
