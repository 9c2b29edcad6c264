"""More seats for a campaign that is on its platform already."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.models import Event
from recruitment.actions.moving import check_state, go_on, lock_campaign, record_change
from recruitment.campaigns import is_one_posting, offer_of, problems_of_more, with_more
from recruitment.errors import CannotRecruit
from recruitment.marketplace import Marketplace, Offer
from recruitment.models import Campaign, Posting


def cost_of_seats(campaign: Campaign, marketplace: Marketplace, more: int) -> Decimal:
    """What so many seats more come to with fees. Raises the errors of ``recruitment.marketplace``."""
    total = marketplace.estimate(with_more(campaign, more)).total
    if is_one_posting(campaign):
        return total - marketplace.estimate(offer_of(campaign)).total
    return total


def add_seats(
    *,
    campaign: Campaign,
    marketplace: Marketplace,
    more: int,
    offered: int,
    by: User | None,
    now: datetime,
) -> Campaign:
    """Offer so many pieces of work more, if the account holds what they cost; a worker puts them up.

    ``offered`` is how many there were for whoever asks, so that one wish, sent twice, adds once. The whole
    campaign is then offered for its days anew. Raises :class:`CannotRecruit` with the sums when the account
    does not hold them, for what cannot be added, unless people can come, or when others have been added
    meanwhile; and the errors of ``recruitment.marketplace``.
    """
    found = problems_of_more(campaign, more)
    if found:
        raise CannotRecruit("\n".join(found))
    if campaign.seats != offered:
        raise CannotRecruit(
            _("This page is old: %(seats)s pieces of work are offered by now. Nothing was added.")
            % {"seats": campaign.seats}
        )
    priced = offer_of(campaign)
    cost, balance = cost_of_seats(campaign, marketplace, more), marketplace.balance()
    if balance is not None and balance < cost:
        raise CannotRecruit(
            _("This costs %(total)s %(currency)s, and the account holds %(balance)s. Nothing was created.")
            % {"total": cost, "currency": campaign.currency, "balance": balance}
        )
    return _plan(campaign, priced, more, cost, by=by, now=now)


@transaction.atomic
def _plan(
    campaign: Campaign, priced: Offer, more: int, cost: Decimal, *, by: User | None, now: datetime
) -> Campaign:
    campaign = lock_campaign(campaign)
    check_state(campaign, Campaign.State.LIVE)
    if offer_of(campaign) != priced:
        raise CannotRecruit(
            _("Somebody has just changed this campaign. Look at what it costs now. Nothing was created.")
        )
    wanted = with_more(campaign, more)
    if is_one_posting(campaign):
        campaign.postings.update(seats=wanted.seats)
        campaign.seats_per_posting = wanted.seats_per_posting
    else:
        last = campaign.postings.aggregate(last=Max("number"))["last"]
        Posting.objects.bulk_create(
            Posting(campaign=campaign, number=number, seats=seats)
            for number, seats in enumerate(wanted.postings, start=last + 1)
        )
    campaign.seats += more
    campaign.save(update_fields=["seats", "seats_per_posting"])
    note = f"{more} seats more, up to {cost} {campaign.currency} with fees"
    record_change(campaign=campaign, type=Event.Type.CAMPAIGN_CHANGED, by=by, now=now, note=note)
    return go_on(campaign=campaign, only_from=[Campaign.State.LIVE], by=by, now=now)
