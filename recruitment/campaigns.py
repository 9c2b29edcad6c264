"""Campaigns: hourly pay, votes still needed and places offered for them, offers and their problems.

Reads and rules only.
"""

import math
from collections import Counter
from dataclasses import dataclass, fields, replace
from decimal import ROUND_HALF_UP, ROUND_UP, Decimal

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from annotation.hidden_checks import checks_among
from annotation.models import HELD, Assignment, Enrollment, Story, Study, WorkSession
from annotation.queries import votes_wanted
from annotation.pay import pay_for, per_hour
from annotation.rules import CENT
from annotation.strata import stories_of_design, usable_checks, with_strata
from recruitment.links import campaign_address
from recruitment.marketplace import Offer, Terms
from recruitment.models import Campaign, Submission, Visit
from recruitment.models.campaigns import MOST_SEATS
from recruitment.platforms import platform_named, platform_of

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
    return per_hour(reward, minutes * 60).quantize(CENT, ROUND_HALF_UP)


def hourly_pay(reward: Decimal, median: float, target: Decimal | None, *, pieces: int) -> HourlyPay | None:
    """Return the hourly pay of submissions with this ``median`` in seconds; None if too few or too short.

    The median is what platforms judge by as well (Prolific: by the median of the real times). What is
    missing is rounded up to the next cent, so that nobody is left below the target.
    """
    if pieces < FEWEST or median < SHORTEST:
        return None
    owed = reward if target is None else pay_for(median, target)
    top_up = max((owed - reward).quantize(CENT, ROUND_UP), Decimal(0))
    return HourlyPay(median, per_hour(reward, median).quantize(CENT), target, top_up)


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
    taken = campaign.visits.filter(USED | Q(session__state=WorkSession.State.OPEN), replaced_at=None)
    return max(0, campaign.seats - taken.exclude(submission__status=Submission.Status.SCREENED_OUT).count())


def concurrent_visits(campaign: Campaign) -> int:
    """Return how many people may work at once: those at work, and those who still find stories."""
    per_visit = max(1, campaign.stories_per_visit)
    working = campaign.visits.filter(AT_WORK).count()
    return max(1, min(campaign.seats, working + math.ceil(places_of(campaign.study).left / per_visit)))


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
    is_test = campaign.is_test
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


def has_one_posting(campaign: Campaign | CampaignSettings) -> bool:
    """Return True if all seats of a campaign are in one posting, which more seats widen.

    Those of a test always are: Mechanical Turk offers nobody the same HIT twice, but another HIT like it.
    """
    return platform_named(campaign.platform).has_one_posting or campaign.purpose == Campaign.Purpose.TEST


def with_more(campaign: Campaign, more: int) -> Offer:
    """Return the offer of so many more seats: the one posting widened, or new postings alone."""
    offer = offer_of(campaign)
    if has_one_posting(campaign):
        return replace(offer, seats=offer.seats + more, seats_per_posting=offer.seats + more)
    return replace(offer, seats=more)


def problems_of_more(campaign: Campaign, more: int) -> list[str]:
    """Return everything that keeps a campaign from offering so many more submissions, in sentences."""
    if more < 1:
        return [_("Enter how many more places to offer, at least one.")]
    offer = with_more(campaign, more)
    found = _problems_of_size(campaign.seats + more, offer.seats_per_posting)
    if has_one_posting(campaign):
        found += platform_of(campaign).problems_of_widening(campaign.seats, offer.seats)
    return found


def _problems_of_size(seats: int, seats_per_posting: int) -> list[str]:
    if seats > MOST_SEATS:
        return [_("One campaign offers at most %s submissions.") % MOST_SEATS]
    if seats_per_posting > MOST_IN_A_POSTING:
        return [_("One posting has at most %s places.") % MOST_IN_A_POSTING]
    return []


def _problems_of_visits(stories: int, study: Study) -> list[str]:
    if not 1 <= stories <= study.story_cap:
        said = _("A visit has 1 to %(cap)s stories: %(cap)s is the limit per participant.")
        return [said % {"cap": study.story_cap}]
    whole = stories_of_design(study)
    said = _(
        "The design gives each participant %(whole)s stories, hidden checks included. A visit is for all of "
        "them or an equal part, or else the last one ends short."
    )
    return [said % {"whole": whole}] if whole % stories else []


def seats_needed(study: Study, *, stories_per_visit: int) -> int:
    """Return how many full visits it takes until every main story has its votes.

    The votes that are there, or being given now, are not wanted any more. Of a visit's stories some are
    hidden checks, as long as its author has not had all of them: reckoned for people who come once.
    """
    among = checks_among(stories_per_visit, every=study.check_every, usable=usable_checks(study))
    return math.ceil(places_of(study).left / (stories_per_visit - among))


def fair_reward(study: Study, *, minutes: Decimal) -> Decimal | None:
    """Return the study's hourly rate for so many minutes, in whole cents; None if nobody is paid."""
    return None if study.pay_rate is None else pay_for(minutes * 60, study.pay_rate).quantize(CENT)


def problems_of(settings: CampaignSettings, study: Study) -> list[str]:
    """Return everything wrong with these settings as a campaign of the study, in sentences."""
    found = []
    if settings.reward <= 0 or settings.reward != settings.reward.quantize(CENT):
        found.append(_("The reward is a number of whole cents above zero."))
    screened = settings.screen_out_reward
    if screened is not None and not (
        settings.purpose == Campaign.Purpose.TEST
        and 0 < screened < settings.reward
        and "screen_out_reward" not in platform_named(settings.platform).unused_fields
    ):
        told = _(
            "Only a test can have a second reward, for not passing it: less than the first, where the "
            "platform offers that."
        )
        found.append(told)
    if settings.minutes_allowed < settings.minutes_expected:
        found.append(_("Allow at least the time that the work is expected to take."))
    if settings.purpose == Campaign.Purpose.TEST:
        if study.gate == Study.Gate.NOT_REQUIRED:
            found.append(_("This study asks for no qualification, so there is no test to recruit for."))
        if settings.stories_per_visit:
            found.append(_("A visit for the test brings no stories; leave the number of stories at 0."))
    else:
        found += _problems_of_visits(settings.stories_per_visit, study)
    if study.pay_rate is not None and settings.currency != study.currency:
        found.append(
            _("Participants were told that they are paid in %(currency)s. Use that currency.")
            % {"currency": study.currency}
        )
    bad = [country for country in settings.countries if not (len(country) == 2 and country.isupper())]
    if bad:
        found.append(_("“%(code)s” is not a country code such as US.") % {"code": bad[0]})
    in_one = settings.seats if has_one_posting(settings) else 0
    found += _problems_of_size(settings.seats, in_one or settings.seats_per_posting)
    return found + platform_named(settings.platform).problems_of(settings)
