"""What a campaign offers, and what is wrong with one. Reads and rules only."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from accounts.models import PlatformIdentity
from annotation.checks import checks_among
from annotation.models import Assignment, Story, Study
from annotation.queries import usable_checks
from recruitment.links import campaign_address
from recruitment.marketplace import Offer
from recruitment.models import Campaign
from recruitment.mturk.fees import MANY_SEATS
from recruitment.prolific.payloads import limits_of

if TYPE_CHECKING:
    from recruitment.actions.campaigns import CampaignSettings

CENT = Decimal("0.01")
SEATS_OF_A_TEST = 100
"""People of the published procedure's qualification round."""
MOST_SEATS, MOST_IN_A_POSTING = 1_000_000, 32_767
MOST_COUNTRIES = 30
"""As many as a requirement on Mechanical Turk takes."""


def reference_of(campaign: Campaign) -> str:
    """Our own name of a campaign, by which a platform's copy of it is found again."""
    return f"{campaign.study.slug}-{campaign.number}"


def offer_of(campaign: Campaign) -> Offer:
    """The campaign as its platform has to know it."""
    is_test = campaign.purpose == Campaign.Purpose.TEST
    return Offer(
        reference=reference_of(campaign),
        is_test=is_test,
        title=campaign.title,
        description=campaign.description,
        keywords=campaign.keywords,
        entry_url=campaign_address(campaign),
        reward=campaign.reward,
        currency=campaign.currency,
        seats=campaign.seats,
        seats_per_posting=campaign.seats_per_posting,
        minutes_expected=campaign.minutes_expected,
        minutes_allowed=campaign.minutes_allowed,
        days_open=campaign.days_open,
        days_to_review=campaign.days_to_review,
        approved_percent=campaign.approved_percent,
        approved_work=campaign.approved_work,
        countries=tuple(campaign.countries),
        masters_only=campaign.masters_only,
        needs_group="" if is_test else campaign.qualified_group,
        adds_to_group=campaign.qualified_group if is_test else "",
        excludes_groups=(campaign.incomplete_group,) if campaign.incomplete_group else (),
        completion_code=campaign.completion_code,
        screen_out_code=campaign.screen_out_code,
    )


def has_one_posting(platform: str, purpose: str) -> bool:
    """Whether all seats of such a campaign are in one posting, which more seats widen.

    So it is on Prolific, where a campaign is one study, and for a test: Mechanical Turk offers the same HIT
    to nobody twice, but another HIT of the same kind.
    """
    return platform == PlatformIdentity.Platform.PROLIFIC or purpose == Campaign.Purpose.TEST


def is_one_posting(campaign: Campaign) -> bool:
    """The same of a campaign that there is."""
    return has_one_posting(campaign.platform, campaign.purpose)


def with_more(campaign: Campaign, more: int) -> Offer:
    """What so many seats more come to: the one posting widened, or only the others beside those there are."""
    offer = offer_of(campaign)
    if is_one_posting(campaign):
        return replace(offer, seats=offer.seats + more, seats_per_posting=offer.seats + more)
    return replace(offer, seats=more)


def problems_of_more(campaign: Campaign, more: int) -> list[str]:
    """Everything that keeps a campaign from offering so many pieces of work more, each in a sentence."""
    if more < 1:
        return [_("Say how many pieces of work more are to be offered: at least one.")]
    offer = with_more(campaign, more)
    found = _problems_of_size(campaign.seats + more, offer.seats_per_posting)
    is_mturk = campaign.platform == PlatformIdentity.Platform.MTURK
    if is_one_posting(campaign) and is_mturk and campaign.seats < MANY_SEATS <= offer.seats:
        found.append(
            _(
                "Mechanical Turk never widens a HIT for fewer than %(many)s people to %(many)s or more. "
                "Offer at most %(most)s more here, or end this campaign and make another one."
            )
            % {"many": MANY_SEATS, "most": MANY_SEATS - 1 - campaign.seats}
        )
    return found


def _problems_of_size(seats: int, seats_per_posting: int) -> list[str]:
    if seats > MOST_SEATS:
        return [_("One campaign offers at most %s pieces of work.") % MOST_SEATS]
    if seats_per_posting > MOST_IN_A_POSTING:
        return [_("One posting has at most %s places.") % MOST_IN_A_POSTING]
    return []


def seats_needed(study: Study, *, stories_per_visit: int) -> int:
    """Visits that it takes until every main story has its votes, if each brings as many as it is for.

    The votes that are there, or being given now, are not wanted any more. Of a visit's stories some are
    hidden checks, as long as its author has not had all of them: reckoned for people who come once.
    """
    wanting = Story.objects.filter(study=study, has_free_slot=True)
    taken = Assignment.objects.living().filter(story__in=wanting).count()
    votes = wanting.count() * study.votes_per_story - taken
    among = checks_among(stories_per_visit, every=study.check_every, usable=usable_checks(study))
    return math.ceil(votes / (stories_per_visit - among))


def fair_reward(study: Study, *, minutes: Decimal) -> Decimal | None:
    """What so many minutes come to at the study's hourly rate, in whole cents; None where nobody is paid."""
    return None if study.pay_rate is None else (study.pay_rate * minutes / 60).quantize(CENT)


def problems_of(settings: CampaignSettings, study: Study) -> list[str]:
    """Everything that keeps these settings from being a campaign of the study, each in a sentence."""
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
    return found + _limits_of_platform(settings)


def _limits_of_platform(settings: CampaignSettings) -> list[str]:
    if settings.platform == PlatformIdentity.Platform.PROLIFIC:
        return limits_of(
            minutes_expected=settings.minutes_expected,
            minutes_allowed=settings.minutes_allowed,
            masters_only=settings.masters_only,
            countries=settings.countries,
        )
    found = []
    if settings.approved_percent and not settings.approved_work:
        found.append(
            _(
                "Mechanical Turk counted people with fewer than 100 pieces of work as approved at 100 %: ask "
                "for a number of approved pieces as well."
            )
        )
    if len(settings.countries) > MOST_COUNTRIES:
        found.append(_("Mechanical Turk takes at most %s countries.") % MOST_COUNTRIES)
    return found
