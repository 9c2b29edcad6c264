"""People whose work cannot be approved: what can be done, and what is written down when they are paid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from accounts.models import User
from annotation import actions as annotation_actions
from annotation.errors import WrongState
from annotation.models import WorkSession
from dashboard.recruitment.queries import submissions_page
from recruitment import actions
from recruitment.errors import CannotPay
from recruitment.marketplace import Status, Work
from recruitment.models import Mismatch, Payment, Submission, Visit
from recruitment.reconciliation.plan import Decision
from recruitment.reconciliation.remedies import Case, Remedy, cases_of, remedies_of
from tests import builders
from tests.annotation.pages import token_of
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES
from tests.recruitment.handed_in import Desk

pytestmark = pytest.mark.django_db
DONE_HERE = Case("not_handed_in", None, "doubted", None, False, False)


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Iterator[Desk]:
    with MTurkDouble() as double:
        yield Desk(double, builders.make_study(stories=3), replace(STORIES, seats=4, seats_per_posting=2))


@pytest.fixture
def boss() -> User:
    return ensure_researcher(username="boss", password="a long enough password")


def never_handed_in(desk: Desk, *, visit: Visit | None = None) -> Mismatch:
    """Work that was done here, and that the platform has not listed in time."""
    visit = visit or desk.come()
    desk.answer(visit)
    late = timezone.now() + desk.campaign.time_allowed + timedelta(hours=1)
    desk.later(hours=2)
    for minutes in (0, 5):
        desk.sweep(now=late + timedelta(minutes=minutes))
    return Mismatch.objects.select_related("campaign", "visit__enrollment__annotator").get(visit=visit)


def pay(mismatch: Mismatch, way: Remedy, by: User) -> Payment:
    return actions.pay_for_mismatch(
        mismatch=mismatch,
        remedy=way,
        amount=Decimal("0.25"),
        reason="The page of the platform had closed.",
        votes_count=True,
        by=by,
        now=timezone.now(),
    )


def ways(mismatch: Mismatch) -> list[Remedy]:
    return remedies_of(cases_of([mismatch])[mismatch.pk])


@pytest.mark.parametrize(
    ("case", "open_ways"),
    [
        (DONE_HERE, "settle confirm outside"),
        (Case("not_handed_in", None, "doubted", None, False, True), "settle confirm bonus outside"),
        (Case("not_handed_in", None, "doubted", None, True, True), "settle confirm outside"),
        (Case("not_handed_in", Status.TIMED_OUT, "doubted", None, False, True), "settle confirm bonus"),
        (Case("not_handed_in", Status.TIMED_OUT, "doubted", None, True, True), "settle confirm outside"),
        (Case("no_data", Status.SUBMITTED, "", None, False, False), "settle approve reject"),
        (Case("no_data", Status.SUBMITTED, "", None, True, False), "settle"),
        (
            Case("wrong_receipt", Status.SUBMITTED, "open", None, False, False),
            "settle confirm approve reject",
        ),
        (Case("wrong_receipt", Status.SUBMITTED, "confirmed", Decision.APPROVED, False, False), "settle"),
        (Case("wrong_receipt", Status.SUBMITTED, "doubted", Decision.REJECTED, False, False), "settle"),
        (
            Case("wrong_receipt", Status.SUBMITTED, "open", Decision.REFUSED, False, False),
            "settle confirm approve reject",
        ),
        (Case("decided_by_platform", Status.REJECTED, "doubted", None, False, False), "settle overturn"),
        (Case("decided_by_platform", Status.REJECTED, "doubted", None, True, False), "settle"),
        (
            Case("decided_by_platform", Status.APPROVED, "doubted", Decision.APPROVED, False, False),
            "settle confirm",
        ),
        (Case("no_data", Status.SUBMITTED, "open", None, False, False, False), "settle approve reject"),
        (Case("no_data", Status.SUBMITTED, "open", None, False, False), "settle confirm approve reject"),
        (Case("partial", Status.SUBMITTED, "confirmed", None, False, False), "settle approve reject"),
        (Case("partial", Status.RETURNED, "doubted", None, False, False), "settle bonus"),
        (Case("decided_by_platform", Status.REJECTED, "confirmed", None, False, True), "settle overturn"),
        (Case("submitted_late", Status.APPROVED, "confirmed", Decision.APPROVED, False, False), "settle"),
    ],
)
def test_what_can_be_done_follows_from_both_sides(case: Case, open_ways: str) -> None:
    assert " ".join(remedies_of(case)) == open_ways


def test_whom_the_platform_cannot_pay_is_noted_as_paid_in_another_way(desk: Desk, boss: User) -> None:
    mismatch = never_handed_in(desk)
    for closed in (Remedy.BONUS, Remedy.APPROVE):
        with pytest.raises(CannotPay, match="that way"):
            pay(mismatch, closed, boss)
    payment = pay(mismatch, Remedy.OUTSIDE, boss)
    assert (payment.state, payment.requested_by, str(payment.submission.status)) == ("done", boss, "unknown")
    with pytest.raises(WrongState, match="just resolved"):
        pay(mismatch, Remedy.OUTSIDE, boss)
    assert Payment.objects.count() == 1
    assert WorkSession.objects.get().state == WorkSession.State.CONFIRMED
    desk.send_all()
    assert (desk.charges(), desk.charges("bonus")) == ([], [])

    listed = Work(payment.submission.remote_id, desk.worker_of(payment.submission), Status.SUBMITTED)
    actions.reconciliation.record_submission(campaign=desk.campaign, work=listed, now=timezone.now())
    visit = payment.submission.visit
    assert visit is not None
    Submission.objects.update(receipt=visit.receipt)
    actions.settlement.settle_visit(visit_id=visit.pk, polls=[], now=timezone.now())
    assert Payment.objects.count() == 1, "found after all, it is not paid a second time by itself"
    rows, _following = submissions_page(desk.campaign, size=5)
    assert [(row.pk, row.waits) for row in rows] == [(payment.submission_id, True)]  # type: ignore[attr-defined]
    with pytest.raises(CannotPay, match="No confirmed submission"):
        actions.approve_all(campaign=desk.campaign, by=boss, now=timezone.now())


def test_other_work_of_the_person_carries_the_bonus(desk: Desk, boss: User) -> None:
    done = desk.hand_in()
    desk.send(actions.approve(submission=done, by=None, now=timezone.now()))
    assert done.visit is not None
    mismatch = never_handed_in(desk, visit=desk.come_again(done.visit))
    assert ways(mismatch) == [Remedy.SETTLE, Remedy.CONFIRM, Remedy.BONUS, Remedy.OUTSIDE]
    assert pay(mismatch, Remedy.BONUS, boss).submission == done
    desk.send_all()
    assert desk.charges("bonus") == [("0.25", "0.05")]


@pytest.mark.usefixtures("client")
def test_a_bonus_for_somebody_who_is_forgotten_meanwhile_is_shown_to_both(desk: Desk, boss: User) -> None:
    unheard, work = desk.come(), desk.hand_in()
    actions.record_hand_in(visit=unheard, now=timezone.now())
    assert work.visit is not None
    leaving = [f"/work/{token_of(visit.enrollment)}/forget/" for visit in (unheard, work.visit)]
    for page in leaving:
        assert "1 payment, 0.25 USD" in Client().get(page).content.decode()
    desk.send(actions.approve(submission=work, by=None, now=timezone.now()))
    assert "not been paid" not in Client().get(leaving[1]).content.decode()
    bonus = actions.give_bonus(
        submission=work, amount=Decimal("0.40"), reason="Thank you.", by=boss, now=timezone.now()
    )
    assert "1 payment, 0.40 USD" in Client().get(leaving[1]).content.decode()
    annotation_actions.forget(annotator=work.annotator, now=timezone.now())
    client = Client()
    client.force_login(boss)
    page = reverse("dashboard:payments", args=["study"])
    assert "1 payment could not be sent before" in client.get(page).content.decode()
    desk.send_all()
    bonus.refresh_from_db()
    assert bonus.state == Payment.State.FAILED
    shown = client.get(page).content.decode()
    assert "1 payment could not be sent before" in shown
    assert "Retry" not in shown, "nobody knows to whom"
    noted = reverse("dashboard:note_external_payment", args=["study", bonus.pk])
    refused = client.post(noted, {"reason": "By bank\0"}, follow=True)
    assert "Null characters are not allowed" in refused.content.decode()
    assert not Payment.objects.filter(kind=Payment.Kind.OUTSIDE).exists()
    for _time in range(2):
        client.post(noted, {"reason": "On the platform’s own page."})
    outside = Payment.objects.get(kind=Payment.Kind.OUTSIDE)
    assert (outside.amount, outside.requested_by) == (Decimal("0.40"), boss)
    shown = client.get(page).content.decode()
    assert "could not be sent before" not in shown
    assert "0.40 USD paid outside the platform" in shown
