"""A receiver of webhooks on the loopback, which keeps what it gets and checks signatures by itself."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.doubles.prolific.tls import context_of


class Receiver(ThreadingHTTPServer):
    """``received``: headers and bodies. ``answers``: statuses to give first; then 204."""

    daemon_threads = True

    def __init__(self, certificate: Path | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []
        self.location = ""
        if certificate:
            self.socket = context_of(certificate).wrap_socket(self.socket, server_side=True)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def documents(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _headers, body in self.received]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that does not trust our certificate is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.received.append((headers | {":path": self.path}, body))
        self.send_response(self.server.answers.pop(0) if self.server.answers else 204)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def receiving(certificate: Path | None = None) -> Iterator[Receiver]:
    receiver = Receiver(certificate)
    thread = threading.Thread(target=receiver.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.shutdown()
        receiver.server_close()
        thread.join()


def is_signed(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """Verify as https://www.standardwebhooks.com tells receivers to, from the secret they were shown."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    right = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    given: Sequence[str] = headers["webhook-signature"].split()
    return any(hmac.compare_digest(one, f"v1,{right}") for one in given)
