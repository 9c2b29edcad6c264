"""Pay per hour, and pay for a time. Nothing is rounded here: each caller has its own rule for that."""

from decimal import Decimal


def per_hour(amount: Decimal, seconds: float) -> Decimal:
    """Return the hourly pay of an amount for so many seconds, more than none."""
    return amount * 3600 / Decimal(str(seconds))


def pay_for(seconds: float | Decimal, hourly: Decimal) -> Decimal:
    """Return the pay for so many seconds at an hourly rate."""
    return Decimal(str(seconds)) * hourly / 3600
