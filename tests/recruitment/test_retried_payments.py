"""Payments that wait or were refused: how often they are tried, and who can ask for them again."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation import actions as annotation_actions
from recruitment import actions
from recruitment.actions import payment_delivery
from recruitment.errors import CannotPay
from recruitment.marketplace import Refused, Unreachable
from recruitment.models import Campaign, Grant, Payment, Submission
from recruitment.mturk.marketplace import MechanicalTurk
from recruitment.queue import FIRST_PAUSE, LONGEST_PAUSE
from recruitment.reconciliation.queries import to_top_up
from tests.recruitment.handed_in import Desk, approve, bonus, reject

pytestmark = pytest.mark.django_db
State, Kind = Payment.State, Payment.Kind
TOO_LATE = 200
"""Days after which a bonus is refused: they are paid for half a year."""


def retryable(*payments: Payment) -> set[int]:
    refused = Payment.objects.filter(pk__in=[payment.pk for payment in payments]).retryable()
    return set(refused.values_list("pk", flat=True))


def refuse(*_args: Any, **_named: Any) -> None:
    raise Refused("no")


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
    assert "that the account is still the one" in failed.problem
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
    assert [*Payment.objects.due(now=now), *Grant.objects.due(now=now)] == []
    assert actions.retry_campaign(campaign=desk.campaign, by=None, now=now) == 2
    due = [*Payment.objects.due(now=now), *Grant.objects.due(now=now)]
    assert due == [approval, passed]


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
