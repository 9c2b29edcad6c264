"""The state of one MTurk environment: one lock, one clock that can be moved, one source of ids."""

from __future__ import annotations

import copy
import string
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from tests.doubles.mturk import errors, fees
from tests.doubles.mturk.events import Post
from tests.doubles.mturk.rows import (
    Assignment,
    Charge,
    Grant,
    Hit,
    HitType,
    Letter,
    QualificationType,
    Table,
    UsedToken,
    Worker,
)

TOKEN_LIFE = timedelta(hours=24)
ALPHABET = string.ascii_uppercase + string.digits
SHOWN_STATES = ("Submitted", "Approved", "Rejected")
"""Only assignments in these states exist for the requester."""


class Clock:
    """Real time plus what it was moved by."""

    def __init__(self) -> None:
        self._ahead = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def advance(self, by: timedelta) -> None:
        self._ahead += by


class World:
    """Everything that one environment (``production`` or ``sandbox``) knows. Hold ``lock`` to touch it."""

    def __init__(self, *, environment: str, deposit: Decimal, seed: int) -> None:
        self.environment, self.deposit = environment, deposit
        self.looks_at_money_first = False
        """Whether a bonus beyond the balance is refused before its token is known; not documented."""
        self.lock = threading.RLock()
        self.clock = Clock()
        self.random = Random(seed)
        self.post = Post(Random(seed + 1))
        self.version, self.horizon = 0, None  # type: int, int | None
        self.workers: Table[Worker] = Table(self)
        self.hit_types: Table[HitType] = Table(self)
        self.hits: Table[Hit] = Table(self)
        self.assignments: Table[Assignment] = Table(self)
        self._seats: dict[str, list[str]] = {}  # by HIT, so that a list of thousands of HITs takes no minutes
        self.qualification_types: Table[QualificationType] = Table(self)
        self.grants: Table[Grant] = Table(self)
        self.charges: Table[Charge] = Table(self)
        self.tokens: Table[UsedToken] = Table(self)
        self.letters: list[Letter] = []
        self.requester_id = self.new_id("A", 13)

    def now(self) -> datetime:
        return self.clock.now()

    def state(self) -> dict[str, Any]:
        """Return a copy of everything that is known, which :meth:`put_back` takes."""
        known = {name: value for name, value in vars(self).items() if name != "lock"}
        return copy.deepcopy(known, {id(self): self})

    def put_back(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def new_id(self, first: str = "3", length: int = 29) -> str:
        """An id as MTurk writes them: upper case letters and digits."""
        return first + "".join(self.random.choices(ALPHABET, k=length))

    def next_version(self) -> int:
        self.version += 1
        return self.version

    @contextmanager
    def as_it_was(self, writes_ago: int) -> Iterator[None]:
        """Read what was true before the last ``writes_ago`` changes."""
        self.horizon = max(0, self.version - writes_ago)
        try:
            yield
        finally:
            self.horizon = None

    def hit(self, hit_id: str) -> Hit:
        hit = self.hits.get(hit_id)
        if hit is None:
            raise errors.does_not_exist("HIT", hit_id)
        return hit

    def type_of(self, hit: Hit) -> HitType:
        found = self.hit_types.get(hit.hit_type_id)
        assert found is not None
        return found

    def seats(self, hit: Hit, *states: str) -> list[Assignment]:
        """The assignments of a HIT that are in one of these states."""
        rows = (self.assignments.get(seat) for seat in self._seats.get(hit.hit_id, ()))
        return [row for row in rows if row is not None and row.state in states]

    def seat(self, row: Assignment) -> Assignment:
        """Put an assignment into its new state."""
        seats = self._seats.setdefault(row.hit_id, [])
        if row.assignment_id not in seats:
            seats.append(row.assignment_id)
        return self.assignments.put(row.assignment_id, row)

    def taken(self, hit: Hit) -> int:
        """How many of its assignments nobody else can accept."""
        return len(self.seats(hit, "Accepted", *SHOWN_STATES))

    def status(self, hit: Hit) -> str:
        """A HIT's status, which follows from its seats and the time."""
        if hit.disposed:
            return "Disposed"
        if hit.reviewing:
            return "Reviewing"
        if hit.expires > self.now() and self.taken(hit) < hit.max_assignments:
            return "Assignable"
        return "Unassignable" if self.seats(hit, "Accepted") else "Reviewable"

    def made_by(self, operation: str, token: str | None) -> str | None:
        """What a request token has made within the last 24 hours; None when it is free."""
        used = self.tokens.get(f"{operation} {token}")
        return None if used is None or self.now() - used.at >= TOKEN_LIFE else used.made

    def remember(self, operation: str, token: str | None, made: str) -> None:
        """Keep what a request token made. MTurk does so only when the request was carried out."""
        if token is not None:
            self.tokens.put(f"{operation} {token}", UsedToken(token, made, self.now()))

    def tell(self, event_type: str, hit: Hit, assignment: Assignment | None = None) -> None:
        """Notify whoever subscribed to this kind of event of the HIT's type."""
        event = {
            "EventType": event_type,
            "EventTimestamp": self.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
            "HITId": hit.hit_id,
            "HITTypeId": hit.hit_type_id,
            "HITGroupId": self.type_of(hit).group_id,
        }
        if assignment is not None:
            event |= {"AssignmentId": assignment.assignment_id, "WorkerId": assignment.worker_id}
        self.post.add(hit.hit_type_id, event, customer=self.requester_id)

    def settle(self) -> None:
        """Let happen what time alone brings: abandoned work, automatic approvals."""
        now = self.now()
        for row in self.assignments.values():
            if row.state == "Accepted" and row.deadline is not None and row.deadline <= now:
                self.vacate(row, "AssignmentAbandoned")
            elif row.state == "Submitted" and row.auto_approval is not None and row.auto_approval <= now:
                self.approve(row, at=row.auto_approval, feedback="")

    def vacate(self, assignment: Assignment, event_type: str) -> None:
        """Free a seat. The id stays and goes to the next worker who accepts the HIT."""
        hit = self.hit(assignment.hit_id)
        self.seat(Assignment(assignment.assignment_id, assignment.hit_id))
        self.tell(event_type, hit, assignment)
        self.tell_if_reviewable(hit)

    def tell_if_reviewable(self, hit: Hit) -> None:
        if self.status(hit) == "Reviewable":
            self.tell("HITReviewable", hit)

    def approve(self, assignment: Assignment, *, at: datetime, feedback: str) -> None:
        """Pay the reward and its fee out of what was held for it."""
        hit = self.hit(assignment.hit_id)
        reward = self.type_of(hit).reward
        fee = fees.of_reward(self.type_of(hit), hit.max_assignments)
        charge = Charge("reward", assignment.worker_id, assignment.assignment_id, reward, fee, at)
        self.charges.put(f"reward {assignment.assignment_id}", charge)
        row = replace(assignment, state="Approved", approved=at, rejected=None, feedback=feedback)
        self.seat(row)
        self.tell("AssignmentApproved", hit, row)
