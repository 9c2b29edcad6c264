"""The types of a file's columns, gathered row by row, as the dataset card declares them.

Readers otherwise guess the types from the first block of a file, and fail on a big file in which, for
example, an entity is first named later on, or lose the type of a list that is always empty. Declared,
the struct ``entities`` is the union of the keys in all rows, absent keys are null, and every list has
a type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

UNKNOWN = "null"
"""Only nulls or empty lists were seen: declared as ``string``."""
MIXED = "mixed"
"""Values that no one type holds, such as a text and a number, or a whole number beyond 64 bits."""

Type = str | list[Any] | dict[str, Any]
"""A scalar's name; ``[element]`` for a list; ``{key: type}`` for a struct, keys in the order seen."""

_SCALARS: dict[type, str] = {str: "string", bool: "bool", int: "int64", float: "float64", type(None): UNKNOWN}
_INT64 = (-(2**63), 2**63 - 1)


def type_of(value: Any) -> Type:
    """The type of one JSON value."""
    if isinstance(value, Mapping):
        return {str(key): type_of(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        element: Type = UNKNOWN
        for inner in value:
            element = merged(element, type_of(inner))
        return [element]
    if type(value) is int and not _INT64[0] <= value <= _INT64[1]:
        return MIXED
    return _SCALARS.get(type(value), MIXED)


def holds(kind: Type, value: Any) -> bool:
    """Whether a value adds nothing to a type: ``merged(kind, type_of(value)) == kind``, but faster."""
    found = type(value)
    if value is None or kind == MIXED:
        return True
    if found is str:
        return kind == "string"
    if found is dict:
        if type(kind) is not dict:
            return False
        for key, inner in value.items():
            known = kind.get(key)
            if type(inner) is str and known == "string":  # nearly always: not worth a call
                continue
            if known is None or not holds(known, inner):
                return False
        return True
    if found is list:
        return type(kind) is list and all(holds(kind[0], inner) for inner in value)
    if found is int:
        return kind in ("int64", "float64") and _INT64[0] <= value <= _INT64[1]
    return kind == _SCALARS.get(found)


def merged(first: Type, second: Type) -> Type:
    """The type that holds the values of both; ``MIXED`` where there is none."""
    if first == second or second == UNKNOWN:
        return first
    if first == UNKNOWN:
        return second
    if isinstance(first, dict) and isinstance(second, dict):
        keys = [*first, *(key for key in second if key not in first)]
        return {key: merged(first.get(key, UNKNOWN), second.get(key, UNKNOWN)) for key in keys}
    if isinstance(first, list) and isinstance(second, list):
        return [merged(first[0], second[0])]
    if {str(first), str(second)} == {"int64", "float64"}:
        return "float64"
    return MIXED


class Columns:
    """The columns of one file: those known beforehand, and what its rows add to them."""

    def __init__(self, known: Mapping[str, Type]) -> None:
        self._type: Type = dict(known)

    def see(self, row: Mapping[str, Any]) -> None:
        if not holds(self._type, row):
            self._type = merged(self._type, type_of(row))

    @property
    def types(self) -> Mapping[str, Type]:
        """The type of every column, in the order of the columns."""
        return self._type if isinstance(self._type, dict) else {}


def declared(columns: Mapping[str, Type]) -> list[dict[str, Any]] | None:
    """The features in the form a dataset card has them, or None when they cannot be declared.

    That is so when a column mixes types: then readers have to make up their own minds.
    """
    return None if is_mixed(columns) else _fields(columns)


def is_mixed(kind: Type | Mapping[str, Type]) -> bool:
    """Whether something in it has no one type."""
    if isinstance(kind, Mapping):
        return any(is_mixed(inner) for inner in kind.values())
    if isinstance(kind, list):
        return is_mixed(kind[0])
    return kind == MIXED


def _fields(struct: Mapping[str, Type]) -> list[dict[str, Any]]:
    return [{"name": name, **_declaration(kind)} for name, kind in struct.items()]


def _declaration(kind: Type) -> dict[str, Any]:
    if isinstance(kind, dict):
        # A struct without fields cannot be declared; one nobody has seen filled is rare enough for text.
        return {"struct": _fields(kind)} if kind else {"dtype": "string"}
    if isinstance(kind, list):
        inner = _declaration(kind[0])
        return {"list": inner.get("dtype") or inner.get("struct") or inner}
    return {"dtype": "string" if kind == UNKNOWN else kind}
