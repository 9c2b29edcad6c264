"""Shapes that parsed JSON must have, and what does not fit them. Pure."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value, named as in “position is not *a whole number from 1 on*”."""

    name: str
    fits: Callable[[Any], bool]


Shape = Kind | list[Any] | dict[str, Any]
"""A kind, ``[shape of each entry]``, or an object with exactly these keys, in this order."""


def moment_of(value: Any) -> datetime:
    """Return the time in a text. Raise ``ValueError`` if it is not written as releases write times."""
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        raise ValueError(f"{value} is not a time")
    return datetime.fromisoformat(value)


def _is_moment(value: Any) -> bool:
    try:
        return bool(moment_of(value))
    except ValueError:
        return False


ANYTHING = Kind("anything", lambda value: True)
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
TEXT = Kind("a text", lambda value: isinstance(value, str))
NAME = Kind("a non-empty text", lambda value: isinstance(value, str) and value != "")
TEXT_OR_NULL = Kind("a text or null", lambda value: isinstance(value, str | None))
NUMBER_OR_NULL = Kind("a whole number or null", lambda value: type(value) in (int, type(None)))
COUNT = Kind("a whole number from 0 on", lambda value: type(value) is int and value >= 0)
ORDINAL = Kind("a whole number from 1 on", lambda value: type(value) is int and value >= 1)
MOMENT = Kind("a time such as 2026-03-01T09:30:00.250Z", _is_moment)


def one_of(values: Iterable[str]) -> Kind:
    """Return the kind of these texts."""
    known = sorted(values)
    return Kind(f"one of {', '.join(known)}", lambda value: isinstance(value, str) and value in known)


def or_null(shape: Shape) -> Kind:
    """Return the kind of values that are null or have this shape."""
    what = f"an object with {', '.join(shape)}" if isinstance(shape, dict) else "a list"
    return Kind(f"null or {what}", lambda value: value is None or not misfit(value, shape))


def misfit(value: Any, shape: Shape, path: str = "") -> str:
    """Return a sentence about the first part of a value that does not fit, or an empty text."""
    if isinstance(shape, Kind):
        return "" if shape.fits(value) else f"{path} is not {shape.name}."
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{path} is not a list."
        parts: Iterable[tuple[Any, Shape, str]] = (
            (entry, shape[0], f"{path}[{place}]") for place, entry in enumerate(value)
        )
    else:
        if not isinstance(value, dict):
            return f"{path} is not an object."
        if list(value) != list(shape):
            where = f" of {path}" if path else ""
            return f"The keys{where} are {', '.join(value)[:200]}; they should be {', '.join(shape)}."
        parts = (
            (value[key], inner, f"{path}.{key}" if path else key)
            for key, inner in shape.items()
            if type(inner) is not Kind or not inner.fits(value[key])
        )
    for part, inner, where in parts:
        if problem := misfit(part, inner, where):
            return problem
    return ""
