"""More work for a campaign that is up: made once, priced as it is made, and offered together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Study
from recruitment import actions
from recruitment.actions.campaign_lifecycle import extend_offer
from recruitment.actions.campaigns import cost_of_seats
from recruitment.errors import CannotRecruit
from recruitment.marketplace import Unreachable
from recruitment.models import Campaign, Posting
from recruitment.mturk.marketplace import MechanicalTurk
from tests import builders
from tests.doubles.mturk.client import marketplace_for
from tests.doubles.mturk.faults import Fault
from tests.doubles.mturk.server import MTurkDouble
from tests.doubles.prolific import ProlificDouble
from tests.recruitment.campaigns import (
    STORIES,
    TEST,
    ask,
    make_campaign,
    open_hits,
    publish_campaign,
    seats_there,
    start,
)
from tests.recruitment.prolific.conftest import Lab

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


@pytest.mark.parametrize(
    ("settings", "more", "wanted"), [(STORIES, 4, [1, 3, 3, 3, 3]), (TEST, 5, [17])], ids=["stories", "test"]
)
def test_seats_are_added_once(
    study: Study, double: MTurkDouble, platform: MechanicalTurk, settings: Any, more: int, wanted: list[int]
) -> None:
    campaign = publish_campaign(start(make_campaign(study, settings), platform), platform)
    with pytest.raises(CannotRecruit, match="at least one"):
        widen(campaign, platform, 0)
    widened = widen(campaign, platform, more)
    assert (widened.state, widened.seats) == (State.CREATING, settings.seats + more)
    operation = "CreateHITWithHITType" if settings is STORIES else "CreateAdditionalAssignmentsForHIT"
    double.faults.next = {operation: [Fault.DROPPED]}
    with pytest.raises(Unreachable):
        publish_campaign(campaign, platform)
    assert publish_campaign(campaign, platform).state == State.LIVE
    assert seats_there(double) == wanted
    widen(campaign, platform, 1)
    publish_campaign(campaign, platform)
    assert sum(seats_there(double)) == settings.seats + more + 1, "the same again is another request"
    double.world.deposit = Decimal(1)
    with pytest.raises(CannotRecruit, match="the account holds"):
        widen(campaign, platform, 30)


def widen(campaign: Campaign, platform: Any, more: int) -> Campaign:
    """A researcher asks for more on a page that says how much there is."""
    offered = Campaign.objects.get(pk=campaign.pk).seats
    return ask(actions.add_seats, campaign, marketplace=platform, more=more, offered=offered)


def test_on_prolific_places_are_added_to_the_one_study(study: Study) -> None:
    with ProlificDouble(seed=1) as double:
        lab = Lab(double)
        campaign = make_campaign(study, platform="prolific", currency="GBP", minutes_allowed=60)
        campaign = publish_campaign(start(campaign, lab.prolific), lab.prolific)
        lab.double.settle()
        widen(campaign, lab.prolific, 3)
        assert publish_campaign(campaign, lab.prolific).state == State.LIVE
        (found,) = lab.platform.studies.values()
        assert found.places == 12
        assert Posting.objects.get().seats == 12


def test_a_test_is_one_posting_and_more_of_it_costs_what_is_made(
    study: Study, double: MTurkDouble, platform: MechanicalTurk
) -> None:
    campaign = publish_campaign(
        start(make_campaign(study, TEST, seats=5, seats_per_posting=2), platform), platform
    )
    assert seats_there(double) == [5], "or the same person could take it again"
    priced = cost_of_seats(campaign, platform, 4)
    held = double.world.deposit - (platform.balance() or 0)
    widen(campaign, platform, 4)
    campaign = publish_campaign(campaign, platform)
    assert (seats_there(double), campaign.seats) == ([9], 9)
    assert double.world.deposit - (platform.balance() or 0) - held == priced
    with pytest.raises(CannotRecruit, match="never widens a HIT for fewer than 10 people"):
        widen(campaign, platform, 1)
    campaign.refresh_from_db()
    assert (campaign.state, campaign.seats, Posting.objects.get().seats) == (State.LIVE, 9, 9)


def test_what_somebody_else_changes_meanwhile_is_not_put_up_unpriced(
    study: Study, double: MTurkDouble, platform: MechanicalTurk
) -> None:
    draft = make_campaign(study)
    colleagues = replace(STORIES, seats=90)
    ask(actions.change_campaign, draft, settings=colleagues)
    with pytest.raises(CannotRecruit, match="has just changed"):
        start(draft, platform)
    draft = publish_campaign(start(Campaign.objects.get(), platform), platform)
    widen(draft, platform, 3)
    publish_campaign(draft, platform)
    now = timezone.now()
    with pytest.raises(CannotRecruit, match="has just changed"):
        actions.add_seats(campaign=draft, marketplace=platform, more=3, offered=90, by=None, now=now)
    assert sum(seats_there(double)) == 93


def test_when_the_days_on_offer_are_over_it_is_said_and_can_be_offered_anew(
    study: Study, double: MTurkDouble, platform: MechanicalTurk
) -> None:
    campaign = publish_campaign(start(make_campaign(study), platform), platform)
    with pytest.raises(CannotRecruit, match="not possible"):
        ask(actions.resume_campaign, campaign)
    double.world.clock.advance(timedelta(days=7, minutes=1))
    now = timezone.now() + timedelta(days=7, minutes=1)
    assert (open_hits(double), campaign.is_over(now=now), campaign.is_over(now=timezone.now())) == (
        0,
        True,
        False,
    )
    change: dict[str, Any] = {"campaign": campaign, "by": None, "now": now}
    actions.add_seats(marketplace=platform, more=3, offered=9, **change)
    campaign = publish_campaign(campaign, platform, now)
    assert (seats_there(double), open_hits(double)) == ([3, 3, 3, 3], 4), "old and new end together"
    assert not campaign.is_over(now=now)
    calls = double.calls["UpdateExpirationForHIT"]
    publish_campaign(extend_offer(only_from=[State.LIVE], **change), platform, now)
    assert double.calls["UpdateExpirationForHIT"] == calls, "what ends as late as that is not asked for again"
    double.world.clock.advance(timedelta(days=8))
    now += timedelta(days=8)
    publish_campaign(actions.resume_campaign(campaign=campaign, by=None, now=now), platform, now)
    assert open_hits(double) == 4


def test_on_prolific_all_places_are_in_one_posting_which_has_a_limit(study: Study) -> None:
    with pytest.raises(CannotRecruit, match="has at most 32767 places"):
        make_campaign(study, platform="prolific", seats=32_768, minutes_allowed=60)
