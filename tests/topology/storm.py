"""A storm: many people submit answers to the topology while faults come at random from a seed.

A third of the forms are sent twice, a tenth after their lease has run out, and a tenth are forged. Each wave
is a small study, so that everybody meets at its last stories again and again. Clocks that are set wrong stay
so until they are set again, or the storm is over.
"""

from __future__ import annotations

import json
import random
import resource
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import urllib3

from tests.topology.people import Person
from tests.topology.processes import MACHINES, Topology

WAVE = "wave"
"""The prefix of the slugs of the storm's studies."""
SERVED_AGAIN = "served again after a receipt"
LAST_STORIES = 10
CLOCKS_OFF_BY = (-45 * 60, 0, 45 * 60)
FULL_AT = (0, 2_000, 20_000)
"""Bytes of the largest file that a full disk still takes: a build stops at another step each time."""
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
    long: bool = False
    """Redis is also gone for a minute, and a release is asked for whenever the store refuses."""


@dataclass
class Report:
    """What came of it. ``check`` says what the rows say afterwards."""

    seed: int
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    refusals: list[str] = field(default_factory=list)
    """The answers that refused a form which had to be taken."""
    silence: dict[str, float] = field(default_factory=dict)
    """The most seconds between two receipts, by the fault that had come last."""
    recovered_after: float = 0.0
    """Seconds from the end of the last fault until all is well and every form has its receipt."""
    crowd: int = 0
    """The most people at once in a study with ten stories left."""
    check: dict[str, int] = field(default_factory=dict)

    @property
    def failures(self) -> dict[str, int]:
        """What must not happen, if it did."""
        kinds = ("lost", "altered", "doubled", "unsent", "over", "miscounted", "half done")
        never = {name: self.check[name] for name in kinds}
        never["surplus without a late form"] = max(0, self.check["surplus"] - self.forms["late"])
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
            "longest without a receipt (s), the last fault being": "",
            **{f"  - {name}": f"{seconds:.1f}" for name, seconds in sorted(self.silence.items())},
            **dict(sorted(self.forms.items())),
            **self.check,
            f"people at the last {LAST_STORIES} stories": self.crowd,
            "recovered after (s)": f"{self.recovered_after:.1f}",
        }
        return "\n".join(f"{name:<52} {value:>8}" for name, value in rows.items())

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
        self.order: list[int] = []
        """Its keys, in a list from which a forger can draw while others add to it."""
        self.over = threading.Event()
        self.given_up = threading.Event()
        self._lock = threading.Lock()
        self._last_receipt = 0.0
        self._last_fault = "none yet"
        self._present: Counter[int] = Counter()
        self._left: Counter[int] = Counter()
        self._asked: int | None = None
        """The release that was asked for last, and is not known to be published yet."""
        self._releases: list[int] = []
        self._half_done = 0
        self._expired = psycopg.conninfo.make_conninfo(topology.postgres.url, connect_timeout=2)

    def run(self) -> Report:
        """Let people work under faults, wait until all is well, and compare the rows with the forms."""
        order = {
            "slug": WAVE,
            "studies": self.plan.waves,
            "stories": self.plan.stories,
            "people": self.plan.people,
        }
        waves = self.topology.world("make", order)
        self._left.update({number: wave["votes"] for number, wave in enumerate(waves)})
        self._votes_per_story = waves[0]["votes"] // self.plan.stories
        began = self._last_receipt = time.monotonic()
        with ThreadPoolExecutor(self.plan.people) as pool:
            people = [
                Person(self, number, [list(wave["people"].items())[number] for wave in waves])
                for number in range(self.plan.people)
            ]
            busy = [pool.submit(person.work) for person in people]
            try:
                self._faults(until=began + self.plan.seconds)
            finally:
                for name in MACHINES:
                    self.topology.set_clock(name, 0)
                self.over.set()
                ended = max(time.monotonic(), self.topology.away_until)
                timer = threading.Timer(ended - time.monotonic() + RECOVER_SECONDS, self.given_up.set)
                timer.start()
            for future in busy:
                future.result()
            self._published()
            timer.cancel()
        self.topology.wait_until_ready()
        self.report.recovered_after = max(0.0, time.monotonic() - ended)
        self.report.seconds = time.monotonic() - began
        self._publish()
        self._published()
        sent = [[person, assignment, *rest] for assignment, (person, *rest) in self.sent.items()]
        order = {"slug": WAVE, "sent": sent, "releases": self._releases}
        self.report.check = self.topology.world("check", order) | {"half done": self._half_done}
        self.topology.world("integrity", None)
        return self.report

    # -- releases

    def _publish(self) -> None:
        """Ask for the next release, once the one before is published: that happens by itself."""
        self._published()
        self._asked = self.topology.world("publish", WAVE)

    def _published(self) -> None:
        if self._asked is not None:
            found = self.topology.world("released", self._asked)
            assert found["state"] == "published", found["failure"]
            self._half_done += len(self._built(".building-"))
            self._releases.append(self._asked)
            self._asked = None

    def _publish_on_a_full_disk(self, size: int) -> None:
        """A release fails for it, says why, and leaves nothing half done. Then it is asked for again."""
        self._published()
        self.topology.limit_files("worker_1", size)
        try:
            self._publish()
            found = self.topology.world("released", self._asked)
        finally:
            self.topology.limit_files("worker_1", resource.RLIM_INFINITY)
        assert found["state"] == "failed", f"it was built on a full disk of {size} bytes: {found}"
        assert "request the release again" in found["failure"], found["failure"]
        assert "size limit" in found["failure"], found["failure"]
        self._half_done += len(self._built(".building-")) + len(self._built(f"{found['place']}-"))
        self._half_done += sum(f"releases/{found['place']}-" in name for name in self.topology.stored())
        self._asked = self.topology.world("publish", WAVE)

    def _built(self, wanted: str) -> list[Path]:
        places = self.topology.here.glob("worker_1/releases/*/*")
        return [place for place in places if wanted in place.as_posix()]

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
            self._last_fault = name
            kinds[name](draw.uniform(0.5, self.plan.longest_fault))
            time.sleep(draw.uniform(0.2, self.plan.rest))

    def _kinds(self, draw: random.Random) -> dict[str, Callable[[float], None]]:
        topology = self.topology

        def refuse(seconds: float) -> None:
            if self.plan.long:
                self._published()
            topology.store.cut()
            if self.plan.long:
                self._publish()
            time.sleep(seconds)
            topology.store.is_cut = False

        def kill(*names: str, number: int = signal.SIGKILL) -> Callable[[float], None]:
            return lambda seconds: topology.kill(draw.choice(names), number, away=seconds)

        def step(seconds: float) -> None:
            topology.set_clock(draw.choice(MACHINES), draw.choice(CLOCKS_OFF_BY))
            time.sleep(seconds)

        minute = {"Redis gone for a minute": lambda _seconds: topology.kill("redis", away=60)}
        return (minute if self.plan.long else {}) | {
            "disk full while publishing": lambda _seconds: self._publish_on_a_full_disk(draw.choice(FULL_AT)),
            "a clock set": step,
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
        """Let the lease of a story run out now. Return False if it surely did not: the database was away."""
        connection = None
        try:
            with psycopg.connect(self._expired) as connection:
                done = connection.execute(
                    "UPDATE annotation_assignment SET lease_expires_at = now() - interval '1 second' "
                    "WHERE id = %s AND state = 'leased'",
                    [assignment],
                )
                return done.rowcount == 1
        except psycopg.Error:
            return connection is not None  # it went away, perhaps after the commit

    def moved(self, before: int, now: int) -> None:
        """Note that a person goes from one wave to another."""
        with self._lock:
            self._present[before] -= 1
            self._present[now] += 1

    def acknowledged(self, wave: int) -> None:
        """Note a receipt, and how many people are at the last stories of its wave."""
        with self._lock:
            self.report.forms["acknowledged"] += 1
            self._left[wave] -= 1
            if self._left[wave] <= LAST_STORIES * self._votes_per_story:
                self.report.crowd = max(self.report.crowd, self._present[wave])

    def refused(self, assignment: int, answer: urllib3.BaseHTTPResponse) -> None:
        """Note an answer that did not take a form, for whoever reads the report."""
        with self._lock:
            self.report.refusals.append(
                f"assignment {assignment}, after {self._last_fault}: {answer.status} "
                f"{dict(answer.headers)} {answer.data.decode(errors='replace')}"
            )

    def count(self, what: str) -> None:
        with self._lock:
            self.report.forms[what] += 1

    def note(self, assignment: int, person: int, form: dict[str, str], *, acknowledged: bool) -> None:
        """Note a form before it is sent, and again with its receipt. What was acknowledged first is kept."""
        with self._lock:
            if assignment in self.sent and self.sent[assignment][2]:
                self.report.forms[SERVED_AGAIN] += not acknowledged
                return
            if assignment not in self.sent:
                self.order.append(assignment)
            self.sent[assignment] = (person, form, acknowledged)
            if acknowledged:
                now = time.monotonic()
                known = self.report.silence.get(self._last_fault, 0.0)
                self.report.silence[self._last_fault] = max(known, now - self._last_receipt)
                self._last_receipt = now
