"""Campaigns from draft to end, on doubles of the platforms: made once, whatever is cut off on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone
from kombu.exceptions import OperationalError

from annotation.models import Event, Study
from recruitment import actions
from recruitment.errors import CannotRecruit, NotQueued
from recruitment.marketplace import NotEnoughMoney, Unreachable
from recruitment.models import Campaign, Posting
from recruitment.mturk.marketplace import MechanicalTurk
from recruitment.reconciliation.queries import campaigns_to_ask
from tests import builders
from tests.doubles.mturk.client import marketplace_for
from tests.doubles.mturk.faults import Fault
from tests.doubles.mturk.server import MTurkDouble
from tests.doubles.prolific import ProlificDouble
from tests.recruitment.campaigns import STORIES, TEST, make_campaign
from tests.recruitment.prolific.conftest import Lab
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


@pytest.fixture
def study() -> Study:
    return builders.make_study(stories=3, qualification=1)


def start(campaign: Campaign, platform: Any) -> Campaign:
    now = timezone.now()
    return actions.start_campaign(campaign=campaign, marketplace=platform, by=None, now=now)


def put_up(campaign: Campaign, platform: Any, now: datetime | None = None) -> Campaign:
    found = Campaign.objects.select_related("study").get(pk=campaign.pk)
    return actions.put_up(campaign=found, marketplace=platform, now=now or timezone.now())


def move(act: Any, campaign: Campaign, platform: Any, **more: Any) -> Campaign:
    found = Campaign.objects.select_related("study").get(pk=campaign.pk)
    moved: Campaign = act(campaign=found, marketplace=platform, by=None, now=timezone.now(), **more)
    return moved


def seats_there(double: MTurkDouble) -> list[int]:
    return sorted(hit.max_assignments for hit in double.world.hits.values())


def open_hits(double: MTurkDouble) -> int:
    return sum(hit.expires > double.world.now() for hit in double.world.hits.values())


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"reward": Decimal("0.005")}, "whole cents"),
        ({"minutes_allowed": 0}, "at least the time"),
        ({"stories_per_visit": 0}, "for 1 to"),
        ({"stories_per_visit": 501}, "for 1 to 500 stories"),
        ({"currency": "EUR"}, "reward them in that"),
        ({"countries": ("usa",)}, "no country code"),
        ({"approved_percent": 98}, "a number of approved pieces"),
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
    with pytest.raises(CannotRecruit, match="on the platform already"):
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
            put_up(campaign, platform)
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
    put_up(campaign, platform)
    assert double.calls["CreateHITWithHITType"] == calls, "what is up is not asked for again"


def test_a_worker_that_died_is_followed_by_one_that_finds_what_it_made(
    study: Study, double: MTurkDouble, platform: MechanicalTurk, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = start(make_campaign(study), platform)

    def die(*_args: Any, **_named: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr("recruitment.actions.campaigns._note_made", die)
        with pytest.raises(SystemExit):
            put_up(campaign, platform)
    assert len(seats_there(double)) == 1
    double.world.clock.advance(timedelta(hours=30))  # the platform has forgotten the token
    put_up(campaign, platform)
    assert seats_there(double) == [3, 3, 3]


def test_nothing_is_made_that_the_account_cannot_pay(study: Study) -> None:
    draft = make_campaign(study)
    with MTurkDouble(deposit=Decimal("2.69")) as poor:  # 9 x (0.25 + 0.05) is 2.70
        with pytest.raises(CannotRecruit, match=r"costs 2\.70 USD, and the account holds 2\.69"):
            start(draft, marketplace_for(poor))
        draft.refresh_from_db()
        assert (draft.state, Posting.objects.count(), seats_there(poor)) == (State.DRAFT, 0, [])


def test_a_refusal_in_the_middle_stands_on_the_campaign_and_what_is_up_is_looked_after(
    study: Study, double: MTurkDouble, platform: MechanicalTurk
) -> None:
    campaign = start(make_campaign(study), platform)
    double.world.deposit = Decimal("1.00")  # spent elsewhere meanwhile: enough for one HIT
    with pytest.raises(NotEnoughMoney):
        put_up(campaign, platform)
    campaign.refresh_from_db()
    assert (campaign.state, seats_there(double)) == (State.CREATING, [3])
    assert campaign.problem
    assert list(campaigns_to_ask()) == [campaign], "people may be at work in it"
    move(actions.end_campaign, campaign, platform)
    campaign.refresh_from_db()
    assert (campaign.state, open_hits(double)) == (State.ENDED, 0)
    assert put_up(campaign, platform).state == State.ENDED
    assert seats_there(double) == [3], "nothing is made after the end"


def test_what_may_have_been_made_is_found_and_ended(
    study: Study, double: MTurkDouble, platform: MechanicalTurk
) -> None:
    campaign = start(make_campaign(study), platform)
    double.faults.next = {"CreateHITWithHITType": [Fault.DROPPED]}
    with pytest.raises(Unreachable):
        put_up(campaign, platform)
    assert (open_hits(double), Posting.objects.exclude(remote_id="").count()) == (1, 0)
    move(actions.end_campaign, campaign, platform)
    assert open_hits(double) == 0
    assert list(Posting.objects.values_list("state", flat=True)).count("ended") == 1


def test_it_is_paused_resumed_and_ended(study: Study, double: MTurkDouble, platform: MechanicalTurk) -> None:
    campaign = put_up(start(make_campaign(study), platform), platform)
    with pytest.raises(CannotRecruit, match="not possible"):
        move(actions.resume_campaign, campaign, platform)
    double.faults.next = {"UpdateExpirationForHIT": [Fault.BEFORE]}
    with pytest.raises(Unreachable):
        move(actions.pause_campaign, campaign, platform)
    campaign.refresh_from_db()
    assert campaign.state == State.LIVE, "it is not said to be paused before it is"
    assert move(actions.pause_campaign, campaign, platform).state == State.PAUSED
    assert open_hits(double) == 0
    assert move(actions.resume_campaign, campaign, platform).state == State.LIVE
    assert open_hits(double) == 3
    ended = move(actions.end_campaign, campaign, platform)
    assert (ended.state, open_hits(double)) == (State.ENDED, 0)
    assert set(Posting.objects.values_list("state", flat=True)) == {"ended"}
    with pytest.raises(CannotRecruit, match="not possible"):
        move(actions.resume_campaign, campaign, platform)
    notes = (
        Event.objects.filter(type=Event.Type.CAMPAIGN_CHANGED).order_by("pk").values_list("note", flat=True)
    )
    assert list(notes) == ["9 seats, up to 2.70 USD with fees", "on the platform", "paused", "live", "ended"]


@pytest.mark.parametrize(
    ("settings", "more", "wanted"), [(STORIES, 4, [1, 3, 3, 3, 3]), (TEST, 5, [17])], ids=["stories", "test"]
)
def test_seats_are_added_once(
    study: Study,
    double: MTurkDouble,
    platform: MechanicalTurk,
    settings: Any,
    more: int,
    wanted: list[int],
) -> None:
    campaign = put_up(start(make_campaign(study, settings), platform), platform)
    with pytest.raises(CannotRecruit, match="at least one"):
        move(actions.add_seats, campaign, platform, more=0)
    widened = move(actions.add_seats, campaign, platform, more=more)
    assert (widened.state, widened.seats) == (State.CREATING, settings.seats + more)
    operation = "CreateHITWithHITType" if settings is STORIES else "CreateAdditionalAssignmentsForHIT"
    double.faults.next = {operation: [Fault.DROPPED]}
    with pytest.raises(Unreachable):
        put_up(campaign, platform)
    assert put_up(campaign, platform).state == State.LIVE
    assert seats_there(double) == wanted
    move(actions.add_seats, campaign, platform, more=1)
    put_up(campaign, platform)
    assert sum(seats_there(double)) == settings.seats + more + 1, "the same again is another request"
    double.world.deposit = Decimal(1)
    with pytest.raises(CannotRecruit, match="the account holds"):
        move(actions.add_seats, campaign, platform, more=30)


def test_on_prolific_places_are_added_to_the_one_study(study: Study) -> None:
    with ProlificDouble(seed=1) as double:
        lab = Lab(double)
        campaign = make_campaign(study, platform="prolific", currency="GBP", minutes_allowed=60)
        campaign = put_up(start(campaign, lab.prolific), lab.prolific)
        lab.double.settle()
        move(actions.add_seats, campaign, lab.prolific, more=3)
        assert put_up(campaign, lab.prolific).state == State.LIVE
        (found,) = lab.platform.studies.values()
        assert found.places == 12
        assert Posting.objects.get().seats == 12


def test_a_study_that_is_not_open_recruits_nobody(platform: MechanicalTurk) -> None:
    draft = make_campaign(builders.make_study(stories=1, opened=False))
    with pytest.raises(CannotRecruit, match="Open the study first"):
        start(draft, platform)


def test_who_asks_for_it_now_is_told_when_nobody_can_be_asked(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = make_campaign(study)
    with pytest.raises(CannotRecruit, match="is a draft"):
        actions.look_again(campaign=draft)

    def refuse(*_args: Any, **_named: Any) -> None:
        raise OperationalError("Connection refused")

    monkeypatch.setattr(app, "send_task", refuse)
    Campaign.objects.update(state=State.LIVE)
    with pytest.raises(NotQueued, match="Redis does not answer"):
        actions.look_again(campaign=Campaign.objects.get())
