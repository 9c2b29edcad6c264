"""Who is in a platform's groups: put there by the test, by a retake, by a comparison and by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation.models import Enrollment, WorkSession
from annotation.rules import pseudonym
from dashboard.actions import let_take_test_again
from recruitment import actions
from recruitment.arrival_rules import Arrival
from recruitment.models import Campaign, Grant, Mismatch, Payment, Submission, Visit
from recruitment.reconciliation.queries import to_approve
from tests import builders
from tests.doubles.mturk import qualifications
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import TEST
from tests.recruitment.handed_in import SITE, Desk, reject

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Iterator[Desk]:
    """A campaign for the test."""
    with MTurkDouble() as double:
        study = builders.make_study(stories=2, qualification=1, incomplete_after=1)
        yield Desk(double, study, replace(TEST, seats=3, seats_per_posting=3))


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


def members(desk: Desk) -> dict[str, int]:
    """How many people are in the campaign's groups on the double."""
    campaign = Campaign.objects.get()
    groups = {"incomplete": campaign.incomplete_group, "qualified": campaign.qualified_group}
    return {kind: len(qualifications.members(desk.double.world, group)) for kind, group in groups.items()}


def qualified(desk: Desk) -> int:
    return members(desk)["qualified"]


def test_who_passes_in_a_visit_that_was_settled_comes_into_the_group(desk: Desk) -> None:
    hand_in_test(desk, passes=False)
    keep(desk, 0)
    assert (WorkSession.objects.get().state, qualified(desk)) == ("confirmed", 0)

    again()
    keep(desk, 3)
    assert qualified(desk) == 0, "not before they have passed"
    builders.take_test(person())
    keep(desk, 4)

    assert qualified(desk) == 1
    assert Payment.objects.count() == 1


def test_what_was_passed_in_a_visit_that_is_not_proven_leads_nobody_in(desk: Desk) -> None:
    visit = hand_in_test(desk, passes=False)
    keep(desk, 0)
    again()
    assert visit.posting is not None
    arrival = Arrival("3ANOTHER", visit.posting.remote_id, desk.worker_of_visit(visit), SITE)
    actions.arrive_for_campaign(campaign=desk.campaign, arrival=arrival, is_proven=False, now=timezone.now())
    assert Visit.objects.count() == 2
    builders.take_test(person())

    keep(desk, 3)

    assert not Grant.objects.filter(kind=Grant.Kind.QUALIFIED).exists()


def test_who_was_taken_out_with_a_rejection_comes_back_when_they_have_passed_again(desk: Desk) -> None:
    Campaign.objects.update(auto_approves=False)
    hand_in_test(desk)
    keep(desk, 0)
    assert qualified(desk) == 1
    desk.send(reject(Submission.objects.get(), leave_group=True))
    desk.send_grants()
    assert (qualified(desk), Grant.objects.get().set_manually) == (0, True)

    again()
    keep(desk, 2)
    assert qualified(desk) == 0, "not before they have passed"
    builders.take_test(person())
    keep(desk, 4)

    assert qualified(desk) == 1


@pytest.mark.parametrize("undone", ["taken back", "overturned"])
def test_whose_test_is_rejected_leaves_the_group_and_comes_back_when_that_is_undone(
    desk: Desk, undone: str
) -> None:
    Campaign.objects.update(auto_approves=False)
    hand_in_test(desk)
    keep(desk, 0)
    work = Submission.objects.get()
    rejection = reject(work, leave_group=True)
    desk.send_grants()
    actions.update_groups(now=timezone.now())
    desk.send_grants()
    assert qualified(desk) == 0, "no sweep lets them in again"
    if undone == "taken back":
        actions.withdraw_rejection(payment=rejection, by=None, now=timezone.now())
    else:
        desk.send(rejection)
        work.refresh_from_db()
        desk.send(actions.overturn_rejection(submission=work, votes_count=True, by=None, now=timezone.now()))
    desk.send_grants()
    assert (qualified(desk), Grant.objects.get().set_manually) == (1, False)


def test_a_test_that_was_handed_in_stays_whole_work_when_it_is_given_back(desk: Desk) -> None:
    Campaign.objects.update(auto_approves=False)
    hand_in_test(desk, passes=False)

    again()
    keep(desk, 0)

    assert WorkSession.objects.get().state == "confirmed"
    assert not Mismatch.objects.exists()
    assert (to_approve(desk.campaign).count(), Payment.objects.count()) == (1, 0)


def test_what_somebody_else_took_is_not_paid_by_itself(desk: Desk) -> None:
    visit = hand_in_test(desk, passes=False)
    work = desk.marketplace.one_work(visit.remote_id)
    assert work is not None
    actions.reconciliation.record_submission(campaign=desk.campaign, work=work, now=timezone.now())

    again(was_somebody_else=True)
    keep(desk, 0)

    assert Mismatch.objects.get().kind == Mismatch.Kind.PARTIAL
    assert not Payment.objects.exists()


def test_who_is_let_count_by_hand_gets_what_a_comparison_would_give_them(desk: Desk) -> None:
    visit = desk.come()
    builders.take_test(visit.enrollment)
    actions.record_hand_in(visit=visit, now=timezone.now())
    Visit.objects.update(return_reported_at=timezone.now())
    late = timezone.now() + desk.campaign.time_allowed + timedelta(hours=1)
    for minutes in (0, 5):
        desk.sweep(now=late + timedelta(minutes=minutes))
    desk.send_grants()
    assert members(desk) == {"incomplete": 1, "qualified": 0}
    actions.confirm_manually(
        mismatch=Mismatch.objects.get(), how="She showed us.", by=None, now=timezone.now()
    )
    desk.send_grants()
    assert members(desk) == {"incomplete": 0, "qualified": 1}, "as the double has them"
    assert WorkSession.objects.get().identity_claimed, "of whom the platform has said nothing"


def test_a_researcher_puts_people_into_groups_and_takes_them_out_for_good(desk: Desk) -> None:
    visit = desk.come()
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    name = pseudonym(desk.study.pseudonym_key, visit.enrollment.annotator_id)
    person, change = (reverse(f"dashboard:{page}", args=["study", name]) for page in ("person", "set_group"))
    said = {"platform": "mturk", "kind": "qualified"}
    assert "Put them into this group" in client.get(person).content.decode()
    refused = client.post(change, said | {"kind": "none", "way": "in"}, follow=True)
    assert "no such group for this participant" in refused.content.decode()
    client.post(change, said | {"way": "in"})
    desk.send_grants()
    assert members(desk)["qualified"] == 1
    assert "Take them out of this group" in client.get(person).content.decode()
    client.post(change, said | {"way": "out"})
    desk.send_grants()
    Enrollment.objects.update(state="qualified")
    actions.grants.grant(
        campaign=desk.campaign,
        annotator=visit.enrollment.annotator,
        kind=Grant.Kind.QUALIFIED,
        now=timezone.now(),
    )
    desk.send_grants()
    assert (members(desk)["qualified"], Grant.objects.get().state) == (0, Grant.State.LEFT)
