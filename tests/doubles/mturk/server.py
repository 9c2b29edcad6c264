"""MTurk on loopback: its API at ``POST /``, its worker site at every other address.

Start it as a context manager and give ``url`` to boto3 as ``endpoint_url``. State is in memory and ends
with it. It checks the shape of credentials (whose key, which region and service), not the signature.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from tests.doubles.mturk import account, errors, hits, model, pages, qualifications, review
from tests.doubles.mturk.crowd import Crowd, Refused
from tests.doubles.mturk.faults import Fault, Faults
from tests.doubles.mturk.registry import OPERATIONS
from tests.doubles.mturk.world import World

KEY_ID, SECRET, REGION = "AKIADOUBLEDOUBLE0001", "a-secret-that-opens-nothing", "us-east-1"
STRICT_SANDBOX = "allow-scripts allow-forms"
"""MTurk's flags are not documented; these are the fewest with which a form can be filled in and sent.
Without ``allow-same-origin`` the page has no origin: no cookies, no storage, ``Origin: null``."""
CREDENTIALS = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/\d{8}/([^/]+)/([^/]+)/aws4_request, ?Signed.+")
TASK = re.compile(r"/projects/([A-Z0-9]+)/tasks(?:/([A-Z0-9]+|accept))?(?:/(return|state))?")
MODULES = (account, hits, qualifications, review)
"""The modules of the operations: importing them registers what they answer."""


class MTurkDouble:
    """One environment of MTurk with its API and its worker site.

    Args:
        environment: ``production`` or ``sandbox``; they differ in the Masters type and the balance.
        deposit: Money in the requester's account, in dollars; the sandbox always has 10,000.
        seed: Of everything left to chance: ids, faults, the order of notifications.
        fault_rate: Share of API calls that go wrong.
        sandbox: The flags of the frame in which the worker site shows our page.
        port: Where it listens on 127.0.0.1; 0 takes a free one.
    """

    def __init__(
        self,
        *,
        environment: str = "production",
        deposit: Decimal = Decimal(1000),
        seed: int = 0,
        fault_rate: float = 0.0,
        sandbox: str = STRICT_SANDBOX,
        port: int = 0,
    ) -> None:
        self.world = World(environment=environment, deposit=deposit, seed=seed)
        self.faults = Faults(seed, fault_rate)
        self.sandbox = sandbox
        self.defects: list[str] = []
        """Where the double itself broke the protocol: a test that finds one has found a wrong double."""
        self.calls: Counter[str] = Counter()
        """How often each operation of the API was asked for, faults included."""
        self._http = _Server(("127.0.0.1", port), _Handler)
        self._http.double = self
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.crowd = Crowd(self.world, self.url)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @contextmanager
    def put_back(self) -> Iterator[None]:
        """After this block, the platform is as it was before it."""
        known = self.world.state()
        yield
        with self.world.lock:
            self.world.put_back(known)
        self.faults = Faults(self.faults.seed)
        self.calls.clear()

    def answer(self, operation: str, params: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        """Carry out one call of the API: status and body, or None when the connection is to be dropped."""
        with self.world.lock:
            self.world.settle()
            self.calls[operation] += 1
            fault = self.faults.strike(operation)
            try:
                if fault is Fault.THROTTLED:
                    raise errors.throttled()
                if fault is Fault.BEFORE:
                    raise errors.fault()
                result = self._carry_out(operation, params, stale=fault is Fault.STALE)
                if fault is Fault.AFTER:
                    raise errors.fault()
            except errors.ServiceError as error:
                status, result = error.status, error.body(int(self.world.now().timestamp() * 1000))
            else:
                status = 200
        return None if fault is Fault.DROPPED else (status, result)

    def _carry_out(self, operation: str, params: dict[str, Any], *, stale: bool) -> dict[str, Any]:
        problems = model.wrong_with_request(operation, params)
        if problems:
            raise errors.invalid_shapes(problems)
        with self.world.as_it_was(self.faults.lag()) if stale else nullcontext():
            result = OPERATIONS[operation](self.world, params)
        self.defects += [f"{operation}: {wrong}" for wrong in model.wrong_with_answer(operation, result)]
        return result


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    double: MTurkDouble


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    wbufsize = -1  # head and body leave together: else each answer waits 40 ms for an acknowledgement
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/":
            self._api(body)
        else:
            self._site(dict(parse_qsl(body.decode(), keep_blank_values=True)), body)

    def do_GET(self) -> None:
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        self._site(query, None)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the tests look at the state."""

    def _api(self, body: bytes) -> None:
        try:
            operation = self._operation()
        except errors.ServiceError as error:
            self._send(error.status, json.dumps(error.body(0)), model.CONTENT_TYPE)
            return
        answer = self.server.double.answer(operation, json.loads(body or b"{}"))
        if answer is None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self._send(answer[0], json.dumps(answer[1]), model.CONTENT_TYPE)

    def _operation(self) -> str:
        """The operation that is asked for, once it is clear who asks."""
        signed = CREDENTIALS.fullmatch(self.headers.get("Authorization", ""))
        if signed is None or signed.groups() != (KEY_ID, REGION, model.SIGNING_NAME):
            raise errors.unknown_credentials()
        prefix, _, operation = self.headers.get("X-Amz-Target", "").partition(".")
        if prefix != model.TARGET or operation not in OPERATIONS:
            raise errors.unknown_operation(operation)
        return operation

    def _site(self, fields: dict[str, str], body: bytes | None) -> None:
        path, worker_id = urlsplit(self.path).path, fields.get("workerId", "")
        task = TASK.fullmatch(path)
        try:
            if path == "/mturk/externalSubmit" and body is not None:
                self._external_submit(body)
            elif path == "/":
                self._listing(worker_id)
            elif task is not None:
                self._task(task.groups(), worker_id, posted=body is not None)
            else:
                self._send(404, pages.message("Not found", path))
        except Refused as refusal:
            self._send(403, pages.message("This is not possible", str(refusal), worker_id))
        except errors.ServiceError as error:
            self._send(404, pages.message("This is not possible", error.message, worker_id))

    def _listing(self, worker_id: str) -> None:
        crowd = self.server.double.crowd
        hits_shown = [(hit_id, crowd.describe(hit_id)) for hit_id in crowd.available(worker_id)]
        self._send(200, pages.listing(worker_id, hits_shown))

    def _task(self, names: tuple[str | None, ...], worker_id: str, *, posted: bool) -> None:
        hit_id, place, verb = names[0] or "", names[1], names[2]
        double = self.server.double
        crowd = double.crowd
        if posted and place == "accept":
            row = crowd.accept(hit_id, worker_id)
            self._redirect(f"/projects/{hit_id}/tasks/{row.assignment_id}", worker_id)
        elif posted and place and verb == "return":
            crowd.give_back(place, worker_id)
            self._redirect("/", worker_id)
        elif posted:
            self._send(405, pages.message("Not allowed", self.path))
        elif place is None:
            url = crowd.preview(hit_id, worker_id)
            kind = crowd.describe(hit_id)
            self._send(200, pages.preview(hit_id, worker_id, kind, url, double.sandbox))
        elif verb == "state":
            self._send(200, crowd.state(place, worker_id), "text/plain; charset=utf-8")
        else:
            self._work(hit_id, place, worker_id)

    def _work(self, hit_id: str, assignment_id: str, worker_id: str) -> None:
        double = self.server.double
        state = double.crowd.state(assignment_id, worker_id)
        if state == "Accepted":
            url = double.crowd.frame(assignment_id, worker_id)
            row = double.world.assignments.get(assignment_id)
            assert row is not None
            self._send(200, pages.work(row, double.crowd.describe(hit_id), url, double.sandbox))
        else:
            self._send(200, pages.message("This HIT is no longer in your queue", state, worker_id))

    def _external_submit(self, body: bytes) -> None:
        """The end of a task. The answer cannot be shown in a frame: no page learns of it."""
        fields = parse_qsl(body.decode(), keep_blank_values=True)
        try:
            self.server.double.crowd.submit(fields)
        except Refused as refusal:
            self._send(400, pages.message("There was a problem", str(refusal)), framed=False)
        else:
            self._send(200, pages.message("Thank you", "Your HIT was submitted."), framed=False)

    def _redirect(self, path: str, worker_id: str) -> None:
        self.send_response(303)
        self.send_header("Location", f"{path}?{urlencode({'workerId': worker_id})}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(
        self, status: int, text: str, kind: str = "text/html; charset=utf-8", *, framed: bool = True
    ) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Referrer-Policy", "strict-origin-when-cross-origin")
        if not framed:
            self.send_header("X-Frame-Options", "DENY")
        self.end_headers()
        self.wfile.write(data)
