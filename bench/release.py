"""Measure publishing a big release, compared with a raw COPY of the same rows.

Actions create the study; then stories are added by COPY, and three counted votes with four answers for each
by ``INSERT ... SELECT``. One story in three is dropped. The product's own action builds the release in a
separate process, whose peak memory the kernel reports.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from bench.machine import cpu_seconds, django_process, load, postmaster
from bench.world import World, copy_world, fill_up, settle

COPIED = ("annotation_story", "annotation_vote", "annotation_answer")
TIME_LIMIT = 1800.0
"""Time limit of a build in seconds."""

_ASSIGNMENTS = """
INSERT INTO annotation_assignment
    (story_id, enrollment_id, state, slot, slots, order_position, served_at, lease_expires_at)
SELECT story.id, (%(people)s::bigint[])[1 + (story.number + slot) %% cardinality(%(people)s::bigint[])],
       'submitted', slot, 3, story.number, moment, moment + interval '30 minutes'
FROM (SELECT id, row_number() OVER (ORDER BY id) AS number FROM annotation_story) AS story,
     generate_series(1, 3) AS slot,
     LATERAL (SELECT timestamptz '2026-03-01 09:00Z' + story.number * interval '1.234 seconds') AS t(moment)
"""
_VOTES = """
INSERT INTO annotation_vote
    (assignment_id, revision, protocol_version, language, story_hash, order_position, served_at,
     first_submitted_at, submitted_at, environment, surplus_reason)
SELECT assignment.id, 1, '1', 'en', content_hash, order_position, served_at,
       served_at + interval '41.7 seconds', served_at + interval '41.7 seconds', 'live', ''
FROM annotation_assignment AS assignment JOIN annotation_story AS story ON story.id = assignment.story_id
ORDER BY assignment.id
"""
_ANSWERS = """
INSERT INTO annotation_answer (vote_id, question, "row", option, counts_against)
SELECT vote.id, question, '', option, option = 'no'
FROM annotation_vote AS vote JOIN annotation_assignment AS assignment ON assignment.id = assignment_id,
     LATERAL (VALUES
        ('q1', CASE WHEN vote.id % 5 = 0 THEN 'possibly' ELSE 'yes' END),
        ('q2', CASE WHEN vote.id % 7 = 0 THEN 'possibly' ELSE 'yes' END),
        ('q3', CASE WHEN slot = 2 AND vote.order_position % 3 = 0 THEN 'no' ELSE 'yes' END),
        ('q4', 'yes')) AS given(question, option)
ORDER BY vote.id, question
"""


@dataclass(frozen=True, slots=True)
class Publishing:
    """One release: seconds from the request to the published state, and figures for comparison."""

    stories: int
    votes: int
    kept: int
    seconds: float
    worker_cpu: float
    """CPU seconds; with PostgreSQL's, the figure that counts on a shared machine."""
    postgres_cpu: float
    copy_seconds: float
    copy_cpu: float
    """CPU seconds of PostgreSQL and the reader."""
    copy_bytes: int
    release_bytes: int
    peak_mib: int
    """The worker's peak resident memory, without its child processes."""
    load_before: float

    @property
    def times_copy(self) -> float:
        return self.seconds / self.copy_seconds

    @property
    def times_copy_cpu(self) -> float:
        return (self.worker_cpu + self.postgres_cpu) / self.copy_cpu


def publishing(world: World, *, stories: int, say: Callable[[str], None]) -> Publishing:
    """Fill a copy of the study up to this many stories with all votes, and publish it."""
    url = copy_world(world, "bench_release")
    say(f"filling the study up to {stories:,} stories with three votes each")
    fill_up(url, stories=stories)
    vote(url, world)
    before = load()
    copied = Path(os.environ["TOMANNOT_VAR"]) / "copied"
    server = postmaster(Path(os.environ["TOMANNOT_VAR"]))
    say("raw COPY")
    postgres, reader = cpu_seconds([server]), time.process_time()
    copy_seconds = copy_out(url, copied)
    copy_cpu = cpu_seconds([server]) - postgres + time.process_time() - reader
    copy_bytes = copied.stat().st_size
    copied.unlink()
    say("publishing")
    postgres = cpu_seconds([server])
    done = subprocess.run(
        django_process("bench.publisher"),
        env={**os.environ, "DATABASE_URL": url},
        stdout=subprocess.PIPE,
        timeout=TIME_LIMIT,
        check=True,
    )
    return Publishing(
        stories=stories,
        postgres_cpu=cpu_seconds([server]) - postgres,
        copy_seconds=copy_seconds,
        copy_cpu=copy_cpu,
        copy_bytes=copy_bytes,
        load_before=before,
        **json.loads(done.stdout),
    )


def vote(url: str, world: World) -> None:
    """Insert three votes with answers per story, as the actions would have written them."""
    with psycopg.connect(url) as connection:
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute(_ASSIGNMENTS, {"people": world.enrollments})
        connection.execute(_VOTES)
        connection.execute(_ANSWERS)
    settle(url)


def copy_out(url: str, target: Path) -> float:
    """Return the seconds that COPY takes to write the stories, votes and answers to a file."""
    begun = time.perf_counter()
    with psycopg.connect(url) as connection, target.open("wb", buffering=1 << 20) as file:
        for table in COPIED:
            statement = sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(table))
            with connection.cursor().copy(statement) as copy:
                for block in copy:
                    file.write(block)
    return time.perf_counter() - begun
