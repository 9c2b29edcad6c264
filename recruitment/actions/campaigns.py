"""Draft a campaign; start it, and add seats to it, if the account holds what that costs."""

from dataclasses import asdict
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Max, ProtectedError
from django.utils.translation import gettext as _

from accounts.models import User, locked
from annotation.models import Event, Study
from recruitment import offers
from recruitment.actions.campaign_lifecycle import check_state, extend_offer, lock_campaign, record_change
from recruitment.codes import new_code
from recruitment.errors import CannotRecruit
from recruitment.marketplace import Marketplace, Offer
from recruitment.models import Campaign, Posting
from recruitment.platforms import platform_named, platform_of
from recruitment.queue import CARRY_OUT_TASK, queue_soon

State = Campaign.State


@transaction.atomic
def create_campaign(
    *, study: Study, settings: offers.CampaignSettings, by: User | None, now: datetime
) -> Campaign:
    """Draft a campaign; nothing is on the platform yet. Raise :class:`CannotRecruit` with every problem."""
    study = locked(study)
    problems = offers.problems_of(settings, study)
    if problems:
        raise CannotRecruit("\n".join(problems))
    last = Campaign.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0
    values = _values(settings)
    if platform_named(settings.platform).needs_codes:
        values |= {"completion_code": new_code(), "screen_out_code": new_code()}
    campaign = Campaign.objects.create(
        study=study, environment=study.environment, number=last + 1, created_by=by, created_at=now, **values
    )
    created = Event.Type.CAMPAIGN_CREATED
    record_change(campaign=campaign, type=created, by=by, now=now, note=f"{settings.platform}")
    return campaign


@transaction.atomic
def change_campaign(
    *, campaign: Campaign, settings: offers.CampaignSettings, by: User | None, now: datetime
) -> Campaign:
    """Change a draft. Raise :class:`CannotRecruit`, also once anything has been asked of the platform."""
    campaign = lock_campaign(campaign)
    problems = offers.problems_of(settings, campaign.study)
    if campaign.state != State.DRAFT:
        problems = [
            _("This campaign is already on the platform and cannot be changed. Create another campaign.")
        ]
    elif (campaign.platform, campaign.purpose) != (settings.platform, settings.purpose):
        problems = [_("You cannot change a campaign’s platform or purpose. Create another campaign.")]
    if problems:
        raise CannotRecruit("\n".join(problems))
    for name, value in _values(settings).items():
        setattr(campaign, name, value)
    campaign.save()
    record_change(campaign=campaign, type=Event.Type.CAMPAIGN_CHANGED, by=by, now=now, note="settings")
    return campaign


@transaction.atomic
def discard_campaign(*, campaign: Campaign, by: User | None, now: datetime) -> None:
    """Delete a draft, which is not on the platform yet; the log keeps that it existed.

    Raise :class:`CannotRecruit` for a campaign that was started: end it instead.
    """
    campaign = lock_campaign(campaign)
    started = CannotRecruit(
        _("This campaign has been started and may be partly on the platform. End it instead.")
    )
    if campaign.state != State.DRAFT:
        raise started
    note = f"draft discarded: {campaign.title}"
    record_change(campaign=campaign, type=Event.Type.CAMPAIGN_CHANGED, by=by, now=now, note=note)
    try:
        campaign.delete()
    except ProtectedError as error:  # something is known of it after all
        raise started from error


def _values(settings: offers.CampaignSettings) -> dict[str, Any]:
    values = asdict(settings) | {"countries": list(settings.countries)}
    if offers.has_one_posting(settings):
        values["seats_per_posting"] = settings.seats
    return values


def start_campaign(
    *, campaign: Campaign, marketplace: Marketplace, by: User | None, now: datetime
) -> Campaign:
    """Have a campaign put on the platform, if the account holds what it costs.

    Raise :class:`CannotRecruit` with the sums when it does not, when the study is not open, when the
    campaign is no draft, or is changed meanwhile; and the errors of ``recruitment.marketplace``.
    """
    offer = offers.offer_of(campaign)
    estimate = marketplace.estimate(offer)
    if estimate.currency != campaign.currency:
        message = _("The account pays in %(theirs)s, the campaign says %(ours)s. Nothing was created.")
        raise CannotRecruit(message % {"theirs": estimate.currency, "ours": campaign.currency})
    _check_balance(marketplace, estimate.total, estimate.currency)
    until = now + timedelta(days=campaign.days_open) if platform_of(campaign).ends_offers else None
    return _plan_postings(campaign, offer, estimate.total, until, by=by, now=now)


@transaction.atomic
def _plan_postings(
    campaign: Campaign, offer: Offer, cost: Decimal, until: datetime | None, *, by: User | None, now: datetime
) -> Campaign:
    campaign = lock_campaign(campaign)
    if campaign.state != State.DRAFT:
        raise CannotRecruit(_("This campaign has been started already."))
    _check_unchanged(campaign, offer)
    if campaign.study.state != Study.State.OPEN:
        raise CannotRecruit(_("Open the study first: until then, participants who arrive are turned away."))
    _want_postings(campaign, offer, after=0)
    campaign.state, campaign.started_at, campaign.offered_until = State.CREATING, now, until
    campaign.save(update_fields=["state", "started_at", "offered_until"])
    note = f"{campaign.seats} seats, up to {cost} {campaign.currency} with fees"
    record_change(campaign=campaign, type=Event.Type.CAMPAIGN_CHANGED, by=by, now=now, note=note)
    queue_soon(CARRY_OUT_TASK, campaign.pk)
    return campaign


def cost_of_seats(campaign: Campaign, marketplace: Marketplace, more: int) -> Decimal:
    """Return the cost of more seats with fees. Raise the errors of ``recruitment.marketplace``."""
    total = marketplace.estimate(offers.with_more(campaign, more)).total
    if offers.has_one_posting(campaign):
        return total - marketplace.estimate(offers.offer_of(campaign)).total
    return total


def add_seats(
    *, campaign: Campaign, marketplace: Marketplace, more: int, offered: int, by: User | None, now: datetime
) -> Campaign:
    """Offer more submissions, if the account holds their cost; a worker adds them on the platform.

    ``offered`` is the number that the form showed, so that a form sent twice adds once. The whole
    campaign is then offered for its days anew. Raise :class:`CannotRecruit` with the sums when the account
    does not hold them, for what cannot be added, unless people can come, or when others have been added
    meanwhile; and the errors of ``recruitment.marketplace``.
    """
    problems = offers.problems_of_more(campaign, more)
    if problems:
        raise CannotRecruit("\n".join(problems))
    if campaign.seats != offered:
        message = _("This page is out of date: the campaign now offers %(seats)s places. Nothing was added.")
        raise CannotRecruit(message % {"seats": campaign.seats})
    priced = offers.offer_of(campaign)
    cost = cost_of_seats(campaign, marketplace, more)
    _check_balance(marketplace, cost, campaign.currency)
    return _plan_seats(campaign, priced, more, cost, by=by, now=now)


@transaction.atomic
def _plan_seats(
    campaign: Campaign, priced: Offer, more: int, cost: Decimal, *, by: User | None, now: datetime
) -> Campaign:
    campaign = lock_campaign(campaign)
    check_state(campaign, State.LIVE)
    _check_unchanged(campaign, priced)
    wanted = offers.with_more(campaign, more)
    if offers.has_one_posting(campaign):
        campaign.postings.update(seats=wanted.seats)
        campaign.seats_per_posting = wanted.seats_per_posting
    else:
        _want_postings(campaign, wanted, after=campaign.postings.aggregate(last=Max("number"))["last"])
    campaign.seats += more
    campaign.save(update_fields=["seats", "seats_per_posting"])
    note = f"{more} seats more, up to {cost} {campaign.currency} with fees"
    record_change(campaign=campaign, type=Event.Type.CAMPAIGN_CHANGED, by=by, now=now, note=note)
    return extend_offer(campaign=campaign, only_from=[State.LIVE], by=by, now=now)


def _want_postings(campaign: Campaign, offer: Offer, *, after: int) -> None:
    numbered = enumerate(offer.postings, start=after + 1)
    Posting.objects.bulk_create(Posting(campaign=campaign, number=at, seats=seats) for at, seats in numbered)


def _check_balance(marketplace: Marketplace, cost: Decimal, currency: str) -> None:
    balance = marketplace.balance()
    if balance is not None and balance < cost:
        message = _(
            "This costs %(total)s %(currency)s, and the account holds %(balance)s. Nothing was created."
        )
        raise CannotRecruit(message % {"total": cost, "currency": currency, "balance": balance})


def _check_unchanged(campaign: Campaign, priced: Offer) -> None:
    if offers.offer_of(campaign) != priced:
        raise CannotRecruit(
            _("Another member has just changed this campaign. Check what it costs now. Nothing was created.")
        )
