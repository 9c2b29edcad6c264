"""Strategies for bytes that are almost right: good ones with a few wounds, or with one insane value."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings, strategies as st

HALF_PAIR = "\ud800"
TEXTS = (
    "", " ", "\x00", "a\x00b", HALF_PAIR, "\ufeff", "\u202e", "\U0010ffff", "\u00b2", "\u0663", "\r\n",
    "x" * 5000, "%00", "%s", "{}", "{0}", "{code.__class__}", "'\"<>&", "../../etc/passwd", "' OR 1=1 --",
    "a & | ! :* (", "-1", "0", "1.5", "1e400", "NaN", "Infinity", "9" * 12, "9" * 20, "9" * 5000, "1_000",
    "true", "null",
    "0001-01-01", "9999-12-31", "9999-12-31T23:59", "2026-02-30", "a@b", "https://[::1", "https://x:99999/",
    "[" * 3000, "=cmd()",
)  # fmt: skip
"""Texts that readers, formats, databases and pages have stumbled over."""
NUMBERS = (0, -1, 2**31, 2**63, 10**400, -(10**30), 1e308, 1.5, float("nan"), float("inf"))
NASTY: st.SearchStrategy[Any] = st.sampled_from([*TEXTS, *NUMBERS, None, True, [], {}, [[]], {"a": {}}])
VALUES = NASTY | st.recursive(
    NASTY | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
"""Values of JSON as Python writes them, which is more than JSON has."""
_PIECES = (
    b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\\ud800", b"\\u0000", b'"', b'""',
    b"'", b",", b":", b"{", b"}", b"[", b"]", b"\n", b"\r", b"\r\n", b"NaN", b"-Infinity", b"1e999",
    b"9" * 5000, b"[" * 5000,
    b'{"a":' * 2000, b"\x1f\x8b", b"PK\x03\x04", b"PAR1", b"<!DOCTYPE a>", b" ", b"\\", b"x" * 2000,
)  # fmt: skip


def fuzzed(examples: int, *, shrinks: bool = True) -> Callable[[Any], Any]:
    """Return hypothesis' settings: half of so many examples, the same in every run, or FUZZ times as many.

    ``shrinks``: look for the smallest failing example, where trying one costs little.
    """
    times = int(os.environ.get("FUZZ", "0"))
    return settings(
        max_examples=examples * times or examples // 2,
        derandomize=not times,
        database=None,
        phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if shrinks else [])],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@st.composite
def wounded(draw: st.DrawFn, good: bytes) -> bytes:
    """Draw the bytes with one to four wounds: cut out, put in, doubled, or cut short."""
    content = good
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 30)))
        put_in = draw(st.sampled_from(_PIECES) | st.binary(max_size=6) | st.just(content[start:end] * 2))
        content = content[:start] + put_in + content[end if draw(st.booleans()) else start :]
    return content[: draw(st.integers(0, len(content)))] if draw(st.integers(0, 9)) == 0 else content


@st.composite
def changed(draw: st.DrawFn, document: Any) -> Any:
    """Draw the document with one value, anywhere in it, changed, missing, or under another name."""
    made = json.loads(json.dumps(document))
    place, steps = made, 0
    while steps < 8 and isinstance(place, dict | list) and place:
        key = draw(st.sampled_from(list(place) if isinstance(place, dict) else list(range(len(place)))))
        inner, steps = place[key], steps + 1
        if isinstance(inner, dict | list) and inner and draw(st.integers(0, 4)):
            place = inner
            continue
        what = draw(st.integers(0, 5))
        if what == 0:
            del place[key]
        elif what == 1 and isinstance(place, dict):
            place[draw(st.sampled_from(TEXTS) | st.text(max_size=3))] = place.pop(key)
        else:
            place[key] = draw(VALUES)
        return made
    return draw(VALUES)


def as_json(value: Any) -> bytes:
    """Return the value as Python writes it, so that NaN and halves of surrogate pairs come through."""
    return json.dumps(value).encode()
