"""Nothing is offered that is not there: votes, places, and campaigns without a story for those who come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation import actions as annotation_actions
from annotation.models import Assignment
from recruitment import actions
from recruitment.models import Campaign
from recruitment.places import concurrent_visits, free_places, has_story_for_newcomers, places_of
from recruitment.reconciliation.queries import done_with_stories
from tests import builders
from tests.doubles.mturk.server import MTurkDouble
from tests.doubles.prolific import ProlificDouble
from tests.recruitment.campaigns import STORIES, TEST, ask, make_campaign, open_hits, publish_campaign, start
from tests.recruitment.handed_in import Desk
from tests.recruitment.platform_visits import address
from tests.recruitment.prolific.conftest import Lab

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
State = Campaign.State


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Iterator[Desk]:
    """One story, three votes: whoever has answered it finds nothing more."""
    with MTurkDouble() as double:
        yield Desk(double, builders.make_study(stories=1), replace(STORIES, seats=6))


@pytest.fixture
def boss() -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    return client


def as_it_is(desk: Desk) -> Campaign:
    return Campaign.objects.select_related("study").get(pk=desk.campaign.pk)


def watch(desk: Desk) -> Campaign:
    """What a sweep and the worker after it do."""
    for campaign in actions.pause_without_stories(now=timezone.now()):
        publish_campaign(campaign, desk.marketplace)
    return as_it_is(desk)


def page(boss: Client, name: str, *args: Any, slug: str = "study") -> str:
    return " ".join(boss.get(reverse(f"dashboard:{name}", args=[slug, *args])).content.decode().split())


def test_a_campaign_pauses_when_no_story_is_left_and_resumes_when_one_is(desk: Desk, boss: Client) -> None:
    visits = [desk.come() for _person in range(2)]
    for visit in visits:
        desk.answer(visit)
    assert watch(desk).state == State.LIVE

    last = desk.come()
    desk.answer(last)
    assert "Please don’t accept this work now" in preview(desk)

    paused = watch(desk)
    assert (paused.state, paused.waits_for_stories, open_hits(desk.double)) == (State.PAUSED, True, 0)
    assert "Paused automatically: no story is left" in page(boss, "campaign", paused.number)
    assert watch(desk).state == State.PAUSED

    assert last.session is not None
    annotation_actions.doubt_session(session=last.session, reason="Lost.", by=None, now=timezone.now())
    resumed = watch(desk)
    assert (resumed.state, resumed.waits_for_stories) == (State.LIVE, False)
    assert open_hits(desk.double) == 2
    assert "This is a preview. Accept the work to begin." in preview(desk)


def preview(desk: Desk) -> str:
    shown = address(desk.campaign, assignmentId="ASSIGNMENT_ID_NOT_AVAILABLE", workerId=None)
    return Client().get(shown).content.decode()


def test_a_researchers_own_pause_stays(desk: Desk) -> None:
    publish_campaign(ask(actions.pause_campaign, desk.campaign), desk.marketplace)

    assert watch(desk).state == State.PAUSED


def test_only_those_who_can_come_matter() -> None:
    """Two stories; the one qualified person has answered the only one with a free slot."""
    study = builders.make_study("other", stories=2, qualification=1, votes_per_story=1)
    with MTurkDouble() as double:
        desk = Desk(double, study, replace(STORIES, seats=3))
        first, second = builders.qualified(study, 2)
        assert isinstance(builders.claim(second), Assignment)
        builders.vote(first)
        assert watch(desk).state == State.PAUSED
        assert set(done_with_stories(study)) == set()


def test_a_preview_counts_no_assignments_while_somebody_has_answered_less_than_is_free() -> None:
    """Anybody can open it, and a study has millions of them."""
    study = builders.make_study("other", stories=3, qualification=1)
    busy, _new = builders.qualified(study, 2)
    for _ in range(3):
        builders.vote(busy)
    with CaptureQueriesContext(connection) as captured:
        assert has_story_for_newcomers(study)
    assert not [query for query in captured if "annotation_assignment" in query["sql"]]


def test_votes_and_places_are_counted(desk: Desk, boss: Client) -> None:
    desk.answer(desk.come())
    desk.hand_in()
    builders.claim(desk.come().enrollment)

    places = places_of(desk.study)

    assert (places.wanted, places.given, places.held, places.left) == (3, 2, 1, 0)
    assert (free_places(desk.campaign), places.offered) == (3, 3)
    assert concurrent_visits(as_it_is(desk)) == 2, "those who are at work"
    said = page(boss, "campaign", desk.campaign.number)
    assert "<dt>free places</dt><dd>3 / 6</dd>" in said
    assert "You offer more places than you need: 0 votes are left" in said
    draft = make_campaign(desk.study)
    for name, args in (("campaign", [draft.number]), ("new_campaign", ["mturk", "stories"])):
        assert "<dt>votes wanted</dt><dd>3</dd>" in page(boss, name, *args)


def test_a_test_after_which_no_story_is_left_is_not_offered_in_silence(boss: Client) -> None:
    study = builders.make_study("other", stories=1, qualification=1, votes_per_story=1)
    draft = make_campaign(study, TEST)
    everything_given = "Every vote has been given or is being given: no place is needed."
    begun = page(boss, "campaign", draft.number, slug="other")
    assert everything_given not in begun
    assert "Places of a test give no votes" in begun
    assert "votes wanted" not in begun
    builders.answer_everything(builders.qualified(study))
    assert everything_given in page(boss, "campaign", draft.number, slug="other")
    assert everything_given in page(boss, "new_campaign", "mturk", "test", slug="other")


def test_a_place_is_free_again_once_its_visit_is_given_up(desk: Desk) -> None:
    visit = desk.come()
    assert free_places(desk.campaign) == 5
    assert visit.session is not None
    annotation_actions.doubt_session(session=visit.session, reason="Left.", by=None, now=timezone.now())
    assert free_places(desk.campaign) == 6


def test_prolific_lets_no_more_people_work_at_once_than_find_stories() -> None:
    with ProlificDouble(seed=3) as double:
        lab = Lab(double)
        study = builders.make_study("other", stories=4)
        people = builders.qualified(study, 2)
        settings = replace(STORIES, platform="prolific", currency="GBP", reward=Decimal("2.00"))
        draft = make_campaign(study, replace(settings, stories_per_visit=2, seats=9, minutes_expected=10))
        campaign = publish_campaign(start(draft, lab.prolific), lab.prolific)

        def limit() -> int:
            study = lab.platform.studies[campaign.remote_id]
            assert study.fields["submissions_config"]["max_submissions_per_participant"] == -1
            return int(study.fields["submissions_config"]["max_concurrent_submissions"])

        assert limit() == 6  # 12 votes, two to a visit
        builders.answer_everything(people)
        double.settle()
        campaign = Campaign.objects.select_related("study").get(pk=campaign.pk)
        actions.reconcile(
            campaign=campaign, marketplace=lab.prolific, now=timezone.now() + timedelta(hours=1)
        )
        assert limit() == 2, "four votes are left"


def test_another_number_of_stories_changes_seats_price_and_times(boss: Client) -> None:
    study = builders.make_study("other", stories=12, pay_rate=15, currency="USD")
    path = reverse("dashboard:new_campaign", args=["other", "mturk", "stories"])
    form = boss.get(path).context["form"]
    before, given = form.initial, sent_by(form)
    given["stories_per_visit"] = str(int(given["stories_per_visit"]) * 2)

    edited = boss.post(path, given | {"reward": "9.99"}).context["form"]
    shown = boss.post(path, given).context["form"]

    assert not study.campaigns.exists()
    assert edited["reward"].value() == "9.99"
    assert "now fit this number" in str(shown["stories_per_visit"].errors)
    assert int(shown["minutes_expected"].value()) == 2 * before["minutes_expected"]
    assert int(shown["seats"].value()) == -(-before["seats"] // 2)
    assert shown["reward"].value() == str(2 * before["reward"])
    boss.post(path, sent_by(shown))
    made = study.campaigns.get()
    assert made.stories_per_visit == int(given["stories_per_visit"])
    assert made.minutes_expected == 2 * before["minutes_expected"]


def sent_by(form: Any) -> dict[str, Any]:
    """What a browser would send of the form as it is shown."""
    values = {name: form[name].value() for name in form.fields}
    return {name: value for name, value in values.items() if value not in (None, False)}
