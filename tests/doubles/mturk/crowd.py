"""The worker's side, which is a web site and no API: finding, accepting, returning, submitting work."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from tests.doubles.mturk import questions, requirements
from tests.doubles.mturk.rows import Assignment, Hit, HitType, Worker
from tests.doubles.mturk.world import SHOWN_STATES, World

NOT_AVAILABLE = "ASSIGNMENT_ID_NOT_AVAILABLE"
RESERVED = ("assignmentId", "hitId", "turkSubmitTo", "workerId")
MOST_HELD = 25  # assignments that one worker can hold at the same time


class Refused(Exception):
    """What the worker site tells somebody who cannot do what they want."""


class Crowd:
    """What workers do. ``origin`` is the site to which pages are told to submit."""

    def __init__(self, world: World, origin: str) -> None:
        self._world, self.origin = world, origin

    def hire(self, worker: Worker | None = None) -> Worker:
        """Open a worker's account; without values it meets every common requirement but Masters."""
        world = self._world
        with world.lock:
            worker = worker or Worker(world.new_id("A", 13))
            return world.workers.put(worker.worker_id, worker)

    def available(self, worker_id: str) -> list[str]:
        """The ids of HITs that the worker sees in the list and has not done."""
        with self._world.lock:
            self._world.settle()
            worker = self._worker(worker_id)
            own = self._own(worker)
            hits = self._world.hits.values()
            return [hit.hit_id for hit in hits if self._why_not(worker, own, hit, "discover") == ""]

    def preview(self, hit_id: str, worker_id: str) -> str:
        """The address of our page in the frame of a preview: no assignment, and who looks is not said."""
        with self._world.lock:
            self._world.settle()
            hit = self._world.hit(hit_id)
            worker = self._worker(worker_id)
            if not requirements.may(self._world, worker, "preview", self._world.type_of(hit)):
                raise Refused("You do not meet the requirements for this HIT.")
            return _extended(hit.url, {"assignmentId": NOT_AVAILABLE, "hitId": hit_id})

    def accept(self, hit_id: str, worker_id: str) -> Assignment:
        """Take a seat at a HIT. A seat that somebody gave back comes first, with the id it had."""
        world = self._world
        with world.lock:
            world.settle()
            hit, worker = world.hit(hit_id), self._worker(worker_id)
            refusal = self._why_not(worker, self._own(worker), hit, "accept")
            if refusal:
                raise Refused(refusal)
            free = world.seats(hit, "Free")
            identifier = free[0].assignment_id if free else world.new_id()
            now = world.now()
            row = Assignment(
                identifier,
                hit_id,
                state="Accepted",
                worker_id=worker_id,
                accepted=now,
                deadline=now + timedelta(seconds=world.type_of(hit).duration),
            )
            world.seat(row)
            world.tell("AssignmentAccepted", hit, row)
            return row

    def frame(self, assignment_id: str, worker_id: str) -> str:
        """The address of our page in the frame, as often as the worker opens an accepted HIT."""
        with self._world.lock:
            self._world.settle()
            row = self._held(assignment_id, worker_id)
            added = {
                "assignmentId": assignment_id,
                "hitId": row.hit_id,
                "turkSubmitTo": self.origin,
                "workerId": worker_id,
            }
            return _extended(self._world.hit(row.hit_id).url, added)

    def give_back(self, assignment_id: str, worker_id: str) -> None:
        """The button "Return": the seat is free for the next worker at once."""
        with self._world.lock:
            self._world.settle()
            self._world.vacate(self._held(assignment_id, worker_id), "AssignmentReturned")

    def submit(self, fields: list[tuple[str, str]]) -> Assignment:
        """What ``/mturk/externalSubmit`` does with the fields of a form."""
        world, form = self._world, dict(fields)
        with world.lock:
            world.settle()
            row = world.assignments.get(form.get("assignmentId", ""))
            if row is None or row.state == "Free":
                raise Refused("There was a problem submitting your results for this HIT.")
            if row.state != "Accepted":
                raise Refused("This HIT was already submitted.")
            if form.get("workerId", row.worker_id) != row.worker_id:
                raise Refused("You are not working on this HIT.")
            hit, now = world.hit(row.hit_id), world.now()
            delay = timedelta(seconds=world.type_of(hit).auto_approval_delay)
            answers = {name: value for name, value in form.items() if name not in RESERVED}
            done = replace(
                row,
                state="Submitted",
                submitted=now,
                auto_approval=now + delay,
                answer=questions.form_answers(answers),
            )
            world.seat(done)
            world.tell("AssignmentSubmitted", hit, done)
            world.tell_if_reviewable(hit)
            return done

    def state(self, assignment_id: str, worker_id: str) -> str:
        """What the worker sees of an assignment: its state, or ``Gone`` when it is not theirs (any more)."""
        with self._world.lock:
            self._world.settle()
            row = self._world.assignments.get(assignment_id)
            return "Gone" if row is None or row.worker_id != worker_id else row.state

    def describe(self, hit_id: str) -> HitType:
        with self._world.lock:
            return self._world.type_of(self._world.hit(hit_id))

    def _worker(self, worker_id: str) -> Worker:
        worker = self._world.workers.get(worker_id)
        if worker is None:
            raise Refused(f"There is no worker {worker_id}.")
        return worker

    def _held(self, assignment_id: str, worker_id: str) -> Assignment:
        row = self._world.assignments.get(assignment_id)
        if row is None or row.worker_id != worker_id or row.state != "Accepted":
            raise Refused("This HIT is no longer assigned to you.")
        return row

    def _own(self, worker: Worker) -> list[Assignment]:
        return [row for row in self._world.assignments.values() if row.worker_id == worker.worker_id]

    def _why_not(self, worker: Worker, own: list[Assignment], hit: Hit, action: str) -> str:
        world = self._world
        here = {row.state for row in own if row.hit_id == hit.hit_id}
        if world.status(hit) != "Assignable":
            return "There are no more of these HITs available."
        if here & {"Accepted", *SHOWN_STATES}:
            return "You have already worked on this HIT."
        if action == "accept" and sum(row.state == "Accepted" for row in own) >= MOST_HELD:
            return f"You have accepted {MOST_HELD} HITs; finish one first."
        if not requirements.may(world, worker, action, world.type_of(hit)):
            return "You do not meet the requirements for this HIT."
        return ""


def _extended(url: str, added: dict[str, str]) -> str:
    """An address with parameters appended as MTurk does: those that it has stay as they are."""
    parts = urlsplit(url)
    query = urlencode([*parse_qsl(parts.query, keep_blank_values=True), *added.items()])
    return urlunsplit(parts._replace(query=query))
