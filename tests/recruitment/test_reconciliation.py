"""What a platform says and what is here are brought together: counted, doubted, shown once, settled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import PlatformIdentity
from annotation import actions as annotation_actions
from annotation.errors import ReasonMissing, WrongState
from annotation.models import Assignment, Event, WorkSession
from dashboard.recruitment.queries import money_of, payment_rows
from integrity.base import read_checks, run
from recruitment import actions
from recruitment.errors import CannotPay
from recruitment.links import visit_path
from recruitment.marketplace import Status, Unreachable, Work
from recruitment.models import Campaign, Grant, Mismatch, Payment, Submission, Visit
from recruitment.platforms import Hint
from tests import builders
from tests.doubles.mturk.faults import Fault
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES
from tests.recruitment.handed_in import Desk

pytestmark = pytest.mark.django_db
Kind, State = Mismatch.Kind, Assignment.State


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Iterator[Desk]:
    """Visits of one of two stories each, in one posting."""
    study = builders.make_study(stories=2, incomplete_after=1)
    with MTurkDouble() as double:
        yield Desk(double, study, replace(STORIES, seats=3))


@pytest.fixture
def desk(built: Desk) -> Iterator[Desk]:
    with built.for_one_test() as desk:
        yield desk
        desk.assert_books_agree()


def work_in(desk: Desk, *, receipt: str | None = None, hands_in: bool = True) -> Visit:
    """Somebody answers a story and comes to the last page; ``hands_in``: and presses its button."""
    visit = desk.come()
    desk.answer(visit)
    actions.record_hand_in(visit=visit, now=timezone.now())
    if hands_in:
        desk.submit(visit, receipt=receipt)
    return visit


def votes(visit: Visit) -> list[str]:
    return list(Assignment.objects.filter(session=visit.session_id).values_list("state", flat=True))


def only_mismatch(kind: str) -> Mismatch:
    (found,) = Mismatch.objects.all()
    assert found.kind == kind
    return found


def over(desk: Desk) -> Any:
    """A moment after everybody's time is over."""
    return timezone.now() + desk.campaign.time_allowed + timedelta(hours=1)


def integrity_problems() -> list[str]:
    return [outcome.check.name for outcome in run(read_checks("recruitment")) if not outcome.holds]


def settle(mismatch: Mismatch, how: str = "She wrote to us.") -> Mismatch:
    return actions.settle_mismatch(mismatch=mismatch, how=how, by=None, now=timezone.now())


def test_votes_count_once_the_platform_has_confirmed_the_visit(desk: Desk) -> None:
    visit = work_in(desk)
    assert votes(visit) == [State.PENDING]
    desk.sweep()
    assert votes(visit) == [State.SUBMITTED]
    session = WorkSession.objects.get()
    assert (session.state, session.identity_claimed) == (WorkSession.State.CONFIRMED, False)
    assert desk.charges() == [("0.25", "0.05")]
    assert not Mismatch.objects.exists()
    calls = desk.double.calls.copy()
    campaign = Campaign.objects.select_related("study").get()
    outcome = actions.reconcile(campaign=campaign, marketplace=desk.marketplace, now=timezone.now())
    assert (outcome.total(), set(desk.double.calls - calls)) == (0, {"ListHITs"}), (
        "what is settled costs no call, but for whether people can begin"
    )


def test_what_only_waits_for_a_researcher_costs_a_sweep_the_same_however_much_it_is(desk: Desk) -> None:
    Campaign.objects.update(auto_approves=False)
    queries = []
    for people in (1, 2):
        work_in(desk)
        desk.sweep()
        campaign = Campaign.objects.select_related("study").get()
        later = timezone.now() + timedelta(hours=2 * people)
        with CaptureQueriesContext(connection) as asked:
            actions.reconcile(campaign=campaign, marketplace=desk.marketplace, now=later)
        queries.append(len(asked))
    assert Submission.objects.filter(status="submitted", visit__session__state="confirmed").count() == 2
    assert queries[0] == queries[1]


def test_work_without_our_receipt_waits_for_somebody(desk: Desk) -> None:
    visit = work_in(desk, receipt="typed by hand")
    for _time in range(2):
        desk.sweep()
    mismatch = only_mismatch(Kind.WRONG_RECEIPT)
    assert (votes(visit), desk.charges()) == ([State.PENDING], [])
    with pytest.raises(ReasonMissing, match="in a few words"):
        settle(mismatch, "  ")
    actions.confirm_manually(mismatch=mismatch, how="It is all there.", by=None, now=timezone.now())
    desk.send_all()
    assert (votes(visit), desk.charges()) == ([State.SUBMITTED], [("0.25", "0.05")])
    assert settle(mismatch, "Said a second time.").settled_how == "It is all there."
    desk.sweep()
    found = Mismatch.objects.get()
    assert (found.settled_how, Payment.objects.count()) == ("It is all there.", 1)
    assert Event.objects.filter(subject=f"wrong_receipt {found.pk}", note="It is all there.").exists()


def test_where_a_researcher_approves_confirming_by_hand_pays_nobody(desk: Desk) -> None:
    Campaign.objects.update(auto_approves=False)
    visit = work_in(desk, receipt="typed by hand")
    desk.sweep()
    mismatch = only_mismatch(Kind.WRONG_RECEIPT)
    actions.confirm_manually(mismatch=mismatch, how="Fine.", by=None, now=timezone.now())
    assert (votes(visit), Payment.objects.count()) == ([State.SUBMITTED], 0)
    actions.approve_all(campaign=desk.campaign, by=None, now=timezone.now())
    assert Payment.objects.get().kind == "approval"


@pytest.mark.usefixtures("client")
def test_whoever_leaves_before_the_work_is_done_counts_and_is_paid_by_a_researcher_alone(desk: Desk) -> None:
    Campaign.objects.update(stories_per_visit=2)
    desk.campaign.refresh_from_db()
    visit = desk.come()
    desk.answer(visit)
    annotation_actions.withdraw(enrollment=visit.enrollment, now=timezone.now())
    assert Client().get(f"{visit_path(visit)}hand-in/").status_code == 200
    desk.submit(visit)
    desk.sweep()
    mismatch = only_mismatch(Kind.PARTIAL)
    assert (votes(visit), desk.charges()) == ([State.SUBMITTED], [])
    with pytest.raises(CannotPay, match="No confirmed submission"):
        actions.approve_all(campaign=desk.campaign, by=None, now=timezone.now())
    assert mismatch.submission is not None
    actions.approve(submission=mismatch.submission, by=None, now=timezone.now())
    desk.send_all()
    assert desk.charges() == [("0.25", "0.05")]


def test_who_never_hands_in_is_doubted_after_two_looks_and_their_slot_is_free(desk: Desk) -> None:
    visit = work_in(desk, hands_in=False)
    late = over(desk)
    desk.later(hours=2)
    desk.sweep()
    desk.sweep(now=late)
    assert votes(visit) == [State.PENDING], "one look may have been a stale one"
    assert not Mismatch.objects.exists()
    desk.sweep(now=late + timedelta(minutes=5))
    assert votes(visit) == [State.DOUBTED]
    assert Assignment.objects.get().story.has_free_slot
    only_mismatch(Kind.NOT_HANDED_IN)
    assert not Grant.objects.exists(), "anybody could have typed their id"


def test_of_whom_the_platform_tells_that_they_left_is_kept_out_until_they_are_found_after_all(
    desk: Desk,
) -> None:
    visit = work_in(desk, hands_in=False)
    late = over(desk)
    assert visit.posting is not None
    identity = PlatformIdentity.objects.get(annotator=visit.enrollment.annotator)
    hint = Hint("event-1", (visit.posting.remote_id,), ((visit.remote_id, identity.person),))
    actions.handle_notification(platform="mturk", hint=hint, environment="live", now=late)
    desk.sweep(now=late)
    desk.sweep(now=late + timedelta(minutes=5))
    grant = Grant.objects.get()
    assert (grant.kind, grant.state) == (Grant.Kind.INCOMPLETE, Grant.State.REQUESTED)
    found = Work(
        remote_id=visit.remote_id,
        person=identity.person,
        status=Status.SUBMITTED,
        posting=visit.posting.remote_id,
        receipt=visit.receipt,
    )
    actions.reconciliation.record_submission(campaign=desk.campaign, work=found, now=late)
    actions.settlement.settle_visit(visit_id=visit.pk, polls=[], now=late)
    grant.refresh_from_db()
    assert grant.state == Grant.State.LEAVING


def test_a_platform_that_does_not_answer_has_not_said_that_somebody_is_missing(desk: Desk) -> None:
    visit = work_in(desk, hands_in=False)
    late = over(desk)
    desk.double.faults.rates = {"ListAssignmentsForHIT": 1.0}
    desk.double.faults.kinds = (Fault.BEFORE,)
    for minutes in (0, 5):
        with pytest.raises(Unreachable):
            desk.sweep(now=late + timedelta(minutes=minutes))
    assert votes(visit) == [State.PENDING]


def test_work_of_which_nothing_is_here_is_shown_once_and_not_paid(desk: Desk) -> None:
    worker = desk.double.crowd.hire().worker_id
    seat = desk.double.crowd.accept(desk.double.crowd.available(worker)[0], worker)
    desk.double.crowd.submit([("assignmentId", seat.assignment_id), ("receipt", "none")])
    for hours in (0, 2):
        desk.sweep(now=timezone.now() + timedelta(hours=hours))
    mismatch = only_mismatch(Kind.NO_DATA)
    assert desk.charges() == []
    with pytest.raises(WrongState, match="has no answers for this submission"):
        actions.confirm_manually(mismatch=mismatch, how="?", by=None, now=timezone.now())
    assert mismatch.submission is not None
    actions.reject(submission=mismatch.submission, reason="Nothing came.", by=None, now=timezone.now())
    settle(mismatch)
    desk.send_all()
    desk.sweep(now=timezone.now() + timedelta(hours=3))
    assert Mismatch.objects.filter(settled_at=None).count() == 0


def test_what_the_platforms_clock_pays_is_in_our_books(desk: Desk) -> None:
    """One whole and waiting for a researcher, one unproven, one of which nothing is here."""
    Campaign.objects.update(auto_approves=False)
    whole = work_in(desk)
    work_in(desk, receipt="typed by hand")
    worker = desk.double.crowd.hire().worker_id
    seat = desk.double.crowd.accept(desk.double.crowd.available(worker)[0], worker)
    desk.double.crowd.submit([("assignmentId", seat.assignment_id), ("receipt", "none")])
    desk.sweep()
    assert set(Mismatch.objects.values_list("kind", flat=True)) == {Kind.WRONG_RECEIPT, Kind.NO_DATA}
    desk.later(days=20)
    desk.double.world.settle()
    for hours in (1, 3):
        desk.sweep(now=timezone.now() + timedelta(hours=hours))
    assert desk.charges() == [("0.25", "0.05")] * 3
    money = money_of(desk.campaign)
    assert (str(money.paid), str(money.there), money.underway) == ("0.75", "0.75", Decimal(0))
    rows = list(payment_rows(desk.study))
    assert [(row["kind"], row["amount"], row["decided_by_platform"]) for row in rows] == [
        ("approval", "0.25", True)
    ] * 3
    judged = Mismatch.objects.filter(kind=Kind.DECIDED_BY_PLATFORM, settled_at=None)
    assert sorted(bool(found.submission and found.submission.visit) for found in judged) == [False, True]
    assert not integrity_problems()
    approval = Payment.objects.get(submission__visit=whole)
    assert (approval.state, approval.tries) == ("done", 0)
    assert actions.approve(submission=approval.submission, by=None, now=timezone.now()) == approval


def test_a_stale_answer_takes_nothing_back(desk: Desk) -> None:
    submission = desk.hand_in(whole=False, confirmed=False)
    stale = Work(submission.remote_id, desk.worker_of(submission), Status.ACTIVE)
    taken = actions.reconciliation.record_submission(campaign=desk.campaign, work=stale, now=timezone.now())
    assert taken is not None
    assert (taken.status, taken.receipt) == (Submission.Status.SUBMITTED, submission.receipt)


def test_votes_that_count_at_once_are_taken_back_for_who_never_hands_in(desk: Desk) -> None:
    Campaign.objects.update(counts_unconfirmed=True)
    desk.campaign.refresh_from_db()
    visit = work_in(desk, hands_in=False)
    assert votes(visit) == [State.SUBMITTED]
    late = over(desk)
    desk.later(hours=2)
    for minutes in (0, 5):
        desk.sweep(now=late + timedelta(minutes=minutes))
    assert votes(visit) == [State.DOUBTED]


def test_hits_that_somebody_expired_there_and_hits_that_are_taken_are_said_to_be(desk: Desk) -> None:
    def there() -> str:
        desk.sweep()
        return Campaign.objects.get().platform_offer

    assert there() == ""
    (hit,) = desk.double.world.hits.values()
    desk.marketplace.pause(desk.campaign.remote_id, hit.hit_id)
    assert there() == "paused"
    since = Campaign.objects.get().platform_offer_since
    assert there() == "paused"
    assert Campaign.objects.get().platform_offer_since == since
    until = desk.double.world.now() + timedelta(days=1)
    desk.marketplace.resume(desk.campaign.remote_id, hit.hit_id, until=until)
    for _seat in range(desk.campaign.seats):
        worker = desk.double.crowd.hire().worker_id
        desk.double.crowd.accept(hit.hit_id, worker)
    assert there() == "over"
