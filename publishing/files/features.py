"""Column types of a file, gathered row by row and declared in the dataset card.

Readers otherwise infer types from the first block of a file. They then fail on a big file in which, for
example, an entity first appears later, or lose the type of a list that is always empty. With declared types,
the struct ``entities`` is the union of the keys in all rows, absent keys are null, and every list has a type.
"""

from collections.abc import Collection, Mapping
from typing import Any

UNKNOWN = "null"
"""Only nulls or empty lists so far; declared as ``string``."""
MIXED = "mixed"
"""Values of several types, such as text and numbers, or whole numbers beyond 64 bits."""

Type = str | list[Any] | dict[str, Any]
"""A scalar's name, ``[element]`` for a list, or ``{key: type}`` for a struct in order of appearance."""

_SCALARS: dict[type, str] = {str: "string", bool: "bool", int: "int64", float: "float64", type(None): UNKNOWN}
_INT64 = (-(2**63), 2**63 - 1)


def type_of(value: Any) -> Type:
    """Return the type of one JSON value."""
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
    """Return True if ``merged(kind, type_of(value)) == kind``, but faster."""
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
            if known == "string" and type(inner) is str:  # the common case, without a call
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
    """Return the type that holds both; ``MIXED`` if there is none."""
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
    """The column types of one file: known ones, extended by its rows."""

    def __init__(self, known: Mapping[str, Type]) -> None:
        self._type: Type = dict(known)

    def add(self, row: Mapping[str, Any], open_columns: Collection[str] = ()) -> None:
        """Add a row. If only ``open_columns`` can differ from what is known, look at nothing else."""
        if not holds(self._type, {name: row[name] for name in open_columns} if open_columns else row):
            self._type = merged(self._type, type_of(row))

    @property
    def types(self) -> Mapping[str, Type]:
        """The type of every column, in order."""
        return self._type if isinstance(self._type, dict) else {}


def declared(columns: Mapping[str, Type]) -> list[dict[str, Any]] | None:
    """Return the features as a dataset card declares them.

    Return None if a column mixes types: readers must then infer the types.
    """
    return None if is_mixed(columns) else _fields(columns)


def is_mixed(kind: Type | Mapping[str, Type]) -> bool:
    """Return True if any nested type is ``MIXED``."""
    if isinstance(kind, Mapping):
        return any(is_mixed(inner) for inner in kind.values())
    if isinstance(kind, list):
        return is_mixed(kind[0])
    return kind == MIXED


def _fields(struct: Mapping[str, Type]) -> list[dict[str, Any]]:
    return [{"name": name, **_declaration(kind)} for name, kind in struct.items()]


def _declaration(kind: Type) -> dict[str, Any]:
    if isinstance(kind, dict):
        # A struct without fields cannot be declared; it is rare, so it is declared as text.
        return {"struct": _fields(kind)} if kind else {"dtype": "string"}
    if isinstance(kind, list):
        inner = _declaration(kind[0])
        return {"list": inner.get("dtype") or inner.get("struct") or inner}
    return {"dtype": "string" if kind == UNKNOWN else kind}
