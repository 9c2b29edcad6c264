"""Drafting a campaign, and having it put on its platform if the account holds what it costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Max, ProtectedError
from django.utils.translation import gettext as _

from accounts.models import PlatformIdentity, User
from annotation.models import Event, Study
from recruitment.actions.moving import CARRY_OUT_TASK, lock_campaign, record_change
from recruitment.campaigns import has_one_posting, offer_of, problems_of
from recruitment.codes import new_code
from recruitment.errors import CannotRecruit
from recruitment.marketplace import Marketplace, Offer
from recruitment.models import Campaign, Posting
from recruitment.queueing import soon

State = Campaign.State


@dataclass(frozen=True, slots=True)
class CampaignSettings:
    """What a researcher decides about a campaign, by the names of its fields."""

    platform: str
    purpose: str
    title: str
    description: str
    reward: Decimal
    seats: int
    seats_per_posting: int
    minutes_expected: int
    minutes_allowed: int
    stories_per_visit: int = 0
    keywords: str = ""
    currency: str = "USD"
    days_open: int = 7
    days_to_review: int = 14
    counts_at_once: bool = False
    approves_by_itself: bool = True
    approved_percent: int | None = None
    approved_work: int | None = None
    countries: tuple[str, ...] = ()
    masters_only: bool = False


@transaction.atomic
def create_campaign(*, study: Study, settings: CampaignSettings, by: User | None, now: datetime) -> Campaign:
    """Draft a campaign; nothing is on the platform yet. Raises :class:`CannotRecruit` with every problem."""
    study = _lock_study(study)
    found = problems_of(settings, study)
    if found:
        raise CannotRecruit("\n".join(found))
    last = Campaign.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0
    values = _values(settings)
    if settings.platform == PlatformIdentity.Platform.PROLIFIC:
        values |= {"completion_code": new_code(), "screen_out_code": new_code()}
    campaign = Campaign.objects.create(
        study=study,
        environment=study.environment,
        number=last + 1,
        created_by=by,
        created_at=now,
        **values,
    )
    record_change(
        campaign=campaign, type=Event.Type.CAMPAIGN_CREATED, by=by, now=now, note=f"{settings.platform}"
    )
    return campaign


@transaction.atomic
def change_campaign(
    *, campaign: Campaign, settings: CampaignSettings, by: User | None, now: datetime
) -> Campaign:
    """Change a draft. Raises :class:`CannotRecruit`, also once anything has been asked of the platform."""
    campaign = lock_campaign(campaign)
    found = problems_of(settings, campaign.study)
    if campaign.state != State.DRAFT:
        found = [_("This campaign is on the platform already: make another one instead of changing it.")]
    elif (campaign.platform, campaign.purpose) != (settings.platform, settings.purpose):
        found = [_("A campaign stays on its platform, and for what it is; make another one.")]
    if found:
        raise CannotRecruit("\n".join(found))
    for name, value in _values(settings).items():
        setattr(campaign, name, value)
    campaign.save()
    record_change(campaign=campaign, type=Event.Type.CAMPAIGN_CHANGED, by=by, now=now, note="settings")
    return campaign


@transaction.atomic
def discard_campaign(*, campaign: Campaign, by: User | None, now: datetime) -> None:
    """Delete a draft, of which nothing is on the platform; the log keeps that there was one.

    Raises :class:`CannotRecruit` for a campaign that has been started: what of it may be there is ended.
    """
    campaign = lock_campaign(campaign)
    started = CannotRecruit(
        _("This campaign has been started, so part of it may be on the platform: end it instead.")
    )
    if campaign.state != State.DRAFT:
        raise started
    note = f"draft discarded: {campaign.title}"
    record_change(campaign=campaign, type=Event.Type.CAMPAIGN_CHANGED, by=by, now=now, note=note)
    try:
        campaign.delete()
    except ProtectedError as error:  # something is known of it after all
        raise started from error


def _values(settings: CampaignSettings) -> dict[str, Any]:
    """The fields of a campaign. All seats of a test, and of any on Prolific, are in one posting."""
    values = asdict(settings) | {"countries": list(settings.countries)}
    if has_one_posting(settings.platform, settings.purpose):
        values["seats_per_posting"] = settings.seats
    return values


def start_campaign(
    *, campaign: Campaign, marketplace: Marketplace, by: User | None, now: datetime
) -> Campaign:
    """Have a campaign put on the platform, if the account holds what it costs.

    Raises :class:`CannotRecruit` with the sums when it does not, when the study is not open, when the
    campaign is no draft, or is changed meanwhile; and the errors of ``recruitment.marketplace``.
    """
    offer = offer_of(campaign)
    estimate = marketplace.estimate(offer)
    if estimate.currency != campaign.currency:
        raise CannotRecruit(
            _("The account pays in %(theirs)s, the campaign says %(ours)s. Nothing was created.")
            % {"theirs": estimate.currency, "ours": campaign.currency}
        )
    balance = marketplace.balance()
    if balance is not None and balance < estimate.total:
        raise CannotRecruit(
            _("This costs %(total)s %(currency)s, and the account holds %(balance)s. Nothing was created.")
            % {"total": estimate.total, "currency": estimate.currency, "balance": balance}
        )
    until = now + timedelta(days=campaign.days_open) if marketplace.abilities.ends_offers else None
    return _plan_postings(campaign, offer, estimate.total, until, by=by, now=now)


@transaction.atomic
def _plan_postings(
    campaign: Campaign,
    offer: Offer,
    cost: Decimal,
    until: datetime | None,
    *,
    by: User | None,
    now: datetime,
) -> Campaign:
    campaign = lock_campaign(campaign)
    if campaign.state != State.DRAFT:
        raise CannotRecruit(_("This campaign has been started already."))
    if offer_of(campaign) != offer:
        raise CannotRecruit(
            _("Somebody has just changed this campaign. Look at what it costs now. Nothing was created.")
        )
    if campaign.study.state != Study.State.OPEN:
        raise CannotRecruit(_("Open the study first: people who come are turned away until then."))
    Posting.objects.bulk_create(
        Posting(campaign=campaign, number=number, seats=seats)
        for number, seats in enumerate(offer.postings, start=1)
    )
    campaign.state, campaign.started_at, campaign.offered_until = State.CREATING, now, until
    campaign.save(update_fields=["state", "started_at", "offered_until"])
    note = f"{campaign.seats} seats, up to {cost} {campaign.currency} with fees"
    record_change(campaign=campaign, type=Event.Type.CAMPAIGN_CHANGED, by=by, now=now, note=note)
    soon(CARRY_OUT_TASK, campaign.pk)
    return campaign


def _lock_study(study: Study) -> Study:
    return Study.objects.select_for_update(of=("self",), no_key=True).get(pk=study.pk)
