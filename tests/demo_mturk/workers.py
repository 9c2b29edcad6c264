"""Simulated workers: they find HITs, do in our pages what these ask for, and hand in at the platform."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from crowd.behaviour import Answers, Behaviour, Population, Profile, decide, profile
from crowd.browser import Browser, Form, Page, Server
from crowd.truth import Truth
from recruitment.mturk.arrivals import SUBMIT_PATH
from tests.doubles.mturk.crowd import Refused
from tests.doubles.mturk.server import MTurkDouble

HITS_IN_A_ROW = 4
PAGES_OF_A_HIT = 60
"""After so many pages something leads in circles."""


@dataclass
class Tally:
    """What the workers have done so far."""

    handed_in: int = 0
    given_back: int = 0
    problems: list[str] = field(default_factory=list)


class Workers:
    """So many people with accounts at the double, who work on the site at ``origin``."""

    def __init__(self, double: MTurkDouble, origin: str, truth: Truth, *, count: int, seed: int) -> None:
        self._double, self._truth, self._seed = double, truth, seed
        self._site = Server(origin, connections=2)
        self._platform = Server(double.url, connections=2)
        people = Population()
        self._people = {
            double.crowd.hire().worker_id: profile(seed=seed, number=number, population=people)
            for number in range(count)
        }
        self.tally = Tally()
        self._given_back: set[tuple[str, str]] = set()
        """Workers and HITs that they do not take again: whoever declined is shown the same HIT for ever."""

    def round(self, left: Collection[str] = ()) -> Iterator[str]:
        """Everybody in turn takes a few of the HITs they are shown; yields who did, after each.

        ``left``: HITs that none of them takes.
        """
        for worker, person in self._people.items():
            done_with = {*left, *(hit for who, hit in self._given_back if who == worker)}
            shown = [hit for hit in self._double.crowd.available(worker) if hit not in done_with]
            for hit in shown[:HITS_IN_A_ROW]:
                self._do(hit, worker, person)
                yield worker

    def _do(self, hit: str, worker: str, person: Profile) -> None:
        """One HIT from the button “Accept” to handing it in, or to giving it back."""
        try:
            assignment = self._double.crowd.accept(hit, worker).assignment_id
        except Refused:
            return  # somebody else was quicker
        browser = Browser(self._site, javascript=False)
        page: Page | None = browser.open(self._double.crowd.frame(assignment, worker))
        for _ in range(PAGES_OF_A_HIT):
            if page is None:
                break
            page = self._next(page, browser, person)
        if self._double.crowd.state(assignment, worker) == "Accepted":
            self._double.crowd.give_back(assignment, worker)
            self._given_back.add((worker, hit))
            self.tally.given_back += 1
        else:
            self.tally.handed_in += 1

    def _next(self, page: Page, browser: Browser, person: Profile) -> Page | None:
        """The page after this one; None when there is nothing more to do."""
        if not page.is_ours or page.status >= 500:
            self.tally.problems.append(f"{page.status}: {page.text[:200]}")
            return None
        form = page.form
        if form is None:
            onward = [link for link in page.links if not link.quiet]
            onward.sort(key=lambda link: link.finishes)
            return browser.open(onward[0].address) if onward else None
        if form.action.endswith(SUBMIT_PATH):
            self._hand_in(form)
            return None
        declines = person.declines and len(form.buttons) > 1 and not form.asks
        values = self._answers(form, person) if form.asks else {}
        return browser.submit(form, values, button=len(form.buttons) - 1 if declines else 0)[0]

    def _answers(self, form: Form, person: Profile) -> Answers:
        return decide(
            person,
            seed=self._seed,
            story=form.story,
            options=form.choices,
            right=self._truth.right(form.story, form.choices),
            population=Population(),
            behaviour=Behaviour(),
        ).answers

    def _hand_in(self, form: Form) -> None:
        page, _seconds = Browser(self._platform, javascript=False).submit(form, {})
        if page.status != 200:
            self.tally.problems.append(f"The platform did not take work in: {page.status}.")
