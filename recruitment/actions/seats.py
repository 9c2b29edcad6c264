"""More seats for a campaign that is on its platform already."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import F, Max
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.models import Event
from recruitment.actions.campaigns import go_on
from recruitment.campaigns import is_one_posting, offer_of, reference_of
from recruitment.errors import CannotRecruit
from recruitment.marketplace import Marketplace
from recruitment.models import Campaign, Posting

MOST_IN_A_POSTING = 32_767


def cost_of_seats(campaign: Campaign, marketplace: Marketplace, more: int) -> Decimal:
    """What so many seats more come to with fees. Raises the errors of ``recruitment.marketplace``."""
    offer = offer_of(campaign)
    after = replace(offer, seats=offer.seats + more)
    if is_one_posting(campaign):
        after = replace(after, seats_per_posting=offer.seats_per_posting + more)
    return marketplace.estimate(after).total - marketplace.estimate(offer).total


def add_seats(
    *, campaign: Campaign, marketplace: Marketplace, more: int, by: User | None, now: datetime
) -> Campaign:
    """Offer so many pieces of work more, if the account holds what they cost; a worker puts them up.

    Raises :class:`CannotRecruit` with the sums when it does not, for no seats, and unless people can come;
    and the errors of ``recruitment.marketplace``.
    """
    if more < 1:
        raise CannotRecruit(_("Say how many pieces of work more are to be offered: at least one."))
    cost, balance = cost_of_seats(campaign, marketplace, more), marketplace.balance()
    if balance is not None and balance < cost:
        raise CannotRecruit(
            _("This costs %(total)s %(currency)s, and the account holds %(balance)s. Nothing was created.")
            % {"total": cost, "currency": campaign.currency, "balance": balance}
        )
    return _plan(campaign, more, cost, by=by, now=now)


@transaction.atomic
def _plan(campaign: Campaign, more: int, cost: Decimal, *, by: User | None, now: datetime) -> Campaign:
    campaign = (
        Campaign.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study")
        .get(pk=campaign.pk)
    )
    if campaign.state != Campaign.State.LIVE:
        raise CannotRecruit(
            _("This campaign is “%(state)s”, so that is not possible.")
            % {"state": campaign.get_state_display()}
        )
    if is_one_posting(campaign):
        if campaign.seats_per_posting + more > MOST_IN_A_POSTING:
            raise CannotRecruit(_("One posting has at most %s places.") % MOST_IN_A_POSTING)
        campaign.postings.update(seats=F("seats") + more)
        campaign.seats_per_posting += more
    else:
        last = campaign.postings.aggregate(last=Max("number"))["last"]
        sizes = replace(offer_of(campaign), seats=more).postings
        Posting.objects.bulk_create(
            Posting(campaign=campaign, number=number, seats=seats)
            for number, seats in enumerate(sizes, start=last + 1)
        )
    campaign.seats += more
    campaign.save(update_fields=["seats", "seats_per_posting"])
    annotation_actions.record_event(
        study=campaign.study,
        type=Event.Type.CAMPAIGN_CHANGED,
        by=by,
        now=now,
        subject=reference_of(campaign),
        note=f"{more} seats more, up to {cost} {campaign.currency} with fees",
    )
    return go_on(campaign=campaign, by=by, now=now)
