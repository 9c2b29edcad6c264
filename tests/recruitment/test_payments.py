"""Decisions and money: sent once, whoever asks twice, dies on the way or is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation import actions as annotation_actions
from annotation.models import Assignment, Event, WorkSession
from recruitment import actions
from recruitment.actions import payment_delivery
from recruitment.errors import CannotPay
from recruitment.marketplace import Refused, Status, Unreachable, Work
from recruitment.models import Campaign, Grant, Payment, Submission
from recruitment.mturk.marketplace import MechanicalTurk
from recruitment.queue import FIRST_PAUSE, LONGEST_PAUSE
from recruitment.reconciliation.queries import to_top_up
from tests import builders
from tests.doubles.mturk.faults import Fault
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES
from tests.recruitment.handed_in import Desk, approve, bonus, reject

pytestmark = pytest.mark.django_db
State, Kind = Payment.State, Payment.Kind
TOO_LATE = 200
"""Days after which a bonus is refused: they are paid for half a year."""


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Iterator[Desk]:
    """A desk with one submission that waits for a decision."""
    study = builders.make_study(stories=6, pay_rate=Decimal("15.00"))
    with MTurkDouble() as double:
        desk = Desk(double, study, replace(STORIES, seats=4, seats_per_posting=2))
        desk.hand_in()
        yield desk


@pytest.fixture
def desk(built: Desk) -> Iterator[Desk]:
    with built.for_one_test() as desk:
        yield desk


@pytest.fixture
def work(desk: Desk) -> Submission:
    return Submission.objects.get()


@pytest.fixture
def paid_work(desk: Desk, work: Submission) -> Submission:
    """The submission, approved."""
    desk.send(approve(work))
    return work


def retryable(*payments: Payment) -> set[int]:
    refused = Payment.objects.filter(pk__in=[payment.pk for payment in payments]).retryable()
    return set(refused.values_list("pk", flat=True))


def refuse(*_args: Any, **_named: Any) -> None:
    raise Refused("no")


def test_work_that_was_returned_there_can_have_a_bonus_for_what_was_done(
    desk: Desk, work: Submission
) -> None:
    with pytest.raises(CannotPay, match="approved submission"):
        bonus(work)
    returned = Work(work.remote_id, desk.worker_of(work), Status.RETURNED)
    actions.reconciliation.record_submission(campaign=desk.campaign, work=returned, now=timezone.now())
    with pytest.raises(CannotPay, match="approved submission"):
        bonus(work, top_up=True)
    desk.send(bonus(work, "0.10"))
    assert desk.charges("bonus") == [("0.10", "0.02")]


def test_a_decision_is_made_once_and_paid_once(desk: Desk, work: Submission) -> None:
    assert approve(work) == approve(work)
    with pytest.raises(CannotPay, match="already decided"):
        reject(work)
    (payment,) = Payment.objects.all()
    for _time in range(2):
        desk.send(payment)
    assert desk.charges() == [("0.25", "0.05")]
    assert Payment.objects.get().state == State.DONE
    assert desk.send(payment) is None, "what is settled is not sent"
    logged = set(Event.objects.filter(subject__startswith="approval").values_list("type", flat=True))
    assert logged == {Event.Type.PAYMENT_REQUESTED, Event.Type.PAYMENT_SENT}


def test_a_rejection_says_why_and_pays_nothing(desk: Desk, work: Submission) -> None:
    with pytest.raises(CannotPay, match="needs a reason"):
        reject(work, " ")
    desk.send(reject(work))
    with pytest.raises(CannotPay, match="was rejected"):
        approve(work)
    with pytest.raises(CannotPay, match="only for an approved submission"):
        bonus(work)
    assert desk.charges() == []
    assert desk.look(work).status == Status.REJECTED
    told = desk.double.world.assignments.get(work.remote_id)
    assert told is not None
    assert (told.feedback, told.worker_id) == ("Nothing was read.", desk.worker_of(work))


def test_bonuses_are_as_many_as_were_asked_for_and_a_top_up_is_one(desk: Desk, work: Submission) -> None:
    with pytest.raises(CannotPay, match="only for an approved submission"):
        bonus(work)
    desk.send(approve(work))
    for wrong in ("0", "-1", "0.005"):
        with pytest.raises(CannotPay, match="whole cents"):
            bonus(work, wrong)
    bonus(work)
    bonus(work)
    bonus(work, top_up=True)
    with pytest.raises(CannotPay, match="already topped up"):
        bonus(work, "0.01", top_up=True)
    desk.send_all()
    assert desk.charges("bonus") == [("0.37", "0.07")] * 3


@pytest.mark.parametrize(
    ("fault", "hours"),
    [
        (Fault.DROPPED, 30),
        (Fault.BEFORE, 0),
        *(
            pytest.param(fault, hours, marks=pytest.mark.torture)
            for fault, hours in (
                *((fault, hours) for fault in (Fault.AFTER, Fault.THROTTLED) for hours in (0, 30)),
                (Fault.DROPPED, 0),
                (Fault.BEFORE, 30),
            )
        ),
    ],
)
def test_an_answer_that_is_lost_pays_once(
    desk: Desk, paid_work: Submission, fault: Fault, hours: int
) -> None:
    """Also after the platform has forgotten its tokens, and when the next try is throttled."""
    first, second = bonus(paid_work), bonus(paid_work)
    desk.double.faults.next = {"SendBonus": [fault, Fault.THROTTLED]}
    for _try in range(2):
        with pytest.raises(Unreachable):
            desk.send(first)
    desk.later(hours=hours)
    desk.send(first)
    desk.send(second)
    assert desk.charges("bonus") == [("0.37", "0.07")] * 2
    assert set(Payment.objects.values_list("state", flat=True)) == {State.DONE}


def test_a_try_that_was_not_done_says_nothing_of_an_earlier_one(paid_work: Submission) -> None:
    """Without tokens, a platform is asked what it has done; so that it was asked before stays known."""
    payment = bonus(paid_work)
    expected = [(False, True, State.REQUESTED), (True, True, State.SENDING), (False, False, State.SENDING)]
    for number, (maybe_done, is_first, state) in enumerate(expected, 1):
        claim = payment_delivery.claim_payment(payment_id=payment.pk, now=timezone.now())
        assert claim is not None
        assert (claim.is_first, claim.payment.tries) == (is_first, number), "tries never go back"
        payment_delivery._give_back(claim, Unreachable("no answer", maybe_done=maybe_done))
        payment.refresh_from_db()
        assert payment.state == state
    assert payment.first_sent_at is not None


def test_whoever_was_away_for_too_long_writes_and_pays_nothing_any_more(
    desk: Desk, paid_work: Submission
) -> None:
    """Else the one who took over would be believed never to have been there, and a third would pay again."""
    payment = bonus(paid_work)
    now = timezone.now()
    away = payment_delivery.claim_payment(payment_id=payment.pk, now=now)
    other = payment_delivery.claim_payment(payment_id=payment.pk, now=now + payment_delivery.SENDING)
    assert away
    assert other
    before = Payment.objects.values().get(pk=payment.pk)
    payment_delivery._give_back(away, Unreachable("no answer", maybe_done=False))
    payment_delivery._settle(away, State.FAILED, problem="no", now=now)
    with pytest.raises(payment_delivery.TakenOver):
        payment_delivery._pay_bonus(away, desk.worker_of(paid_work), desk.marketplace)
    assert Payment.objects.values().get(pk=payment.pk) == before
    assert desk.charges("bonus") == []


def test_a_worker_that_dies_after_sending_is_followed_by_one_that_pays_nothing(
    desk: Desk, work: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval = approve(work)

    def die(*_args: Any, **_named: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(payment_delivery, "_settle", die)
        with pytest.raises(SystemExit):
            desk.send(approval)
    assert desk.send(approval) is None, "somebody may still be sending it"
    now = timezone.now()
    assert list(actions.payment_delivery.due_payments(now=now)) == []
    assert list(actions.payment_delivery.due_payments(now=now + payment_delivery.SENDING)) == [approval.pk]
    done = desk.send(approval, now=now + payment_delivery.SENDING)
    assert done is not None
    assert (done.state, done.tries) == (State.DONE, 2)
    assert desk.charges() == [("0.25", "0.05")]


def test_what_is_wrong_with_the_account_waits_and_is_asked_for_less_and_less_often(
    desk: Desk, paid_work: Submission
) -> None:
    desk.double.world.deposit = Decimal(1)
    payment = bonus(paid_work, "5.00")
    now = timezone.now()
    Payment.objects.filter(pk=payment.pk).update(requested_at=now - timedelta(days=1))
    pauses = []
    for _try in range(12):
        waiting = desk.send(payment, now=now)
        assert waiting
        assert waiting.next_try_at
        assert (waiting.state, waiting.first_sent_at) == (State.REQUESTED, None)
        assert "funds" in waiting.problem
        assert desk.send(payment, now=now) is None, "also when it is in the queue several times"
        pauses.append(waiting.next_try_at - now)
        now = waiting.next_try_at
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (FIRST_PAUSE, LONGEST_PAUSE)
    desk.double.world.deposit = Decimal(100)
    assert actions.retry_campaign(campaign=desk.campaign, by=None, now=now) == 1
    desk.send_all()
    assert desk.charges("bonus") == [("5.00", "1.00")]
    assert Payment.objects.filter(kind=Kind.BONUS).get().next_try_at is None


def test_work_that_is_not_shown_is_looked_for_for_a_day_and_then_somebody_is_told_what_to_look_at(
    desk: Desk, work: Submission
) -> None:
    payment, start = approve(work), timezone.now()
    Submission.objects.filter(pk=work.pk).update(remote_id="3" + "Z" * 29)  # as of another account
    now, pauses = start, []
    while now < start + timedelta(days=1):
        waiting = desk.send(payment, now=now)
        assert waiting
        assert waiting.next_try_at
        assert "does not show" in waiting.problem
        assert desk.send(payment, now=now) is None, "not before it is time"
        pauses.append(waiting.next_try_at - now)
        now = waiting.next_try_at
    assert 5 < len(pauses) < 15
    assert (pauses[0], pauses[-1]) == (FIRST_PAUSE, LONGEST_PAUSE)
    failed = desk.send(payment, now=now)
    assert failed
    assert failed.state == State.FAILED
    assert "whether the account is still the one" in failed.problem
    assert retryable(failed) == {failed.pk}
    Submission.objects.filter(pk=work.pk).update(remote_id=work.remote_id)
    desk.send(actions.retry_payment(payment=failed, by=None, now=timezone.now()))
    assert desk.charges() == [("0.25", "0.05")]


def test_a_wait_that_is_known_is_asked_about_now_and_then(
    desk: Desk, work: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejection, now = reject(work), timezone.now()

    def has_days(*_asked: Any, since: Any, **_more: Any) -> None:
        assert since == rejection.requested_at
        raise Unreachable("has three days", maybe_done=False, not_before=now + timedelta(days=3))

    monkeypatch.setattr(desk.marketplace, "reject", has_days)
    with pytest.raises(Unreachable):
        desk.send(rejection, now=now)
    rejection.refresh_from_db()
    assert rejection.next_try_at == now + LONGEST_PAUSE
    assert actions.retry_campaign(campaign=desk.campaign, by=None, now=now) == 0, "the account is well"
    withdrawn = actions.withdraw_rejection(payment=rejection, by=None, now=now)
    assert withdrawn.state == State.WITHDRAWN


def test_credentials_that_are_not_accepted_settle_nothing(desk: Desk, work: Submission) -> None:
    approval = approve(work)
    Campaign.objects.filter(pk=desk.campaign.pk).update(qualified_group="3GROUP")
    passed = Grant.objects.create(
        study=desk.study,
        campaign=desk.campaign,
        platform="mturk",
        environment=desk.campaign.environment,
        annotator=work.annotator,
        kind=Grant.Kind.QUALIFIED,
        requested_at=timezone.now(),
    )
    stranger = MechanicalTurk(environment="live", key_id="AKIAOTHER", secret="s", endpoint=desk.double.url)
    now = timezone.now()
    actions.payment_delivery.send_payment(payment_id=approval.pk, marketplace=stranger, now=now)
    actions.grants.send_grant(grant_id=passed.pk, marketplace=stranger, now=now)
    for row in (approval, passed):
        row.refresh_from_db()
        assert (row.state, row.next_try_at) == ("requested", now + FIRST_PAUSE)
        assert "credentials" in row.problem
    assert [*actions.payment_delivery.due_payments(now=now), *actions.grants.due_grants(now=now)] == []
    assert actions.retry_campaign(campaign=desk.campaign, by=None, now=now) == 2
    due = [*actions.payment_delivery.due_payments(now=now), *actions.grants.due_grants(now=now)]
    assert due == [approval.pk, passed.pk]


def test_what_the_platform_refuses_stays_with_its_reason_and_can_be_asked_for_again(
    desk: Desk, paid_work: Submission
) -> None:
    desk.later(days=TOO_LATE)
    first = bonus(paid_work, "5.00")
    refused = desk.send(first)
    assert refused is not None
    assert (refused.state, desk.charges("bonus")) == (State.FAILED, [])
    assert refused.problem
    assert actions.retry_campaign(campaign=desk.campaign, by=None, now=timezone.now()) == 0, "one by one"
    desk.later(days=-TOO_LATE)
    again = actions.retry_payment(payment=refused, by=None, now=timezone.now())
    claim = payment_delivery.claim_payment(payment_id=again.pk, now=timezone.now())
    assert claim
    assert payment_delivery._tokens_before(again) == (first.request_token,)
    payment_delivery._give_back(claim, Unreachable("no answer", maybe_done=False))
    desk.send(again)
    assert desk.charges("bonus") == [("5.00", "1.00")]
    assert payment_delivery._tokens_before(bonus(paid_work, "5.00")) == (), "one more, in nobody's place"
    for payment in (refused, again):
        with pytest.raises(CannotPay, match="only once"):
            actions.retry_payment(payment=payment, by=None, now=timezone.now())


def test_of_two_refused_bonuses_of_one_amount_each_can_be_asked_for_again(
    desk: Desk, paid_work: Submission
) -> None:
    desk.later(days=TOO_LATE)
    refused = [desk.send(bonus(paid_work, "1.00")) for _time in range(3)]
    first, second, third = (payment for payment in refused if payment)
    assert retryable(first, second, third) == {first.pk, second.pk, third.pk}
    desk.later(days=-TOO_LATE)
    now = timezone.now()
    again = actions.retry_payment(payment=first, by=None, now=now)
    boss = ensure_researcher(username="boss", password="unguessable-1")
    actions.record_external_payment(payment=third, reason="By bank.", by=boss, now=now)
    assert retryable(first, second, third) == {second.pk}
    desk.send(again)
    desk.send(actions.retry_payment(payment=second, by=None, now=now))
    assert desk.charges("bonus") == [("1.00", "0.20")] * 2
    for payment in (first, second, third):
        with pytest.raises(CannotPay, match="only once"):
            actions.retry_payment(payment=payment, by=None, now=now)


def test_who_was_topped_up_in_another_way_is_not_topped_up_once_more(
    desk: Desk, paid_work: Submission
) -> None:
    desk.later(days=TOO_LATE)
    refused = desk.send(bonus(paid_work, "0.10", top_up=True))
    assert refused is not None
    assert (refused.state, list(to_top_up(desk.campaign))) == (State.FAILED, [paid_work])
    now = timezone.now()
    boss = ensure_researcher(username="boss", password="unguessable-1")
    actions.record_external_payment(payment=refused, reason="By bank.", by=boss, now=now)

    assert not retryable(refused)
    assert not to_top_up(desk.campaign).exists()
    with pytest.raises(CannotPay, match="already topped up"):
        bonus(paid_work, "0.20", top_up=True)


def test_refused_approvals_and_qualifications_are_sent_again_at_once(
    desk: Desk, work: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval = approve(work)
    with monkeypatch.context() as patch:
        patch.setattr(desk.marketplace, "approve", refuse)
        desk.send(approval)
    assert Payment.objects.get().state == State.FAILED
    for _time in range(2):
        sent = actions.retry_campaign(campaign=desk.campaign, by=None, now=timezone.now())
        assert sent == (0 if _time else 1)
    desk.send_all()
    assert desk.charges() == [("0.25", "0.05")]


def test_a_rejection_is_taken_back_as_long_as_it_was_not_carried_out(desk: Desk, work: Submission) -> None:
    session = WorkSession.objects.get()
    votes = Assignment.objects.filter(session=session, state=Assignment.State.SUBMITTED)
    assert votes.exists()
    rejection = reject(work)
    assert not votes.exists()
    withdrawn = actions.withdraw_rejection(payment=rejection, by=None, now=timezone.now())
    assert withdrawn.state == State.WITHDRAWN
    assert votes.exists(), "they count as before"
    assert list(actions.payment_delivery.due_payments(now=timezone.now())) == []
    desk.send(approve(work))
    assert desk.charges() == [("0.25", "0.05")]
    done = Payment.objects.get(kind=Kind.APPROVAL)
    under_way = reject(desk.hand_in())
    assert payment_delivery.claim_payment(payment_id=under_way.pk, now=timezone.now())
    for payment in (done, under_way, rejection):
        with pytest.raises(CannotPay, match="until the platform carries it out"):
            actions.withdraw_rejection(payment=payment, by=None, now=timezone.now())


def test_work_that_was_not_handed_in_cannot_be_decided(desk: Desk, work: Submission) -> None:
    Submission.objects.filter(pk=work.pk).update(status=Status.RETURNED)
    for decide in (approve, reject):
        with pytest.raises(CannotPay, match="cannot decide it"):
            decide(work)


def test_no_sweep_asks_again_for_what_was_refused(desk: Desk, work: Submission) -> None:
    """Else somebody who was forgotten would get a new payment with every sweep."""
    approve(work)
    annotation_actions.forget(annotator=work.annotator, now=timezone.now())
    for _sweep in range(2):
        desk.sweep()
    (payment,) = Payment.objects.all()
    assert payment.state == State.FAILED
    assert "personal data deleted" in payment.problem
    assert desk.charges() == []
