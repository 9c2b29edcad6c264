"""A researcher's settings of a campaign, their problems, and the offer as its platform has to know it."""

from dataclasses import dataclass, fields, replace

from django.utils.translation import gettext as _

from annotation.models import Study
from annotation.rules import CENT
from annotation.strata import stories_of_design
from recruitment.links import campaign_address
from recruitment.marketplace import Offer, Terms
from recruitment.models import Campaign
from recruitment.models.campaigns import MOST_SEATS
from recruitment.platforms import platform_named, platform_of

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
    problems = _problems_of_size(campaign.seats + more, offer.seats_per_posting)
    if has_one_posting(campaign):
        problems += platform_of(campaign).problems_of_widening(campaign.seats, offer.seats)
    return problems


def _problems_of_size(seats: int, seats_per_posting: int) -> list[str]:
    if seats > MOST_SEATS:
        return [_("One campaign offers at most %s submissions.") % MOST_SEATS]
    if seats_per_posting > MOST_IN_A_POSTING:
        return [_("One posting has at most %s places.") % MOST_IN_A_POSTING]
    return []


def _problems_of_visits(stories: int, study: Study) -> list[str]:
    if not 1 <= stories <= study.story_cap:
        message = _("A visit has 1 to %(cap)s stories: %(cap)s is the limit per participant.")
        return [message % {"cap": study.story_cap}]
    whole = stories_of_design(study)
    message = _(
        "The design gives each participant %(whole)s stories, hidden checks included. A visit is for all of "
        "them or an equal part, or else the last one ends short."
    )
    return [message % {"whole": whole}] if whole % stories else []


def problems_of(settings: CampaignSettings, study: Study) -> list[str]:
    """Return everything wrong with these settings as a campaign of the study, in sentences."""
    problems = []
    if settings.reward <= 0 or settings.reward != settings.reward.quantize(CENT):
        problems.append(_("The reward is a number of whole cents above zero."))
    screened = settings.screen_out_reward
    if screened is not None and not (
        settings.purpose == Campaign.Purpose.TEST
        and 0 < screened < settings.reward
        and "screen_out_reward" not in platform_named(settings.platform).unused_fields
    ):
        message = _(
            "Only a test can have a second reward, for not passing it: less than the first, where the "
            "platform offers that."
        )
        problems.append(message)
    if settings.minutes_allowed < settings.minutes_expected:
        problems.append(_("Allow at least the time that the work is expected to take."))
    if settings.purpose == Campaign.Purpose.TEST:
        if study.gate == Study.Gate.NOT_REQUIRED:
            problems.append(_("This study asks for no qualification, so there is no test to recruit for."))
        if settings.stories_per_visit:
            problems.append(_("A visit for the test brings no stories; leave the number of stories at 0."))
    else:
        problems += _problems_of_visits(settings.stories_per_visit, study)
    if study.pay_rate is not None and settings.currency != study.currency:
        problems.append(
            _("Participants were told that they are paid in %(currency)s. Use that currency.")
            % {"currency": study.currency}
        )
    bad = [country for country in settings.countries if not (len(country) == 2 and country.isupper())]
    if bad:
        problems.append(_("“%(code)s” is not a country code such as US.") % {"code": bad[0]})
    in_one = settings.seats if has_one_posting(settings) else 0
    problems += _problems_of_size(settings.seats, in_one or settings.seats_per_posting)
    return problems + platform_named(settings.platform).problems_of(settings)
