"""Reading the JSON Lines files of a release as strictly as they are written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from publishing.files import jsonl
from publishing.verifying.findings import Findings

LONGEST_LINE = 16 << 20
"""Bytes. An imported line has at most 1 MiB; what is written of it is little longer."""


class Line(NamedTuple):
    """One line of a file: its number from 1, its bytes, and the object in it."""

    number: int
    data: bytes
    row: dict[str, Any]


def read(directory: Path, path: str, findings: Findings) -> Iterator[Line]:
    """The rows of a file. A line that holds none is a finding, and left out.

    So is one that is not written as releases write it: with spaces, escapes, a key given twice.
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
                findings.add("schema", path, f"{problem}; the rest of the file has not been read.", number)
                return
            row = _row(data)
            if row is None:
                findings.add("schema", path, "This is not one JSON object, written without spaces.", number)
            else:
                yield Line(number, data, row)


def _row(data: bytes) -> dict[str, Any] | None:
    for loads in (orjson.loads, json.loads):  # the second one reads whole numbers beyond 64 bits
        try:
            row = loads(data)
            if isinstance(row, dict) and jsonl.line(row) == data:
                return row
        except (ValueError, RecursionError):
            continue
    return None
