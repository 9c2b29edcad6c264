"""The three measurements. Each has a fresh copy of the study, and the machine to itself."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import psycopg
from django.conf import settings

from bench import bare
from bench.annotators import PATIENCE, Order, Result
from bench.http import WARM_UP_REQUESTS, BadAnswer, Connection, page_request, submit_request
from bench.machine import Usage, cores, load, postmaster, web_server_process
from bench.world import World
from tomannot import web_server
from tomannot.supervisor import Program, Supervisor

HOST = "127.0.0.1"
WARM_UP_SECONDS = 3.0
START_SECONDS = 30.0
OVER_LIMIT = """SELECT count(*) FROM (
    SELECT story_id FROM annotation_assignment WHERE state IN ('leased', 'submitted')
    GROUP BY story_id HAVING count(*) > 3) AS stories"""


@dataclass(frozen=True, slots=True)
class Times:
    """Latencies of requests in milliseconds."""

    requests: int
    p50_ms: float
    p95_ms: float
    max_ms: float

    @classmethod
    def of(cls, seconds: Iterable[float]) -> Times:
        """Return nearest-rank percentiles; NaN without any request."""
        ordered = sorted(seconds) or [math.nan]
        p50, p95 = (1000 * ordered[max(0, math.ceil(share * len(ordered)) - 1)] for share in (0.5, 0.95))
        return cls(len(ordered), p50, p95, 1000 * ordered[-1])


@dataclass(frozen=True, slots=True)
class Loop:
    """Annotators without think time: submit, and get the next story in the same response."""

    votes: int
    seconds: float
    submit: Times
    server_cpu_ms_per_vote: float
    postgres_cpu_ms_per_vote: float
    client_cpu_ms_per_vote: float
    others_cpu: float
    """Share of the machine's cores that other programs used meanwhile, 0..1."""
    transactions_per_vote: float
    load_before: float
    errors: list[str]
    stories_over_limit: int
    receipts_without_vote: int
    """Answers with a receipt minus votes in the database; anything but 0 is an error."""
    integrity_broken: list[str]
    """Names of failed checks of ``check_integrity``."""

    @property
    def votes_per_second(self) -> float:
        return self.votes / self.seconds


@dataclass(frozen=True, slots=True)
class Sql:
    """Bare SQL for the same work."""

    votes: int
    seconds: float
    postgres_cpu_ms_per_vote: float
    client_cpu_ms_per_vote: float
    load_before: float
    integrity_broken: list[str]

    @property
    def votes_per_second(self) -> float:
        return self.votes / self.seconds


@dataclass(frozen=True, slots=True)
class Latency:
    """Latencies of a single annotator in a study of some size."""

    stories: int
    first_story: Times
    submit: Times
    load_before: float


# -- the annotate loop


def loop(
    url: str, world: World, *, people: int, seconds: float, votes: int, port: int, more: Sequence[str]
) -> Loop:
    """Let annotators work on the real server until time is up or enough votes are in."""
    paths = world.paths[:people]
    before: list[tuple[Usage, int, int]] = []
    with serving({port: url}, more=more):
        server, postgres = [web_server_process(port)], postmaster(settings.VAR_DIR)
        annotate(Order(HOST, port, paths, WARM_UP_SECONDS, votes // 4), lambda: None)
        load_before = load()
        result = annotate(
            Order(HOST, port, paths, seconds, votes),
            lambda: before.append((Usage.now(server=server, postgres=postgres), *_counts(url))),
        )
        spent = Usage.now(server=server, postgres=postgres).since(before[0][0])
        stored, transactions = _counts(url)
    ms_per_vote = 1000 / max(1, result.votes)
    others = spent.machine - spent.server - spent.postgres - result.cpu_seconds
    return Loop(
        votes=result.votes,
        seconds=result.seconds,
        submit=Times.of(result.submit_seconds),
        server_cpu_ms_per_vote=spent.server * ms_per_vote,
        postgres_cpu_ms_per_vote=spent.postgres * ms_per_vote,
        client_cpu_ms_per_vote=result.cpu_seconds * ms_per_vote,
        others_cpu=max(0.0, others) / result.seconds / cores(),
        transactions_per_vote=(transactions - before[0][2]) / max(1, result.votes),
        load_before=load_before,
        errors=result.errors,
        stories_over_limit=_stories_over_limit(url),
        receipts_without_vote=result.votes - (stored - before[0][1]),
        integrity_broken=integrity_broken(url),
    )


def annotate(order: Order, go: Callable[[], object]) -> Result:
    """Run the annotators' process. ``go`` is called when all have a story, before anybody answers."""
    with subprocess.Popen(
        [sys.executable, "-m", "bench.annotators"],
        cwd=settings.BASE_DIR,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(dataclasses.asdict(order)) + "\n")
        process.stdin.flush()
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("The annotators could not open their first stories; see above.")
        go()
        said, _ = process.communicate("go\n", timeout=order.seconds + PATIENCE + 10)
    return Result(**json.loads(said))


# -- bare SQL


def bare_sql(url: str, world: World, *, people: int, seconds: float) -> Sql:
    """Do the same work with psycopg only."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT id FROM annotation_study").fetchone()
    assert row is not None
    order = bare.Order(url, row[0], world.enrollments[:people], seconds)
    postgres, load_before = postmaster(settings.VAR_DIR), load()
    before = Usage.now(server=[], postgres=postgres)
    done = subprocess.run(
        [sys.executable, "-m", "bench.bare"],
        cwd=settings.BASE_DIR,
        input=json.dumps(dataclasses.asdict(order)) + "\n",
        stdout=subprocess.PIPE,
        text=True,
        timeout=seconds + 60,
        check=True,
    )
    spent = Usage.now(server=[], postgres=postgres).since(before)
    result = bare.Result(**json.loads(done.stdout))
    return Sql(
        votes=result.votes,
        seconds=result.seconds,
        postgres_cpu_ms_per_vote=1000 * spent.postgres / max(1, result.votes),
        client_cpu_ms_per_vote=1000 * result.cpu_seconds / max(1, result.votes),
        load_before=load_before,
        integrity_broken=integrity_broken(url),
    )


# -- one annotator at a small and a big study


def latencies(
    urls: Mapping[int, str], world: World, *, port: int, requests: int, more: Sequence[str]
) -> list[Latency]:
    """One annotator at a time, at studies of different sizes (``urls`` by number of stories).

    The studies take turns, request by request, so that whatever else the machine does hits all alike.
    A first story is what somebody gets who holds none: the claim and the whole page. A submit stores
    the answers and brings the next story.
    """
    *newcomers, worker = world.paths
    before = load()
    with serving({port + place: url for place, url in enumerate(urls.values())}, more=more):
        connections = [Connection(HOST, port + place) for place in range(len(urls))]
        first = [
            [at.next_story(page_request(at.host, path))[1] for at in connections]
            for path in newcomers[: requests + WARM_UP_REQUESTS]
        ]
        held = [at.next_story(page_request(at.host, worker))[0] for at in connections]
        submits = []
        for _ in range(requests + WARM_UP_REQUESTS):
            came = [
                at.next_story(submit_request(at.host, worker, number))
                for at, number in zip(connections, held, strict=True)
            ]
            held = [number for number, _ in came]
            submits.append([seconds for _, seconds in came])
        for at in connections:
            at.close()
    return [
        Latency(
            stories=stories,
            first_story=Times.of(row[place] for row in first[WARM_UP_REQUESTS:]),
            submit=Times.of(row[place] for row in submits[WARM_UP_REQUESTS:]),
            load_before=before,
        )
        for place, stories in enumerate(urls)
    ]


# -- the real server


@contextmanager
def serving(urls: Mapping[int, str], *, more: Sequence[str]) -> Iterator[None]:
    """Run one production web server per port and database; ``more`` are additional options."""
    with ExitStack() as stack:
        for port, url in urls.items():
            program = Program(f"bench-web-{port}", [*web_server.command(host=HOST, port=port), *more])
            environment = {**os.environ, "DATABASE_URL": url, "PUBLIC_URL": f"http://{HOST}:{port}"}
            supervisor = Supervisor(
                [program], environment=environment, cwd=settings.BASE_DIR, logs=settings.VAR_DIR / "log"
            )
            stack.enter_context(supervisor)
            _wait_until_it_answers(supervisor, port)
        yield


def _wait_until_it_answers(supervisor: Supervisor, port: int) -> None:
    """Wait for the server. Raise ``ProgramEnded`` if it ends, ``BadAnswer`` if it does not answer."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        supervisor.check()
        try:
            connection = Connection(HOST, port)
        except ConnectionRefusedError:  # not listening yet
            if time.monotonic() > deadline:
                raise BadAnswer(f"The web server does not listen on port {port}.") from None
            time.sleep(0.1)
            continue
        status = connection.ask(page_request(connection.host, "/")).status
        connection.close()
        if status != 200:
            raise BadAnswer(f"The front page answers with {status}; see {supervisor.logs}.")
        return


# -- what the database says


def _counts(url: str) -> tuple[int, int]:
    """Return the numbers of stored votes and committed transactions so far."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT (SELECT count(*) FROM annotation_vote), xact_commit FROM pg_stat_database "
            "WHERE datname = current_database()"
        ).fetchone()
    assert row is not None
    return row[0], row[1]


def _stories_over_limit(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(OVER_LIMIT).fetchone()
    assert row is not None
    return int(row[0])


def integrity_broken(url: str) -> list[str]:
    """Return the names of failed checks of ``check_integrity``."""
    done = subprocess.run(
        [sys.executable, "manage.py", "check_integrity", "--json"],
        cwd=settings.BASE_DIR,
        env={**os.environ, "DATABASE_URL": url},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    if not done.stdout:
        raise RuntimeError(f"check_integrity could not run:\n{done.stderr}")
    return [check["name"] for check in json.loads(done.stdout)["checks"] if not check["holds"]]
