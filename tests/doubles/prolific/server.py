"""The double as a server on loopback: its addresses, its faults, and its participants."""

from __future__ import annotations

import json
import socket
import ssl
from dataclasses import dataclass
from decimal import Decimal
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.doubles.prolific.answers import Answer, Request
from tests.doubles.prolific.api import answer
from tests.doubles.prolific.faults import Fault, Faults
from tests.doubles.prolific.hooks import Delivery
from tests.doubles.prolific.platform import Platform, Study, Submission
from tests.doubles.prolific.rules import Refused
from tests.doubles.prolific.tls import break_stream, context_of

TOKEN = "prolific-token-of-these-tests"
COOKIE = "prolific_participant"


@dataclass(frozen=True)
class Started:
    """A participant's submission and the address at which their browser is sent to the study."""

    submission: str
    url: str


class ProlificDouble:
    """Prolific, with one workspace. ``url`` stands for https://api.prolific.com and the participants' site.

    ``balance`` is in cents. ``insecure`` allows http addresses of studies and webhooks. With a
    ``certificate`` it speaks TLS, and a connection that is dropped is a stream that breaks.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        balance: int = 10_000_00,
        fee_rate: Decimal = Decimal("0.333"),
        vat_rate: Decimal = Decimal("0.20"),
        insecure: bool = True,
        port: int = 0,
        certificate: Path | None = None,
    ) -> None:
        self.platform = Platform(
            seed=seed, balance=balance, fee_rate=fee_rate, vat_rate=vat_rate, insecure=insecure
        )
        self.faults = Faults(seed)
        self.seen: list[str] = []
        """Every request to the API as ``METHOD path``, also those that went wrong."""
        self.lock = Lock()
        self._reads: dict[str, list[bytes]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._scheme = "https" if certificate else "http"
        if certificate:
            self._server.socket = context_of(certificate).wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> ProlificDouble:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- participants

    def join(self, **traits: Any) -> str:
        """A new participant, known by what filters ask for; returns their id."""
        usual = {"approval_rate": 99, "approval_numbers": 500, "current-country-of-residence": "1"}
        with self.lock:
            participant = self.platform.new_id("participant")
            self.platform.participants[participant] = usual | traits
            return participant

    def sees(self, participant: str) -> list[str]:
        """The ids of the studies that the participant is shown."""
        with self.lock:
            self.platform.settle(request=False)
            return [study.id for study in self.platform.visible(participant)]

    def start(self, participant: str, study_id: str) -> Started:
        """The participant takes a place and opens the study."""
        with self.lock:
            self.platform.settle(request=False)
            submission = self.platform.reserve(participant, self.platform.studies[study_id])
            return Started(submission.id, self.platform.open(submission))

    def open_again(self, submission_id: str) -> str:
        """The participant opens the study once more from Prolific's page: a new address, newly signed."""
        with self.lock:
            self.platform.settle(request=False)
            return self.platform.open(self.platform.submissions[submission_id])

    def complete(self, submission_id: str, code: str | None) -> None:
        """The participant comes back with a code, or presses «I have no code»."""
        with self.lock:
            self.platform.settle(request=False)
            self.platform.finish(self.platform.submissions[submission_id], code)

    def give_back(self, submission_id: str) -> None:
        """The participant returns the submission."""
        with self.lock:
            self.platform.give_back(self.platform.submissions[submission_id])

    def study(self, study_id: str) -> Study:
        return self.platform.studies[study_id]

    def submission(self, submission_id: str) -> Submission:
        return self.platform.submissions[submission_id]

    def settle(self) -> None:
        """Let everything happen that takes a while, as if nobody asked for long enough."""
        with self.lock:
            for _request in range(5):
                self.platform.settle()

    def deliveries(self, *, seed: int | None = None, repeat: float = 0.0) -> list[Delivery]:
        """The webhooks that are due; with a seed in any order, and this share of them twice."""
        with self.lock:
            return self.platform.hooks.take_due(seed=seed, repeat=repeat)

    # -- requests

    def serve(self, request: Request) -> tuple[Answer, bool]:
        """The answer to a request to the API, and whether it ever leaves the server."""
        fault = self.faults.draw(request.method, request.path)
        with self.lock:
            self.seen.append(f"{request.method} {request.path}")
            if fault is Fault.THROTTLED:
                told = Refused("Request was throttled.", 429, "Too Many Requests")
                return Answer(told.body(), 429, {"Retry-After": "0"}), True
            if fault is Fault.FAILED:
                return Answer(Refused("Internal error", 500, "Server Error").body(), 500), True
            self.platform.settle()
            try:
                made = answer(self.platform, request)
            except Refused as refused:
                made = Answer(refused.body(), refused.status)
            if request.method == "GET" and made.status == 200:
                made = self._read(request, made, stale=fault is Fault.STALE)
        if fault is Fault.FAILED_LATE:
            return Answer(Refused("Internal error", 500, "Server Error").body(), 500), True
        return made, fault is not Fault.DROPPED

    def _read(self, request: Request, made: Answer, *, stale: bool) -> Answer:
        """Remember what was answered; a stale read is answered with what it was before it changed."""
        known = self._reads.setdefault(f"{request.path}?{sorted(request.query.items())}", [])
        now = json.dumps(made.body).encode()
        if not known or known[-1] != now:
            known[:] = [*known[-1:], now]
        return Answer(json.loads(known[0])) if stale else made

    def page(self, path: str, query: dict[str, str], participant: str) -> Answer:
        """The participants' site in a browser: start a study, and come back with a code."""
        if path == "/start":
            started = self.start(query["participant"], query["study"])
            cookie = f"{COOKIE}={query['participant']}; Path=/"
            return Answer("", 302, {"Location": started.url, "Set-Cookie": cookie})
        with self.lock:
            under_way = [
                submission.id
                for submission in self.platform.submissions.values()
                if submission.participant == participant and submission.status == "ACTIVE"
            ]
        if not under_way:
            return Answer("<!doctype html><title>Prolific</title><h1>No submission is under way</h1>", 404)
        self.complete(under_way[-1], query.get("cc"))
        return Answer("<!doctype html><title>Prolific</title><h1>Submission completed</h1>")


def _drop(connection: socket.socket) -> None:
    if isinstance(connection, ssl.SSLSocket):
        break_stream(connection)
    else:
        connection.shutdown(socket.SHUT_RDWR)


def _handler(double: ProlificDouble) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # head and body in one packet, else each answer waits for 40 ms

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            path, query = unquote(parts.path), dict(parse_qsl(parts.query))
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if path in ("/start", "/submissions/complete"):
                cookies = SimpleCookie(self.headers.get("Cookie", ""))
                who = cookies[COOKIE].value if COOKIE in cookies else ""
                self._send(double.page(path, query, who), html=True)
            elif path.startswith("/api/") and self.headers.get("Authorization") != f"Token {TOKEN}":
                told = Refused("Authentication credentials were not provided.", 401, "Unauthorized")
                self._send(Answer(told.body(), 401))
            else:
                body = json.loads(sent) if sent else {}
                made, leaves = double.serve(Request(self.command, path, query, body, double.url))
                if leaves:
                    self._send(made)
                else:
                    _drop(self.connection)
                    self.close_connection = True

        do_GET = do_POST = do_PATCH = do_DELETE = _serve

        def _send(self, made: Answer, *, html: bool = False) -> None:
            content = b"" if made.status == 204 else str(made.body).encode()
            if not html and made.status != 204:
                content = json.dumps(made.body).encode()
            self.send_response(made.status)
            self.send_header("Content-Type", "text/html; charset=utf-8" if html else "application/json")
            self.send_header("Content-Length", str(len(content)))
            for name, value in made.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Requests are in ``seen``."""

    return Handler
