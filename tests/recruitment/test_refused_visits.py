"""Whoever comes from Mechanical Turk and is not let in: told why, logged, and nothing is changed."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts import rate_limits
from accounts.models import Annotator
from annotation import access, actions as annotation_actions
from annotation.models import Event, Study
from annotation.refusals import texts_of
from annotation.tokens import VisitClaim, visit_token
from recruitment import actions
from recruitment.arrival_rules import Arrival, ArrivalProblem, CannotArrive
from recruitment.links import visit_path
from recruitment.models import Campaign, Visit
from recruitment.views import visits
from tests import builders
from tests.annotation.pages import Browser
from tests.recruitment.platform_visits import (
    ASSIGNMENT,
    SUBMIT_TO,
    WORKER,
    address,
    come,
    hit_of,
    newest_visit,
    publish_campaign,
    qualified_worker,
    qualifying_study,
)
from tests.recruitment.test_visits import everything, refusals, said

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Study:
    return qualifying_study("stories", "test")


@pytest.fixture
def campaign(built: Study) -> Campaign:
    """Visits of two stories each, for those who pass a test of one."""
    return Campaign.objects.select_related("study").get(study=built, purpose="stories")


@pytest.fixture
def trial(built: Study) -> Campaign:
    return Campaign.objects.select_related("study").get(study=built, purpose="test")


WRONG: dict[str, tuple[dict[str, str | None], int, ArrivalProblem]] = {
    "no ids": (
        {"assignmentId": None, "hitId": None, "workerId": None, "turkSubmitTo": None},
        400,
        ArrivalProblem.NO_IDS,
    ),
    "no worker": ({"workerId": None}, 400, ArrivalProblem.WRONG_IDS),
    "a worker of another shape": ({"workerId": "B123"}, 400, ArrivalProblem.WRONG_IDS),
    "small letters": ({"assignmentId": "3assignment"}, 400, ArrivalProblem.WRONG_IDS),
    "too long": ({"hitId": "3" * 65}, 400, ArrivalProblem.WRONG_IDS),
    "an unfilled placeholder": ({"workerId": "${workerId}"}, 400, ArrivalProblem.WRONG_IDS),
    "a foreign site": ({"turkSubmitTo": "https://evil.example"}, 400, ArrivalProblem.FOREIGN_SITE),
    "a site that begins alike": (
        {"turkSubmitTo": "https://www.mturk.com.evil.example"},
        400,
        ArrivalProblem.FOREIGN_SITE,
    ),
    "a name and password": (
        {"turkSubmitTo": "https://www.mturk.com@evil.example"},
        400,
        ArrivalProblem.FOREIGN_SITE,
    ),
    "without TLS": ({"turkSubmitTo": "http://www.mturk.com"}, 400, ArrivalProblem.FOREIGN_SITE),
    "the sandbox in a live study": (
        {"turkSubmitTo": "https://workersandbox.mturk.com"},
        400,
        ArrivalProblem.FOREIGN_SITE,
    ),
    "no site": ({"turkSubmitTo": None}, 400, ArrivalProblem.FOREIGN_SITE),
    "somebody else's HIT": ({"hitId": "3NOTOURS"}, 404, ArrivalProblem.UNKNOWN_POSTING),
    "not qualified": ({"workerId": "A2"}, 403, ArrivalProblem.NOT_QUALIFIED),
}


def test_what_is_wrong_is_said_logged_and_changes_nothing(
    campaign: Campaign, caplog: pytest.LogCaptureFixture
) -> None:
    qualified_worker(campaign.study)
    before = everything()
    caplog.set_level(logging.DEBUG)
    for name, (changes, status, problem) in WRONG.items():
        browser = come(campaign, **changes)
        assert browser.page.status_code == status, name
        assert refusals()[0] == problem.value, name
        assert "return" in said(browser).lower(), name
    twice = Browser()
    twice.open(address(campaign) + "&workerId=A2")
    assert twice.page.status_code == 400
    assert everything() == before
    notes = " ".join(f"{event.subject} {event.note}" for event in Event.objects.all())
    assert WORKER not in notes
    assert ASSIGNMENT not in notes
    assert come(campaign, turkSubmitTo=f"{SUBMIT_TO}/").heading == "Story 1 of 2", "a slash is no other site"


def test_a_token_opens_its_own_visit_alone(
    campaign: Campaign, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = qualified_worker(campaign.study)
    come(campaign)
    mine = newest_visit()
    stranger = qualified_worker(campaign.study, "A2")
    elsewhere = builders.qualified(builders.make_study("elsewhere", stories=2))[0]
    before = everything()
    for enrollment in (stranger, elsewhere):  # a session that is not theirs
        token = visit_token(VisitClaim(enrollment.pk, mine.pk, enrollment.link_key, mine.session_id))
        assert Client().get(f"/work/{token}/stories/").status_code == 410
    good = visit_path(mine)
    for forged in (good.replace(f"/{person.pk}-", f"/{stranger.pk}-"), good[:-2] + "x/"):
        assert Client().get(f"{forged}stories/").status_code == 404
    settings.VISIT_TOKEN_DAYS = -1
    assert Client().get(f"{good}stories/").status_code == 410
    assert everything() == before
    assert refusals() == ["expired", "wrong", "wrong"], "and the study's log says so, not of whom"
    assert not Event.objects.filter(type=Event.Type.VISIT_REFUSED).exclude(enrollment=None).exists()
    monkeypatch.setattr(access, "LOGGED_ADDRESSES", replace(rate_limits.LOGGED_ADDRESSES, most=5))
    for number in range(4):
        Client().get(f"/work/{person.pk}-1-1.x.{number}/stories/", REMOTE_ADDR=f"10.0.0.{number}")
    assert len(refusals()) == 5, "within a limit"


def test_a_piece_of_work_opened_under_another_hit_is_refused(campaign: Campaign) -> None:
    qualified_worker(campaign.study)
    come(campaign)
    assert come(campaign, hitId=hit_of(campaign, 2)).heading == "This address belongs to other work"
    assert Visit.objects.count() == 1


def test_new_people_come_only_while_the_study_and_the_campaign_are_open(trial: Campaign) -> None:
    come(trial)
    annotation_actions.pause_study(study=trial.study, by=None, now=timezone.now())
    browser = come(trial, workerId="A2", assignmentId="3OTHER")
    assert (browser.page.status_code, browser.heading) == (403, "Nobody new can join right now")
    assert come(trial).heading == "The study is paused", "who was here may look how it stands"
    assert Annotator.objects.count() == 1


def test_somebody_who_was_forgotten_gets_no_second_place(campaign: Campaign) -> None:
    person = qualified_worker(campaign.study)
    annotation_actions.forget(annotator=person.annotator, now=timezone.now())
    browser = come(campaign)
    assert (browser.page.status_code, browser.heading) == (410, "Your personal data has been deleted")
    assert not Visit.objects.exists()


def test_a_rehearsal_and_the_live_study_share_nobody(campaign: Campaign) -> None:
    person = qualified_worker(campaign.study)
    trial = builders.make_study("trial", stories=1, opened=False)
    annotation_actions.make_rehearsal(study=trial, by=None, now=timezone.now())
    annotation_actions.open_study(study=trial, by=None, now=timezone.now())
    trial.refresh_from_db()
    rehearsal = publish_campaign(trial)
    assert (
        come(rehearsal, hitId=hit_of(rehearsal)).heading == "This work would be handed in on the wrong site"
    )
    come(rehearsal, hitId=hit_of(rehearsal), turkSubmitTo="https://workersandbox.mturk.com")
    visit = newest_visit()
    assert (visit.environment, visit.enrollment.annotator_id != person.annotator_id) == ("rehearsal", True)
    with pytest.raises(CannotArrive, match=ArrivalProblem.UNKNOWN_POSTING):
        actions.arrive_for_campaign(
            campaign=campaign,
            arrival=Arrival(ASSIGNMENT, hit_of(rehearsal), WORKER, SUBMIT_TO),
            is_proven=False,
            now=timezone.now(),
        )


@pytest.mark.parametrize("problem", ArrivalProblem)
def test_every_refusal_has_a_heading_and_a_text(problem: ArrivalProblem) -> None:
    title, text = texts_of(problem, "recruitment/refusals.txt")
    assert (len(title.split()) >= 3, len(text.split()) >= 6) == (True, True)


def test_visits_have_a_limit_of_their_own_and_known_ones_are_not_counted(
    trial: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = replace(rate_limits.CAMPAIGN_VISITS, most=2)
    monkeypatch.setattr(visits, "CAMPAIGN_VISITS", limit)
    monkeypatch.setattr(rate_limits, "NEW_ENROLLMENTS", replace(rate_limits.NEW_ENROLLMENTS, most=0))
    first, second, third = (
        address(trial, workerId=f"A{number}WORKER", assignmentId=f"3{number}") for number in range(3)
    )
    assert [Client().get(one).status_code for one in (first, second, third)] == [302, 302, 429]
    assert Client().get(first).status_code == 302, "their place is theirs"
    assert Visit.objects.count() == 2
