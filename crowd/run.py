"""Run many simulated annotators: an event loop waits for them, a few threads take their steps."""

import asyncio
import dataclasses
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass

from crowd.annotator import Annotator, Habits
from crowd.behaviour import Behaviour, Population, profile
from crowd.browser import Browser, Server
from crowd.report import Report, summed_up
from crowd.truth import Truth

PROGRESS_SECONDS = 2.0


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
    progress: Callable[[Report], None] | None = None,
) -> Report:
    """Let one annotator per personal link work against the server at ``base_url`` until all are done.

    The links must lead to that server. Annotators and their behaviour follow from ``seed``; nobody is late
    in a run that is too short for it. ``progress`` is called every two seconds
    with the report so far. Raise ``NotLoopback`` if
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

    def report() -> Report:
        return summed_up([person.tally for person in people], seconds=time.monotonic() - began)

    try:
        asyncio.run(_work(people, limits, lambda: progress and progress(report())))
    finally:
        server.close()
    return report()


async def _work(people: Sequence[Annotator], limits: Limits, report_progress: Callable[[], object]) -> None:
    """Advance all annotators until they are done or time is up. Raise what a step raised."""
    end = time.monotonic() + limits.max_seconds
    with ThreadPoolExecutor(limits.concurrency, thread_name_prefix="crowd") as pool:
        working = {asyncio.create_task(_live(person, pool)) for person in people}
        while working and (left := end - time.monotonic()) > 0:
            done, working = await asyncio.wait(working, timeout=min(left, PROGRESS_SECONDS))
            for task in done:
                task.result()
            report_progress()
        for task in working:
            task.cancel()


async def _live(person: Annotator, pool: Executor) -> None:
    life = person.live()
    step = asyncio.get_running_loop().run_in_executor
    while (seconds := await step(pool, next, life, None)) is not None:
        await asyncio.sleep(seconds)


def _within(behaviour: Behaviour, limits: Limits) -> Behaviour:
    """Switch late submissions off in a run that ends before they could happen."""
    if behaviour.late_seconds < limits.max_seconds:
        return behaviour
    return dataclasses.replace(behaviour, comes_late=0.0)
