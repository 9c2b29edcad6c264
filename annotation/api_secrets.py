"""Generate, check and hash the secrets of API tokens. Pure functions.

A secret is ``tmn_``, 43 random letters and digits (256 bits), and a checksum of six. The prefix and the
checksum let code scanners find a leaked secret, and tell a typing error from a revoked token without the
database. The format is GitHub's.
"""

import hashlib
import re
import secrets
import zlib

from django.core.signing import b62_encode

PREFIX = "tmn_"
PATTERN = re.compile(r"tmn_[0-9A-Za-z]{49}")
_RANDOM_DIGITS, _CHECKSUM_DIGITS = 43, 6
"""Numbers of digits: 62^43 is just over 2^256, and 62^6 over 2^32."""


def new_secret() -> str:
    """Return a new random secret."""
    digits = b62_encode(secrets.randbits(256)).rjust(_RANDOM_DIGITS, "0")
    return PREFIX + digits + _checksum(digits)


def is_well_formed(secret: str) -> bool:
    """Return True if the text has the format and checksum of a secret."""
    if not PATTERN.fullmatch(secret):
        return False
    digits = secret[len(PREFIX) : -_CHECKSUM_DIGITS]
    return secret[-_CHECKSUM_DIGITS:] == _checksum(digits)


def digest(secret: str) -> str:
    """Return the SHA-256 (hex) that is stored instead of the secret.

    A slow hash would not help: nobody can guess 256 random bits.
    """
    return hashlib.sha256(secret.encode()).hexdigest()


def _checksum(digits: str) -> str:
    return b62_encode(zlib.crc32(digits.encode())).rjust(_CHECKSUM_DIGITS, "0")
