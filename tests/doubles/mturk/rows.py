"""What MTurk knows: frozen rows in tables that remember every earlier state, so that reads can be stale."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from tests.doubles.mturk.world import World

Row = TypeVar("Row")


class Table(Generic[Row]):
    """Rows by key, in the order of their making; within ``World.as_it_was`` in an earlier state."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._states: dict[str, list[tuple[int, Row]]] = {}

    def put(self, key: str, row: Row) -> Row:
        self._states.setdefault(key, []).append((self._world.next_version(), row))
        return row

    def get(self, key: str) -> Row | None:
        states = self._states.get(key, [])
        horizon = self._world.horizon
        if horizon is None:
            return states[-1][1] if states else None
        return next((row for version, row in reversed(states) if version <= horizon), None)

    def values(self) -> list[Row]:
        rows = (self.get(key) for key in self._states)
        return [row for row in rows if row is not None]


@dataclass(frozen=True)
class Worker:
    """A person on the worker site, with the record that requirements are about."""

    worker_id: str
    approved: int = 12_000
    rejected: int = 60
    country: str = "US"
    subdivision: str = ""
    masters: bool = False
    adult: bool = False


@dataclass(frozen=True)
class HitType:
    hit_type_id: str
    group_id: str
    title: str
    description: str
    keywords: str
    reward: Decimal
    duration: int
    auto_approval_delay: int
    requirements: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Hit:
    hit_id: str
    hit_type_id: str
    created: datetime
    expires: datetime
    question: str
    url: str
    max_assignments: int
    annotation: str
    reviewing: bool = False
    disposed: bool = False


@dataclass(frozen=True)
class Assignment:
    """A seat at a HIT. Its id stays when the seat is given back and goes to the next worker."""

    assignment_id: str
    hit_id: str
    state: str = "Free"  # Free, Accepted, then what the API shows: Submitted, Approved, Rejected
    worker_id: str = ""
    accepted: datetime | None = None
    deadline: datetime | None = None
    submitted: datetime | None = None
    auto_approval: datetime | None = None
    approved: datetime | None = None
    rejected: datetime | None = None
    answer: str = ""
    feedback: str = ""


@dataclass(frozen=True)
class QualificationType:
    qualification_type_id: str
    name: str
    description: str
    keywords: str
    status: str
    created: datetime


@dataclass(frozen=True)
class Grant:
    qualification_type_id: str
    worker_id: str
    value: int | None
    granted: datetime
    status: str = "Granted"


@dataclass(frozen=True)
class Charge:
    """Money that has left the account: a reward or a bonus, and the fee on it."""

    kind: str
    worker_id: str
    assignment_id: str
    amount: Decimal
    fee: Decimal
    at: datetime
    reason: str = ""


@dataclass(frozen=True)
class UsedToken:
    """A UniqueRequestToken that was used, and what it made."""

    token: str
    made: str
    at: datetime


@dataclass(frozen=True)
class Letter:
    """A message that reached a worker: by NotifyWorkers, or about a qualification or a bonus."""

    worker_id: str
    subject: str
    text: str


@dataclass(frozen=True)
class Subscription:
    """Where and of what a requester wants to be notified."""

    destination: str
    transport: str
    version: str
    event_types: frozenset[str] = field(default_factory=frozenset)
    active: bool = True
