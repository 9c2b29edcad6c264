"""Run many simulated annotators on a few threads. Whoever has a step due gets the next free thread."""

import dataclasses
import heapq
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

from crowd.annotator import Annotator, Habits
from crowd.behaviour import Behaviour, Population, profile
from crowd.browser import Browser, Server
from crowd.report import AnnotatorOutcome, Report, summed_up
from crowd.truth import Truth

PROGRESS_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run."""

    seconds: float
    people: int
    people_done: int
    votes: int
    errors: int


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a run: simultaneous requests (twice as many when forms are submitted twice) and seconds."""

    concurrency: int = 8
    max_seconds: float = 600.0


def run(
    links: Sequence[str],
    *,
    base_url: str,
    seed: int,
    truth: Truth,
    population: Population | None = None,
    behaviour: Behaviour | None = None,
    limits: Limits | None = None,
    pace: float = 0.0,
    stories_each: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Let one annotator per personal link work against the server at ``base_url`` until all are done.

    The links must lead to that server. Annotators and their behaviour follow from ``seed``; nobody is late
    in a run that is too short for it. ``progress`` is called every two seconds. Raise ``NotLoopback`` if
    ``base_url`` does not point to this machine.
    """
    population = population or Population()
    limits = limits or Limits()
    behaviour = _within(behaviour or Behaviour(), limits)
    habits = Habits(seed, truth, population, behaviour, pace, stories_each)
    server = Server(base_url, connections=2 * limits.concurrency)
    people = [
        Annotator(person, link=link, browser=Browser(server, javascript=person.javascript), habits=habits)
        for number, link in enumerate(links)
        for person in [profile(seed=seed, number=number, population=population)]
    ]
    began = time.monotonic()
    try:
        _Turns(people, deadline=began + limits.max_seconds).work(
            limits.concurrency, lambda: progress and progress(_progress(people, began))
        )
    finally:
        server.close()
    return summed_up([person.tally for person in people], seconds=time.monotonic() - began)


class _Turns:
    """Annotators, queued by the time of their next step."""

    def __init__(self, people: Sequence[Annotator], *, deadline: float) -> None:
        self._deadline = deadline
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int, Generator[float, None, None]]] = []
        self._moving = 0
        self._stopped = False
        for number, person in enumerate(people):
            self._waiting.append((0.0, number, person.live()))

    def work(self, hands: int, report_progress: Callable[[], object]) -> None:
        """Advance all annotators until they are done or time is up. Raise what a thread raised."""
        with ThreadPoolExecutor(hands, thread_name_prefix="crowd") as pool:
            futures = [pool.submit(self._keep_moving) for _ in range(hands)]
            try:
                while wait(futures, timeout=PROGRESS_SECONDS).not_done:
                    report_progress()
            finally:
                self._stop()
        for _, _, life in self._waiting:
            life.close()
        for future in futures:
            future.result()

    def _keep_moving(self) -> None:
        try:
            while (turn := self._take()) is not None:
                number, life = turn
                self._give_back(number, life, next(life, None))
        except BaseException:
            self._stop()
            raise

    def _take(self) -> tuple[int, Generator[float, None, None]] | None:
        """Wait for the next annotator with a step due. Return None if there is none before the deadline."""
        with self._changed:
            while not self._stopped:
                now = time.monotonic()
                next_at = self._waiting[0][0] if self._waiting else None
                if now >= self._deadline or (
                    not self._moving and (next_at is None or next_at > self._deadline)
                ):
                    return None
                if next_at is not None and next_at <= now:
                    _, number, life = heapq.heappop(self._waiting)
                    self._moving += 1
                    return number, life
                self._changed.wait(min(self._deadline if next_at is None else next_at, self._deadline) - now)
            return None

    def _give_back(self, number: int, life: Generator[float, None, None], seconds: float | None) -> None:
        """Queue the annotator's next step in ``seconds``, or drop them for None: their part has ended."""
        with self._changed:
            self._moving -= 1
            if seconds is not None:
                heapq.heappush(self._waiting, (time.monotonic() + seconds, number, life))
            self._changed.notify_all()

    def _stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()


def _within(behaviour: Behaviour, limits: Limits) -> Behaviour:
    """Switch late submissions off in a run that ends before they could happen."""
    if behaviour.late_seconds < limits.max_seconds:
        return behaviour
    return dataclasses.replace(behaviour, comes_late=0.0)


def _progress(people: Sequence[Annotator], began: float) -> Progress:
    tallies = [person.tally for person in people]
    return Progress(
        seconds=time.monotonic() - began,
        people=len(tallies),
        people_done=sum(tally.outcome != AnnotatorOutcome.STILL_THERE for tally in tallies),
        votes=sum(len(tally.receipts) for tally in tallies),
        errors=sum(len(tally.errors) for tally in tallies),
    )
