"""The work of a vote as bare SQL: ``python -m bench.bare`` (started by the benchmark).

It runs the statements for submitting an answer and getting the next story, in one transaction as in the
product, without a web server, forms, pages or Django. It is the ceiling on this machine: the difference
is the product's own cost. One process, one thread and connection per annotator. Reads one line of JSON, an
:class:`Order`; prints one.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg

WHO = """SELECT e.*, s.*, c.* FROM annotation_enrollment e JOIN annotation_study s ON s.id = e.study_id
    JOIN annotation_consenttext c ON c.id = e.consent_id WHERE e.id = %(person)s"""
LOCK_PERSON = WHO + " FOR NO KEY UPDATE OF e"
LOCK_ASSIGNMENT = """SELECT a.*, t.* FROM annotation_assignment a JOIN annotation_story t ON t.id = a.story_id
    WHERE a.id = %(assignment)s AND a.enrollment_id = %(person)s FOR NO KEY UPDATE OF a"""
STORE_VOTE = """WITH vote AS (
        INSERT INTO annotation_vote (assignment_id, revision, protocol_version, story_hash,
            order_position, served_at, first_submitted_at, submitted_at, environment, surplus_reason,
            language)
        SELECT a.id, 1, s.protocol_version, t.content_hash,
            a.order_position, a.served_at, %(now)s, %(now)s, 'live', '', 'en'
        FROM annotation_assignment a JOIN annotation_story t ON t.id = a.story_id
            JOIN annotation_study s ON s.id = t.study_id
        WHERE a.id = %(assignment)s RETURNING id),
    answers AS (
        INSERT INTO annotation_answer (vote_id, question, row, option, counts_against)
        SELECT id, question, '', 'yes', false FROM vote, unnest(ARRAY['q1', 'q2', 'q3', 'q4']) question),
    event AS (
        INSERT INTO annotation_event (study_id, type, enrollment_id, subject, note, at)
        SELECT %(study)s, 'vote_submitted', %(person)s, 'vote ' || id, '', %(now)s FROM vote),
    settled AS (UPDATE annotation_assignment SET state = 'submitted' WHERE id = %(assignment)s),
    credited AS (UPDATE annotation_enrollment SET stories_submitted = stories_submitted + 1,
        working_since = coalesce(working_since, %(now)s), last_submitted_at = %(now)s WHERE id = %(person)s)
    SELECT id FROM vote"""
RAN_OUT = """SELECT 1 FROM annotation_assignment WHERE state = 'leased' AND lease_expires_at <= %(now)s
    AND enrollment_id <> %(person)s LIMIT 1"""
CLAIM = """SELECT t.* FROM annotation_story t WHERE t.study_id = %(study)s AND t.has_free_slot
    AND NOT EXISTS (SELECT FROM annotation_assignment a
        WHERE a.enrollment_id = %(person)s AND a.story_id = t.id AND a.state <> 'expired' OFFSET 0)
    ORDER BY t.order_key LIMIT 1 FOR NO KEY UPDATE OF t SKIP LOCKED"""
TAKEN = (
    "SELECT slot FROM annotation_assignment WHERE story_id = %(story)s AND state IN ('leased', 'submitted')"
)
GIVE = """WITH given AS (
        INSERT INTO annotation_assignment (story_id, enrollment_id, state, slot, slots, order_position,
            served_at, lease_expires_at)
        SELECT %(story)s, id, 'leased', %(slot)s, %(slots)s, stories_submitted + 1, %(now)s,
            %(now)s + interval '30 minutes'
        FROM annotation_enrollment WHERE id = %(person)s RETURNING id),
    full_now AS (UPDATE annotation_story SET has_free_slot = false WHERE id = %(story)s AND %(was_last)s)
    SELECT id FROM given"""

SLOTS = 3


@dataclass(frozen=True, slots=True)
class Order:
    """The database, the enrollments (one thread each), and the duration."""

    url: str
    study: int
    people: list[int]
    seconds: float


@dataclass(frozen=True, slots=True)
class Result:
    votes: int
    seconds: float
    cpu_seconds: float


class Person:
    """An annotator with their own connection."""

    def __init__(self, order: Order, person: int) -> None:
        self.votes = 0
        self._connection = psycopg.connect(order.url, autocommit=True)
        self._cursor = self._connection.cursor()
        self._known: dict[str, Any] = {"person": person, "study": order.study, "now": datetime.now(UTC)}
        with self._connection.transaction():
            self.has_story = self._claim()

    def work(self, deadline: float) -> None:
        """Answer stories until the deadline, or until none is left."""
        while self.has_story and time.perf_counter() < deadline:
            self._execute(WHO)
            self._known["now"] = datetime.now(UTC)
            self._cursor.execute(RAN_OUT, self._known)
            self._cursor.fetchone()
            with self._connection.transaction():
                self._vote()
                self.has_story = self._claim()
            self.votes += 1
        self._connection.close()

    def _vote(self) -> None:
        self._execute(LOCK_PERSON)
        self._execute(LOCK_ASSIGNMENT)
        self._execute(STORE_VOTE)

    def _claim(self) -> bool:
        self._cursor.execute(CLAIM, self._known)
        story = self._cursor.fetchone()
        if story is None:
            return False
        self._known["story"] = story[0]
        taken = {slot for (slot,) in self._cursor.execute(TAKEN, self._known).fetchall()}
        slot = min(set(range(1, SLOTS + 1)) - taken)
        self._known |= {"slot": slot, "slots": SLOTS, "was_last": len(taken) + 1 == SLOTS}
        self._known["assignment"] = self._execute(GIVE)[0]
        return True

    def _execute(self, statement: str) -> tuple[Any, ...]:
        row = self._cursor.execute(statement, self._known).fetchone()
        assert row is not None
        return row


def work(order: Order) -> Result:
    """Let all annotators work at the same time, until time is up."""
    people = [Person(order, person) for person in order.people]
    cpu, began = time.process_time(), time.perf_counter()
    with ThreadPoolExecutor(len(people)) as pool:
        for outcome in [pool.submit(person.work, began + order.seconds) for person in people]:
            outcome.result()
    return Result(
        votes=sum(person.votes for person in people),
        seconds=time.perf_counter() - began,
        cpu_seconds=time.process_time() - cpu,
    )


if __name__ == "__main__":
    result = work(Order(**json.loads(sys.stdin.readline())))
    sys.stdout.write(json.dumps(dataclasses.asdict(result)) + "\n")
