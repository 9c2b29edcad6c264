"""Keep signed tokens, addresses and platform ids out of logs and error reports."""

import logging
import re

_MASKS = [
    (re.compile(r"/(work|join|confirm|invited|address|new-password)/[^/\s\"'?]+"), r"/\1/***"),
    (re.compile(r"(/join/\*\*\*(?:/\d+)?/?)\?[^\s\"']+"), r"\1?***"),
    (re.compile(r"tmn_[0-9A-Za-z]+"), "tmn_***"),
    (re.compile(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+"), "***@***"),
    (re.compile(r"(Key \([^)]*\)=|Failing row contains )\([^)]*\)"), r"\1(***)"),
]
"""Tokens in paths, ids in join links, API tokens, e-mail addresses, rows that PostgreSQL quotes."""


def mask_tokens(text: str) -> str:
    """Return the text with everything that opens an account or names a person replaced by ``***``."""
    for pattern, masked in _MASKS:
        text = pattern.sub(masked, text)
    return text


class MaskingHandler(logging.StreamHandler):  # type: ignore[type-arg]  # not subscriptable at run time
    """Write records to standard error, masked as they are written: with tracebacks and extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        return mask_tokens(super().format(record))
