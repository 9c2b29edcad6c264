"""Whoever is let take the test again in a piece of work: what they did is paid, and passing leads on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.models import Enrollment, WorkSession
from dashboard.actions import let_take_test_again
from recruitment import actions
from recruitment.arrivals.arrival import Arrival
from recruitment.models import Campaign, Grant, Mismatch, Payment, Submission, Visit
from recruitment.reconciliation.queries import to_approve
from tests import builders
from tests.doubles.mturk import qualifications
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import TEST
from tests.recruitment.handed_in import SITE, Desk, reject

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk() -> Iterator[Desk]:
    with MTurkDouble() as double:
        study = builders.make_study(stories=2, qualification=1)
        yield Desk(double, study, replace(TEST, seats=3, seats_per_posting=1))


def person() -> Enrollment:
    return Enrollment.objects.select_related("study", "consent").get()


def hand_in_test(desk: Desk, *, passes: bool = True) -> Visit:
    """Somebody takes the test and hands the work in."""
    visit = desk.come()
    builders.take_test(person(), builders.answers() if passes else builders.answers(q1="no"))
    actions.record_hand_in(visit=visit, now=timezone.now())
    desk.submit(visit)
    return visit


def again(*, was_somebody_else: bool = False) -> None:
    let_take_test_again(
        enrollment=person(),
        was_somebody_else=was_somebody_else,
        reason="The key was wrong.",
        by=None,
        now=timezone.now(),
    )


def keep(desk: Desk, *hours: int) -> None:
    """The sweeps of the next hours."""
    for hour in hours:
        desk.sweep(now=timezone.now() + timedelta(hours=hour))
        actions.update_groups(now=timezone.now())
        desk.send_grants()


def members(desk: Desk) -> int:
    group = Campaign.objects.get().qualified_group
    return len(qualifications.members(desk.double.world, group))


@pytest.mark.parametrize("passes", [True, False])
def test_who_passes_in_a_visit_that_was_settled_comes_into_the_group(desk: Desk, passes: bool) -> None:
    hand_in_test(desk, passes=False)
    keep(desk, 0, 2)
    assert (WorkSession.objects.get().state, members(desk)) == ("confirmed", 0)

    again()
    keep(desk, 3)
    assert members(desk) == 0, "not before they have passed"
    builders.take_test(person(), builders.answers() if passes else builders.answers(q1="no"))
    keep(desk, 4)

    assert members(desk) == int(passes)
    assert Payment.objects.count() == 1


def test_what_was_passed_in_a_visit_that_is_not_proven_leads_nobody_in(desk: Desk) -> None:
    visit = hand_in_test(desk, passes=False)
    keep(desk, 0, 2)
    again()
    assert visit.posting is not None
    arrival = Arrival("3ANOTHER", visit.posting.remote_id, desk.worker_of_visit(visit), SITE)
    actions.arrive_for_campaign(campaign=desk.campaign, arrival=arrival, is_proven=False, now=timezone.now())
    assert Visit.objects.count() == 2
    builders.take_test(person())

    keep(desk, 3)

    assert not Grant.objects.filter(kind=Grant.Kind.QUALIFIED).exists()


def test_who_was_taken_out_by_hand_comes_back_when_they_have_passed_again(desk: Desk) -> None:
    Campaign.objects.update(auto_approves=False)
    hand_in_test(desk)
    keep(desk, 0)
    desk.send(reject(Submission.objects.get(), leave_group=True))
    desk.send_grants()
    assert (members(desk), Grant.objects.get().set_manually) == (0, True)

    again()
    keep(desk, 2)
    assert members(desk) == 0, "not before they have passed"
    builders.take_test(person())
    keep(desk, 4)

    assert members(desk) == 1


@pytest.mark.parametrize("by_itself", [True, False])
def test_a_test_that_was_handed_in_stays_whole_work_when_it_is_given_back(
    desk: Desk, by_itself: bool
) -> None:
    Campaign.objects.update(auto_approves=by_itself)
    hand_in_test(desk, passes=False)

    again()
    keep(desk, 0, 2)

    assert WorkSession.objects.get().state == "confirmed"
    assert not Mismatch.objects.exists()
    assert (to_approve(desk.campaign).count(), Payment.objects.count()) == ((0, 1) if by_itself else (1, 0))


def test_what_somebody_else_took_is_not_paid_by_itself(desk: Desk) -> None:
    hand_in_test(desk, passes=False)
    campaign = Campaign.objects.select_related("study").get()
    actions.record_submission(
        campaign=campaign,
        work=desk.marketplace.one_work(Visit.objects.get().remote_id),  # type: ignore[arg-type]
        now=timezone.now(),
    )

    again(was_somebody_else=True)
    keep(desk, 0, 2)

    assert Mismatch.objects.get().kind == Mismatch.Kind.PARTIAL
    assert not Payment.objects.exists()
