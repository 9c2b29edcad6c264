"""Strict reading of the JSON Lines files of a release."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from publishing.files import jsonl
from publishing.verification.findings import Findings

LONGEST_LINE = 16 << 20
"""In bytes. An imported line has 1 MiB at most, and its row in a release is little longer."""


class Line(NamedTuple):
    """One line of a file: its number (from 1), its bytes, and its object."""

    number: int
    data: bytes
    row: dict[str, Any]


def read(directory: Path, path: str, findings: Findings) -> Iterator[Line]:
    """Yield the rows of a file. Lines without a row become findings and are left out.

    So do lines that are not written as releases write them: with spaces, escapes, or repeated keys.
    """
    try:
        file = open(directory / path, "rb", buffering=1 << 20)  # noqa: SIM115 - closed below
    except FileNotFoundError:
        findings.add("schema", path, "The file is missing.")
        return
    with file:
        number = 0
        while data := file.readline(LONGEST_LINE):
            number += 1
            if not data.endswith(b"\n"):
                problem = "The line is cut off" if len(data) < LONGEST_LINE else "The line is too long"
                findings.add("schema", path, f"{problem}; the rest of the file was not read.", number)
                return
            row = _row(data)
            if row is None:
                findings.add("schema", path, "This is not one JSON object, written without spaces.", number)
            else:
                yield Line(number, data, row)


def _row(data: bytes) -> dict[str, Any] | None:
    for loads in (orjson.loads, json.loads):  # json also reads whole numbers beyond 64 bits
        try:
            row = loads(data)
            if isinstance(row, dict) and jsonl.line(row) == data:
                return row
        except (ValueError, RecursionError):
            continue
    return None
