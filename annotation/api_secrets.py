"""Generate, check and hash the secrets of API tokens. Pure functions.

A secret is ``tmn_``, 43 random letters and digits (256 bits), and a checksum of six. The prefix and the
checksum let code scanners find a leaked secret, and tell a typing error from a revoked token without the
database. The format is GitHub's.
"""

import hashlib
import re
import secrets
import string
import zlib

PREFIX = "tmn_"
PATTERN = re.compile(r"tmn_[0-9A-Za-z]{49}")
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_CHANCE, _CHECKSUM = 43, 6
"""Numbers of digits: 62^43 is just over 2^256, and 62^6 over 2^32."""


def new_secret() -> str:
    """Return a new random secret."""
    chance = _written(secrets.randbits(256), _CHANCE)
    return PREFIX + chance + _checksum(chance)


def is_well_formed(secret: str) -> bool:
    """Return True if the text has the format and checksum of a secret."""
    if not PATTERN.fullmatch(secret):
        return False
    chance = secret[len(PREFIX) : -_CHECKSUM]
    return secret[-_CHECKSUM:] == _checksum(chance)


def digest(secret: str) -> str:
    """Return the SHA-256 (hex) that is stored instead of the secret.

    A slow hash would not help: nobody can guess 256 random bits.
    """
    return hashlib.sha256(secret.encode()).hexdigest()


def _checksum(chance: str) -> str:
    return _written(zlib.crc32(chance.encode()), _CHECKSUM)


def _written(number: int, places: int) -> str:
    """Write a number in base 62 with this many digits."""
    digits = []
    for _ in range(places):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
