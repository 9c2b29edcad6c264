"""Our adapter against the double: what is done once stays done once, whatever happens on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any, TypeVar
from uuid import uuid4

import pytest

from recruitment.marketplace import (
    BonusRequest,
    Group,
    Marketplace,
    NotConfigured,
    NotEnoughMoney,
    PostingRequest,
    Refused,
    Status,
    Unreachable,
)
from recruitment.mturk.marketplace import MechanicalTurk
from tests.doubles.mturk import account
from tests.doubles.mturk.client import marketplace_for
from tests.doubles.mturk.crowd import Refused as WorkerRefused
from tests.doubles.mturk.faults import Fault
from tests.doubles.mturk.qualifications import members
from tests.doubles.mturk.rows import Assignment, Worker
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.mturk.offers import offer

Result = TypeVar("Result")


@pytest.fixture
def double() -> Iterator[MTurkDouble]:
    with MTurkDouble() as running:
        yield running
    assert running.defects == []


@pytest.fixture
def turk(double: MTurkDouble) -> MechanicalTurk:
    return marketplace_for(double)


def request(double: MTurkDouble, number: int = 1, seats: int = 3) -> PostingRequest:
    return PostingRequest(number, seats, uuid4(), double.world.now())


def posted(double: MTurkDouble, turk: MechanicalTurk, *, seats: int = 3) -> tuple[str, str]:
    """The ids of a HIT type and of a HIT."""
    wanted = offer(seats=seats, seats_per_posting=seats)
    kind = turk.prepare(wanted)
    return kind, turk.post(wanted, kind, request(double, seats=seats))


def handed_in(double: MTurkDouble, hit: str, receipt: str = "r") -> Assignment:
    worker = double.crowd.hire().worker_id
    seat = double.crowd.accept(hit, worker).assignment_id
    return double.crowd.submit([("assignmentId", seat), ("workerId", worker), ("receipt", receipt)])


def bonus(double: MTurkDouble, work: Assignment, **other: object) -> BonusRequest:
    values: dict[str, Any] = {
        "submission": work.assignment_id,
        "person": work.worker_id,
        "amount": Decimal("0.40"),
        "reason": "It took longer.",
        "token": uuid4(),
        "first_sent_at": double.world.now(),
    }
    return BonusRequest(**{**values, **other})


def insist(call: Callable[[], Result]) -> Result:
    """Ask until there is an answer, as the sweeps do."""
    for _ in range(50):
        try:
            return call()
        except Unreachable:
            continue
    raise AssertionError("no answer in fifty attempts")


def test_a_hit_is_made_once_through_lost_answers_and_lost_days(
    double: MTurkDouble, turk: MechanicalTurk
) -> None:
    wanted = offer()
    kind = turk.prepare(wanted)
    assert kind == turk.prepare(wanted)
    first, second = request(double, 1), request(double, 2)
    for fault in (Fault.AFTER, Fault.DROPPED):
        double.faults.next["CreateHITWithHITType"] = [fault]
        with pytest.raises(Unreachable):
            turk.post(wanted, kind, first)
    hit = turk.post(wanted, kind, first)
    assert double.calls["ListHITs"] == 0  # the refusal names the HIT
    double.faults.next["CreateHITWithHITType"] = [Fault.AFTER]
    with pytest.raises(Unreachable):
        turk.post(wanted, kind, second)
    double.world.clock.advance(timedelta(hours=25))  # the token is forgotten, the HIT is not
    other = turk.post(wanted, kind, second)
    third = PostingRequest(3, 3, uuid4(), first.first_asked_at)
    double.faults.next["CreateHITWithHITType"] = [Fault.AFTER]
    with pytest.raises(Unreachable):
        turk.post(wanted, kind, third)  # looked for, not found, made, and not heard of
    double.faults.longest_lag = 1
    double.faults.next["GetHIT"] = [Fault.STALE]
    last = turk.post(wanted, kind, third)

    made = double.world.hits.values()
    assert [one.hit_id for one in made] == [hit, other, last]
    assert [one.url for one in made] == [wanted.entry_url] * 3
    assert made[0].max_assignments == 3
    assert double.world.type_of(made[0]).auto_approval_delay == 14 * 86_400


def test_only_those_who_may_see_the_hits_and_groups_are_given_once(
    double: MTurkDouble, turk: MechanicalTurk
) -> None:
    double.faults.next["CreateQualificationType"] = [Fault.AFTER]
    with pytest.raises(Unreachable):
        turk.ensure_group(Group.QUALIFIED, reference="simpletom")
    qualified = turk.ensure_group(Group.QUALIFIED, reference="simpletom")
    incomplete = turk.ensure_group(Group.INCOMPLETE, reference="simpletom")
    assert qualified == turk.ensure_group(Group.QUALIFIED, reference="simpletom")
    wanted = offer(needs_group=qualified, excludes_groups=(incomplete,))
    hit = turk.post(wanted, turk.prepare(wanted), request(double))
    passed, left, stranger = (double.crowd.hire().worker_id for _ in range(3))
    poor = double.crowd.hire(Worker("APOOR", approved=11_000, rejected=900)).worker_id
    for person in (passed, left, poor, passed):
        turk.add_to_group(qualified, person)
    turk.add_to_group(incomplete, left)

    assert members(double.world, qualified) == {passed, left, poor}
    assert [double.crowd.available(one) for one in (passed, left, stranger, poor)] == [[hit], [], [], []]
    for _ in range(2):
        turk.remove_from_group(incomplete, left)
    assert double.crowd.available(left) == [hit]
    assert double.world.letters == []  # nobody was sent a mail
    with pytest.raises(Refused) as caught:
        turk.add_to_group(qualified, "ANOBODYATALL1")
    assert "ANOBODYATALL1" not in str(caught.value)


def test_work_is_listed_from_all_pages_with_its_author_and_receipt(
    double: MTurkDouble, turk: MechanicalTurk
) -> None:
    kind, hit = posted(double, turk, seats=103)
    works = [handed_in(double, hit, f"r{number}") for number in range(102)]
    held = double.crowd.accept(hit, double.crowd.hire().worker_id)
    turk.approve(works[0].assignment_id, person=works[0].worker_id)
    turk.reject(works[1].assignment_id, person=works[1].worker_id, reason="Empty.")
    listed = turk.work(kind, hit)
    assert turk.work(kind, "3GONE") == []

    assert [(one.remote_id, one.person, one.receipt) for one in listed] == [
        (work.assignment_id, work.worker_id, f"r{number}") for number, work in enumerate(works)
    ]
    assert [one.status for one in listed[:3]] == [Status.APPROVED, Status.REJECTED, Status.SUBMITTED]
    assert {one.posting for one in listed} == {hit}
    assert turk.one_work(held.assignment_id) is None
    last = turk.one_work(works[-1].assignment_id)
    assert last is not None
    assert (last.submitted_at, last.person) == (works[-1].submitted, works[-1].worker_id)


def test_of_many_hits_only_those_are_asked_about_where_something_was_handed_in(
    double: MTurkDouble, turk: MechanicalTurk
) -> None:
    wanted = offer(seats=303)
    kind = turk.prepare(wanted)
    requests = [request(double, number) for number, _ in enumerate(wanted.postings)]
    hits = [turk.post(wanted, kind, one) for one in requests]
    waiting, decided, _ = (handed_in(double, hits[place]) for place in (100, 7, 7))
    turk.approve(decided.assignment_id, person=decided.worker_id)
    double.crowd.accept(hits[50], double.crowd.hire().worker_id)
    double.calls.clear()
    listed = [work for one in turk.worth_asking(kind, hits) for work in turk.work(kind, one)]

    assert Counter(one.posting for one in listed) == {hits[7]: 2, hits[100]: 1}
    assert waiting.worker_id in {one.person for one in listed}
    # Two pages that have HITs or work on them end with an empty one.
    assert double.calls == {"ListHITs": 3, "ListAssignmentsForHIT": 4}


def test_a_decision_is_about_one_person_and_falls_once(double: MTurkDouble, turk: MechanicalTurk) -> None:
    _, hit = posted(double, turk)
    first = double.crowd.hire().worker_id
    seat = double.crowd.accept(hit, first).assignment_id
    with pytest.raises(Unreachable):
        turk.approve(seat, person=first)  # not handed in yet
    double.crowd.give_back(seat, first)
    work = handed_in(double, hit)
    assert work.assignment_id == seat
    with pytest.raises(Refused) as other:
        turk.approve(seat, person=first)
    assert other.value.code == "OtherWorker"

    double.faults.next["ApproveAssignment"] = [Fault.DROPPED]
    with pytest.raises(Unreachable):
        turk.approve(seat, person=work.worker_id)
    double.faults.longest_lag = 1
    double.faults.next["GetAssignment"] = [Fault.STALE]  # still submitted, as it seems
    turk.approve(seat, person=work.worker_id)
    turk.approve(seat, person=work.worker_id)
    with pytest.raises(Refused, match="approved already"):
        turk.reject(seat, person=work.worker_id, reason="Too late.")

    poor = handed_in(double, hit)
    for _ in range(2):
        turk.reject(poor.assignment_id, person=poor.worker_id, reason="Empty.")
    with pytest.raises(Refused, match="rejected already"):
        turk.approve(poor.assignment_id, person=poor.worker_id)
    assert account.spent(double.world) == Decimal("0.30")


def test_a_rejection_is_overturned_once_for_its_author_and_for_thirty_days(
    double: MTurkDouble, turk: MechanicalTurk
) -> None:
    _, hit = posted(double, turk)
    work, late = handed_in(double, hit), handed_in(double, hit)
    for one in (work, late):
        turk.reject(one.assignment_id, person=one.worker_id, reason="Empty.")
    with pytest.raises(Refused) as other:
        turk.overturn(work.assignment_id, person=late.worker_id)
    assert other.value.code == "OtherWorker"
    double.faults.next["ApproveAssignment"] = [Fault.DROPPED]
    with pytest.raises(Unreachable):
        turk.overturn(work.assignment_id, person=work.worker_id)
    double.faults.longest_lag = 1
    double.faults.next["GetAssignment"] = [Fault.STALE]  # still rejected, as it seems
    for _ in range(2):
        turk.overturn(work.assignment_id, person=work.worker_id)
    double.world.clock.advance(timedelta(days=31))
    with pytest.raises(Refused, match="within 30 days"):
        turk.overturn(late.assignment_id, person=late.worker_id)
    assert account.spent(double.world) == Decimal("0.30")


def test_a_bonus_is_paid_once_through_lost_answers_and_lost_days(
    double: MTurkDouble, turk: MechanicalTurk
) -> None:
    _, hit = posted(double, turk)
    work = handed_in(double, hit)
    one, twin = bonus(double, work), bonus(double, work)
    double.faults.next["SendBonus"] = [Fault.AFTER, Fault.DROPPED]
    for _ in range(2):
        with pytest.raises(Unreachable):
            turk.bonus(one)
    double.faults.longest_lag = 1
    double.faults.next["ListBonusPayments"] = [Fault.STALE]
    with pytest.raises(Unreachable, match="not show it yet"):
        turk.bonus(one)
    turk.bonus(one)
    double.world.clock.advance(timedelta(hours=25))
    turk.bonus(one)
    turk.bonus(twin)  # the same amount for the same work, and yet another bonus

    paid = [charge for charge in double.world.charges.values() if charge.kind == "bonus"]
    assert len(paid) == 2
    assert paid[0].reason.startswith("It took longer. [")
    with pytest.raises(Refused):
        turk.bonus(bonus(double, work, person="ASOMEBODY"))
    with pytest.raises(NotEnoughMoney):
        turk.bonus(bonus(double, work, amount=Decimal(1000)))


def test_a_bonus_that_took_the_last_money_is_not_refused_for_want_of_it(
    double: MTurkDouble, turk: MechanicalTurk
) -> None:
    """Nor paid once more under a new token, by somebody who believed the refusal."""
    _, hit = posted(double, turk)
    work = handed_in(double, hit)
    double.world.looks_at_money_first = True
    double.world.deposit = account.held(double.world) + Decimal("0.50")
    last = bonus(double, work)
    double.faults.next["SendBonus"] = [Fault.AFTER]
    with pytest.raises(Unreachable):
        turk.bonus(last)
    turk.bonus(last)
    with pytest.raises(NotEnoughMoney):
        turk.bonus(bonus(double, work))
    double.world.deposit += 100
    turk.bonus(bonus(double, work, earlier_tokens=(uuid4(), last.token)))
    assert len([charge for charge in double.world.charges.values() if charge.kind == "bonus"]) == 1
    turk.bonus(bonus(double, work, earlier_tokens=(uuid4(),)))
    assert len([charge for charge in double.world.charges.values() if charge.kind == "bonus"]) == 2


def test_hits_are_paused_resumed_widened_and_ended(double: MTurkDouble, turk: MechanicalTurk) -> None:
    kind, hit = posted(double, turk)
    person = double.crowd.hire().worker_id
    until = double.world.now() + timedelta(days=2)
    for _ in range(2):
        turk.resume(kind, hit, until=until)  # offered longer already
    turk.pause(kind, "3GONE")
    for _ in range(2):
        turk.pause(kind, hit)
    assert double.crowd.available(person) == []
    for _ in range(2):
        turk.resume(kind, hit, until=until)
    assert double.crowd.available(person) == [hit]
    token = uuid4()
    double.faults.next["CreateAdditionalAssignmentsForHIT"] = [Fault.AFTER]
    with pytest.raises(Unreachable):
        turk.widen(kind, hit, seats=5, token=token)
    double.faults.next["GetHIT"] = [Fault.STALE]
    for _ in range(2):
        turk.widen(kind, hit, seats=5, token=token)
    with pytest.raises(Refused, match="fewer than 10"):
        turk.widen(kind, hit, seats=12, token=uuid4())
    assert double.world.hit(hit).max_assignments == 5
    turk.end(kind, hit)
    with pytest.raises(WorkerRefused):
        double.crowd.accept(hit, person)


def test_the_balance_and_strangers(double: MTurkDouble, turk: MechanicalTurk) -> None:
    assert turk.balance() == Decimal(1000)
    wanted = offer(reward=Decimal(400))
    kind = turk.prepare(wanted)
    with pytest.raises(NotEnoughMoney):
        turk.post(wanted, kind, request(double))
    stranger = MechanicalTurk(environment="live", key_id="AKIAOTHER", secret="s", endpoint=double.url)
    with pytest.raises(NotConfigured):
        stranger.balance()


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.torture)])
def test_a_campaign_comes_out_even_though_every_fifth_call_goes_wrong(seed: int) -> None:
    with MTurkDouble(seed=seed, fault_rate=0.2) as double:
        turk: Marketplace = marketplace_for(double)
        wanted = offer(seats=30)
        qualified = insist(lambda: turk.ensure_group(Group.QUALIFIED, reference="s"))
        kind = insist(lambda: turk.prepare(wanted))
        asked = [request(double, number, seats) for number, seats in enumerate(wanted.postings, 1)]
        hits = [insist(lambda one=one: turk.post(wanted, kind, one)) for one in asked]  # type: ignore[misc]
        works = [handed_in(double, hit) for hit in hits for _ in range(3)]
        for work in works:
            insist(lambda: turk.approve(work.assignment_id, person=work.worker_id))  # noqa: B023 - called at once
            extra = bonus(double, work)
            insist(lambda: turk.bonus(extra))  # noqa: B023 - called at once
            insist(lambda: turk.add_to_group(qualified, work.worker_id))  # noqa: B023 - called at once
        double.faults.rate = 0
        charges = Counter((row.kind, row.assignment_id) for row in double.world.charges.values())

        assert len(set(hits)) == len(hits) == len(double.world.hits.values()) == 10
        assert set(charges) == {(kind, work.assignment_id) for work in works for kind in ("reward", "bonus")}
        assert set(charges.values()) == {1}
        bonuses = len(works) * Decimal("0.48")
        assert account.spent(double.world) == turk.estimate(wanted).total + bonuses
        assert members(double.world, qualified) == {work.worker_id for work in works}
        assert {work.status for hit in hits for work in turk.work(kind, hit)} == {Status.APPROVED}
        assert {fault for _, fault in double.faults.struck} == set(Fault)
    assert double.defects == []
