"""Arriving with a participant's id, the completion code at the end, and the way back."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from accounts import rate_limits
from accounts.models import Annotator, ForgottenIdentity, PlatformIdentity
from accounts.rate_limits import Limit
from annotation import access, actions as annotation_actions
from annotation.models import Enrollment, Event, Study
from qualification.models import Round
from recruitment.join_links import InvalidJoinLink
from recruitment.links import personal_link
from recruitment.models import JoinLink, Visit
from tests import builders
from tests.annotation.pages import Browser, at
from tests.recruitment.joining import CODE, PARTICIPANT, WAY_BACK, come, joined, make_join_link
from tomannot.log_masking import mask_tokens

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@pytest.fixture
def link() -> JoinLink:
    return make_join_link(builders.make_study(stories=2, votes_per_story=1))


def test_a_participant_arrives_under_an_address_that_does_not_say_who_they_are(link: JoinLink) -> None:
    response = Client().get(f"/join/study/?participant={PARTICIPANT}")

    assert response.status_code == 302
    assert PARTICIPANT not in response.headers["Location"]
    assert response.headers["Location"].startswith("/join/")
    assert "no-store" in response.headers["Cache-Control"]
    browser = come()
    assert browser.heading == "You are invited to read stories"
    browser.press()
    assert browser.path == "/consent/"
    visit = Visit.objects.get()
    assert (visit.platform, visit.enrollment) == ("link", Enrollment.objects.get())
    identity = PlatformIdentity.objects.get()
    assert (identity.platform, identity.person) == ("link", f"study-{link.study_id}/{PARTICIPANT}")
    assert not [page for page in browser.pages[1:] if PARTICIPANT.encode() in page.content]


def test_only_invited_people_are_told_to_keep_a_link_that_they_were_sent(link: JoinLink) -> None:
    keep = b"Keep your personal link"
    invited = Browser()
    invited.open(personal_link(builders.invite(link.study)[0]))
    assert keep in invited.page.content
    assert keep not in come().page.content


@pytest.mark.parametrize("has_practice", [True, False])
def test_the_welcome_page_mentions_practice_where_there_is_some(has_practice: bool) -> None:
    study = builders.make_study(qualification=1)
    if has_practice:
        builders.add_round(study, [builders.story_row(900, prefix="practice")], kind=Round.Kind.OFFERED)
    make_join_link(study)
    welcome = come().page.content
    assert b"People who judge each story" in welcome
    assert (b"You can practise" in welcome) is has_practice


def test_the_same_id_is_the_same_person_in_the_same_place(link: JoinLink) -> None:
    urls = [come().url for _ in range(3)]

    assert len(set(urls)) == 1
    assert Annotator.objects.count() == Enrollment.objects.count() == 1
    assert come("another").url != urls[0]
    assert Annotator.objects.count() == 2


def test_ids_of_one_source_are_the_same_people_in_its_studies_only() -> None:
    for slug, source in (("a", "pool"), ("b", "pool"), ("c", "")):
        make_join_link(builders.make_study(slug), source=source)
        come(slug=slug)

    people = dict(Enrollment.objects.values_list("study__slug", "annotator"))
    assert people["a"] == people["b"] != people["c"]


def test_a_study_cannot_take_the_ids_that_are_another_ones_own(link: JoinLink) -> None:
    other = builders.make_study("other")
    with pytest.raises(InvalidJoinLink, match="one study alone"):
        make_join_link(other, source=link.source)
    assert not JoinLink.objects.filter(study=other).exists()
    assert make_join_link(link.study, source=link.source).source == f"study-{link.study_id}"


def test_a_parameter_has_the_name_the_study_gives_it() -> None:
    make_join_link(builders.make_study(), parameter="PROLIFIC_PID")

    assert come(parameter="participant").page.status_code == 400
    assert come(parameter="PROLIFIC_PID").page.status_code == 200


@pytest.mark.parametrize("id", ["", "%00"])
def test_without_an_id_nobody_comes_in(link: JoinLink, id: str) -> None:
    for address in (f"/join/study/?participant={id}", "/join/study/"):
        browser = Browser()
        browser.open(address)
        assert (browser.page.status_code, browser.heading) == (400, "We cannot see who you are")
    assert not Annotator.objects.exists()


@pytest.mark.parametrize("slug", ["nothing", "without"])
def test_a_study_without_a_join_link_lets_nobody_in(link: JoinLink, slug: str) -> None:
    builders.make_study("without")

    browser = come(slug=slug)

    assert (browser.page.status_code, browser.heading) == (404, "This link does not work")
    assert not Annotator.objects.exists()


@pytest.mark.parametrize(
    ("state", "heading"),
    [
        ("draft", "The study has not started yet"),
        ("paused", "The study is paused"),
        ("closed", "The study is finished"),
    ],
)
def test_nobody_new_is_let_into_a_study_that_is_not_open(state: str, heading: str) -> None:
    study = builders.make_study(opened=state != "draft")
    make_join_link(study)
    move: dict[str, Callable[..., Study]] = {
        "paused": annotation_actions.pause_study,
        "closed": annotation_actions.close_study,
    }
    if state in move:
        move[state](study=study, by=None, now=timezone.now())

    browser = come()
    assert browser.heading == heading
    assert "saved" not in browser.document.text_content(), "they did nothing yet"
    assert not Annotator.objects.exists()


def test_a_link_lets_in_as_many_as_it_may_until_it_closes_and_those_stay(link: JoinLink) -> None:
    make_join_link(link.study, most_people=1)
    first = joined(JoinLink.objects.get())
    full = come("another")
    assert (full.page.status_code, full.heading) == (200, "Enough people have joined")
    assert come().heading == "You are invited to read stories"
    make_join_link(link.study, most_people=None)
    assert come("another").heading == "You are invited to read stories"
    make_join_link(link.study, closes_at=timezone.now())
    assert come("a third").page.status_code == 400
    assert come("third").heading == "Enough people have joined"
    assert joined(JoinLink.objects.get()) == first
    assert Enrollment.objects.count() == 2


def test_whoever_was_there_before_can_still_look_at_how_it_stands(link: JoinLink) -> None:
    person = builders.consent(joined(link))
    builders.answer_everything([person])
    annotation_actions.close_study(study=link.study, by=None, now=timezone.now())

    browser = come()
    browser.press()

    assert browser.heading == "The study is finished"
    browser.open(browser.document.xpath("//a[normalize-space()='Finish and get my code']/@href")[0])
    assert CODE.search(browser.document.text_content())


def test_looking_ahead_lets_nobody_in(link: JoinLink) -> None:
    assert Client().head(f"/join/study/?participant={PARTICIPANT}").status_code == 405
    assert not Annotator.objects.exists()


def test_somebody_forgotten_gets_no_second_place_and_no_second_vote() -> None:
    link = make_join_link(builders.make_study(), source="the-list")
    person = builders.consent(joined(link))
    builders.vote(person)
    annotation_actions.forget(annotator=person.annotator, now=timezone.now())

    for slug in ("study", "elsewhere"):
        if slug == "elsewhere":  # the same list of ids in another study
            make_join_link(builders.make_study(slug), source=link.source)
        browser = come(slug=slug)
        assert (browser.page.status_code, browser.heading) == (410, "Your personal data has been deleted")
        assert "your account can’t be opened again" in browser.document.text_content()

    assert Enrollment.objects.get() == person
    assert not PlatformIdentity.objects.exists()
    assert Annotator.objects.count() == 1
    assert joined(link, "another").pk != person.pk


def test_of_somebody_forgotten_only_a_mark_stays_that_nobody_can_read(link: JoinLink, settings: Any) -> None:
    person = joined(link)
    moment = timezone.now()
    annotation_actions.forget(annotator=person.annotator, now=moment)

    mark = ForgottenIdentity.objects.get()
    plain = f"link:live:{link.source}/{PARTICIPANT}"
    assert mark.digest != hashlib.sha256(plain.encode()).hexdigest()
    assert (len(mark.digest), mark.day) == (64, moment.date())
    assert {field.name for field in ForgottenIdentity._meta.get_fields()} == {"digest", "day"}

    settings.SECRET_KEY = "another key"
    assert joined(link).pk != person.pk, "the mark says nothing without the key"


def test_an_id_is_in_no_log_and_no_event(link: JoinLink, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        come().press()
        come(slug="nothing")
        come(parameter="other")

    assert "Bad Request" in caplog.text
    assert PARTICIPANT not in mask_tokens(caplog.text)
    assert not [event for event in Event.objects.all() if PARTICIPANT in f"{event.subject} {event.note}"]


@pytest.mark.usefixtures("one_moment")
def test_wrong_addresses_are_limited_and_right_ones_never(
    link: JoinLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "WRONG_LINKS", replace(rate_limits.WRONG_LINKS, most=2))
    wrong = [come(slug="nothing").page.status_code for _ in range(3)]
    assert wrong == [404] * 2 + [429]
    asked_to_wait = Browser()
    for address in ("/join/1.x/", "/work/1-1-1.x.y/stories/", "/confirm/1.x.y/"):
        asked_to_wait.open(address)
        assert asked_to_wait.page.status_code == 429
        assert asked_to_wait.heading == "Please wait a moment"
        assert 0 < int(asked_to_wait.page.headers["Retry-After"]) <= 600
        assert re.search(r"try again in \d+ minutes?\.", asked_to_wait.document.text_content())

    assert come().page.status_code == 200, "on a shared address, whoever has a right link is let in"
    person = builders.qualified(link.study)[0]
    assert at(person, "stories/").page.status_code == 200


@pytest.mark.usefixtures("one_moment")
def test_clients_are_told_apart_behind_as_many_proxies_as_there_are(
    link: JoinLink, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "WRONG_LINKS", replace(rate_limits.WRONG_LINKS, most=2))

    def statuses(client: str, times: int) -> set[int]:
        headers = {"X-Forwarded-For": client}
        return {Client().get("/join/1.x/", headers=headers).status_code for _ in range(times)}

    settings.PROXIES = 1
    assert statuses("made-up, 203.0.113.1", 3) == {404, 429}
    assert statuses("other, 203.0.113.1", 1) == {429}, "what a client writes itself is not believed"
    assert statuses("203.0.113.2", 1) == {404}
    assert statuses("203.0.113.1:4711", 1) == {429}, "some proxies write the port, too"
    assert statuses("[2001:db8:1::1]:443", 3) == {404, 429}
    assert statuses("2001:db8:1::1", 1) == {429}
    assert statuses("2001:db8::1", 3) == {404, 429}
    assert statuses("2001:db8::ffff", 1) == {429}, "one client has a whole network"
    assert statuses("2001:db8:0:1::1", 1) == {404}


def test_the_command_makes_changes_and_removes_a_join_link(capsys: pytest.CaptureFixture[str]) -> None:
    builders.make_study("my_Study")

    call_command("join_link", "my_Study")
    assert capsys.readouterr().out.strip() == "http://testserver/join/my_Study/?participant="
    call_command(
        "join_link", "my_Study", "--parameter", "PID", "--return-url", WAY_BACK["return_url"],
    )  # fmt: skip
    link = JoinLink.objects.get()
    assert (link.parameter, link.source) == (
        "PID", f"study-{link.study_id}"
    )  # fmt: skip
    capsys.readouterr()
    call_command("join_link", "my_Study", "--platform", "sona", "--most-people", "50", "--close")
    assert capsys.readouterr().out.strip() == ("http://testserver/join/my_Study/?survey_code=%SURVEY_CODE%")
    link.refresh_from_db()
    assert (link.return_url, link.most_people, link.closes_at is None) == (WAY_BACK["return_url"], 50, False)
    call_command("join_link", "my_Study", "--platform", "connect", "--reopen")
    assert capsys.readouterr().out.strip() == "http://testserver/join/my_Study/"
    link.refresh_from_db()
    assert (link.parameter, link.most_people, link.closes_at) == ("participantId", None, None)
    call_command("join_link", "my_Study", remove=True)

    assert not JoinLink.objects.exists()
    assert [event.type for event in Event.objects.order_by("pk")][-5:] == [
        *["join_link_set"] * 4, "join_link_removed",
    ]  # fmt: skip


def test_settings_that_are_not_named_stay_and_everybody_stays_who_they_are() -> None:
    study = builders.make_study()
    call_command("join_link", "study", "--source", "prolific", "--parameter", "PID")
    before = joined(JoinLink.objects.get())

    call_command(
        "join_link", "study", "--return-url", WAY_BACK["return_url"]
    )  # fmt: skip
    call_command("join_link", "study", "--parameter", "PROLIFIC_PID")

    link = JoinLink.objects.get(study=study)
    assert (link.parameter, link.source, link.return_url) == (
        "PROLIFIC_PID", "prolific", WAY_BACK["return_url"]
    )  # fmt: skip
    assert joined(link) == before
    with pytest.raises(CommandError, match="they would count as new"):
        call_command("join_link", "study", "--source", "sona")
    assert JoinLink.objects.get().source == "prolific"


def test_the_source_may_change_until_somebody_has_come() -> None:
    study = builders.make_study()
    make_join_link(study, source="prolific")
    assert make_join_link(study, source="sona").source == "sona"


def test_studies_without_a_source_never_share_their_ids() -> None:
    links = [make_join_link(builders.make_study(slug)) for slug in ("my_study", "My-Study", "-study")]
    assert len({joined(link).annotator_id for link in links}) == 3


@pytest.mark.usefixtures("one_moment")
def test_one_client_cannot_make_places_without_end_and_everybody_with_one_is_let_in(
    link: JoinLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "accounts.rate_limits.NEW_ENROLLMENTS", Limit("new-enrollments", 2, timedelta(hours=1))
    )

    statuses = [come(f"participant{number}").page.status_code for number in (1, 2, 3, 1, 2)]

    assert statuses == [200, 200, 429, 200, 200]
    assert Enrollment.objects.count() == 2


def test_the_command_refuses_a_return_address_without_https() -> None:
    builders.make_study()
    with pytest.raises(CommandError, match="must begin with https"):
        call_command("join_link", "study", return_url="http://app.example.org/{code}")
    assert not JoinLink.objects.exists()
