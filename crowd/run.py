"""One simulated annotator at a browser, and a run of many: an event loop waits, threads take steps.

An annotator reads a page, does what it asks, and repeats until nothing is left. They know only what the pages
offer: they fill in the form, press its button, or follow the link that looks like the next step.
"""

import asyncio
import dataclasses
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from crowd.behaviour import Answers, Behaviour, Decision, DoubleSubmit, Population, Profile, decide, profile
from crowd.browser import Browser, Form, Page, Server, Unreachable
from crowd.report import AnnotatorOutcome, Report, Tally, summed_up
from crowd.truth import Truth
from tomannot.log_masking import mask_tokens

CONFLICT = 409
"""A page that explains why something is impossible now, with a link to the next step if there is one."""
UNPROCESSABLE = 422
"""An incomplete form, sent back to be completed."""

Waits = Generator[float, None, Page | None]
"""Yield seconds to wait before the next request; return the page that the annotator then sees, if any."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a run. Annotators and their behaviour follow from ``seed``."""

    seed: int
    truth: Truth
    population: Population = field(default_factory=Population)
    behaviour: Behaviour = field(default_factory=Behaviour)
    pace: float = 0.0
    """Factor on think times: 0 answers at once, 1 takes as long as a human."""
    stories_each: int | None = None
    """The number of stories that each annotator wants to answer; None: as many as they are given."""
    concurrency: int = 8
    """Simultaneous requests; twice as many when forms are submitted twice."""
    max_seconds: float = 600.0


class Annotator:
    """An annotator with a personal link. :meth:`live` is their whole part in the study."""

    def __init__(self, person: Profile, *, link: str, browser: Browser, settings: Settings) -> None:
        self.tally = Tally()
        self._person = person
        self._link = link
        self._browser = browser
        self._settings = settings
        self._interrupted: set[str] = set()
        """Stories that the annotator has left or put aside once already."""
        self._in_test = False
        self._last_heading = ""
        self._same_page = 0

    def live(self) -> Generator[float, None, None]:
        """Yield the seconds until the annotator's next step; end when their part ends."""
        try:
            yield 0.0
            page: Page | None = self._browser.open(self._link)
            while page is not None:
                page = yield from self._respond_to(page)
        except Unreachable as error:
            self._fail(str(error))

    def _respond_to(self, page: Page) -> Waits:
        if not page.is_ours or (page.status >= 400 and page.status != CONFLICT):
            self._fail(f"{page.status} at {page.address}: {page.text[:500]}")
            return None
        form = page.form
        if form is None:
            return (yield from self._go_on(page))
        self._last_heading, self._same_page = "", 0
        if form.asks and form.assignment:
            return (yield from self._judge(form))
        if form.asks:
            return (yield from self._answer_test_story(form))
        if len(form.buttons) > 1:
            return (yield from self._consent(form))
        return (yield from self._press(form))

    def _press(self, form: Form) -> Waits:
        yield 0.0
        page, _ = self._browser.submit(form, {})
        if self._in_test:
            self._in_test = False
            self.tally.tests_handed_in += 1
            if page.form is None and not page.onward:
                self._end(AnnotatorOutcome.NOT_QUALIFIED, page.heading)
                return None
        return page

    def _consent(self, form: Form) -> Waits:
        yield 0.0
        if self._person.declines:
            page, _ = self._browser.submit(form, {}, button=len(form.buttons) - 1)
            if page.status >= 400:
                return page
            self._end(AnnotatorOutcome.DECLINED, page.heading)
            return None
        page, _ = self._browser.submit(form, {})
        return page

    def _go_on(self, page: Page) -> Waits:
        """Follow the link to the next step. Seeing the same page again means waiting; patience is limited."""
        self._same_page = self._same_page + 1 if page.heading == self._last_heading else 0
        self._last_heading = page.heading
        if not page.onward or self._same_page > self._settings.behaviour.patience:
            self._end(AnnotatorOutcome.FINISHED, page.heading)
            return None
        yield self._settings.behaviour.retry_seconds if self._same_page else 0.0
        return self._browser.open(page.onward[0].address)

    def _answer_test_story(self, form: Form) -> Waits:
        decision = self._decide(form)
        yield decision.think_seconds * self._settings.pace
        self._in_test = "attempt" in form.hidden  # practice is handed in by nobody
        page, _ = self._browser.submit(form, decision.answers)
        return page

    def _judge(self, form: Form) -> Waits:
        """Judge a story, with everything that can happen before the vote is saved."""
        wanted = self._settings.stories_each
        if wanted is not None and len(self.tally.receipts) >= wanted:
            self._end(AnnotatorOutcome.ENOUGH)
            return None
        decision = self._decide(form)
        first_time = form.story not in self._interrupted
        self._interrupted.add(form.story)
        if decision.leave and first_time:
            return (yield from self._leave(decision))
        if decision.late and first_time:
            yield self._settings.behaviour.late_seconds
            self.tally.late += 1
        yield decision.think_seconds * self._settings.pace
        if decision.forget:
            given = {name: option for name, option in decision.answers.items() if name != decision.forget}
            self.tally.incomplete += 1
            page, _ = self._browser.submit(form, given)
            if page.status != UNPROCESSABLE or not page.complains or page.form is None:
                self._fail(f"An incomplete form was not sent back but answered with “{page.heading}”.")
                return None
            form = page.form
            yield 0.0
        return self._submit(form, decision)

    def _leave(self, decision: Decision) -> Waits:
        if not decision.come_back:
            self._end(AnnotatorOutcome.LEFT)
            return None
        yield decision.think_seconds * self._settings.pace
        self.tally.came_back += 1
        return self._browser.open(self._link)

    def _submit(self, form: Form, decision: Decision) -> Page:
        if decision.double is DoubleSubmit.NO:
            return self._send(form, decision.answers)
        if decision.double is DoubleSubmit.AT_ONCE:
            with ThreadPoolExecutor(2) as hands:
                pages = [
                    f.result() for f in [hands.submit(self._send, form, decision.answers) for _ in range(2)]
                ]
        else:
            pages = [self._send(form, decision.answers) for _ in range(2)]
        self.tally.submitted_twice += 1
        if pages[0].receipt is not None and pages[0].receipt == pages[1].receipt:
            self.tally.same_receipt_twice += 1
        else:
            said = " / ".join(page.receipt.saved_at if page.receipt else page.heading for page in pages)
            self.tally.errors.append(f"A form sent twice did not get the same receipt: {said}")
        return pages[-1]

    def _send(self, form: Form, answers: Answers) -> Page:
        page, seconds = self._browser.submit(form, answers)
        self.tally.submit_seconds.append(seconds)
        if page.receipt is None:
            self.tally.without_receipt += 1
        else:
            self.tally.receipts[int(form.assignment)] = page.receipt
        return page

    def _decide(self, form: Form) -> Decision:
        settings = self._settings
        return decide(
            self._person,
            seed=settings.seed,
            story=form.story,
            options=form.choices,
            right=settings.truth.right(form.story, form.choices),
            words=settings.truth.words(form.story, form.written),
            population=settings.population,
            behaviour=settings.behaviour,
        )

    def _end(self, outcome: AnnotatorOutcome, ending: str = "") -> None:
        self.tally.outcome = outcome
        self.tally.ending = ending

    def _fail(self, what: str) -> None:
        self._end(AnnotatorOutcome.ERROR)
        self.tally.errors.append(f"Person {self._person.number}: {mask_tokens(what)}")


PROGRESS_SECONDS = 2.0


def run(
    links: Sequence[str],
    *,
    base_url: str,
    settings: Settings,
    progress: Callable[[Report], None] | None = None,
) -> Report:
    """Let one annotator per personal link work against the server at ``base_url`` until all are done.

    The links must lead to that server. Nobody is late in a run that is too short for it. ``progress`` is
    called every two seconds with the report so far. Raise ``NotLoopback`` if ``base_url`` does not point to
    this machine.
    """
    if settings.behaviour.late_seconds >= settings.max_seconds:
        punctual = dataclasses.replace(settings.behaviour, comes_late=0.0)
        settings = dataclasses.replace(settings, behaviour=punctual)
    server = Server(base_url, connections=2 * settings.concurrency)
    people = [
        Annotator(person, link=link, browser=Browser(server, javascript=person.javascript), settings=settings)
        for number, link in enumerate(links)
        for person in [profile(seed=settings.seed, number=number, population=settings.population)]
    ]
    began = time.monotonic()

    def report() -> Report:
        return summed_up([person.tally for person in people], seconds=time.monotonic() - began)

    try:
        _run(_work(people, settings, lambda: progress and progress(report())))
    finally:
        server.close()
    return report()


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end; if an event loop runs on this thread already, as in a notebook, on one of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    with ThreadPoolExecutor(1) as apart:
        apart.submit(asyncio.run, work).result()


async def _work(
    people: Sequence[Annotator], settings: Settings, report_progress: Callable[[], object]
) -> None:
    """Advance all annotators until they are done or time is up. Raise what a step raised."""
    end = time.monotonic() + settings.max_seconds
    with ThreadPoolExecutor(settings.concurrency, thread_name_prefix="crowd") as pool:
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
