"""Where two JSON documents differ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

TOLERANCE = 1e-9
"""Figures have at most ten decimals; sums in another order (another processor) may move the last one."""


def differences(found: Any, expected: Any, path: str = "") -> Iterator[str]:
    """Each place where a document says something else than it should, as a sentence."""
    where = path or "The document"
    if isinstance(found, dict) and isinstance(expected, dict):
        if list(found) != list(expected):
            odd = sorted(set(found) ^ set(expected))
            yield f"{where}: the keys are not what they should be ({', '.join(odd) or 'their order'})."
        for key in expected.keys() & found.keys():
            yield from differences(found[key], expected[key], f"{path}.{key}" if path else key)
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            yield from differences(one, other, f"{path}[{place}]")
    elif not same(found, expected):
        yield f"{where} is {_short(found)}; recomputed it is {_short(expected)}."


def same(found: Any, expected: Any) -> bool:
    """Whether two values are equal; numbers to within rounding."""
    if type(found) in (int, float) and type(expected) in (int, float):
        return math.isclose(found, expected, rel_tol=0, abs_tol=TOLERANCE)
    return type(found) is type(expected) and bool(found == expected)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
