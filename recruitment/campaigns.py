"""Campaigns: hourly pay, votes still needed and places offered for them, offers and their problems.

Reads and rules only.
"""

import math
from dataclasses import dataclass, fields, replace
from decimal import ROUND_HALF_UP, ROUND_UP, Decimal

from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import Least
from django.utils.translation import gettext as _

from annotation.hidden_checks import checks_among
from annotation.models import Assignment, Enrollment, Story, Study, WorkSession
from annotation.queries import usable_checks
from annotation.rules import CENT
from recruitment.links import campaign_address
from recruitment.marketplace import Offer, Terms
from recruitment.models import Campaign, Submission
from recruitment.models.campaigns import MOST_SEATS
from recruitment.platforms import platform_named, platform_of

HOUR = 3600
FEWEST = 5
"""Fewest submissions whose median time is meaningful."""
SHORTEST = 5.0
"""Seconds: nobody reads two sentences and answers in less, so a shorter median is of machines or mistakes."""


@dataclass(frozen=True, slots=True)
class HourlyPay:
    """A campaign's pay per hour, by the median time of its submissions."""

    median_seconds: float
    per_hour: Decimal
    target: Decimal | None
    top_up: Decimal
    """Missing pay per submission, in whole cents; 0 when nothing is missing."""

    @property
    def median_minutes(self) -> float:
        return self.median_seconds / 60


def advertised_pay(reward: Decimal, minutes: int) -> Decimal:
    """Return the hourly pay of a reward for this many minutes, in whole cents."""
    return (reward * 60 / minutes).quantize(CENT, ROUND_HALF_UP)


def hourly_pay(reward: Decimal, median: float, target: Decimal | None, *, pieces: int) -> HourlyPay | None:
    """Return the hourly pay of submissions with this ``median`` in seconds; None if too few or too short.

    The median is what platforms judge by as well (Prolific: by the median of the real times). What is
    missing is rounded up to the next cent, so that nobody is left below the target.
    """
    if pieces < FEWEST or median < SHORTEST:
        return None
    hours = Decimal(str(median)) / HOUR
    missing = (target * hours - reward).quantize(CENT, ROUND_UP) if target is not None else Decimal(0)
    return HourlyPay(median, (reward / hours).quantize(CENT), target, max(missing, Decimal(0)))


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


SEATS_OF_A_TEST = 100
"""People of the published procedure's qualification round."""
MOST_IN_A_POSTING = 32_767


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignSettings(Terms):
    """A researcher's settings of a campaign, by the names of its fields."""

    platform: str
    purpose: str
    stories_per_visit: int = 0
    counts_unconfirmed: bool = False
    auto_approves: bool = True


def reference_of(campaign: Campaign) -> str:
    """Return our own name of a campaign, by which the platform's copy is found again."""
    return f"{campaign.study.slug}-{campaign.number}"


def offer_of(campaign: Campaign) -> Offer:
    """Return the campaign as its platform has to know it."""
    is_test = campaign.purpose == Campaign.Purpose.TEST
    return Offer(
        **{term.name: getattr(campaign, term.name) for term in fields(Terms)}
        | {"countries": tuple(campaign.countries)},
        reference=reference_of(campaign),
        is_test=is_test,
        entry_url=campaign_address(campaign),
        needs_group="" if is_test else campaign.qualified_group,
        adds_to_group=campaign.qualified_group if is_test else "",
        excludes_groups=(campaign.incomplete_group,) if campaign.incomplete_group else (),
        completion_code=campaign.completion_code,
        screen_out_code=campaign.screen_out_code,
    )


def has_one_posting(platform: str, purpose: str) -> bool:
    """Tell whether all seats of such a campaign are in one posting, which more seats widen.

    Those of a test always are: Mechanical Turk offers nobody the same HIT twice, but another HIT like it.
    """
    return platform_named(platform).has_one_posting or purpose == Campaign.Purpose.TEST


def is_one_posting(campaign: Campaign) -> bool:
    return has_one_posting(campaign.platform, campaign.purpose)


def with_more(campaign: Campaign, more: int) -> Offer:
    """Return the offer of so many more seats: the one posting widened, or new postings alone."""
    offer = offer_of(campaign)
    if is_one_posting(campaign):
        return replace(offer, seats=offer.seats + more, seats_per_posting=offer.seats + more)
    return replace(offer, seats=more)


def problems_of_more(campaign: Campaign, more: int) -> list[str]:
    """Return everything that keeps a campaign from offering so many more submissions, in sentences."""
    if more < 1:
        return [_("Enter how many more places to offer, at least one.")]
    offer = with_more(campaign, more)
    found = _problems_of_size(campaign.seats + more, offer.seats_per_posting)
    if is_one_posting(campaign):
        found += platform_of(campaign).problems_of_widening(campaign.seats, offer.seats)
    return found


def _problems_of_size(seats: int, seats_per_posting: int) -> list[str]:
    if seats > MOST_SEATS:
        return [_("One campaign offers at most %s pieces of work.") % MOST_SEATS]
    if seats_per_posting > MOST_IN_A_POSTING:
        return [_("One posting has at most %s places.") % MOST_IN_A_POSTING]
    return []


def seats_needed(study: Study, *, stories_per_visit: int) -> int:
    """Return how many full visits it takes until every main story has its votes.

    The votes that are there, or being given now, are not wanted any more. Of a visit's stories some are
    hidden checks, as long as its author has not had all of them: reckoned for people who come once.
    """
    among = checks_among(stories_per_visit, every=study.check_every, usable=usable_checks(study))
    return math.ceil(places_of(study).left / (stories_per_visit - among))


def fair_reward(study: Study, *, minutes: Decimal) -> Decimal | None:
    """Return the study's hourly rate for so many minutes, in whole cents; None if nobody is paid."""
    return None if study.pay_rate is None else (study.pay_rate * minutes / 60).quantize(CENT)


def problems_of(settings: CampaignSettings, study: Study) -> list[str]:
    """Return everything wrong with these settings as a campaign of the study, in sentences."""
    found = []
    if settings.reward <= 0 or settings.reward != settings.reward.quantize(CENT):
        found.append(_("The reward is a number of whole cents above zero."))
    if settings.minutes_allowed < settings.minutes_expected:
        found.append(_("Allow at least the time that the work is expected to take."))
    if settings.purpose == Campaign.Purpose.TEST:
        if study.gate == Study.Gate.NOT_REQUIRED:
            found.append(_("This study asks for no qualification, so there is no test to recruit for."))
        if settings.stories_per_visit:
            found.append(_("A visit for the test brings no stories; leave the number of stories at 0."))
    elif not 1 <= settings.stories_per_visit <= study.story_cap:
        found.append(
            _("A visit is for 1 to %(cap)s stories: more than that nobody may answer in this study.")
            % {"cap": study.story_cap}
        )
    if study.pay_rate is not None and settings.currency != study.currency:
        found.append(
            _("People were told that they are paid in %(currency)s; reward them in that.")
            % {"currency": study.currency}
        )
    bad = [country for country in settings.countries if not (len(country) == 2 and country.isupper())]
    if bad:
        found.append(_("“%(code)s” is no country code like US.") % {"code": bad[0]})
    in_one = settings.seats if has_one_posting(settings.platform, settings.purpose) else 0
    found += _problems_of_size(settings.seats, in_one or settings.seats_per_posting)
    return found + platform_named(settings.platform).problems_of(settings)
