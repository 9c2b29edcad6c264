"""Votes that a study still needs, and places that its campaigns offer for them. Reads only."""

import math
from dataclasses import dataclass

from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import Least

from annotation.models import Assignment, Enrollment, Story, Study, WorkSession
from recruitment.models import Campaign, Submission

ON_OFFER = (Campaign.State.CREATING, Campaign.State.LIVE, Campaign.State.PAUSING, Campaign.State.PAUSED)
USED = Q(session__state=WorkSession.State.CONFIRMED) | Q(
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
    """Return a study's votes and what its story campaigns on a platform can still bring."""
    votes = Assignment.objects.living().filter(story__study=study, story__role=Story.Role.MAIN)
    numbers = votes.aggregate(all=Count("pk"), held=Count("pk", filter=Q(state=Assignment.State.LEASED)))
    campaigns = study.campaigns.filter(purpose=Campaign.Purpose.STORIES, state__in=ON_OFFER)
    return Places(
        wanted=Story.objects.main().filter(study=study).count() * study.votes_per_story,
        given=numbers["all"] - numbers["held"],
        held=numbers["held"],
        offered=sum(free_places(found) * found.stories_per_visit for found in campaigns),
    )


def free_places(campaign: Campaign) -> int:
    """Return the places that nobody has taken: without visits that are open or were handed in."""
    taken = campaign.visits.filter(USED | Q(session__state=WorkSession.State.OPEN), replaced_at=None)
    return max(0, campaign.seats - taken.count())


def concurrent_visits(campaign: Campaign) -> int:
    """Return how many people may work at once: those at work, and those who still find stories."""
    per_visit = max(1, campaign.stories_per_visit)
    working = campaign.visits.filter(session__state=WorkSession.State.OPEN, handed_in_at=None).count()
    return max(1, min(campaign.seats, working + math.ceil(places_of(campaign.study).left / per_visit)))


def has_story_for_newcomers(study: Study) -> bool:
    """Tell whether somebody who can come now finds a story: a newcomer, or a qualified participant."""
    free = Story.objects.filter(study=study, has_free_slot=True).count()
    if not free or study.gate == Study.Gate.NOT_REQUIRED:
        return bool(free)
    people = Enrollment.objects.filter(study=study, state=Enrollment.State.QUALIFIED)
    if people.filter(stories_submitted__lt=Least(F("study__story_cap"), free)).exists():
        return True
    below = people.filter(stories_submitted__lt=F("study__story_cap"))
    return below.exclude(
        pk__in=people_with_every_story(Story.objects.filter(study=study, has_free_slot=True), study=study)
    ).exists()


def people_with_every_story(stories: QuerySet[Story], *, study: Study) -> QuerySet[Enrollment, int]:
    """Return the ids of people who have had every one of these stories of a study."""
    number = max(stories.count(), 1)
    is_one = Q(assignments__story__in=stories) & ~Q(assignments__state=Assignment.State.EXPIRED)
    people = Enrollment.objects.filter(study=study, stories_submitted__gte=number)
    had = people.annotate(had=Count("assignments", filter=is_one))
    return had.filter(had__gte=number).values_list("pk", flat=True)
