"""Signed study addresses: Prolific's keys, and the token that it adds to an address."""

from __future__ import annotations

import base64
from datetime import datetime
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

ISSUER = "https://www.prolific.com"
LIFETIME = 120
"""Seconds that a token is valid."""


@lru_cache(maxsize=8)
def _key(name: str) -> rsa.RSAPrivateKey:
    """One key per name and process: making one takes a tenth of a second."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Signer:
    """Signs with the newest key; publishes all that are not withdrawn."""

    def __init__(self) -> None:
        self.names = ["study-key-1"]

    def rotate(self, *, withdraw_old: bool = False) -> None:
        """Sign with a new key from now on."""
        new = f"study-key-{int(self.names[-1].rsplit('-', 1)[1]) + 1}"
        self.names = [new] if withdraw_old else [*self.names, new]

    def jwks(self) -> dict[str, Any]:
        """The public keys, as /.well-known/study/jwks.json has them."""
        return {"keys": [_public(name) for name in self.names]}

    def token(self, claims: dict[str, Any], *, key: str | None = None) -> str:
        """Any claims, signed like Prolific's own."""
        name = key or self.names[-1]
        return jwt.encode(claims, _key(name), algorithm="RS256", headers={"kid": name})

    def address(
        self, address: str, *, session: str, workspace: str, now: datetime, keeps_parameters: bool
    ) -> str:
        """The address with its ``prolific_token``; its parameters are in the token's claim."""
        parts = urlsplit(address)
        parameters = parse_qsl(parts.query, keep_blank_values=True)
        issued = int(now.timestamp())
        token = self.token(
            {
                "iss": ISSUER,
                "iat": issued,
                "exp": issued + LIFETIME,
                "aud": address,
                "sub": session,
                "prolific": {**dict(parameters), "workspace_id": workspace},
            }
        )
        shown = [*(parameters if keeps_parameters else []), ("prolific_token", token)]
        return urlunsplit(parts._replace(query=urlencode(shown)))


def _public(name: str) -> dict[str, Any]:
    numbers = _key(name).public_key().public_numbers()
    return {
        "kty": "RSA",
        "kid": name,
        "alg": "RS256",
        "use": "sig",
        "key_ops": ["verify"],
        "n": _base64(numbers.n),
        "e": _base64(numbers.e),
    }


def _base64(number: int) -> str:
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
