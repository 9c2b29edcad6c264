"""People doing anything at any time, for a few seconds; afterwards every promise holds."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.utils import timezone

from annotation import actions
from annotation.errors import CannotChange, NotTheirs, WrongState
from annotation.models import Assignment, Enrollment, Study, Vote
from integrity.catalogue import CHECKS, run
from tests import builders
from tests.concurrency.racing import errors, race

pytestmark = pytest.mark.django_db(transaction=True)

SECONDS, DEEDS = 1, 100
"""How long a storm lasts: until that much time is over, and that much was done."""
THREADS = 8
MINUTES_PER_SECOND = 60
"""The clock of the storm runs ahead, so that leases of a minute run out while people work."""


class Storm:
    """What people of a study do, chosen by chance, each thread with a seed of its own."""

    def __init__(self, study: Study, people: list[Enrollment]) -> None:
        self.study = study
        self.people = people
        self.began = timezone.now()
        self.ends = time.monotonic() + SECONDS
        self.receipts: dict[int, set[int]] = {}
        self.done = 0
        self._lock = threading.Lock()

    def now(self) -> datetime:
        elapsed = timezone.now() - self.began
        return self.began + elapsed * 60 * MINUTES_PER_SECOND

    def blow(self, seed: int) -> None:
        chance = random.Random(seed)
        deeds: list[Callable[[random.Random], None]] = [
            self.work, self.work, self.work, self.claim, self.submit_something_old, self.change, self.sweep,
            self.suspend, self.freeze,
        ]  # fmt: skip
        while time.monotonic() < self.ends or self.done <= DEEDS:
            chance.choice(deeds)(chance)
            self.done += 1

    def work(self, chance: random.Random) -> None:
        person = chance.choice(self.people)
        outcome = actions.assign_next_story(enrollment=person, now=self.now())
        if isinstance(outcome, Assignment):
            if chance.random() < 0.2:
                time.sleep(2 / MINUTES_PER_SECOND)
            self.submit(outcome.pk, person, chance)

    def claim(self, chance: random.Random) -> None:
        actions.assign_next_story(enrollment=chance.choice(self.people), now=self.now())

    def submit_something_old(self, chance: random.Random) -> None:
        person = chance.choice(self.people)
        theirs = list(Assignment.objects.filter(enrollment=person).values_list("pk", flat=True))
        if theirs:
            self.submit(chance.choice(theirs), person, chance)

    def submit(self, assignment_id: int, person: Enrollment, chance: random.Random) -> None:
        form: dict[str, Any] = {
            "assignment_id": assignment_id,
            "enrollment": person,
            "submitted": builders.answers(q1=chance.choice(["yes", "possibly", "no"])),
            "now": self.now(),
        }
        if chance.random() < 0.3:
            receipt = actions.record_vote(**form)
        else:
            receipt, _ = actions.record_vote_and_assign_next(**form)
        self.keep(assignment_id, receipt.vote.pk)

    def keep(self, assignment_id: int, vote_id: int) -> None:
        with self._lock:
            self.receipts.setdefault(assignment_id, set()).add(vote_id)

    def change(self, chance: random.Random) -> None:
        person = chance.choice(self.people)
        assignment = Assignment.objects.filter(enrollment=person).order_by("?").first()
        answers = builders.answers(q2=chance.choice(["yes", "possibly", "no"]))
        if assignment is None:
            return
        try:
            vote = actions.change_vote(
                assignment_id=assignment.pk, enrollment=person, submitted=answers, now=self.now()
            )
        except (CannotChange, NotTheirs):
            return  # too late, published, or not answered yet
        self.keep(assignment.pk, vote.pk)

    def freeze(self, chance: random.Random) -> None:
        if chance.random() < 0.1:
            actions.freeze_answers(study=self.study, now=self.now())

    def sweep(self, chance: random.Random) -> None:
        actions.release_expired_leases(now=self.now())

    def suspend(self, chance: random.Random) -> None:
        person = chance.choice(self.people)
        change = chance.choice([actions.suspend, actions.reinstate, actions.reinstate])
        try:
            change(enrollment=person, by=None, now=self.now(), reason="storm")
        except WrongState:
            return  # they are where they would be sent already


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.torture)])
def test_after_a_storm_every_promise_holds(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    study = builders.make_study(stories=40, votes_per_story=3, lease_minutes=1)
    storm = Storm(study, builders.qualified(study, 12))

    outcomes = race(*[lambda n=n: storm.blow(seed * 100 + n) for n in range(THREADS)])

    assert not errors(outcomes)  # a deadlock would be among them
    assert "No story could be found" not in caplog.text  # nor there
    assert storm.done > DEEDS
    assert {outcome.check.name for outcome in run(CHECKS) if not outcome.holds} == set()
    votes: dict[int, set[int]] = {}
    for assignment, vote in Vote.objects.values_list("assignment_id", "pk"):
        votes.setdefault(assignment, set()).add(vote)
    assert storm.receipts == votes  # nothing lost, nothing invented
