"""The protocol itself: botocore's own description of MTurk, by which every request and answer is checked.

boto3 checks types and required members before it sends; patterns, enumerations, lengths and ranges it
leaves to the service. Both are checked here, so that the double never says what MTurk could not have said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from botocore.loaders import Loader
from botocore.model import ServiceModel, Shape

SERVICE = ServiceModel(Loader().load_service_model("mturk", "service-2"))
TARGET = str(SERVICE.metadata["targetPrefix"])
CONTENT_TYPE = f"application/x-amz-json-{SERVICE.metadata['jsonVersion']}"
SIGNING_NAME = str(SERVICE.metadata["endpointPrefix"])

_PYTHON: dict[str, tuple[type[Any], ...]] = {
    "structure": (dict,),
    "list": (list,),
    "string": (str,),
    "integer": (int,),
    "long": (int,),
    "boolean": (bool,),
    "timestamp": (int, float),
}


def operations() -> frozenset[str]:
    """The names of all operations that the service has."""
    return frozenset(SERVICE.operation_names)


def wrong_with_request(operation: str, params: Mapping[str, Any]) -> list[str]:
    """What MTurk would say against these parameters, one line each; empty when they are fine."""
    return list(_problems(SERVICE.operation_model(operation).input_shape, params, ""))


def wrong_with_answer(operation: str, answer: Mapping[str, Any]) -> list[str]:
    """Where an answer of the double departs from the protocol: then the double itself is wrong."""
    return list(_problems(SERVICE.operation_model(operation).output_shape, answer, ""))


def _problems(shape: Shape, value: Any, where: str) -> Iterator[str]:
    wanted: Any = _PYTHON[shape.type_name]
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        yield f"Value of type {type(value).__name__} at '{where}' is not a {shape.type_name}"
    elif shape.type_name == "structure":
        yield from _of_structure(shape, value, where)
    elif shape.type_name == "list":
        for place, member in enumerate(value, 1):
            yield from _problems(shape.member, member, f"{where}.{place}.member")
    else:
        yield from (f"Value '{value}' at '{where}' {wrong}" for wrong in _constraints(shape, value))


def _of_structure(shape: Shape, value: Mapping[str, Any], where: str) -> Iterator[str]:
    def name(member: str) -> str:
        return f"{where}.{_lower(member)}" if where else _lower(member)

    for member in shape.metadata.get("required", ()):
        if value.get(member) is None:
            yield f"Value null at '{name(member)}' failed to satisfy constraint: Member must not be null"
    for member, part in value.items():
        if member not in shape.members:
            yield f"There is no member '{name(member)}'"
        elif part is not None:
            yield from _problems(shape.members[member], part, name(member))


def _constraints(shape: Shape, value: Any) -> Iterator[str]:
    rules = shape.metadata
    must = "failed to satisfy constraint: Member must"
    measure, noun = (len(value), "length") if isinstance(value, str) else (value, "value")
    if "max" in rules and measure > rules["max"]:
        yield f"{must} have {noun} less than or equal to {rules['max']}"
    if "min" in rules and measure < rules["min"]:
        yield f"{must} have {noun} greater than or equal to {rules['min']}"
    if "pattern" in rules and not re.fullmatch(rules["pattern"], value):
        yield f"{must} satisfy regular expression pattern: {rules['pattern']}"
    if "enum" in rules and value not in rules["enum"]:
        yield f"{must} satisfy enum value set: [{', '.join(rules['enum'])}]"


def _lower(member: str) -> str:
    """As the service spells members in its messages: ``workerId`` for ``WorkerId``."""
    return member[:1].lower() + member[1:]
