"""Keeps what says or stands for a person out of the logs: signed tokens, and ids of platforms."""

from __future__ import annotations

import logging
import re

_TOKEN = re.compile(r"/(work|join|confirm|invited)/[^/\s\"'?]+")
_API_TOKEN = re.compile(r"tmn_[0-9A-Za-z]+")
_IDS = re.compile(r"(/join/\*\*\*(?:/\d+)?/?)\?[^\s\"']+")


def mask_tokens(text: str) -> str:
    """The text with every token that lets somebody in, and what follows ``?`` beside one, as ``***``."""
    return _API_TOKEN.sub("tmn_***", _IDS.sub(r"\1?***", _TOKEN.sub(r"/\1/***", text)))


class MaskTokens(logging.Filter):
    """Masks tokens in the rendered message of every record that passes."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        masked = mask_tokens(message)
        if masked != message:
            record.msg, record.args = masked, ()
        return True
