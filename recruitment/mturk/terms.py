"""Mechanical Turk's terms: its two environments, who may take a HIT, and its fees.

Every requirement guards discovery, preview and acceptance: workers who do not qualify never see the HIT. Fees
are those of its price page as it last stood (read on 2026-10-07): 20 % of every reward and bonus; of rewards
another 20 % when ten or more people may take the same HIT, and 5 % when only Masters may; at least one cent
for each reward and bonus. Half a cent is rounded up. Fees are due when work is approved, not when it is
rejected; the money is held from the making of the HIT.
"""

from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from accounts.models import Environment
from annotation.rules import CENT
from recruitment.marketplace import Estimate, Line, Offer

ENDPOINTS = {
    Environment.LIVE: "https://mturk-requester.us-east-1.amazonaws.com",
    Environment.REHEARSAL: "https://mturk-requester-sandbox.us-east-1.amazonaws.com",
}
MASTERS = {
    Environment.LIVE: "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH",
    Environment.REHEARSAL: "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6",
}
"""The qualification type of Masters; the one of the other environment does not exist."""


def site_of(address: str) -> tuple[str, int]:
    """Return host and port of an endpoint, however it is written; of an empty one an empty host."""
    parts = urlsplit(address.strip())
    port = parts.port or (80 if parts.scheme == "http" else 443)
    return (parts.hostname or "").rstrip("."), port


def is_amazon(endpoint: str) -> bool:
    """Return True if an endpoint, empty for the usual one, is Amazon's and so answers no more."""
    return site_of(endpoint)[0] in ("", *(site_of(own)[0] for own in ENDPOINTS.values()))


def is_of_the_other(endpoint: str, environment: str) -> bool:
    """Return True if an endpoint is Amazon's of the other environment, by its host, whatever the port."""
    others = (own for name, own in ENDPOINTS.items() if name != environment)
    return site_of(endpoint)[0] in {site_of(other)[0] for other in others}


PERCENT_APPROVED = "000000000000000000L0"
NUMBER_APPROVED = "00000000000000000040"
LOCALE = "00000000000000000071"
RATE_COUNTS_FROM = 100
"""A worker with fewer submitted assignments has an approval rate of 100 %, whatever happened to them."""


def requirements_of(offer: Offer, environment: str) -> list[dict[str, Any]]:
    """Return the requirements of an offer, at most ten.

    A wanted approval rate always comes with a number of approved assignments, 100 where none is asked for:
    below that the rate says nothing. People in a group of ``excludes_groups`` must not have the qualification
    at all, which is also true of everybody who never had anything to do with us. Who has passed a test is not
    shown it again.
    """
    wanted: list[dict[str, Any]] = []
    approved = offer.approved_work
    if offer.approved_percent is not None:
        wanted.append(_at_least(PERCENT_APPROVED, offer.approved_percent))
        approved = max(approved or 0, RATE_COUNTS_FROM)
    if approved:
        wanted.append(_at_least(NUMBER_APPROVED, approved))
    if offer.countries:
        places = [{"Country": country} for country in sorted(offer.countries)]
        wanted.append(_requirement(LOCALE, "EqualTo" if len(places) == 1 else "In", LocaleValues=places))
    if offer.masters_only:
        wanted.append(_requirement(MASTERS[Environment(environment)], "Exists"))
    if offer.needs_group:
        wanted.append(_requirement(offer.needs_group, "Exists"))
    excluded = {*offer.excludes_groups, offer.adds_to_group} - {""}
    wanted += [_requirement(group, "DoesNotExist") for group in sorted(excluded)]
    return wanted


def _at_least(identifier: str, value: int) -> dict[str, Any]:
    return _requirement(identifier, "GreaterThanOrEqualTo", IntegerValues=[value])


def _requirement(identifier: str, comparator: str, **values: Any) -> dict[str, Any]:
    return {
        "QualificationTypeId": identifier,
        "Comparator": comparator,
        **values,
        "ActionsGuarded": "DiscoverPreviewAndAccept",
    }


FEE = Decimal("0.20")
MANY_SEATS, MANY_SEATS_FEE = 10, Decimal("0.20")
MASTERS_FEE = Decimal("0.05")


def reward_fee(reward: Decimal, *, seats: int, masters: bool) -> Decimal:
    """Return the fee on one reward, in dollars, for a HIT that ``seats`` people may take."""
    rate = FEE
    if seats >= MANY_SEATS:
        rate += MANY_SEATS_FEE
    if masters:
        rate += MASTERS_FEE
    return _cents(reward * rate)


def bonus_fee(amount: Decimal) -> Decimal:
    """Return the fee on one bonus, in dollars, however many people may take the HIT."""
    return _cents(amount * FEE)


def estimate(offer: Offer) -> Estimate:
    """Return the cost of an offer if every seat is taken and approved, bonuses aside.

    The HITs are made with the seats that the offer's ``postings`` say, and each has its own fee.
    """
    rewards = offer.reward * offer.seats
    by_size = {size: size * number for size, number in Counter(offer.postings).items()}
    fees = {
        size: people * reward_fee(offer.reward, seats=size, masters=offer.masters_only)
        for size, people in by_size.items()
    }
    lines = [
        Line(
            _("%(people)s rewards of $%(reward)s") % {"people": offer.seats, "reward": offer.reward}, rewards
        ),
        *(
            Line(
                _("Mechanical Turk’s fee: $%(fee)s on each of %(people)s")
                % {"fee": fees[size] / people, "people": people},
                fees[size],
            )
            for size, people in by_size.items()
        ),
    ]
    return Estimate("USD", rewards, sum(fees.values(), Decimal(0)), tuple(lines), tuple(_warnings(offer)))


def _warnings(offer: Offer) -> list[str]:
    warnings = []
    if offer.seats_per_posting >= MANY_SEATS:
        warnings.append(
            _("From %(many)s people on the same HIT, Mechanical Turk takes another 20 %% of each reward.")
            % {"many": MANY_SEATS}
        )
    if offer.approved_percent is not None and (offer.approved_work or 0) < RATE_COUNTS_FROM:
        message = _(
            "Workers with fewer than %(few)s assignments count as approved to 100 %%, "
            "so at least %(few)s approved assignments are asked for as well."
        ) % {"few": RATE_COUNTS_FROM}
        warnings.append(message)
    return warnings


def _cents(amount: Decimal) -> Decimal:
    return max(CENT, amount.quantize(CENT, rounding=ROUND_HALF_UP))
