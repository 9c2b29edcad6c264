"""A minimal HTTP/1.1 client on one kept connection: it shares the cores with the server it measures."""

from __future__ import annotations

import re
import socket
import time
import zlib
from dataclasses import dataclass

ASSIGNMENT = re.compile(rb'name="assignment" value="(\d+)"')
RECEIPT = b'class="receipt"'
CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
FORM = b"q1=yes&q2=yes&q3=yes&q4=yes&assignment="
COMPRESSED = b"\r\ncontent-encoding: gzip\r\n"
GZIP = 31
"""zlib's window bits for the gzip format."""
RECEIVE = 1 << 16
WARM_UP_REQUESTS = 10
"""Requests before the first timed one."""


class BadAnswer(Exception):
    """The server's response is not one that the benchmark expects."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The parts of a response that the benchmark reads."""

    status: int
    body: bytes

    @property
    def assignment(self) -> bytes:
        """The number of the next assignment; empty if there is none."""
        found = ASSIGNMENT.search(self.body)
        return found[1] if found else b""

    @property
    def has_receipt(self) -> bool:
        return RECEIPT in self.body


def page_request(host: str, path: str) -> bytes:
    """Return the request that opens an annotator's story page."""
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: gzip\r\n\r\n".encode()


def submit_request(host: str, path: str, assignment: bytes) -> bytes:
    """Return the request with which the page's script submits a story's answers."""
    body = FORM + assignment
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nHX-Request: true\r\nHX-Target: work\r\n"
        "Accept-Encoding: gzip\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def whole_answer(received: bytes | bytearray) -> Answer | None:
    """Return the received response, or None while a part of it is missing."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return None
    length = CONTENT_LENGTH.search(received, 0, end + 2)
    if length is None:
        raise BadAnswer(f"A response without Content-Length: {bytes(received[:end])!r}")
    size = end + 4 + int(length[1])
    if len(received) < size:
        return None
    body = bytes(received[end + 4 : size])
    if COMPRESSED in received[: end + 2].lower():
        body = zlib.decompress(body, GZIP)
    return Answer(int(received[9:12]), body)


class Connection:
    """An annotator's kept connection."""

    def __init__(self, host: str, port: int) -> None:
        self.host = f"{host}:{port}"
        self.socket = socket.create_connection((host, port), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> Answer:
        """Send a request and wait for the whole response. Raise :class:`BadAnswer` without one."""
        self.socket.sendall(request)
        received = bytearray()
        while (answer := whole_answer(received)) is None:
            more = self.socket.recv(RECEIVE)
            if not more:
                raise BadAnswer("The server closed the connection in the middle of a response.")
            received += more
        return answer

    def next_story(self, request: bytes) -> tuple[bytes, float]:
        """The number of the story that the answer brings, and the seconds until the answer was there.

        Raise :class:`BadAnswer` when it brings none.
        """
        began = time.perf_counter()
        answer = self.ask(request)
        seconds = time.perf_counter() - began
        if answer.status != 200 or not answer.assignment:
            raise BadAnswer(f"No story: {answer.status} {answer.body[:500]!r}")
        return answer.assignment, seconds

    def close(self) -> None:
        self.socket.close()
