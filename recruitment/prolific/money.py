"""Prolific's money: cents, what a study costs, and the least that may be paid."""

from collections.abc import Mapping
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

from django.utils.translation import gettext as _

from annotation.rules import CENT

LEAST_PER_HOUR: Mapping[str, Decimal] = {"GBP": Decimal(6), "USD": Decimal(8)}
"""Prolific's minimum at the median of the real times; researcher-help.prolific.com, article 4dd6a0."""


def cents(amount: Decimal) -> int:
    """Return the amount in cents or pence. Raise ``ValueError`` for a fraction of one."""
    whole = amount * 100
    if whole != whole.to_integral_value():
        raise ValueError(f"{amount} is not in whole cents")
    return int(whole)


def amount_of(said: Decimal | int | str) -> Decimal:
    """Return cents as Prolific says them, as an amount."""
    return (Decimal(said) / 100).quantize(CENT, ROUND_HALF_UP)


def per_hour(reward: Decimal, seconds: Decimal | float) -> Decimal:
    """Return the pay for an hour's work, rounded down: no pay reaches a floor by rounding."""
    return (reward * 3600 / Decimal(str(seconds))).quantize(CENT, ROUND_DOWN)


def pay_warning(reward: Decimal, currency: str, seconds: Decimal | float | None) -> str:
    """Return why Prolific would complain about the pay; empty if it would not.

    ``seconds`` is what the work takes: what is expected before there is any, then the median of what
    people really took. None, where nobody has worked yet.
    """
    least = LEAST_PER_HOUR.get(currency)
    if least is None or not seconds or per_hour(reward, seconds) >= least:
        return ""
    return _(
        "This pays %(paid)s %(currency)s per hour. Prolific demands at least %(least)s %(currency)s of the "
        "median time that people really take, and has you top it up or stops the study."
    ) % {"paid": per_hour(reward, seconds), "currency": currency, "least": least}
