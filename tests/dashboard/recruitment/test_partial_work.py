"""The pages of work that was not done in full, or never handed in: what pays, and what does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation import actions as annotation_actions
from annotation.models import WorkSession
from recruitment import actions
from recruitment.links import visit_path
from recruitment.marketplace import Status, Work
from recruitment.models import Mismatch, Visit
from tests import builders
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES
from tests.recruitment.handed_in import Desk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Iterator[Desk]:
    """Visits of two stories each."""
    with MTurkDouble() as double:
        yield Desk(double, builders.make_study(stories=2), replace(STORIES, seats=3, stories_per_visit=2))


@pytest.fixture
def desk(built: Desk) -> Iterator[Desk]:
    with built.for_one_test() as desk:
        yield desk


@pytest.fixture
def boss() -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    return client


def shown(boss: Client, page: str, *args: int) -> str:
    return boss.get(reverse(f"dashboard:{page}", args=["study", *args])).content.decode()


def test_partial_work_is_shown_as_what_it_is(desk: Desk, boss: Client) -> None:
    visit = desk.come()
    desk.answer(visit)
    annotation_actions.withdraw(enrollment=visit.enrollment, now=timezone.now())
    Client().get(f"{visit_path(visit)}hand-in/")
    desk.submit(visit)
    desk.sweep()
    said = shown(boss, "mismatches")
    assert Visit.objects.get(pk=visit.pk).ended_by == "left"
    for page in (said, shown(boss, "submissions", 1), shown(boss, "campaign", 1)):
        assert "left or returned" in page.lower()
    assert "fewer stories than asked for" in said
    assert "Approving pays the full reward" in said
    assert "Count the votes" not in said, "they do"

    worker = desk.worker_of_visit(visit)
    actions.reconciliation.record_submission(
        campaign=desk.campaign, work=Work(visit.remote_id, worker, Status.RETURNED), now=timezone.now()
    )
    assert "Pay a bonus" in shown(boss, "submissions", desk.campaign.number)


def test_letting_votes_of_work_count_that_was_never_handed_in_pays_nobody(desk: Desk, boss: Client) -> None:
    visit = desk.come()
    for _story in range(2):
        desk.answer(visit)
    late = timezone.now() + desk.campaign.time_allowed + timedelta(hours=1)
    desk.later(hours=2)
    for minutes in (0, 5):
        desk.sweep(now=late + timedelta(minutes=minutes))
    said = shown(boss, "mismatches")
    assert "Counting the votes pays nobody" in said
    assert "Count the votes without paying" in said
    assert "Pay a bonus" not in said, "the platform takes none for work that it does not list"
    place = reverse("dashboard:settle_mismatch", args=["study", Mismatch.objects.get().pk])
    way = {"way": "outside", "amount": "0.25", "reason": "By bank, since the HIT had run out."}
    assert "2 decimal places" in boss.post(place, way | {"amount": "0.255"}, follow=True).content.decode()
    boss.post(place, way | {"votes_count": "on"})
    assert WorkSession.objects.get().state == WorkSession.State.CONFIRMED
    assert desk.charges() == []
    said = shown(boss, "payments")
    assert "This includes 0.25 USD paid outside the platform" in said
    assert "By bank, since the HIT had run out." in said
