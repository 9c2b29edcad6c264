"""The people of a storm, each in a thread: they answer, send twice, come late and forge."""

from __future__ import annotations

import itertools
import random
import time
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

import urllib3

from bench.http import ASSIGNMENT

if TYPE_CHECKING:
    from tests.topology.storm import Storm

QUESTIONS = {
    "q1": ("yes", "possibly", "no"),
    "q2": ("yes", "possibly", "no"),
    "q3": ("yes", "no"),
    "q4": ("yes", "no"),
}
DOUBLED, LATE, FORGED = 1 / 3, 0.1, 0.1
AGREED = 0.8
"""The share of forms that say yes to everything, so that a release has stories."""
STORED = "X-Stored-Assignment"
HTMX = {"HX-Request": "true", "HX-Target": "work", "Content-Type": "application/x-www-form-urlencoded"}


class Person:
    """Somebody at work, in a thread. Like the page's script they send a form until it has a receipt."""

    def __init__(self, storm: Storm, number: int, pages: list[tuple[str, str]]) -> None:
        self.storm = storm
        self._draw = random.Random(f"{storm.plan.seed} {number}")
        self._pages = [(int(enrollment), path) for enrollment, path in pages]
        self._wave = -1
        self._pool = urllib3.HTTPConnectionPool(
            str(urlsplit(storm.topology.url).hostname), urlsplit(storm.topology.url).port, timeout=20
        )

    def work(self) -> None:
        """Go from wave to wave, and stay at each until three looks found no story."""
        for wave in itertools.cycle(range(len(self._pages))):
            self.storm.moved(self._wave, wave)
            self._wave = wave
            looks = 0
            while looks < 3:
                if self.storm.over.is_set():
                    return
                looks = self._look(looks)

    def _look(self, looks: int) -> int:
        """Ask for a story, and go on until there is none. Return how many looks found none, in a row."""
        person, path = self._pages[self._wave]
        answer = self._ask("GET", path)
        if not answer or answer.status != 200:
            time.sleep(0.2)
            return looks
        page: bytes | None = answer.data
        found = ASSIGNMENT.search(answer.data)
        if not found:
            time.sleep(0.1)
            return looks + 1
        while page and (found := ASSIGNMENT.search(page)) and not self.storm.over.is_set():
            page = self._judge(person, path, int(found[1]))
        return 0

    def _judge(self, person: int, path: str, assignment: int) -> bytes | None:
        """Answer a story. Return the page that followed, or None if there was none."""
        form = {name: self._draw.choice(options) for name, options in QUESTIONS.items()}
        if self._draw.random() < AGREED:
            form = dict.fromkeys(QUESTIONS, "yes")
        if self._draw.random() < FORGED:
            self._forge(path, assignment, form)
        if self._draw.random() < LATE and self.storm.expire(assignment):
            self.storm.count("late")
            time.sleep(self._draw.uniform(0.1, 1.0))
        self.storm.note(assignment, person, form, acknowledged=False)
        self.storm.count("submissions")
        answer = self._send(path, assignment, form)
        if answer is None:
            self.storm.count("never answered" if self.storm.given_up.is_set() else "refused")
            return None
        self.storm.note(assignment, person, form, acknowledged=True)
        self.storm.acknowledged(self._wave)
        if self._draw.random() < DOUBLED:
            self.storm.count("sent twice")
            receipt = answer.headers[STORED]
            answer = self._send(path, assignment, form)
            if answer is None or answer.headers[STORED] != receipt:
                if answer is not None or not self.storm.given_up.is_set():
                    self.storm.count("other receipt")
                return None
        return answer.data

    def _send(self, path: str, assignment: int, form: dict[str, str]) -> urllib3.BaseHTTPResponse | None:
        """Send a form until it is acknowledged; None if it is refused, or never answered."""
        while not self.storm.given_up.is_set():
            answer = self._ask("POST", path, form | {"assignment": str(assignment)})
            if answer and STORED in answer.headers:
                return answer
            if answer and answer.status < 500 and answer.status != 429:
                self.storm.refused(assignment, answer)
                return None
            self.storm.count("tried again")
            time.sleep(self._draw.uniform(0.1, 0.4))
        return None

    def _forge(self, path: str, assignment: int, form: dict[str, str]) -> None:
        """Send what must not be taken: another's story, another's address, an answer that is no option."""
        others = self.storm.order
        kinds = [
            (path, form | {"assignment": str(self._draw.choice(others))} if others else {}),
            (
                path.replace(path[-12], "x" if path[-12] != "x" else "y"),
                form | {"assignment": str(assignment)},
            ),
            (path, form | {"assignment": str(assignment), "q1": "perhaps"}),
        ]
        place, forged = self._draw.choice(kinds)
        mine = self.storm.sent.get(int(forged.get("assignment", 0)), (0, {}, False))
        answer = self._ask("POST", place, forged)
        self.storm.count("forged")
        is_own = (mine[0], path) in self._pages  # a form of their own, sent again: that is no forgery
        if answer and STORED in answer.headers and not is_own:
            self.storm.count("forged taken")

    def _ask(
        self, method: str, path: str, form: dict[str, str] | None = None
    ) -> urllib3.BaseHTTPResponse | None:
        """Return the answer, or None if there is none."""
        body = urlencode(form) if form is not None else None
        try:
            return self._pool.urlopen(method, path, body=body, headers=HTMX, retries=False, redirect=False)
        except urllib3.exceptions.HTTPError:
            return None
