"""From a platform's id to a person and back: for who may change the study, logged, and in no address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation import actions as annotation_actions
from annotation.models import Event, Study
from annotation.rules import pseudonym
from recruitment import actions
from recruitment.models import Mismatch, Submission
from tests import builders
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES, stranger_on_a_platform
from tests.recruitment.handed_in import Desk, approve

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Iterator[Desk]:
    with MTurkDouble() as double:
        yield Desk(double, builders.make_study("main", stories=2), replace(STORIES, seats=3))


@pytest.fixture
def desk(built: Desk) -> Iterator[Desk]:
    with built.for_one_test() as desk:
        yield desk


@pytest.fixture
def study(desk: Desk) -> Study:
    return desk.study


@pytest.fixture
def boss() -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    return client


def address(page: str, *more: object) -> str:
    return reverse(f"dashboard:{page}", args=["main", *more])


def words(html: bytes) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html.decode()).split())


def looks() -> list[tuple[str, bool]]:
    """What the log says of who looked: the subject, and whether it names a person here."""
    found = Event.objects.filter(type=Event.Type.IDENTITY_SHOWN).order_by("pk")
    assert {str(event.actor) for event in found} <= {"boss"}
    return [(event.subject + event.note, event.enrollment_id is not None) for event in found]


def test_who_writes_from_a_platform_is_found_by_every_id_they_may_give(
    desk: Desk, study: Study, boss: Client
) -> None:
    work = desk.hand_in()
    desk.send(approve(work))
    other = desk.hand_in()
    name = pseudonym(study.pseudonym_key, work.annotator_id)
    assert "Find by platform id" in words(boss.get(address("recruitment")).content)
    for said in (desk.worker_of(work), f" {work.remote_id} "):
        response = boss.post(address("find_by_id"), {"remote_id": said})
        html = response.content.decode()
        assert said.strip() not in html, "the page is kept by the browser"
        assert address("person", name) in html
        assert "Approval: 0.25 USD, done" in words(response.content)
        assert pseudonym(study.pseudonym_key, other.annotator_id) not in html
        only = words(boss.get(f"{address('submissions', 1)}?only={work.pk}").content)
        assert (name in only, only.count("USD")) == (True, 2)
    assert looks() == [("found by an id of the platform", True)] * 2
    assert "No participant and no submission" in words(
        boss.post(address("find_by_id"), {"remote_id": "A1"}).content
    )
    assert "No participant and no submission" in words(
        boss.post(address("find_by_id"), {"remote_id": "A\0"}).content
    )
    assert len(looks()) == 2
    led_on = boss.get(address("find_by_id"))
    assert led_on["Location"] == address("recruitment"), "no id belongs into an address"


def test_a_visit_that_the_platform_does_not_list_is_found_too(desk: Desk, boss: Client) -> None:
    visit = desk.come()
    found = words(boss.post(address("find_by_id"), {"remote_id": desk.worker_of_visit(visit)}).content)
    assert "not listed by the platform" in found


def test_nobody_of_another_study_is_found(study: Study, boss: Client) -> None:
    stranger_on_a_platform(builders.make_study("other"))
    assert "No participant and no submission" in words(
        boss.post(address("find_by_id"), {"remote_id": "5f3a9c0de1"}).content
    )


def test_whom_to_write_to_about_a_mismatch_is_shown_on_request(study: Study, boss: Client) -> None:
    mismatch = stranger_on_a_platform(study)
    listed = boss.get(address("mismatches")).content.decode()
    assert "a-session" not in listed
    name = pseudonym(study.pseudonym_key, mismatch.submission.annotator_id) if mismatch.submission else ""
    assert name in listed
    assert address("person", name) not in listed, "a stranger has no page here"
    shown = boss.post(address("mismatch_ids", mismatch.pk))
    for said in ("5f3a9c0de1", "a-session"):
        assert said in words(shown.content)
    assert "no-store" in shown.headers["Cache-Control"]
    assert looks() == [("ids of work in campaign 2", False)]


def test_of_a_refused_payment_too_and_of_who_was_forgotten_the_work_alone(
    desk: Desk, study: Study, boss: Client
) -> None:
    work = desk.hand_in()
    worker = desk.worker_of(work)
    approval = approve(work)
    annotation_actions.forget(annotator=work.annotator, now=timezone.now())
    desk.send(approval)
    assert address("submission_ids", work.pk) in boss.get(address("payments")).content.decode()
    shown = words(boss.post(address("submission_ids", work.pk)).content)
    assert work.remote_id in shown
    assert worker not in shown
    assert "deleted at their request" in shown


def test_mismatches_lead_to_the_person(desk: Desk, study: Study, boss: Client) -> None:
    work = desk.hand_in(whole=False)
    actions.settlement.settle_visit(visit_id=work.visit_id or 0, polls=[], now=timezone.now())
    assert Mismatch.objects.get().submission == Submission.objects.get()
    name = pseudonym(study.pseudonym_key, work.annotator_id)
    assert address("person", name) in boss.get(address("mismatches")).content.decode()
