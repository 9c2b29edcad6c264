"""Annotators without think time, all in one process: ``python -m bench.annotators``.

Started by the benchmark. Reads one line of JSON, an :class:`Order`, opens each annotator's first story and
prints ``ready``. After a line on standard input they work until time is up; then it prints one line of JSON,
a :class:`Result`. One thread waits on all connections (epoll), because a client that burns the cores would
measure itself.
"""

from __future__ import annotations

import dataclasses
import json
import selectors
import sys
import time
from dataclasses import dataclass, field

from bench.http import RECEIVE, Answer, BadAnswer, Connection, page_request, submit_request, whole_answer

PATIENCE = 30.0
"""Seconds without any response after which the server counts as dead."""


@dataclass(frozen=True, slots=True)
class Order:
    """The annotators' pages on a server, and the limits of their work: the first one reached ends it."""

    host: str
    port: int
    paths: list[str]
    """The path of each annotator's story page."""
    seconds: float
    votes: int


@dataclass(slots=True)
class Result:
    """The votes and latencies measured."""

    votes: int = 0
    """Answers with a receipt."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    submit_seconds: list[float] = field(default_factory=list)
    """Seconds from sending a form to receiving the whole next page, one per vote."""
    errors: list[str] = field(default_factory=list)


class Person:
    """An annotator with a connection."""

    def __init__(self, order: Order, path: str) -> None:
        self._path = path
        self._connection = Connection(order.host, order.port)
        self._received = bytearray()
        self._sent_at = 0.0
        self._next, _ = self._connection.next_story(page_request(self._connection.host, path))

    @property
    def socket(self) -> object:
        return self._connection.socket

    def submit(self) -> None:
        """Send the answers to the current story."""
        request = submit_request(self._connection.host, self._path, self._next)
        self._sent_at = time.perf_counter()
        self._connection.socket.sendall(request)

    def read(self) -> tuple[Answer, float] | None:
        """Read what has arrived. Return the response and its seconds once it is complete."""
        more = self._connection.socket.recv(RECEIVE)
        if not more:
            raise BadAnswer("The server closed the connection.")
        self._received += more
        answer = whole_answer(self._received)
        if answer is None:
            return None
        seconds = time.perf_counter() - self._sent_at
        self._received.clear()
        self._next = answer.assignment
        return answer, seconds

    @property
    def has_story(self) -> bool:
        return bool(self._next)

    def leave(self) -> None:
        self._connection.close()


def work(people: list[Person], order: Order) -> Result:
    """Let all annotators answer stories until a limit is reached or no story is left."""
    result = Result()
    waiting = selectors.DefaultSelector()
    cpu, began = time.process_time(), time.perf_counter()
    deadline = began + order.seconds
    for person in people:
        waiting.register(person.socket, selectors.EVENT_READ, person)  # type: ignore[arg-type]
        person.submit()
    sent = len(people)
    while waiting.get_map():
        ready = waiting.select(PATIENCE)
        if not ready:
            result.errors.append(f"No answer within {PATIENCE:.0f} seconds.")
            break
        for key, _ in ready:
            person = key.data
            came = person.read()
            if came is None:
                continue
            _count(result, *came)
            if person.has_story and sent < order.votes and time.perf_counter() < deadline:
                sent += 1
                person.submit()
            else:
                waiting.unregister(person.socket)
    result.seconds = time.perf_counter() - began
    result.cpu_seconds = time.process_time() - cpu
    return result


def _count(result: Result, answer: Answer, seconds: float) -> None:
    if answer.status == 200 and answer.has_receipt:
        result.votes += 1
        result.submit_seconds.append(seconds)
    else:
        result.errors.append(f"{answer.status} {answer.body[:300]!r}")


def main() -> None:
    order = Order(**json.loads(sys.stdin.readline()))
    people = [Person(order, path) for path in order.paths]
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    result = work(people, order)
    for person in people:
        person.leave()
    sys.stdout.write(json.dumps(dataclasses.asdict(result)) + "\n")


if __name__ == "__main__":
    main()
