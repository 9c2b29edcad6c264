"""Mechanical Turk's fees, by its price page as it last stood (read on 2026-10-07).

20 % of every reward and bonus; of rewards another 20 % when ten or more people may take the same HIT, and
5 % when only Masters may; at least one cent for each reward and bonus. Half a cent is rounded up. Fees are
due when work is approved, not when it is rejected; the money is held from the making of the HIT.
"""

from decimal import ROUND_HALF_UP, Decimal

from django.utils.translation import gettext as _

from annotation.rules import CENT
from recruitment.marketplace import Estimate, Line, Offer
from recruitment.mturk.requirements import RATE_COUNTS_FROM

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
    by_size: dict[int, int] = {}
    for seats in offer.postings:
        by_size[seats] = by_size.get(seats, 0) + seats
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
        warnings.append(
            _(
                "Workers with fewer than %(few)s assignments count as approved to 100 %%, "
                "so at least %(few)s approved assignments are asked for as well."
            )
            % {"few": RATE_COUNTS_FROM}
        )
    return warnings


def _cents(amount: Decimal) -> Decimal:
    return max(CENT, amount.quantize(CENT, rounding=ROUND_HALF_UP))
