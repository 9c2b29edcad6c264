"""A piece of work that its taker gave back and takes again, and a test that somebody may take again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.test import Client
from django.utils import timezone

from accounts.models import PlatformIdentity
from annotation import actions as annotation_actions
from annotation.models import Assignment, Enrollment, WorkSession
from dashboard.actions import let_take_test_again
from recruitment import actions
from recruitment.arrivals import Arrival, is_retaken
from recruitment.links import visit_path
from recruitment.models import Campaign, Grant, Mismatch, Payment, Submission, Visit
from recruitment.reconciliation.queries import to_approve
from tests import builders
from tests.doubles.mturk import qualifications
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES, TEST
from tests.recruitment.handed_in import SITE, Desk, reject

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
State = WorkSession.State


@pytest.fixture
def desk() -> Iterator[Desk]:
    with MTurkDouble() as double:
        yield Desk(double, builders.make_study(stories=4), replace(STORIES, seats=3, stories_per_visit=2))


def give_back(desk: Desk, visit: Visit) -> None:
    desk.double.crowd.give_back(visit.remote_id, desk.worker_of_visit(visit))


def open_it(desk: Desk, visit: Visit, *, now: datetime) -> Visit:
    """The same person opens the same piece of work."""
    assert visit.posting is not None
    arrival = Arrival(visit.remote_id, visit.posting.remote_id, desk.worker_of_visit(visit), SITE)
    opened = actions.arrive_for_campaign(campaign=desk.campaign, arrival=arrival, is_proven=False, now=now)
    return Visit.objects.select_related("session", "enrollment", "campaign__study").get(pk=opened.pk)


def given_up(desk: Desk, visit: Visit) -> datetime:
    """Its time is over, and the platform was asked twice since. When that was."""
    assert visit.session is not None
    after = visit.session.expires_at
    for minutes in (5, 15):
        desk.sweep(now=after + timedelta(minutes=minutes))
    return after + timedelta(minutes=20)


def session_of(visit: Visit) -> WorkSession:
    return WorkSession.objects.get(visit=visit)


def test_who_takes_given_up_work_again_has_the_whole_time_and_is_paid(desk: Desk) -> None:
    visit = desk.come()
    desk.answer(visit)
    give_back(desk, visit)
    later = given_up(desk, visit)
    assert session_of(visit).state == State.DOUBTED
    assert Grant.objects.filter(state=Grant.State.LEAVING).count() == 0

    anew = open_it(desk, visit, now=later)

    assert anew.pk != visit.pk
    assert session_of(anew).state == State.OPEN
    assert session_of(anew).expires_at - later >= timedelta(minutes=desk.campaign.minutes_allowed)
    assert open_it(desk, visit, now=later).pk == anew.pk
    visit.refresh_from_db()
    assert (visit.replaced_at, session_of(visit).state) == (later, State.DOUBTED)
    for _story in range(2):
        desk.answer(anew)
    Client().get(f"{visit_path(anew)}hand-in/")
    desk.double.crowd.accept(anew.posting.remote_id, desk.worker_of_visit(anew))  # type: ignore[union-attr]
    desk.submit(anew)
    desk.sweep()
    assert Submission.objects.get().visit == anew
    assert session_of(anew).state == State.CONFIRMED
    assert Payment.objects.get().kind == Payment.Kind.APPROVAL
    assert not Mismatch.objects.exists()
    states = list(Assignment.objects.order_by("pk").values_list("state", flat=True))
    assert states == ["doubted", "submitted", "submitted"]


def test_who_takes_it_again_after_its_time_has_the_whole_time(desk: Desk) -> None:
    visit = desk.come()
    give_back(desk, visit)
    late = session_of(visit).expires_at + timedelta(minutes=1)

    anew = open_it(desk, visit, now=late)

    assert anew.pk != visit.pk
    assert session_of(visit).state == State.DOUBTED
    assert session_of(anew).expires_at > late


def test_what_the_platform_told_of_a_return_is_enough(desk: Desk) -> None:
    visit = desk.come()
    Visit.objects.filter(pk=visit.pk).update(return_reported_at=timezone.now())

    anew = open_it(desk, visit, now=timezone.now())

    assert (anew.pk != visit.pk, anew.return_reported_at) == (True, None)


def test_loading_the_page_again_is_the_same_visit(desk: Desk) -> None:
    visit, now = desk.come(), timezone.now()
    assert open_it(desk, visit, now=now).pk == visit.pk

    desk.answer(visit)  # now somebody could hand it in, and is told of a return that was long ago
    Visit.objects.filter(pk=visit.pk).update(return_reported_at=now)
    assert open_it(desk, visit, now=session_of(visit).expires_at + timedelta(minutes=1)).pk == visit.pk


def test_what_a_researcher_doubted_stays_so(desk: Desk) -> None:
    visit, now = desk.come(), timezone.now()
    annotation_actions.doubt_session(session=session_of(visit), reason="Forged.", by=None, now=now)
    Visit.objects.filter(pk=visit.pk).update(decided_manually=True)

    assert open_it(desk, visit, now=now).pk == visit.pk


def test_who_can_begin_nothing_sees_what_became_of_the_earlier_one(desk: Desk) -> None:
    visit = desk.come()
    give_back(desk, visit)
    later = given_up(desk, visit)
    annotation_actions.suspend(enrollment=visit.enrollment, reason="We talk.", by=None, now=later)

    assert open_it(desk, visit, now=later).pk == visit.pk


def test_a_page_of_the_earlier_visit_says_to_open_the_work_again(desk: Desk) -> None:
    visit = desk.come()
    give_back(desk, visit)
    open_it(desk, visit, now=given_up(desk, visit))

    page = Client().get(visit_path(visit), follow=True)

    assert page.status_code == 409
    assert "open it again on the site that sent you" in page.content.decode()


def test_the_database_keeps_one_visit_of_a_piece_of_work_in_force(desk: Desk) -> None:
    visit = desk.come()
    with pytest.raises(DatabaseError, match="is not replaced"), transaction.atomic():
        Visit.objects.filter(pk=visit.pk).update(replaced_at=timezone.now())
    give_back(desk, visit)
    open_it(desk, visit, now=given_up(desk, visit))
    with pytest.raises(DatabaseError, match="one_visit_per_piece_of_work"), transaction.atomic():
        Visit.objects.filter(pk=visit.pk).update(replaced_at=None)
    assert PlatformIdentity.objects.count() == 1


@pytest.fixture
def desk_of_tests() -> Iterator[Desk]:
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
def test_who_passes_in_a_visit_that_was_settled_comes_into_the_group(
    desk_of_tests: Desk, passes: bool
) -> None:
    hand_in_test(desk_of_tests, passes=False)
    keep(desk_of_tests, 0, 2)
    assert (WorkSession.objects.get().state, members(desk_of_tests)) == ("confirmed", 0)

    again()
    keep(desk_of_tests, 3)
    assert members(desk_of_tests) == 0, "not before they have passed"
    builders.take_test(person(), builders.answers() if passes else builders.answers(q1="no"))
    keep(desk_of_tests, 4)

    assert members(desk_of_tests) == int(passes)
    assert Payment.objects.count() == 1


def test_what_was_passed_in_a_visit_that_is_not_proven_leads_nobody_in(desk_of_tests: Desk) -> None:
    visit = hand_in_test(desk_of_tests, passes=False)
    keep(desk_of_tests, 0, 2)
    again()
    assert visit.posting is not None
    arrival = Arrival("3ANOTHER", visit.posting.remote_id, desk_of_tests.worker_of_visit(visit), SITE)
    actions.arrive_for_campaign(
        campaign=desk_of_tests.campaign, arrival=arrival, is_proven=False, now=timezone.now()
    )
    assert Visit.objects.count() == 2
    builders.take_test(person())

    keep(desk_of_tests, 3)

    assert not Grant.objects.filter(kind=Grant.Kind.QUALIFIED).exists()


def test_who_was_taken_out_by_hand_comes_back_when_they_have_passed_again(desk_of_tests: Desk) -> None:
    Campaign.objects.update(auto_approves=False)
    hand_in_test(desk_of_tests)
    keep(desk_of_tests, 0)
    desk_of_tests.send(reject(Submission.objects.get(), leave_group=True))
    desk_of_tests.send_grants()
    assert (members(desk_of_tests), Grant.objects.get().set_manually) == (0, True)

    again()
    keep(desk_of_tests, 2)
    assert members(desk_of_tests) == 0, "not before they have passed"
    builders.take_test(person())
    keep(desk_of_tests, 4)

    assert members(desk_of_tests) == 1


@pytest.mark.parametrize("by_itself", [True, False])
def test_a_test_that_was_handed_in_stays_whole_work_when_it_is_given_back(
    desk_of_tests: Desk, by_itself: bool
) -> None:
    Campaign.objects.update(auto_approves=by_itself)
    hand_in_test(desk_of_tests, passes=False)

    again()
    keep(desk_of_tests, 0, 2)

    assert WorkSession.objects.get().state == "confirmed"
    assert not Mismatch.objects.exists()
    assert (to_approve(desk_of_tests.campaign).count(), Payment.objects.count()) == (
        (0, 1) if by_itself else (1, 0)
    )


def test_what_somebody_else_took_is_not_paid_by_itself(desk_of_tests: Desk) -> None:
    hand_in_test(desk_of_tests, passes=False)
    campaign = Campaign.objects.select_related("study").get()
    actions.reconciliation.record_submission(
        campaign=campaign,
        work=desk_of_tests.marketplace.one_work(Visit.objects.get().remote_id),  # type: ignore[arg-type]
        now=timezone.now(),
    )

    again(was_somebody_else=True)
    keep(desk_of_tests, 0, 2)

    assert Mismatch.objects.get().kind == Mismatch.Kind.PARTIAL
    assert not Payment.objects.exists()


NOW = timezone.now()
ENDED = {"state": "doubted", "story_limit": 3, "expires_at": NOW - timedelta(minutes=1)}
SOON = NOW + timedelta(minutes=1)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, True),
        ({"stories_submitted": 1}, True),
        ({"state": "open"}, True),
        ({"state": "open", "stories_submitted": 1}, False),
        ({"state": "open", "expires_at": SOON}, False),
        ({"state": "open", "expires_at": SOON, "return_reported_at": NOW}, True),
        ({"state": "open", "stories_submitted": 1, "return_reported_at": NOW}, False),
        ({"state": "confirmed"}, False),
        ({"stories_submitted": 3}, False),
        ({"story_limit": 0, "test_finished_at": NOW}, False),
        ({"handed_in_at": NOW}, False),
        ({"decided_manually": True}, False),
    ],
)
def test_what_is_taken_anew(changed: dict[str, Any], expected: bool) -> None:
    of_visit = ("return_reported_at", "handed_in_at", "decided_manually")
    mine = {name: value for name, value in changed.items() if name in of_visit}
    session = WorkSession(**ENDED | {name: changed[name] for name in changed.keys() - mine.keys()})
    visit = Visit(session=session, **mine)
    assert is_retaken(visit, is_listed=False, now=NOW) is expected
    assert not is_retaken(visit, is_listed=True, now=NOW)
