"""Personal links: the page they open, the visit they begin, and the command that makes them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.actions import set_email
from accounts.models import PlatformIdentity
from annotation import actions
from annotation.models import Enrollment, Event, Study
from annotation.tokens import VisitClaim, personal_token, read_visit_token, visit_token
from recruitment.links import confirming_link, personal_link
from recruitment.models import Visit
from tests import builders
from tests.annotation.pages import Browser, arrive

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@pytest.fixture
def person() -> Enrollment:
    return builders.invite(builders.make_study(qualification=1))[0]


def test_looking_at_the_link_changes_nothing(person: Enrollment) -> None:
    """Mail programs and chat windows open links before people do."""
    events = Event.objects.count()
    browser = Browser()

    browser.open(personal_link(person))

    assert browser.page.status_code == 200
    assert browser.heading == "You are invited to read stories"
    assert not Visit.objects.exists()
    assert Event.objects.count() == events
    assert not browser.page.cookies
    assert "no-store" in browser.page.headers["Cache-Control"]


def test_starting_makes_a_visit_and_a_token_that_names_it(person: Enrollment) -> None:
    browser = arrive(person)

    visit = Visit.objects.get()
    assert (visit.enrollment, visit.platform, visit.environment) == (person, "link", "live")
    assert read_visit_token(browser.url.split("/")[2]) == VisitClaim(person.pk, visit.pk, person.link_key)
    assert Event.objects.filter(type=Event.Type.VISIT_ARRIVED, subject=f"visit {visit.pk}").exists()


def test_an_address_of_another_place_is_refused_with_what_to_do(person: Enrollment) -> None:
    moment = timezone.now()
    (other,) = builders.invite(builders.make_study("another"))
    for holder in (person, other):
        set_email(annotator=holder.annotator, address="ada@example.org", environment="live", now=moment)
    first, second = PlatformIdentity.objects.order_by("pk")
    browser = Browser()
    for claim in (first, second):
        browser.open(confirming_link(claim), {})

    assert browser.heading == "The address was not confirmed"
    assert "have its link sent to you and continue there" in browser.document.text_content()
    assert browser.document.xpath("//main//a/@href") == ["/again/"]


def test_the_link_brings_people_back_to_where_they_stopped(person: Enrollment) -> None:
    builders.take_test(builders.consent(person))

    browser = Browser()
    browser.open(personal_link(person))
    assert browser.heading == "Welcome back"
    browser.press()

    assert browser.path == "/stories/"

    actions.pause_study(study=person.study, by=None, now=timezone.now())
    browser.open(personal_link(person))
    assert "Nobody gets stories right now." in browser.document.text_content()


@pytest.mark.parametrize("token", ["1.x", "x.y", "1.2.3", "²."])
def test_a_forged_link_opens_nothing(person: Enrollment, token: str) -> None:
    browser = Browser()

    ways: list[dict[str, str] | None] = [None, {}]
    for data in ways:
        browser.open(f"/join/{token}/", data)
        assert browser.page.status_code == 404
        assert browser.heading == "This link does not work"
    assert not Visit.objects.exists()


def test_a_link_that_was_cut_off_opens_nothing(person: Enrollment) -> None:
    browser = Browser()

    browser.open(f"/join/{person.pk}-1/")

    assert (browser.page.status_code, browser.heading) == (404, "This link does not work")


def test_somebody_elses_number_does_not_open_their_place(person: Enrollment) -> None:
    (other,) = builders.invite(person.study)
    token = personal_token(person.pk, person.link_key)
    forged = f"{other.pk}{token[len(str(person.pk)) :]}"

    browser = Browser()
    browser.open(f"/join/{forged}/")

    assert browser.page.status_code == 404


def test_a_link_from_before_a_restored_backup_opens_nobody_else(person: Enrollment) -> None:
    """A restored database gives numbers again that people already have in their links."""
    link, page = personal_link(person), arrive(person).url
    (other,) = builders.invite(person.study)
    assert other.link_nonce != person.link_nonce

    Enrollment.objects.filter(pk=person.pk).update(link_nonce=other.link_nonce)  # now somebody else's number
    for address in (link, page):
        browser = Browser()
        browser.open(address)
        assert (browser.page.status_code, browser.heading) == (410, "This link has been replaced")


def test_a_link_to_a_row_that_a_restore_lost_says_where_to_go(person: Enrollment) -> None:
    key = person.link_key
    for address in (
        f"/join/{personal_token(10**9, key)}/",
        f"/work/{visit_token(VisitClaim(10**9, 1, key))}/",
        f"/work/{visit_token(VisitClaim(person.pk, 1, key, session_id=10**9))}/",
    ):
        browser = Browser()
        browser.open(address)
        assert (browser.page.status_code, browser.heading) == (410, "This visit is no longer in our records")
        assert "Open your personal link again" in browser.page.content.decode()


def test_links_are_absolute_and_under_the_public_address(person: Enrollment, settings: Any) -> None:
    settings.PUBLIC_URL = "https://study.example.org"

    token = personal_token(person.pk, person.link_key)
    assert personal_link(person) == f"https://study.example.org/join/{token}/"


@pytest.mark.parametrize("move", [actions.pause_study, actions.close_study], ids=["paused", "closed"])
def test_nobody_is_welcomed_through_a_closed_door(move: Any) -> None:
    study = builders.make_study()
    (person,) = builders.invite(study)
    move(study=study, by=None, now=timezone.now())
    browser = Browser()
    for _ in range(2):
        page = browser.open(personal_link(person))
        assert browser.heading in ("The study is paused", "The study is finished")
        assert page.status_code == 200
        browser.open(personal_link(person), data={})
    assert not Visit.objects.exists()


def test_people_of_a_rehearsal_arrive_in_it() -> None:
    study = builders.make_study(opened=False)
    (person,) = builders.invite(study)
    actions.make_rehearsal(study=study, by=None, now=timezone.now())
    actions.open_study(study=study, by=None, now=timezone.now())

    arrive(Enrollment.objects.get(pk=person.pk))

    assert Visit.objects.get().environment == "rehearsal"


def test_the_command_prints_one_link_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    study: Study = builders.make_study()

    call_command("invite", "study", count=3)

    lines = capsys.readouterr().out.splitlines()
    assert lines == [personal_link(person) for person in study.enrollments.order_by("pk")]
    assert len(set(lines)) == 3


def test_the_command_speaks_json(capsys: pytest.CaptureFixture[str]) -> None:
    builders.make_study()

    call_command("invite", "study", json=True)

    said = json.loads(capsys.readouterr().out)
    assert list(said) == ["links"]
    assert len(said["links"]) == 1


def test_the_command_knows_the_studies() -> None:
    builders.make_study()

    with pytest.raises(CommandError, match="Studies here: study") as error:
        call_command("invite", "stduy")
    assert error.value.returncode == 1


@pytest.mark.parametrize("count", [0, -1, 10_001])
def test_the_command_refuses_senseless_numbers(count: int) -> None:
    builders.make_study()

    with pytest.raises(CommandError, match="--count"):
        call_command("invite", "study", "--count", str(count))
    assert not Enrollment.objects.exists()
