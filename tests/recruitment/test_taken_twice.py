"""A piece of work that its taker gave back and takes again."""

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
from annotation.models import Assignment, WorkSession
from recruitment import actions
from recruitment.arrival_rules import Arrival, is_retaken
from recruitment.links import visit_path
from recruitment.models import Grant, Mismatch, Payment, Submission, Visit
from tests import builders
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES
from tests.recruitment.handed_in import SITE, Desk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
State = WorkSession.State


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Iterator[Desk]:
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
    old_page = Client().get(visit_path(visit), follow=True)
    assert old_page.status_code == 409
    assert "open it again on the site that sent you" in old_page.content.decode()
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


def test_what_the_platform_told_of_a_return_is_enough(desk: Desk) -> None:
    visit = desk.come()
    Visit.objects.filter(pk=visit.pk).update(return_reported_at=timezone.now())

    anew = open_it(desk, visit, now=timezone.now())

    assert (anew.pk != visit.pk, anew.return_reported_at) == (True, None)
    with pytest.raises(DatabaseError, match="one_visit_per_piece_of_work"), transaction.atomic():
        Visit.objects.filter(pk=visit.pk).update(replaced_at=None)
    assert PlatformIdentity.objects.count() == 1


def test_loading_the_page_again_is_the_same_visit(desk: Desk) -> None:
    visit, now = desk.come(), timezone.now()
    assert open_it(desk, visit, now=now).pk == visit.pk
    with pytest.raises(DatabaseError, match="is not replaced"), transaction.atomic():
        Visit.objects.filter(pk=visit.pk).update(replaced_at=now)

    desk.answer(visit)  # now somebody could hand it in, and is told of a return that was long ago
    Visit.objects.filter(pk=visit.pk).update(return_reported_at=now)
    assert open_it(desk, visit, now=session_of(visit).expires_at + timedelta(minutes=1)).pk == visit.pk


def test_who_can_begin_nothing_sees_what_became_of_the_earlier_one(desk: Desk) -> None:
    visit = desk.come()
    give_back(desk, visit)
    later = given_up(desk, visit)
    annotation_actions.suspend(enrollment=visit.enrollment, reason="We talk.", by=None, now=later)

    assert open_it(desk, visit, now=later).pk == visit.pk


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
