"""Estimates of a campaign's cost on Prolific, with its likely complaints."""

from decimal import Decimal

from django.utils.translation import gettext as _

from recruitment.marketplace import Estimate, Line, Offer
from recruitment.prolific.money import pay_warning
from recruitment.prolific.payloads import REVIEW_DAYS, problems_of


def estimate_of(offer: Offer, *, total: Decimal, currency: str, available: Decimal) -> Estimate:
    """Return the estimate from Prolific's own total: what is not reward is its fee and the tax on that.

    ``available`` is what the workspace can spend; both it and the total are in the workspace's currency.
    """
    rewards = offer.reward * offer.seats
    told = {"seats": offer.seats, "reward": offer.reward}
    return Estimate(
        currency=currency,
        rewards=rewards,
        fees=total - rewards,
        lines=(
            Line(_("%(seats)s rewards of %(reward)s") % told, rewards),
            Line(_("Prolific’s fee, with tax"), total - rewards),
        ),
        warnings=tuple(_warnings(offer, total, currency, available)),
    )


def currencies_differ(currency: str, offer: Offer) -> str:
    """Return the complaint that the workspace pays in another currency than people were promised."""
    return _("The workspace pays in %(theirs)s, the campaign says %(ours)s: change the campaign.") % {
        "theirs": currency,
        "ours": offer.currency,
    }


def _warnings(offer: Offer, total: Decimal, currency: str, available: Decimal) -> list[str]:
    warnings = problems_of(offer)
    pay = pay_warning(offer.reward, offer.currency, offer.minutes_expected * 60)
    if pay:
        warnings.append(pay)
    if currency != offer.currency:
        warnings.append(currencies_differ(currency, offer))
    if total > available:
        warnings.append(
            _("The workspace has %(available)s %(currency)s left: add money before you begin.")
            % {"available": available, "currency": currency}
        )
    if offer.days_to_review > REVIEW_DAYS:
        warnings.append(_("Prolific approves by itself after %s days.") % REVIEW_DAYS)
    return warnings
