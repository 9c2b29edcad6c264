"""Comparisons that fail, are cut short, or come too soon after one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation.models import Assignment, WorkSession
from recruitment import actions, tasks
from recruitment.actions import reconciliation
from recruitment.marketplace import NotConfigured, Status, Unreachable, Work
from recruitment.models import Campaign, Mismatch, Submission, Visit
from recruitment.reconciliation.queries import campaigns_to_ask
from tests import builders
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES
from tests.recruitment.handed_in import Desk

pytestmark = pytest.mark.django_db
State = WorkSession.State


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Iterator[Desk]:
    """Two seats in each of two postings."""
    with MTurkDouble() as double:
        yield Desk(double, builders.make_study(stories=2), replace(STORIES, seats=4, seats_per_posting=2))


def work_in(desk: Desk, *, receipt: str | None = None, hands_in: bool = True) -> Visit:
    visit = desk.come()
    desk.answer(visit)
    actions.record_hand_in(visit=visit, now=timezone.now())
    if hands_in:
        desk.submit(visit, receipt=receipt)
    return visit


def late_in(desk: Desk) -> datetime:
    return timezone.now() + desk.campaign.time_allowed + timedelta(hours=1)


def states() -> list[str]:
    return list(WorkSession.objects.order_by("pk").values_list("state", flat=True))


def test_whatever_a_browser_sends_as_a_receipt_is_shown_as_a_wrong_one(desk: Desk) -> None:
    visit = work_in(desk)
    work_in(desk, receipt=visit.receipt + "x" * 5000)
    desk.sweep()
    assert [found.kind for found in Mismatch.objects.all()] == [Mismatch.Kind.WRONG_RECEIPT]
    assert states() == [State.CONFIRMED, State.OPEN]


@pytest.mark.usefixtures("client")
def test_a_list_that_could_not_be_taken_in_says_of_nobody_that_they_are_missing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_in(desk, hands_in=False)
    bad = work_in(desk)
    late, taking = late_in(desk), actions.reconciliation.record_submission

    def record_submission(*, work: Work, **named: Any) -> Submission | None:
        if work.remote_id == bad.remote_id:
            raise ValueError("cannot be written")
        return taking(work=work, **named)

    with monkeypatch.context() as patch:
        patch.setattr(reconciliation, "record_submission", record_submission)
        for minutes in (0, 5):
            with pytest.raises(ValueError, match="cannot be written"):
                desk.sweep(now=late + timedelta(minutes=minutes))
    assert states() == [State.OPEN, State.OPEN]
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    page = reverse("dashboard:campaign", args=["study", 1])
    said = client.get(page).content.decode()
    assert "The last comparison with the platform failed" in said
    assert "cannot be written" not in said, "it may hold what a person sent"
    for minutes in (15, 20):
        desk.sweep(now=late + timedelta(minutes=minutes))
    assert states() == [State.DOUBTED, State.CONFIRMED]
    assert "The last comparison" not in client.get(page).content.decode()


def test_an_account_that_is_not_set_up_stands_at_the_campaign(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_account(campaign: Campaign) -> None:
        raise NotConfigured("No credentials are set.")

    monkeypatch.setattr(tasks, "marketplace_of", without_account)
    with pytest.raises(NotConfigured):
        tasks.reconcile(desk.campaign.pk)
    assert Campaign.objects.get().sync_problem == "No credentials are set."


def test_two_looks_within_a_moment_give_nobody_up(desk: Desk) -> None:
    work_in(desk, hands_in=False)
    late = late_in(desk)
    for seconds in (0, 40):
        desk.sweep(now=late + timedelta(seconds=seconds))
    assert states() == [State.OPEN]
    desk.sweep(now=late + timedelta(seconds=61))
    assert states() == [State.DOUBTED]


def test_a_comparison_that_is_cut_short_goes_on_with_the_others_next_time(desk: Desk) -> None:
    for _person in range(3):
        work_in(desk)
    assert Visit.objects.values("posting").distinct().count() == 2
    campaign = Campaign.objects.select_related("study").get()
    looked_at = []
    for minutes in (0, 5):
        now = timezone.now() + timedelta(minutes=minutes)
        outcome = actions.reconcile(campaign=campaign, marketplace=desk.marketplace, now=now, most_seconds=-1)
        looked_at.append(outcome["confirm"])
    assert sorted(looked_at) == [1, 2]
    assert set(states()) == {State.CONFIRMED}


def test_one_posting_that_does_not_answer_hides_no_stranger_in_another(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = desk.double.crowd.hire().worker_id
    second = desk.campaign.postings.get(number=2).remote_id
    seat = desk.double.crowd.accept(second, worker)
    desk.double.crowd.submit([("assignmentId", seat.assignment_id), ("receipt", "none")])
    asking = desk.marketplace.work

    def work(remote_id: str, posting: str) -> Any:
        if posting != second:
            raise Unreachable("No answer.")
        return asking(remote_id, posting)

    monkeypatch.setattr(desk.marketplace, "work", work)
    monkeypatch.setattr(desk.marketplace, "worth_asking", lambda _campaign, postings: postings)
    with pytest.raises(Unreachable):
        desk.sweep()
    assert Mismatch.objects.get().kind == Mismatch.Kind.NO_DATA
    assert Campaign.objects.get().sync_problem == "No answer."


def test_a_worker_whose_time_is_over_stops_where_it_is(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for _person in range(2):
        work_in(desk)
    asked = []

    def settle(*, visit_id: int, **_named: object) -> None:
        asked.append(visit_id)
        raise SoftTimeLimitExceeded

    monkeypatch.setattr(reconciliation, "settle_visit", settle)
    with pytest.raises(SoftTimeLimitExceeded):
        desk.sweep()
    assert len(asked) == 1


def test_an_ended_campaign_is_asked_about_hourly_until_its_time_for_decisions_is_over(desk: Desk) -> None:
    desk.hand_in()
    desk.sweep()
    now = timezone.now()
    Campaign.objects.update(state=Campaign.State.ENDED, ended_at=now, synced_at=now)
    hours = {hours: campaigns_to_ask(now=now + timedelta(hours=hours)).exists() for hours in (0, 2)}
    days = desk.campaign.days_to_review
    assert hours == {0: False, 2: True}
    assert not campaigns_to_ask(now=now + timedelta(days=days, minutes=1)).exists()


def test_work_that_was_screened_out_there_frees_its_slots(desk: Desk) -> None:
    visit = work_in(desk, hands_in=False)
    assert visit.posting is not None
    worker = desk.worker_of_visit(visit)
    work = Work(visit.remote_id, worker, Status.SCREENED_OUT, visit.posting.remote_id)
    actions.reconciliation.record_submission(campaign=desk.campaign, work=work, now=timezone.now())
    actions.settlement.settle_visit(visit_id=visit.pk, polls=[], now=timezone.now())
    assert Assignment.objects.get().state == Assignment.State.DOUBTED
