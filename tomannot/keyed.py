"""Keyed hashes that outlive a change of SECRET_KEY: each is also known under the SECRET_KEY_FALLBACKS."""

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

MARK_LENGTH = 8


def keyed_hashes(salt: str, value: str) -> list[str]:
    """Return the hash under SECRET_KEY, in hex, then those under the former keys. Store or send the first."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return [salted_hmac(salt, value, secret=key, algorithm="sha256").hexdigest() for key in keys]


def matches_any(given: str, hashes: list[str]) -> bool:
    """Return True for one of the hashes; the time it takes tells nothing about how much of it is right."""
    return any(constant_time_compare(given, stored) for stored in hashes)


def key_marks() -> list[str]:
    """Return a public name of SECRET_KEY and of each former key, which tells them apart and no more."""
    return [digest[:MARK_LENGTH] for digest in keyed_hashes("tomannot.key", "")]
