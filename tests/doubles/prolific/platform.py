"""The platform's state: studies, submissions, money, groups, and the rules by which they change."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from tests.doubles.prolific import rules
from tests.doubles.prolific.hooks import Hooks
from tests.doubles.prolific.rules import Refused
from tests.doubles.prolific.signing import Signer

RESERVED_FOR = timedelta(minutes=10)
"""How long a place is kept for somebody who has not opened the study."""


@dataclass
class Clock:
    """The present, and how far a test has moved it."""

    ahead: timedelta = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def advance(self, **by: float) -> None:
        """As ``timedelta`` takes it: ``advance(minutes=3)``."""
        self.ahead += timedelta(**by)


@dataclass(frozen=True)
class Entry:
    """Money that left the workspace: what for, to whom, in cents, with Prolific's fee and its VAT."""

    kind: str
    submission: str
    participant: str
    cents: int
    fees: int

    @property
    def total(self) -> int:
        return self.cents + self.fees


@dataclass
class Submission:
    id: str
    study: str
    participant: str
    address: str
    reserved_at: datetime
    status: str = "RESERVED"
    started_at: datetime | None = None
    completed_at: datetime | None = None
    entered_code: str | None = None
    return_requested: datetime | None = None
    rejection: tuple[str, str] | None = None
    bonus_payments: list[int] = field(default_factory=list)


@dataclass
class Study:
    id: str
    fields: dict[str, Any]
    created: datetime
    status: str = "UNPUBLISHED"
    published_at: datetime | None = None
    stopped: bool = False
    submissions: list[Submission] = field(default_factory=list)

    @property
    def places(self) -> int:
        return int(self.fields["total_available_places"])

    @property
    def taken(self) -> int:
        """Places that nobody else can have."""
        free = rules.SUBMISSION_OVER | {"SCREENED OUT"}
        return sum(submission.status not in free for submission in self.submissions)


@dataclass
class Group:
    id: str
    name: str
    description: str
    members: dict[str, datetime] = field(default_factory=dict)


@dataclass
class Bulk:
    """Bonuses that were set up; each payment of it pays all of them."""

    id: str
    study: str
    lines: list[tuple[Submission, int]]


class Platform:
    """One workspace of Prolific and its participants. Everything happens under the server's lock."""

    def __init__(
        self, *, seed: int, balance: int, fee_rate: Decimal, vat_rate: Decimal, insecure: bool
    ) -> None:
        self.clock = Clock()
        self.currency = "GBP"
        self.opening_balance = balance
        self.fee_rate = fee_rate
        self.vat_rate = vat_rate
        self.insecure = insecure
        """Whether addresses may be http, as they are on loopback."""
        self.keeps_parameters = True
        """Whether a signed address has its parameters beside the token."""
        self.participants: dict[str, dict[str, Any]] = {}
        self.studies: dict[str, Study] = {}
        self.submissions: dict[str, Submission] = {}
        self.groups: dict[str, Group] = {}
        self.bulks: dict[str, Bulk] = {}
        self.ledger: list[Entry] = []
        self.signer = Signer()
        self._seed = seed
        self._made = 0
        self._later: list[tuple[int, Callable[[], None]]] = []
        self.workspace_id = self.new_id("workspace")
        self.project_id = self.new_id("project")
        self.hooks = Hooks(self.workspace_id, self.new_id, self.clock.now)

    def new_id(self, kind: str) -> str:
        """An id like Prolific's: 24 hexadecimal digits, the same ones for the same seed."""
        self._made += 1
        return hashlib.sha256(f"{self._seed}:{kind}:{self._made}".encode()).hexdigest()[:24]

    # -- time

    def later(self, requests: int, happens: Callable[[], None]) -> None:
        """Something that takes a while: it has happened once so many more requests have come."""
        self._later.append((requests, happens))

    def settle(self, *, request: bool = True) -> None:
        """What has become due by now."""
        waiting, self._later = self._later, []
        for requests, happens in waiting:
            if requests > 0 or not request:
                self._later.append((requests - request, happens))
            else:
                happens()
        for submission in self.submissions.values():
            if submission.status in ("RESERVED", "ACTIVE") and self.clock.now() > self._deadline(submission):
                self.move(submission, "TIMED-OUT")

    def _deadline(self, submission: Submission) -> datetime:
        if submission.started_at is None:
            return submission.reserved_at + RESERVED_FOR
        minutes = self.studies[submission.study].fields["maximum_allowed_time"]
        return submission.started_at + timedelta(minutes=minutes)

    # -- money

    def cost(self, cents: int) -> tuple[int, int]:
        """Prolific's fee for a payment and the VAT on that fee, each to the cent."""
        fee = (cents * self.fee_rate).quantize(Decimal(1), ROUND_HALF_UP)
        vat = (fee * self.vat_rate).quantize(Decimal(1), ROUND_HALF_UP)
        return int(fee), int(vat)

    @property
    def balance(self) -> int:
        return self.opening_balance - sum(entry.total for entry in self.ledger)

    @property
    def available(self) -> int:
        """The balance without what studies that are out may still cost."""
        return self.balance - sum(map(self._held, self.studies.values()))

    def _held(self, study: Study) -> int:
        if study.status == "UNPUBLISHED":
            return 0
        open_places = 0 if study.stopped else study.places - study.taken
        unpaid = sum(
            submission.status not in rules.SUBMISSION_PAID | rules.SUBMISSION_OVER
            for submission in study.submissions
        )
        return (open_places + unpaid) * self._price(study)

    def _price(self, study: Study) -> int:
        return int(study.fields["reward"]) + sum(self.cost(study.fields["reward"]))

    def pay(self, kind: str, submission: Submission, cents: int) -> None:
        """Money leaves; it was held when the study went out, or looked for when a bonus was asked for."""
        self.ledger.append(Entry(kind, submission.id, submission.participant, cents, sum(self.cost(cents))))

    # -- studies

    def publish(self, study: Study) -> None:
        if study.places * self._price(study) > self.available:
            raise Refused("You do not have enough funds to publish this study.")
        study.published_at = self.clock.now()
        self.later(0, lambda: self.move_study(study, "ACTIVE"))

    def move_study(self, study: Study, status: str) -> None:
        if study.status != status:
            study.status = status
            self.hooks.emit("study.status.change", study.id, status=status, metadata={})

    def refresh(self, study: Study) -> None:
        """The status that follows from the submissions."""
        if study.stopped or study.status not in ("ACTIVE", "AWAITING REVIEW", "COMPLETED"):
            return
        statuses = [s.status for s in study.submissions if s.status not in rules.SUBMISSION_OVER]
        if study.taken < study.places or {"RESERVED", "ACTIVE", "PROCESSING"} & set(statuses):
            self.move_study(study, "ACTIVE")
        else:
            self.move_study(study, "AWAITING REVIEW" if "AWAITING REVIEW" in statuses else "COMPLETED")

    # -- submissions

    def move(self, submission: Submission, status: str) -> None:
        submission.status = status
        if status != "PROCESSING":
            self.hooks.emit(
                "submission.status.change",
                submission.id,
                participant_id=submission.participant,
                status=status,
            )
        self.refresh(self.studies[submission.study])

    def approve(self, submission: Submission) -> None:
        if submission.status == "APPROVED":
            return
        if submission.status != "AWAITING REVIEW":
            raise Refused(f"Submission {submission.id} is not awaiting review: {submission.status}.")
        self.pay("reward", submission, self.studies[submission.study].fields["reward"])
        self.move(submission, "APPROVED")

    def reject(self, submission: Submission, message: str, category: str) -> None:
        if submission.status == "REJECTED":
            return
        if submission.status != "AWAITING REVIEW":
            raise Refused(f"Submission {submission.id} is not awaiting review: {submission.status}.")
        submission.rejection = (message, category)
        self.move(submission, "REJECTED")

    def unreject(self, submission: Submission) -> None:
        """It waits for a decision again. The reference names the action only: that is our reading of it."""
        if submission.status != "REJECTED":
            raise Refused(f"Submission {submission.id} is not rejected: {submission.status}.")
        submission.rejection = None
        self.move(submission, "AWAITING REVIEW")

    def finish(self, submission: Submission, code: str | None, actor: str = "participant") -> None:
        """The submission is handed in, with a code or none; what the code says happens a little later."""
        if submission.status != "ACTIVE":
            raise Refused(f"Submission {submission.id} is {submission.status}.")
        codes = self.studies[submission.study].fields["completion_codes"]
        known = [
            entry for entry in codes if entry["code"] == code and entry.get("actor", "participant") == actor
        ]
        if actor == "researcher" and not known:
            raise Refused({"completion_code": ["Not a code of this study for researchers."]})
        submission.completed_at = self.clock.now()
        submission.entered_code = code or "NOCODE"
        self.move(submission, "PROCESSING")
        actions = known[0]["actions"] if known else []
        self.later(1, lambda: self._act(submission, actions))

    def _act(self, submission: Submission, actions: list[dict[str, Any]]) -> None:
        if submission.status != "PROCESSING":
            return
        status = "AWAITING REVIEW"
        for action in actions:
            kind = action["action"]
            if kind == "ADD_TO_PARTICIPANT_GROUP":
                members = self.groups[action["participant_group"]].members
                members.setdefault(submission.participant, self.clock.now())
            elif kind == "REMOVE_FROM_PARTICIPANT_GROUP":
                self.groups[action["participant_group"]].members.pop(submission.participant, None)
            elif kind == "REQUEST_RETURN":
                submission.return_requested = self.clock.now()
            elif kind == "AUTOMATICALLY_APPROVE":
                self.pay("reward", submission, self.studies[submission.study].fields["reward"])
                status = "APPROVED"
            elif kind == "FIXED_SCREEN_OUT_PAYMENT":
                self.pay("screen-out", submission, action["fixed_screen_out_reward"])
                status = "SCREENED OUT"
        self.move(submission, status)
        if status == "SCREENED OUT":
            self._count_screen_outs(self.studies[submission.study])

    def _count_screen_outs(self, study: Study) -> None:
        """Pause a study whose slots for screen-outs are used up while it has free places."""
        slots = rules.screen_outs(study.fields)[0]["slots"]
        used = sum(submission.status == "SCREENED OUT" for submission in study.submissions)
        if study.status == "ACTIVE" and used >= slots and study.taken < study.places:
            self.move_study(study, "PAUSED")

    def pay_bulk(self, bulk: Bulk) -> None:
        """Bonuses leave one after the other, some time after they were asked for."""
        for submission, cents in bulk.lines:
            self.pay("bonus", submission, cents)
            submission.bonus_payments.append(cents)

    # -- participants

    def visible(self, participant: str) -> list[Study]:
        """The studies that a participant is shown, oldest first."""
        return [study for study in self.studies.values() if self._may_start(participant, study)]

    def _may_start(self, participant: str, study: Study) -> bool:
        config = study.fields["submissions_config"] or {}
        most = config.get("max_submissions_per_participant") or 1
        at_once = config.get("max_concurrent_submissions") or -1
        mine = sum(submission.participant == participant for submission in study.submissions)
        under_way = sum(submission.status in ("RESERVED", "ACTIVE") for submission in study.submissions)
        members = {group.id: group.members for group in self.groups.values()}
        return (
            study.status == "ACTIVE"
            and study.taken < study.places
            and (most == -1 or mine < most)
            and (at_once == -1 or under_way < at_once)
            and rules.is_eligible(
                participant, self.participants[participant], study.fields["filters"], members
            )
        )

    def reserve(self, participant: str, study: Study) -> Submission:
        if study not in self.visible(participant):
            raise Refused(f"Participant {participant} is not shown study {study.id}.", 403, "Forbidden")
        made = Submission(
            id=self.new_id("submission"),
            study=study.id,
            participant=participant,
            address=self._next_address(study),
            reserved_at=self.clock.now(),
        )
        self.submissions[made.id] = made
        study.submissions.append(made)
        self.move(made, "RESERVED")
        return made

    def _next_address(self, study: Study) -> str:
        """Of several addresses, the one that has most places left."""
        used = [s.address for s in study.submissions if s.status not in rules.SUBMISSION_OVER]
        details = study.fields["access_details"] or [
            {"external_url": study.fields["external_study_url"], "total_allocation": study.places}
        ]
        left = {detail["external_url"]: detail["total_allocation"] for detail in details}
        chosen: str = max(left, key=lambda url: left[url] - used.count(url))
        return chosen

    def open(self, submission: Submission) -> str:
        """The participant opens the study; the address that they are sent to, new for each opening."""
        if submission.status == "RESERVED":
            submission.started_at = self.clock.now()
            self.move(submission, "ACTIVE")
        if submission.status != "ACTIVE":
            raise Refused(f"Submission {submission.id} is {submission.status}.")
        filled = {
            "PROLIFIC_PID": submission.participant,
            "STUDY_ID": submission.study,
            "SESSION_ID": submission.id,
        }
        address = re.sub(r"\{\{%(\w+)%\}\}", lambda found: filled[found[1]], submission.address)
        if not self.studies[submission.study].fields["is_external_study_url_secure"]:
            return address
        return self.signer.address(
            address,
            session=submission.id,
            workspace=self.workspace_id,
            now=self.clock.now(),
            keeps_parameters=self.keeps_parameters,
        )

    def give_back(self, submission: Submission) -> None:
        """The participant returns it, and is not paid for it."""
        if submission.status not in ("RESERVED", "ACTIVE", "PROCESSING", "AWAITING REVIEW"):
            raise Refused(f"Submission {submission.id} is {submission.status}.")
        self.move(submission, "RETURNED")
