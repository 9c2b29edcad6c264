"""An OpenID Connect provider on the loopback: discovery, keys, RS256 tokens for codes with PKCE."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "tomannot", "between-us"


@lru_cache(maxsize=4)
def _key(name: str) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class OpenIdProvider(ThreadingHTTPServer):
    """``person``: claims about who is at the browser. ``lies``: claims that its tokens have instead.

    ``signs_with``: a key other than the published one, or an algorithm other than RS256.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.person: dict[str, Any] = {"sub": "248", "email": "ada@example.org", "email_verified": True}
        self.lies: dict[str, Any] = {}
        self.signs_with: tuple[str, str] = ("published", "RS256")
        self.codes: dict[str, dict[str, str]] = {}
        self.asked: list[str] = []

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def visit(self, address: str, **changed: str) -> str:
        """Sign the person in at the address that a site led to. Return the way back, with a code."""
        asked = dict(parse_qsl(urlsplit(address).query)) | changed
        assert (asked["client_id"], asked["response_type"]) == (CLIENT, "code")
        code = secrets.token_hex(8)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?code={code}&state={asked['state']}"

    def document(self) -> dict[str, Any]:
        return {
            "issuer": self.lies.get("issuer", self.issuer),
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "jwks_uri": f"{self.issuer}/keys",
        }

    def token(self, asked: dict[str, str]) -> str:
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": now,
            "exp": now + 60,
            "nonce": asked["nonce"],
            **self.person,
            **self.lies,
        }
        name, algorithm = self.signs_with
        key: Any = {"none": None, "HS256": SECRET * 4}.get(algorithm, _key(name))
        told = {name: value for name, value in claims.items() if value is not None}
        return jwt.encode(told, key, algorithm=algorithm, headers={"kid": "published"})


class _Handler(BaseHTTPRequestHandler):
    server: OpenIdProvider

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path == "/.well-known/openid-configuration":
            return self.answer(200, self.server.document())
        if self.path == "/keys":
            public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(_key("published").public_key()))
            return self.answer(200, {"keys": [public | {"kid": "published", "alg": "RS256", "use": "sig"}]})
        return self.answer(404, {})

    def do_POST(self) -> None:
        self.server.asked.append(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        given = {name: values[0] for name, values in parse_qs(body).items()}
        asked = self.server.codes.pop(given.get("code", ""), None)  # a code works once
        if asked is None or (given["client_id"], given["client_secret"]) != (CLIENT, SECRET):
            return self.answer(400, {"error": "invalid_grant"})
        digest = hashlib.sha256(given["code_verifier"].encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != asked["code_challenge"]:
            return self.answer(400, {"error": "invalid_grant"})
        return self.answer(
            200, {"access_token": "x", "token_type": "Bearer", "id_token": self.server.token(asked)}
        )

    def answer(self, status: int, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def running() -> Iterator[OpenIdProvider]:
    provider = OpenIdProvider()
    thread = threading.Thread(target=provider.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield provider
    provider.shutdown()
    provider.server_close()
