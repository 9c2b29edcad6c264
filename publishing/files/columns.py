"""JSON Lines from columns: the bytes of :mod:`~publishing.files.jsonl`, made without an object per row.

pyarrow is imported only when needed, to keep it out of web processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import orjson

if TYPE_CHECKING:
    import pyarrow as pa


def joined(*parts: pa.Array | str) -> pa.Array:
    """Return the texts made of a part of each column, in order; a ``str`` is part of all."""
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(*parts, "")


def rounded(values: pa.Array) -> pa.Array:
    """Return floats rounded to milliseconds, as :func:`round` does."""
    import pyarrow as pa

    exact = values.to_numpy(zero_copy_only=False)
    thousandths = exact * 1000
    found = np.rint(thousandths) / 1000
    halves = np.abs(thousandths % 1 - 0.5) < 1e-6
    for place in np.flatnonzero(halves):  # here it matters how the float is stored
        found[place] = round(exact[place].item(), 3)
    return pa.array(found)


def as_json(values: pa.Array) -> list[pa.Array | str]:
    """Return texts, whole numbers or floats as JSON, in parts to be joined.

    Only whole numbers may be null. Floats must be 0, or at least 0.001 and below 1e15.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string(values.type):
        written = np.frombuffer(values.buffers()[2] or b"", np.uint8)
        if ((written < ord(" ")) | (written == ord('"')) | (written == ord("\\"))).any():
            escaped = [orjson.dumps(value)[1:-1].decode() for value in values.to_pylist()]
            values = pa.array(escaped, pa.string())
        return ['"', values, '"']
    texts = values.cast(pa.string())
    if pa.types.is_floating(values.type):
        return [texts, pc.if_else(pc.equal(values, pc.floor(values)), ".0", "")]
    return [pc.fill_null(texts, "null")]


def json_lines(columns: Mapping[str, Sequence[pa.Array | str]]) -> pa.Array:
    """Return the JSON Lines with these columns, whose values are parts of JSON."""
    parts: list[pa.Array | str] = [""]
    for name, values in columns.items():
        for part in (f'{"," if len(parts) > 1 else "{"}"{name}":', *values):
            if isinstance(part, str) and isinstance(parts[-1], str):
                parts[-1] += part
            else:
                parts.append(part)
    return joined(*parts, "}\n")
