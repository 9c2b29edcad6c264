"""Campaigns from draft to end, on doubles of the platforms: made once, whatever is cut off on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from kombu.exceptions import OperationalError

from annotation.models import Event, Study
from recruitment import actions, tasks
from recruitment.errors import CannotRecruit, NotQueued
from recruitment.marketplace import NotEnoughMoney, Unreachable
from recruitment.models import Campaign, Posting
from recruitment.mturk.marketplace import MechanicalTurk
from recruitment.platforms import platform_named
from tests import builders
from tests.doubles.mturk.client import marketplace_for
from tests.doubles.mturk.faults import Fault
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import (
    STORIES,
    ask,
    make_campaign,
    open_hits,
    publish_campaign,
    seats_there,
    start,
)
from tomannot.celery import app

pytestmark = pytest.mark.django_db
State = Campaign.State


@pytest.fixture
def double() -> Iterator[MTurkDouble]:
    with MTurkDouble() as double:
        yield double


@pytest.fixture
def platform(double: MTurkDouble) -> MechanicalTurk:
    return marketplace_for(double)


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Study:
    return builders.make_study(stories=3, qualification=1)


@pytest.fixture
def study(built: Study) -> Study:
    return Study.objects.get(pk=built.pk)


def move(act: Any, campaign: Campaign, platform: Any) -> Campaign:
    return publish_campaign(ask(act, campaign), platform)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"reward": Decimal("0.005")}, "whole cents"),
        ({"minutes_allowed": 0}, "at least the time"),
        ({"stories_per_visit": 0}, "has 1 to"),
        ({"stories_per_visit": 501}, "has 1 to 500 stories"),
        ({"currency": "EUR"}, "Use that currency"),
        ({"countries": ("usa",)}, "not a country code"),
        ({"countries": ("US",) * 31}, "at most 30 countries"),
        ({"approved_percent": 98}, "a number of approved submissions"),
        ({"seats": 1_000_001}, "offers at most 1000000 submissions"),
        ({"seats": 32_768, "seats_per_posting": 32_768}, "has at most 32767 places"),
        ({"purpose": "test", "stories_per_visit": 1}, "leave the number of stories at 0"),
    ],
)
def test_what_is_no_campaign_is_refused_in_words(study: Study, changes: dict[str, Any], problem: str) -> None:
    Study.objects.filter(pk=study.pk).update(pay_rate=Decimal(15), story_cap=500)
    with pytest.raises(CannotRecruit, match=problem):
        make_campaign(study, **changes)
    assert not Campaign.objects.exists()
    if "purpose" in changes:
        return
    draft, settings = make_campaign(study), replace(STORIES, **changes)
    with pytest.raises(CannotRecruit, match=problem):
        actions.change_campaign(campaign=draft, settings=settings, by=None, now=timezone.now())


def test_a_draft_can_be_changed_and_what_is_started_cannot(study: Study, platform: MechanicalTurk) -> None:
    draft = make_campaign(study)
    change: dict[str, Any] = {
        "campaign": draft,
        "settings": replace(STORIES, seats=5),
        "by": None,
        "now": timezone.now(),
    }
    assert actions.change_campaign(**change).seats == 5
    start(Campaign.objects.get(), platform)
    with pytest.raises(CannotRecruit, match="already on the platform"):
        actions.change_campaign(**change)
    with pytest.raises(CannotRecruit, match="started already"):
        start(Campaign.objects.get(), platform)
    assert Posting.objects.count() == 2, "three seats, and the two that are left"


def test_it_is_made_once_though_every_request_for_it_is_cut_off(
    study: Study, double: MTurkDouble, platform: MechanicalTurk
) -> None:
    campaign = start(make_campaign(study), platform)
    ways = [Fault.DROPPED, Fault.AFTER, Fault.BEFORE, Fault.THROTTLED]
    double.faults.next = {"CreateHITType": [Fault.AFTER], "CreateHITWithHITType": ways}
    problems: list[str] = []
    said: list[str] = []
    while campaign.state == State.CREATING:
        try:
            publish_campaign(campaign, platform)
        except Unreachable as error:
            problems.append(str(error))
        campaign.refresh_from_db()
        said.append(campaign.problem)
    assert said == [*problems, ""], "what it said last stands on the campaign until it is up"
    assert len(problems) >= 4
    assert (campaign.state, campaign.problem) == (State.LIVE, "")
    assert seats_there(double) == [3, 3, 3]
    made = Posting.objects.order_by("number")
    assert {posting.remote_id for posting in made} == {hit.hit_id for hit in double.world.hits.values()}
    calls = double.calls["CreateHITWithHITType"]
    publish_campaign(campaign, platform)
    assert double.calls["CreateHITWithHITType"] == calls, "what is up is not asked for again"


def test_a_worker_that_died_is_followed_by_one_that_finds_what_it_made(
    study: Study, double: MTurkDouble, platform: MechanicalTurk, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = start(make_campaign(study), platform)

    def die(*_args: Any, **_named: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr("recruitment.actions.campaign_lifecycle._record_posting", die)
        with pytest.raises(SystemExit):
            publish_campaign(campaign, platform)
    assert len(seats_there(double)) == 1
    double.world.clock.advance(timedelta(hours=30))  # the platform has forgotten the token
    publish_campaign(campaign, platform)
    assert seats_there(double) == [3, 3, 3]


def test_nothing_is_made_that_the_account_cannot_pay(study: Study) -> None:
    draft = make_campaign(study)
    with MTurkDouble(deposit=Decimal("2.69")) as poor:  # 9 x (0.25 + 0.05) is 2.70
        with pytest.raises(CannotRecruit, match=r"costs 2\.70 USD, and the account holds 2\.69"):
            start(draft, marketplace_for(poor))
        draft.refresh_from_db()
        assert (draft.state, Posting.objects.count(), seats_there(poor)) == (State.DRAFT, 0, [])


def test_a_refusal_in_the_middle_stands_on_the_campaign_and_what_is_up_is_looked_after(
    study: Study, double: MTurkDouble, platform: MechanicalTurk, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = start(make_campaign(study), platform)
    double.world.deposit = Decimal("1.00")  # spent elsewhere meanwhile: enough for one HIT
    with pytest.raises(NotEnoughMoney):
        publish_campaign(campaign, platform)
    campaign.refresh_from_db()
    assert (campaign.state, seats_there(double)) == (State.CREATING, [3])
    assert campaign.problem
    told: list[tuple[str, int]] = []
    monkeypatch.setattr(app, "send_task", lambda name, args: told.append((name, args[0])))
    tasks.sweep_campaigns()
    assert ("recruitment.tasks.reconcile", campaign.pk) in told, "people may be at work in it"
    double.world.deposit = Decimal("1000.00")
    move(actions.end_campaign, campaign, platform)
    campaign.refresh_from_db()
    assert (campaign.state, open_hits(double)) == (State.ENDED, 0)
    assert publish_campaign(campaign, platform).state == State.ENDED
    assert seats_there(double) == [3], "nothing is made after the end"


def test_what_may_have_been_made_is_found_and_ended(
    study: Study, double: MTurkDouble, platform: MechanicalTurk
) -> None:
    campaign = start(make_campaign(study), platform)
    double.faults.next = {"CreateHITWithHITType": [Fault.DROPPED]}
    with pytest.raises(Unreachable):
        publish_campaign(campaign, platform)
    assert (open_hits(double), Posting.objects.exclude(remote_id="").count()) == (1, 0)
    move(actions.end_campaign, campaign, platform)
    assert open_hits(double) == 0
    assert list(Posting.objects.values_list("state", flat=True)).count("ended") == 1


def test_what_is_made_while_it_is_ended_is_ended_too(
    study: Study, double: MTurkDouble, platform: MechanicalTurk, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = start(make_campaign(study), platform)
    post = platform.post

    def overtaken(*asked: Any) -> str:
        made = post(*asked)
        ask(actions.end_campaign, campaign)
        double.faults.next = {"UpdateExpirationForHIT": [Fault.BEFORE]}
        return made

    monkeypatch.setattr(platform, "post", overtaken)
    with pytest.raises(Unreachable):
        publish_campaign(campaign, platform)
    campaign.refresh_from_db()
    assert (campaign.state, open_hits(double)) == (State.ENDING, 1)
    assert Posting.objects.get(number=1).state == Posting.State.MADE, "it is on offer there"
    assert publish_campaign(campaign, platform).state == State.ENDED, (
        "the same worker goes on with what is wanted"
    )
    assert (seats_there(double), open_hits(double)) == ([3], 0)


def test_it_is_paused_resumed_and_ended(study: Study, double: MTurkDouble, platform: MechanicalTurk) -> None:
    campaign = publish_campaign(start(make_campaign(study), platform), platform)
    with pytest.raises(CannotRecruit, match="not possible"):
        ask(actions.resume_campaign, campaign)
    before = double.calls["UpdateExpirationForHIT"]
    assert ask(actions.pause_campaign, campaign).state == State.PAUSING
    assert double.calls["UpdateExpirationForHIT"] == before, "nobody waits for the platform"
    double.faults.next = {"UpdateExpirationForHIT": [Fault.BEFORE]}
    with pytest.raises(Unreachable) as silence:
        publish_campaign(campaign, platform)
    campaign.refresh_from_db()
    assert (campaign.state, campaign.problem) == (State.PAUSING, str(silence.value)), (
        "not before it is paused"
    )
    assert open_hits(double) == 1, "one that fails keeps no other from being paused"
    calls = double.calls["UpdateExpirationForHIT"]
    paused = publish_campaign(campaign, platform)
    assert (paused.state, paused.problem, open_hits(double)) == (State.PAUSED, "", 0)
    assert double.calls["UpdateExpirationForHIT"] == calls + 1, "what is paused is not asked for again"
    assert move(actions.resume_campaign, campaign, platform).state == State.LIVE
    assert open_hits(double) == 3
    ended = move(actions.end_campaign, campaign, platform)
    assert (ended.state, open_hits(double)) == (State.ENDED, 0)
    assert set(Posting.objects.values_list("state", flat=True)) == {"ended"}
    with pytest.raises(CannotRecruit, match="not possible"):
        ask(actions.resume_campaign, campaign)
    notes = (
        Event.objects.filter(type=Event.Type.CAMPAIGN_CHANGED).order_by("pk").values_list("note", flat=True)
    )
    put_up_and_paused = ["9 seats, up to 2.70 USD with fees", "on the platform", "pausing", "paused"]
    assert list(notes) == [*put_up_and_paused, "creating", "on the platform", "ending", "ended"]


def test_who_ends_a_campaign_while_another_one_resumes_it_has_it_ended(
    study: Study, double: MTurkDouble, platform: MechanicalTurk, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = publish_campaign(start(make_campaign(study), platform), platform)
    move(actions.pause_campaign, campaign, platform)
    resume = platform.resume

    def overtaken(*asked: Any, **until: Any) -> None:
        resume(*asked, **until)
        if open_hits(double) == 2:
            ask(actions.end_campaign, campaign)

    monkeypatch.setattr(platform, "resume", overtaken)
    assert move(actions.resume_campaign, campaign, platform).state == State.ENDED
    assert open_hits(double) == 0
    assert set(Posting.objects.values_list("state", flat=True)) == {"ended"}


def test_a_platform_that_does_not_answer_is_asked_again_later(
    study: Study, double: MTurkDouble, platform: MechanicalTurk
) -> None:
    campaign = publish_campaign(start(make_campaign(study, seats=15), platform), platform)
    double.faults.next = {"UpdateExpirationForHIT": [Fault.BEFORE] * 4}
    ask(actions.end_campaign, campaign)
    with pytest.raises(Unreachable):
        publish_campaign(campaign, platform)
    assert open_hits(double) == 5, "after three in a row it leaves the others to the next run"
    with pytest.raises(Unreachable):
        publish_campaign(campaign, platform)
    assert open_hits(double) == 1, "nor does one that fails again keep the others"
    assert publish_campaign(campaign, platform).state == State.ENDED


def test_a_rehearsals_platform_exists_where_rehearsals_have_an_address(settings: Any) -> None:
    elsewhere = {"endpoint": "http://127.0.0.1:9"}
    settings.MTURK = {"live": {"endpoint": ""}, "rehearsal": elsewhere}
    exists = {where: platform_named("mturk").still_exists(where) for where in ("live", "rehearsal")}
    assert exists == {"live": False, "rehearsal": True}


def test_a_study_that_is_not_open_recruits_nobody(platform: MechanicalTurk) -> None:
    draft = make_campaign(builders.make_study("unopened", stories=1, opened=False))
    with pytest.raises(CannotRecruit, match="Open the study first"):
        start(draft, platform)


def test_who_asks_for_it_now_is_told_when_nobody_can_be_asked(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = make_campaign(study)
    with pytest.raises(CannotRecruit, match="is a draft"):
        actions.sync_now(campaign=draft)

    def refuse(*_args: Any, **_named: Any) -> None:
        raise OperationalError("Connection refused")

    monkeypatch.setattr(app, "send_task", refuse)
    Campaign.objects.update(state=State.LIVE)
    with pytest.raises(NotQueued, match="Redis is not responding"):
        actions.sync_now(campaign=Campaign.objects.get())
