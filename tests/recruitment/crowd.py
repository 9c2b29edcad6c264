"""Workers who come from the double of Mechanical Turk, as unlike one another as real ones are.

They arrive by the addresses that the platform's frame opens, hand in the form that our page shows, and
between the two answer by the action that the pages call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from html.parser import HTMLParser
from random import Random
from urllib.parse import urlsplit

from django.test import Client
from django.urls import resolve, reverse
from django.utils import timezone

from annotation import actions
from annotation.models import Assignment, Enrollment
from annotation.tokens import VisitClaim, read_visit_token
from tests import builders
from tests.doubles.mturk.crowd import Refused
from tests.doubles.mturk.server import MTurkDouble

FAILING = builders.answers(q1="no")


class _Form(HTMLParser):
    """The hidden fields of the page's forms, and where the last form goes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fields: list[tuple[str, str]] = []
        self.action = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "form":
            self.action = found.get("action") or ""
        elif tag == "input" and found.get("type") == "hidden":
            self.fields.append((found.get("name") or "", found.get("value") or ""))


@dataclass
class Tally:
    """What the workers did, as they saw it themselves."""

    submitted: set[tuple[str, str]] = field(default_factory=set)
    """Assignment and worker of everything that the platform took."""
    answers: int = 0
    not_handed_in: set[str] = field(default_factory=set)
    """Workers who did not hand in what they had accepted."""
    gave_back: set[str] = field(default_factory=set)
    """Workers who gave a piece of work back, whether or not they had begun it."""
    passed: set[str] = field(default_factory=set)
    """Workers who passed the test and handed it in."""


class Workers:
    """A crowd at one double. ``seed`` decides who does what."""

    def __init__(self, double: MTurkDouble, *, seed: int, count: int) -> None:
        self.double, self.random = double, Random(seed)
        self.ids = [double.crowd.hire().worker_id for _ in range(count)]
        self.unreliable = set(self.random.sample(self.ids, count // 4))
        """Some of them leave work unfinished; the platform's group of those keeps them out afterwards."""
        self.tally = Tally()
        self._client = Client()

    def take_tests(self, *, fail: float) -> None:
        """Everybody who sees the test takes it, or takes it and gives it back."""
        for worker in self.ids:
            for hit in self.double.crowd.available(worker):
                if self.random.random() < 0.1:  # looks at it and gives it back
                    row = self.double.crowd.accept(hit, worker)
                    self._arrive(row.assignment_id, worker)
                    self.double.crowd.give_back(row.assignment_id, worker)
                    continue
                row = self.double.crowd.accept(hit, worker)
                claim = self._arrive(row.assignment_id, worker)
                passes = self.random.random() >= fail
                person = builders.consent(Enrollment.objects.get(pk=claim.enrollment_id))
                builders.take_test(person, builders.ALL_YES if passes else FAILING)
                self._hand_in(row.assignment_id, worker)
                if passes:
                    self.tally.passed.add(worker)

    def work(self, *, rounds: int) -> None:
        """Everybody in turn takes a HIT that they see, as often as this."""
        for _ in range(rounds):
            for worker in self.ids:
                hits = self.double.crowd.available(worker)
                if hits:
                    self._do_one(hits[0], worker)

    def _do_one(self, hit: str, worker: str) -> None:
        assignment = self.double.crowd.accept(hit, worker).assignment_id
        claim = self._arrive(assignment, worker)
        whim = self.random.random() if worker in self.unreliable else 0.9 + self.random.random()
        if whim < 0.2 or not self._answer(claim):  # never begins, or finds nothing to do
            self.double.crowd.give_back(assignment, worker)
            self.tally.gave_back.add(worker)
        elif whim < 0.4:  # answers, then gives it back: the id goes to the next worker
            self.double.crowd.give_back(assignment, worker)
            self.tally.not_handed_in.add(worker)
        elif whim < 0.6:  # answers and closes the window
            self.tally.not_handed_in.add(worker)
        else:
            if whim < 1.1:  # opens it again first
                assert self._arrive(assignment, worker) == claim
            self._hand_in(assignment, worker)
            if whim < 1.1:
                self._hand_in(assignment, worker)

    def _arrive(self, assignment: str, worker: str) -> VisitClaim:
        address = urlsplit(self.double.crowd.frame(assignment, worker))
        response = self._client.get(f"{address.path}?{address.query}")
        assert response.status_code == 302, response.content.decode()
        return read_visit_token(resolve(response["Location"]).kwargs["token"])

    def _answer(self, claim: VisitClaim) -> bool:
        """Answer what is given in this visit. Whether there was anything."""
        person = Enrollment.objects.select_related("study").get(pk=claim.enrollment_id)
        before, now = self.tally.answers, timezone.now()
        given = actions.assign_next_story(enrollment=person, now=now, session_id=claim.session_id)
        while isinstance(given, Assignment):
            says = builders.answers(q3="no") if self.random.random() < 0.1 else builders.ALL_YES
            _receipt, given = actions.record_vote_and_assign_next(
                assignment_id=given.pk,
                enrollment=person,
                submitted=says,
                now=now,
                session_id=claim.session_id,
            )
            self.tally.answers += 1
        return self.tally.answers > before

    def _hand_in(self, assignment: str, worker: str) -> None:
        """What the page of the frame does when its only button is pressed."""
        address = (
            urlsplit(self.double.crowd.frame(assignment, worker)) if self._holds(assignment, worker) else None
        )
        if address is None:
            return  # handed in already: the platform opens no frame any more
        arrived = self._client.get(f"{address.path}?{address.query}")
        token = resolve(arrived["Location"]).kwargs["token"]
        page = self._client.get(reverse("link:hand_in", kwargs={"token": token}))
        form = _Form(page.content.decode())
        assert form.action == f"{self.double.url}/mturk/externalSubmit", page.content.decode()
        try:
            self.double.crowd.submit(form.fields)
        except Refused:
            return
        self.tally.submitted.add((assignment, worker))

    def _holds(self, assignment: str, worker: str) -> bool:
        return self.double.crowd.state(assignment, worker) == "Accepted"

    def wait(self, by: timedelta) -> None:
        """Time passes on the platform."""
        self.double.world.clock.advance(by)
