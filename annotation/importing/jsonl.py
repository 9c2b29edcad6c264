"""Parse JSON strictly, and read files of one JSON object per line."""

import itertools
import json
import math
from collections.abc import Iterator
from typing import Any, BinaryIO

from annotation.importing.lines import decode_line, next_line
from annotation.importing.rows import Problem, SourceRow, describe, find_forbidden, quote


class BadJson(ValueError):
    """The text is not one strict JSON value. ``column`` counts characters from 1 (0: unknown)."""

    def __init__(self, message: str, remedy: str, *, field: str = "", column: int = 0) -> None:
        self.message, self.remedy, self.field, self.column = message, remedy, field, column
        super().__init__(f"{message} {remedy}")


def parse_json(text: str) -> Any:
    """Parse ``text`` by RFC 8259 and nothing more.

    Raise :class:`BadJson` for anything else, including what Python's own parser accepts: NaN and Infinity,
    numbers too large for a float, and a name that an object repeats.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _explain(error, text) from None
    except RecursionError:
        remedy = "A row needs three levels at most."
        raise BadJson("Lists or objects are nested too deeply.", remedy) from None
    except BadJson:
        raise
    except ValueError:  # Python refuses to read integers of more than 4,300 digits
        raise BadJson("A whole number has too many digits.", "Write numbers as the format asks.") from None


def read_json_lines(stream: BinaryIO, name: str, why: str) -> Iterator[SourceRow | Problem]:
    """Yield the rows of a file of one JSON object per line; ``why`` says how the format was chosen."""
    for number in itertools.count(1):
        raw = next_line(stream, name, number)
        if isinstance(raw, Problem):
            yield raw
        elif not raw:
            return
        elif line := raw.rstrip():
            text = decode_line(line, name, number)
            yield text if isinstance(text, Problem) else _row(text, name, number, why)


def _row(text: str, name: str, number: int, why: str) -> SourceRow | Problem:
    try:
        value = parse_json(text)
    except BadJson as error:
        return Problem(name, number, error.field, f"{error.message} ({why})", error.remedy, error.column)
    if type(value) is not dict:
        message = f"The line holds {_KINDS[type(value)]}, not an object."
        remedy = "Write each story as one object in braces: {“name”: value, …}."
        return Problem(name, number, "", message, remedy)
    position = find_forbidden(text)
    if position >= 0:
        message = f"The line holds the invisible character {describe(text[position])}."
        return Problem(name, number, "", message, "Remove it.", position + 1)
    return SourceRow(name, number, value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise BadJson(
            f"The name {quote(twice)} is given twice in one object.", "Keep one of the two.", field=twice[:60]
        )
    return made


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise BadJson(f"The number {quote(text, 20)} is too large.", "Write numbers as the format asks.")
    return value


def _constant(name: str) -> Any:
    raise BadJson(f"{name} is not JSON.", "Write null where there is no value.")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)


def _explain(error: json.JSONDecodeError, text: str) -> BadJson:
    if error.pos >= len(text.rstrip()):
        message = "Broken JSON: the line ends in the middle of the object."
        remedy = "Write the whole object on one line; the file may have been cut off."
    else:
        message = f"Broken JSON: {error.msg}."
        remedy = "Write each row as an object on a line of its own, with a JSON library such as json.dumps()."
    return BadJson(message, remedy, column=error.pos + 1)


_KINDS: dict[type, str] = {
    type(None): "null", list: "a list", str: "a text", bool: "true or false", int: "a number",
    float: "a number",
}  # fmt: skip
