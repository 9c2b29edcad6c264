"""A storm: many people submit answers to the topology while faults come at random from a seed.

A third of the forms are sent twice, a tenth after their lease has run out, and a tenth are forged. Each wave
is a small study, so that everybody meets at its last stories again and again.
"""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

import psycopg
import urllib3

from bench.http import ASSIGNMENT
from tests.topology.processes import Topology

QUESTIONS = {
    "q1": ("yes", "possibly", "no"),
    "q2": ("yes", "possibly", "no"),
    "q3": ("yes", "no"),
    "q4": ("yes", "no"),
}
DOUBLED, LATE, FORGED = 1 / 3, 0.1, 0.1
AGREED = 0.8
"""The share of forms that say yes to everything, so that a release has stories."""
WAVE = "wave"
"""The prefix of the slugs of the storm's studies."""
SERVED_AGAIN = "served again after a receipt"
STORED = "X-Stored-Assignment"
HTMX = {"HX-Request": "true", "HX-Target": "work", "Content-Type": "application/x-www-form-urlencoded"}
RECOVER_SECONDS = 120.0
"""The longest that everything may take to be well again after the last fault."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Duration and intensity of a storm.

    It goes on until every fault has come once and ``fewest`` forms have a receipt, but sends no more than
    ``most``.
    """

    seconds: float = 20.0
    seed: int = 1
    people: int = 16
    stories: int = 20
    waves: int = 6
    fewest: int = 100
    most: int = 1_000_000
    longest_fault: float = 2.0
    rest: float = 1.5
    """The longest pause between two faults."""


@dataclass
class Report:
    """What came of it. ``check`` says what the rows say afterwards."""

    seed: int
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    longest_silence: float = 0.0
    """Seconds between two receipts."""
    recovered_after: float = 0.0
    """Seconds from the end of the last fault until all is well and every form has its receipt."""
    check: dict[str, int] = field(default_factory=dict)

    @property
    def failures(self) -> dict[str, int]:
        """What must not happen, if it did."""
        never = {
            name: self.check[name] for name in ("lost", "altered", "doubled", "unsent", "over", "miscounted")
        }
        never |= {
            name: self.forms[name]
            for name in ("forged taken", "other receipt", "never answered", "refused", SERVED_AGAIN)
        }
        return {name: number for name, number in never.items() if number}

    def table(self) -> str:
        """The report as lines of text."""
        rows = {
            "seed": self.seed,
            "seconds": f"{self.seconds:.0f}",
            "faults": sum(self.faults.values()),
            **{f"  {name}": number for name, number in sorted(self.faults.items())},
            **dict(sorted(self.forms.items())),
            **self.check,
            "longest silence (s)": f"{self.longest_silence:.1f}",
            "recovered after (s)": f"{self.recovered_after:.1f}",
        }
        return "\n".join(f"{name:<40} {value:>8}" for name, value in rows.items())

    def as_json(self) -> str:
        """The report as a line of JSON."""
        return json.dumps(vars(self))


class Storm:
    """Everybody who takes part, and the faults."""

    def __init__(self, topology: Topology, plan: Plan) -> None:
        self.topology, self.plan = topology, plan
        self.report = Report(plan.seed)
        self.sent: dict[int, tuple[int, dict[str, str], bool]] = {}
        """By assignment: whose, with which answers, and whether it was acknowledged."""
        self.over = threading.Event()
        self.given_up = threading.Event()
        self._lock = threading.Lock()
        self._last_receipt = 0.0
        self._expired = psycopg.conninfo.make_conninfo(topology.postgres.url, connect_timeout=2)

    def run(self) -> Report:
        """Let people work under faults, wait until all is well, and compare the rows with the forms."""
        order = {
            "slug": WAVE,
            "studies": self.plan.waves,
            "stories": self.plan.stories,
            "people": self.plan.people,
        }
        waves = self.world("make", order)
        began = self._last_receipt = time.monotonic()
        with ThreadPoolExecutor(self.plan.people + 1) as pool:
            people = [
                Person(self, number, [list(wave["people"].items())[number] for wave in waves])
                for number in range(self.plan.people)
            ]
            busy = [pool.submit(person.work) for person in people]
            publishing = pool.submit(self._publish)
            try:
                self._faults(until=began + self.plan.seconds)
            finally:
                self.over.set()
                ended = time.monotonic()
                timer = threading.Timer(RECOVER_SECONDS, self.given_up.set)
                timer.start()
            for future in busy:
                future.result()
            releases = [publishing.result()]
            timer.cancel()
        self.topology.wait_until_ready()
        self.report.recovered_after = time.monotonic() - ended
        self.report.seconds = time.monotonic() - began
        last = self.world("publish", WAVE)
        releases.append(self._published(last, self.world("released", last)))
        sent = [[person, assignment, *rest] for assignment, (person, *rest) in self.sent.items()]
        self.report.check = self.world("check", {"slug": WAVE, "sent": sent, "releases": releases})
        return self.report

    def world(self, command: str, given: Any) -> Any:
        """Have a process of the topology's own do something (``tests.topology.world``)."""
        arguments = ("-m", "tests.topology.world", command)
        return json.loads(self.topology.run(*arguments, seconds=600, given=json.dumps(given)))

    # -- releases

    def _publish(self) -> int:
        """Ask for a release in the middle of the storm; later it has to be there by itself."""
        time.sleep(self.plan.seconds / 3)
        release: int | None = None
        while True:
            try:
                release = release or self.world("publish", WAVE)
                found = self.world("released", release)
                break
            except AssertionError:  # the process met a server that was away
                if self.given_up.is_set():
                    raise
                time.sleep(1)
        return self._published(release, found)

    def _published(self, release: int, found: dict[str, Any]) -> int:
        assert found["state"] == "published", found["failure"]
        return release

    # -- faults

    def _faults(self, *, until: float) -> None:
        """One after another, each kind before any comes again."""
        draw = random.Random(self.plan.seed)
        deck: list[str] = []
        kinds = self._kinds(draw)
        latest = until + RECOVER_SECONDS
        while (
            time.monotonic() < latest
            and len(self.sent) < self.plan.most
            and (
                time.monotonic() < until
                or len(self.report.faults) < len(kinds)
                or self.report.forms["acknowledged"] < self.plan.fewest
            )
        ):
            if not deck:
                deck = draw.sample(sorted(kinds), len(kinds))
            name = deck.pop()
            self.report.faults[name] += 1
            kinds[name](draw.uniform(0.5, self.plan.longest_fault))
            time.sleep(draw.uniform(0.2, self.plan.rest))

    def _kinds(self, draw: random.Random) -> dict[str, Callable[[float], None]]:
        topology = self.topology

        def refuse(seconds: float) -> None:
            topology.store.cut()
            time.sleep(seconds)
            topology.store.is_cut = False

        def kill(*names: str, number: int = signal.SIGKILL) -> Callable[[float], None]:
            return lambda seconds: topology.kill(draw.choice(names), number, away=seconds)

        return {
            "web node killed": kill("web_1", "web_2"),
            "worker killed": kill("worker_1", "worker_2"),
            "beat killed": kill("beat"),
            "nginx killed": kill("nginx"),
            "PgBouncer killed": kill("pgbouncer"),
            "Redis gone": kill("redis"),
            "PostgreSQL restarted, fast": kill("postgres", number=signal.SIGINT),
            "PostgreSQL restarted, immediate": kill("postgres", number=signal.SIGQUIT),
            "web cut from the database": lambda seconds: topology.freeze("pgbouncer", seconds),
            "S3 refuses": refuse,
        }

    # -- of the people

    def expire(self, assignment: int) -> bool:
        """Let the lease of a story run out now. Return whether it did: the database may be away."""
        try:
            with psycopg.connect(self._expired) as connection:
                done = connection.execute(
                    "UPDATE annotation_assignment SET lease_expires_at = now() - interval '1 second' "
                    "WHERE id = %s AND state = 'leased'",
                    [assignment],
                )
                return done.rowcount == 1
        except psycopg.Error:
            return False

    def count(self, what: str) -> None:
        with self._lock:
            self.report.forms[what] += 1

    def note(self, assignment: int, person: int, form: dict[str, str], *, acknowledged: bool) -> None:
        """Note a form before it is sent, and again with its receipt. What was acknowledged first is kept."""
        with self._lock:
            if assignment in self.sent and self.sent[assignment][2]:
                self.report.forms[SERVED_AGAIN] += not acknowledged
                return
            self.sent[assignment] = (person, form, acknowledged)
            if acknowledged:
                now = time.monotonic()
                self.report.longest_silence = max(self.report.longest_silence, now - self._last_receipt)
                self._last_receipt = now


class Person:
    """Somebody at work, in a thread. Like the page's script they send a form until it has a receipt."""

    def __init__(self, storm: Storm, number: int, pages: list[tuple[str, str]]) -> None:
        self.storm = storm
        self._draw = random.Random(f"{storm.plan.seed} {number}")
        self._pages = [(int(enrollment), path) for enrollment, path in pages]
        self._pool = urllib3.HTTPConnectionPool(
            str(urlsplit(storm.topology.url).hostname), urlsplit(storm.topology.url).port, timeout=20
        )

    def work(self) -> None:
        """Go from wave to wave, and stay at each until three looks found no story."""
        place = looks = 0
        while not self.storm.over.is_set():
            person, path = self._pages[place % len(self._pages)]
            answer = self._ask("GET", path)
            found = ASSIGNMENT.search(answer.data) if answer and answer.status == 200 else None
            if found:
                looks = 0
                self._judge(person, path, int(found[1]))
            elif answer and answer.status == 200:
                looks += 1
                time.sleep(0.1)
                if looks == 3:
                    place, looks = place + 1, 0
            else:
                time.sleep(0.2)

    def _judge(self, person: int, path: str, assignment: int) -> None:
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
        receipt = self._send(path, assignment, form)
        if receipt is None:
            self.storm.count("never answered" if self.storm.given_up.is_set() else "refused")
            return
        self.storm.note(assignment, person, form, acknowledged=True)
        self.storm.count("acknowledged")
        if self._draw.random() < DOUBLED:
            self.storm.count("sent twice")
            again = self._send(path, assignment, form)
            if again != receipt and not (again is None and self.storm.given_up.is_set()):
                self.storm.count("other receipt")

    def _send(self, path: str, assignment: int, form: dict[str, str]) -> str | None:
        """Send a form until it is acknowledged; None if it is refused, or never answered."""
        while not self.storm.given_up.is_set():
            answer = self._ask("POST", path, form | {"assignment": str(assignment)})
            if answer and STORED in answer.headers:
                return answer.headers[STORED]
            if answer and answer.status < 500 and answer.status != 429:
                return None
            self.storm.count("tried again")
            time.sleep(self._draw.uniform(0.1, 0.4))
        return None

    def _forge(self, path: str, assignment: int, form: dict[str, str]) -> None:
        """Send what must not be taken: another's story, another's address, an answer that is no option."""
        others = [one for one in self.storm.sent.copy() if one != assignment]
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
