"""The secrets of API tokens: what they look like, and what is stored of them. Pure functions.

A secret is ``tmn_``, 43 letters and digits of chance (256 bits), and six that are a checksum of those. The
prefix and the checksum let scanners of code find one that leaked, and a mistyped one be told from one
that was revoked, without asking the database. The form is GitHub's.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
import zlib

PREFIX = "tmn_"
PATTERN = re.compile(r"tmn_[0-9A-Za-z]{49}")
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_CHANCE, _CHECKSUM = 43, 6
"""Places: 62^43 is just over 2^256, and 62^6 over 2^32."""


def new_secret() -> str:
    """A secret that nobody has seen."""
    chance = _written(secrets.randbits(256), _CHANCE)
    return PREFIX + chance + _checksum(chance)


def is_well_formed(secret: str) -> bool:
    """Whether a text can be a secret at all: its form, and its checksum."""
    if not PATTERN.fullmatch(secret):
        return False
    chance = secret[len(PREFIX) : -_CHECKSUM]
    return secret[-_CHECKSUM:] == _checksum(chance)


def digest(secret: str) -> str:
    """What is stored in place of a secret: its SHA-256, in hexadecimal digits.

    A slow hash would guard nothing: 256 bits of chance cannot be guessed from it.
    """
    return hashlib.sha256(secret.encode()).hexdigest()


def _checksum(chance: str) -> str:
    return _written(zlib.crc32(chance.encode()), _CHECKSUM)


def _written(number: int, places: int) -> str:
    """A number in base 62 with so many places."""
    digits = []
    for _ in range(places):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
