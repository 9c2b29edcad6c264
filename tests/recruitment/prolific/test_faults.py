"""A whole campaign while every fifth request goes wrong: every piece of work is paid once, to the cent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import TypeVar
from uuid import UUID

import pytest

from recruitment.marketplace import BonusRequest, Group, Refused, Status, Unreachable
from tests.doubles.prolific import ProlificDouble
from tests.recruitment.prolific.conftest import OFFER, Lab, posting_of

T = TypeVar("T")
PEOPLE = 40


def persist(ask: Callable[[], T], *, times: int = 40) -> T:
    """Ask again until Prolific has answered, as the sweep does."""
    for _time in range(times):
        try:
            return ask()
        except Unreachable:
            continue
    raise AssertionError("Prolific never answered")


@dataclass
class Owed:
    """A bonus as a payment's row keeps it."""

    request: BonusRequest
    state: str = "requested"

    def send(self, lab: Lab) -> None:
        """One try, with the bookkeeping of ``recruitment.actions.payments``."""
        maybe_paid = self.state == "sending"
        self.state = "sending"
        try:
            if not self.request.remote_id:
                self.request = replace(self.request, remote_id=lab.prolific.prepare_bonus(self.request))
            lab.prolific.bonus(replace(self.request, maybe_paid=maybe_paid))
        except Unreachable as trouble:
            if not trouble.maybe_done:
                self.state = "requested"
        except Refused as refused:
            self.state = "look" if refused.code == "NOT_SHOWN" else refused.code
        else:
            self.state = "done"


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.torture)])
def test_every_submission_is_approved_once_and_no_bonus_is_paid_twice(seed: int) -> None:
    with ProlificDouble(seed=seed) as double:
        double.faults.rate = 0.2
        lab = Lab(double)
        group = persist(lambda: lab.prolific.ensure_group(Group.QUALIFIED, reference="stories"))
        people = [double.join() for _person in range(PEOPLE)]
        for person in people:
            persist(partial(lab.prolific.add_to_group, group, person))
        assert set(lab.platform.groups[group].members) == set(people)
        assert len(lab.platform.groups) == 1

        offer = replace(OFFER, seats=PEOPLE, seats_per_posting=PEOPLE, needs_group=group)
        study = persist(lambda: lab.prolific.prepare(offer))
        persist(lambda: lab.prolific.post(offer, study, posting_of(offer)))
        double.settle()
        for number, person in enumerate(people):
            submission = double.start(person, study).submission
            if number % 8 == 0:
                double.give_back(submission)
            else:
                double.complete(submission, "C-DONE")
        double.settle()

        work = persist(lambda: lab.prolific.work(study, study))
        handed_in = [piece for piece in work if piece.status is Status.SUBMITTED]
        assert len(work) == PEOPLE
        assert Counter(piece.status for piece in work)[Status.RETURNED] == PEOPLE // 8
        for piece in handed_in:
            persist(partial(lab.prolific.approve, piece.remote_id, person=piece.person))
        bonuses = pay_all(lab, [owed_to(lab, piece.remote_id, piece.person) for piece in handed_in])
        persist(lambda: lab.prolific.end(study, study))
        double.settle()

        paid = Counter((entry.kind, entry.submission) for entry in lab.platform.ledger)
        assert {key for key in paid if key[0] == "reward"} == {("reward", p.remote_id) for p in handed_in}
        assert max(paid.values()) == 1
        shown = {entry.submission for entry in lab.platform.ledger if entry.kind == "bonus"}
        assert shown == {owed.request.submission for owed in bonuses if owed.state == "done"}
        lost = [owed for owed in bonuses if owed.state == "look"]
        assert len(lost) + len(shown) == len(handed_in)
        assert len(lost) < len(handed_in) // 4
        spent = len(handed_in) * Decimal("3.50") + len(shown) * Decimal("0.70")
        assert persist(lab.prolific.balance) == Decimal("10000.00") - spent
        assert sum(double.faults.done.values()) > 50


def owed_to(lab: Lab, submission: str, person: str) -> Owed:
    now = lab.platform.clock.now()
    return Owed(BonusRequest(submission, person, Decimal("0.50"), "Thank you", UUID(int=1), now))


def pay_all(lab: Lab, bonuses: list[Owed]) -> list[Owed]:
    """Until each is paid, or nobody can say and somebody has to look."""
    for _hour in range(30):
        for owed in bonuses:
            if owed.state in ("requested", "sending"):
                owed.send(lab)
        lab.double.settle()
        lab.platform.clock.advance(hours=1)
    assert {owed.state for owed in bonuses} <= {"done", "look"}
    return bonuses
