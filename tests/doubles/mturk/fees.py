"""What MTurk takes for itself, as its price page said: the double's own reckoning, not the product's.

20 % of the reward or bonus; of rewards another 20 % when the HIT has ten assignments or more, and 5 %
when Masters are required; at least one cent each; half a cent is rounded up.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from tests.doubles.mturk.rows import HitType

CENT = Decimal("0.01")
MASTERS = {"production": "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH", "sandbox": "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"}


def of_reward(hit_type: HitType, max_assignments: int) -> Decimal:
    """The fee on one reward of a HIT."""
    percent = 20
    if max_assignments >= 10:
        percent += 20
    if any(wanted["QualificationTypeId"] in MASTERS.values() for wanted in hit_type.requirements):
        percent += 5
    return _cents(hit_type.reward * percent / 100)


def of_bonus(amount: Decimal) -> Decimal:
    """The fee on one bonus."""
    return _cents(amount * 20 / 100)


def _cents(amount: Decimal) -> Decimal:
    return max(CENT, amount.quantize(CENT, rounding=ROUND_HALF_UP))
