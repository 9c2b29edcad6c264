"""The pages of recruitment: from a draft to people who are paid, and what is said when money is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from operator import attrgetter
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.actions import ensure_researcher
from accounts.models import User
from annotation.models import Event, Study
from dashboard.recruitment import queries as queries
from recruitment import tasks
from recruitment.marketplace import NotConfigured
from recruitment.models import Campaign
from recruitment.platforms import platform_named
from tests import builders
from tests.dashboard.recruitment.pages import ACCOUNT, address, filled, said, words
from tests.doubles.mturk.faults import Fault
from tests.doubles.mturk.server import KEY_ID, SECRET, MTurkDouble
from tests.recruitment.campaigns import STORIES, make_campaign, stranger_on_a_platform
from tests.recruitment.handed_in import Desk
from tomannot.celery import app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
State = Campaign.State


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[Any]]]:
    """What workers are told to do, once it is committed."""
    told: list[tuple[str, list[Any]]] = []
    monkeypatch.setattr(app, "send_task", lambda name, args, **_more: told.append((name, args)))
    monkeypatch.setattr("django.db.transaction.on_commit", lambda call, robust=False: call())
    return told


@pytest.fixture
def double(settings: Any) -> Iterator[MTurkDouble]:
    with MTurkDouble() as double:
        account = dict.fromkeys(ACCOUNT, "") | {"key_id": KEY_ID, "secret": SECRET, "endpoint": double.url}
        settings.MTURK = {"live": account, "rehearsal": dict.fromkeys(ACCOUNT, "")}
        yield double


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Study:
    ensure_researcher(username="boss", password="a long enough password")
    return builders.make_study("main", stories=2, qualification=1, pay_rate=Decimal("15.00"))


@pytest.fixture
def study(built: Study) -> Study:
    return Study.objects.get(pk=built.pk)


@pytest.fixture
def boss(built: Study) -> Client:
    client = Client()
    client.force_login(User.objects.get())
    return client


def test_from_the_form_to_a_campaign_that_people_see(
    study: Study, boss: Client, double: MTurkDouble, queued: list[tuple[str, list[Any]]], settings: Any
) -> None:
    form = filled(boss, "new_campaign", "mturk", "stories") | {"description": "Two sentences each."}
    assert (form["seats"], form["reward"]) == (6, Decimal("0.25")), (
        "what the study needs, and a minute is worth"
    )
    response = boss.post(address("new_campaign", "mturk", "stories"), form | {"reward": "0.005"})
    assert response.status_code == 422
    boss.post(address("new_campaign", "mturk", "stories"), form)
    campaign = Campaign.objects.get()
    boss.post(address("change_campaign", 1), filled(boss, "change_campaign", 1) | {"title": "Read stories"})
    shown = words(boss, "campaign", 1)
    for text in (
        "Read stories",
        "Two sentences each.",
        "Total 1.80 USD",
        "Account balance 1000.00 USD",
        "US",
    ):
        assert text in shown
    assert (double.calls["CreateHITType"], list(double.world.hits.values()), queued) == (0, [], [])

    assert "being put on the platform" in said(boss, "move_campaign", 1, "start")
    assert queued == [("recruitment.tasks.carry_out", [campaign.pk])]
    tasks.carry_out(campaign.pk)
    shown = words(boss, "campaign", 1)
    assert "people can come" in shown
    assert "2 / 2" in shown
    assert "Change the draft" not in shown

    assert "at least one" in said(boss, "move_campaign", 1, "widen", more="0")
    (sent,) = re.findall(r'name="offered" value="(\d+)"', boss.get(address("campaign", 1)).content.decode())
    for answer in ("being put on the platform", "Nothing was added"):  # pressed twice, with a quick worker
        assert answer in said(boss, "move_campaign", 1, "widen", more="3", offered=sent)
        tasks.carry_out(campaign.pk)
    assert "3 / 3" in words(boss, "campaign", 1)
    assert "The campaign: is being paused" in said(boss, "move_campaign", 1, "pause")
    assert "Continue now" in words(boss, "campaign", 1)
    assert queued[-1] == ("recruitment.tasks.carry_out", [campaign.pk])
    assert "The campaign: is being ended" in said(boss, "move_campaign", 1, "end")
    account = settings.MTURK["live"]
    settings.MTURK = {"live": dict.fromkeys(account, "")}
    with pytest.raises(NotConfigured):
        tasks.carry_out(campaign.pk)
    settings.MTURK = {"live": account}
    shown = words(boss, "campaign", 1)
    assert "3 can still be taken" in shown
    assert "docs/mechanical-turk.md" in shown, "why it is not ended stands on the page"
    tasks.carry_out(campaign.pk)
    assert "1 · Mechanical Turk · stories ended 9 places" in words(boss, "recruitment")
    assert boss.post(address("move_campaign", 1, "burn")).status_code == 404


def test_a_draft_is_discarded_and_what_was_started_is_not(
    study: Study, boss: Client, double: MTurkDouble, queued: list[tuple[str, list[Any]]]
) -> None:
    make_campaign(study)
    assert "campaign 1 is discarded" in said(boss, "discard_campaign", 1)
    assert "No campaigns yet" in words(boss, "recruitment")
    logged = Event.objects.filter(subject="main-1").order_by("pk").values_list("type", "note")
    assert list(logged) == [
        ("campaign_created", "mturk"),
        ("campaign_changed", "draft discarded: Judge short stories"),
    ]
    draft = make_campaign(study)
    said(boss, "move_campaign", 1, "start")
    assert "End it instead" in said(boss, "discard_campaign", 1)
    draft.refresh_from_db()
    assert "Discard the draft" not in words(boss, "campaign", 1)


def test_what_cannot_be_offered_is_said_in_plain_words(study: Study, boss: Client) -> None:
    form = filled(boss, "new_campaign", "mturk", "stories")
    for changed, text in (
        ({"reward": "0"}, "whole cents above zero"),
        ({"minutes_expected": "60", "minutes_allowed": "50"}, "Allow at least the time"),
        ({"seats": "0"}, "greater than or equal to 1"),
    ):
        page = boss.post(address("new_campaign", "mturk", "stories"), form | changed)
        assert page.status_code == 422
        errors = page.context["form"].errors.values()
        assert [text in error for found in errors for error in found] == [True]


def test_the_form_asks_for_nothing_that_does_nothing(study: Study, boss: Client) -> None:
    everywhere = {
        "title",
        "description",
        "seats",
        "reward",
        "currency",
        "minutes_expected",
        "minutes_allowed",
    }
    everywhere |= {"approved_percent", "approved_work", "countries", "auto_approves"}
    of_stories, of_mturk = (
        {"stories_per_visit", "counts_unconfirmed", "suggested_for"},
        {*platform_named("prolific").unused_fields},
    )
    for platform, purpose, more in (
        ("prolific", "test", {"screen_out_reward"}),
        ("prolific", "stories", of_stories),
        ("mturk", "test", of_mturk),
        ("mturk", "stories", of_stories | of_mturk | {"seats_per_posting"}),
    ):
        form = boss.get(address("new_campaign", platform, purpose)).context["form"]
        assert set(form.fields) == everywhere | more
    assert "whether they pass or not" in words(boss, "new_campaign", "prolific", "test")
    assert "Enter it in the settings first" not in words(boss, "new_campaign", "prolific", "test")
    Study.objects.update(pay_rate=None)
    assert "Enter it in the settings first" in words(boss, "new_campaign", "prolific", "test")


def test_a_campaign_whose_days_are_over_says_so(
    study: Study, boss: Client, double: MTurkDouble, queued: list[tuple[str, list[Any]]]
) -> None:
    draft = make_campaign(study, seats=1, seats_per_posting=1)
    said(boss, "move_campaign", draft.number, "start")
    tasks.carry_out(draft.pk)
    assert "Resume" not in words(boss, "campaign", 1)
    Campaign.objects.update(offered_until=timezone.now() - timedelta(hours=1))
    assert "The offer expired on" in words(boss, "campaign", 1)
    assert "The offer has expired" in words(boss, "recruitment")
    said(boss, "move_campaign", 1, "resume")
    tasks.carry_out(draft.pk)
    assert "The offer expired on" not in words(boss, "campaign", 1)


def test_the_list_counts_what_is_there_without_multiplying_it(double: MTurkDouble) -> None:
    """Joined to one another, 10,800 visits and 3,600 HITs and 20 mismatches are 800 million rows."""
    study = builders.make_study("open", stories=2)
    desk = Desk(double, study, replace(STORIES, seats=3))
    desk.hand_in()
    desk.hand_in(confirmed=False)
    stranger_on_a_platform(study)
    with CaptureQueriesContext(connection) as asked:
        counts = attrgetter("arrived", "confirmed", "open_mismatches")
        newest, oldest = map(counts, queries.campaigns_of(study, now=timezone.now()))
    assert (newest, oldest) == ((0, 0, 1), (2, 1, 0))
    assert len(asked) == 3
    assert "JOIN" not in asked[0]["sql"].split('FROM "recruitment_campaign"')[-1]


def test_a_site_without_an_account_says_what_to_set(study: Study, boss: Client, settings: Any) -> None:
    for platform, setting in (("prolific", "PROLIFIC_TOKEN"), ("mturk", "docs/mechanical-turk.md")):
        draft = make_campaign(study, platform=platform)
        shown = boss.get(address("campaign", draft.number)).content.decode()
        assert setting in shown
        assert "Start on the platform" not in shown
        assert "The rewards alone come to" in shown
        assert setting in said(boss, "move_campaign", draft.number, "start")
    assert set(Campaign.objects.values_list("state", flat=True)) == {State.DRAFT}
    shown = words(boss, "recruitment")
    assert "Offer stories on Prolific" in shown
    assert "Offer stories on Mechanical Turk" not in shown, "it is closed, and this site has no account there"
    settings.MTURK = {"live": dict.fromkeys(ACCOUNT, "") | {"key_id": KEY_ID, "secret": SECRET}}
    shown = words(boss, "recruitment")
    assert "Offer stories on Mechanical Turk" in shown
    assert "Mechanical Turk closed" in shown


def test_too_little_money_is_said_with_the_sums(study: Study, boss: Client, double: MTurkDouble) -> None:
    double.world.deposit = Decimal("1.00")
    make_campaign(study)
    double.faults.next = {"GetAccountBalance": [Fault.THROTTLED]}
    assert "could not do GetAccountBalance now" in words(boss, "campaign", 1)
    assert double.calls["GetAccountBalance"] == 1, "nobody waits for a page while it is asked again"
    assert "costs 2.70 USD, and the account holds 1.00" in said(boss, "move_campaign", 1, "start")
    assert Campaign.objects.get().state == State.DRAFT


def test_a_second_reward_for_not_passing_is_set_shown_and_below_the_first(study: Study, boss: Client) -> None:
    place = ("new_campaign", "prolific", "test")
    form = filled(boss, *place)
    refused = boss.post(address(*place), form | {"screen_out_reward": str(form["reward"])})
    assert refused.status_code == 422
    boss.post(address(*place), form | {"screen_out_reward": "1.50"})
    assert Campaign.objects.get().screen_out_reward == Decimal("1.50")
    assert "Reward if the test is not passed 1.50 USD" in words(boss, "campaign", 1)
