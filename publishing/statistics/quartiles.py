"""Quartiles of counted values. Pure."""

from bisect import bisect_left
from collections.abc import Mapping
from decimal import Decimal
from itertools import accumulate
from typing import TypeVar

QUARTILES = ("lower_quartile", "median", "upper_quartile")
Value = TypeVar("Value", int, Decimal)


def quartiles(counted: Mapping[Value, int]) -> dict[str, Value] | None:
    """Return the smallest values that a quarter, half and three quarters of all do not exceed; None for none.

    ``counted`` has how often each value occurs.
    """
    values = sorted(counted)
    upto = list(accumulate(counted[value] for value in values))
    reached = (bisect_left(upto, part * upto[-1] / 4) for part in (1, 2, 3))
    return dict(zip(QUARTILES, (values[place] for place in reached), strict=True)) if values else None
