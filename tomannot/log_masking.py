"""Keep signed tokens and platform ids out of the logs."""

import logging
import re

_TOKEN = re.compile(r"/(work|join|confirm|invited)/[^/\s\"'?]+")
_API_TOKEN = re.compile(r"tmn_[0-9A-Za-z]+")
_IDS = re.compile(r"(/join/\*\*\*(?:/\d+)?/?)\?[^\s\"']+")


def mask_tokens(text: str) -> str:
    """Return the text with every token, and the query string of every join link, replaced by ``***``."""
    return _API_TOKEN.sub("tmn_***", _IDS.sub(r"\1?***", _TOKEN.sub(r"/\1/***", text)))


class MaskTokens(logging.Filter):
    """Mask tokens in the rendered message of every record."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        masked = mask_tokens(message)
        if masked != message:
            record.msg, record.args = masked, ()
        return True
