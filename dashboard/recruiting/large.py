"""Asking once more before much money goes out: a comma that is missing is paid as it stands."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from recruitment.marketplace import MarketplaceError
from recruitment.models import Campaign, Payment
from recruitment.platforms import abilities_of, marketplace_of

MANY_REWARDS = 3
"""A bonus of more than so many rewards is asked about once more."""


@dataclass(frozen=True, slots=True)
class Large:
    """A bonus that somebody should look at again. ``fee`` and ``balance`` are None where nobody says."""

    amount: Decimal
    reward: Decimal
    currency: str
    fee: Decimal | None
    fee_told: str
    balance: Decimal | None

    @property
    def total(self) -> Decimal:
        """What leaves the account, as far as the fee is known."""
        return self.amount + (self.fee or 0)

    @property
    def is_too_much(self) -> bool:
        """Whether the account does not hold it now."""
        return self.balance is not None and self.total > self.balance


def asked_once_more(request: HttpRequest, campaign: Campaign, amount: str) -> HttpResponse | None:
    """The page that asks whether such a bonus is meant; None where nothing is to be asked.

    It sends the same form again, with a word that it is meant. What is no amount is for the form to say.
    """
    token = _token(request)
    is_known = token is not None and Payment.objects.filter(request_token=token).exists()
    if is_known or "sure" in request.POST:
        return None
    try:
        given = Decimal(amount)
    except InvalidOperation:
        return None
    if not given.is_finite():
        return None
    large = _large(campaign, given)
    if not (large.amount > MANY_REWARDS * large.reward or large.is_too_much):
        return None
    fields = [(name, value) for name, value in request.POST.items() if name != "csrfmiddlewaretoken"]
    context = {"study": campaign.study, "campaign": campaign, "large": large, "fields": fields}
    return render(request, "dashboard/large_bonus.html", context)


def _large(campaign: Campaign, amount: Decimal) -> Large:
    abilities = abilities_of(campaign.platform, campaign.environment)
    try:
        balance = marketplace_of(campaign, is_quick=True).balance()
    except MarketplaceError:  # then the payment waits for better times, as any other
        balance = None
    return Large(
        amount=amount,
        reward=campaign.reward,
        currency=campaign.currency,
        fee=abilities.bonus_fee(amount) if abilities.bonus_fee else None,
        fee_told=abilities.bonus_fee_told,
        balance=balance,
    )


def _token(request: HttpRequest) -> UUID | None:
    try:
        return UUID(request.POST.get("token", ""))
    except ValueError:
        return None
