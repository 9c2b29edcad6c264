"""An S3 store on the loopback address: moto's, with what S3 itself checks, and with faults."""

from __future__ import annotations

import base64
import hashlib
import io
import socket
from collections.abc import Callable, Iterable
from functools import cached_property
from threading import Thread
from typing import Any

import boto3
from werkzeug.serving import make_server

from tests.publishing.destinations.faults import Dropped, Faults

CHECKSUM = "HTTP_X_AMZ_CHECKSUM_SHA256"
BAD_DIGEST = b"<Error><Code>BadDigest</Code><Message>other bytes</Message></Error>"


class Store:
    """The store's server. ``garble`` changes the next body on its way; ``knows_checksums`` may be off.

    With ``cut_bodies`` the connection ends in the middle of every object that is asked for.
    """

    def __init__(self) -> None:
        from moto.moto_server import werkzeug_app as moto  # loaded here: every worker imports this module

        self.faults = Faults()
        self.garble = False
        self.knows_checksums = True
        self.cut_bodies = False
        self._moto: Any = moto.DomainDispatcherApplication(moto.create_backend_app)
        self._server = make_server(
            "127.0.0.1", 0, self._answer, True, request_handler=moto.MotoRequestHandler
        )
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()

    @cached_property
    def client(self) -> Any:
        """A client of the tests' own, past the code under test."""
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.port}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        try:
            return self._carried_out(environ, start)
        except Dropped:
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            raise

    def _carried_out(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        after = self.faults.begin(environ["REQUEST_METHOD"], environ["PATH_INFO"])
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        if body and self.garble:
            self.garble = False
            body = bytes([body[0] ^ 1]) + body[1:]
        if not self.knows_checksums:
            for name in [name for name in environ if "CHECKSUM" in name]:
                del environ[name]
        elif CHECKSUM in environ and environ[CHECKSUM] != _sum(body):
            start("400 Bad Request", [("Content-Type", "application/xml")])
            return [BAD_DIGEST]
        environ["wsgi.input"] = io.BytesIO(body)
        answer: Iterable[bytes] = self._moto(environ, start)
        if after:
            after()
        if self.cut_bodies and environ["REQUEST_METHOD"] == "GET":
            whole = b"".join(answer)
            return [whole[: len(whole) // 2]]  # fewer than Content-Length says
        return answer


def _sum(body: bytes) -> str:
    return base64.b64encode(hashlib.sha256(body).digest()).decode()
