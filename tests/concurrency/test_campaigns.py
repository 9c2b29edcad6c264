"""Workers who put a campaign up at the same time, and what comes of it when nothing keeps them apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext

import pytest
from django.db import connection
from django.utils import timezone

from annotation.locks import alone
from recruitment import actions, tasks
from recruitment.actions import campaign_lifecycle
from recruitment.models import Campaign, Posting
from recruitment.queue import RECONCILE
from tests import builders
from tests.concurrency.racing import Overtaking, errors, race, together
from tests.doubles.prolific import ProlificDouble
from tests.recruitment.campaigns import make_campaign
from tests.recruitment.prolific.conftest import Lab

pytestmark = pytest.mark.django_db(transaction=True)
State = Campaign.State


@pytest.fixture
def double() -> Iterator[ProlificDouble]:
    with ProlificDouble(seed=3) as double:
        yield double


@pytest.fixture
def campaign(double: ProlificDouble) -> Campaign:
    """One on Prolific, where nothing but ourselves keeps a second study from being made."""
    study = builders.make_study(stories=3)
    draft = make_campaign(study, platform="prolific", currency="GBP", minutes_allowed=60)
    return actions.start_campaign(
        campaign=draft, marketplace=Lab(double).prolific, by=None, now=timezone.now()
    )


def worker(campaign: Campaign, double: ProlificDouble) -> Callable[[], Campaign]:
    """A worker with an own connection to the database and to the platform."""
    found, lab = Campaign.objects.select_related("study").get(pk=campaign.pk), Lab(double)
    return lambda: actions.carry_out(campaign=found, marketplace=lab.prolific, now=timezone.now())


def test_workers_at_once_make_one_study(campaign: Campaign, double: ProlificDouble) -> None:
    outcomes = race(*[worker(campaign, double) for _worker in range(3)])

    assert not errors(outcomes)
    campaign.refresh_from_db()
    (study,) = double.platform.studies.values()
    assert (campaign.state, campaign.remote_id, Posting.objects.get().remote_id) == (
        State.LIVE,
        study.id,
        study.id,
    )


def test_control_without_the_lock_there_are_several(
    campaign: Campaign, double: ProlificDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign_lifecycle, "alone", lambda *_lock: nullcontext(True))
    together(monkeypatch, Lab(double).prolific.__class__, "_find", 2)

    race(*[worker(campaign, double) for _worker in range(2)])

    assert len(double.platform.studies) == 2
    campaign.refresh_from_db()
    assert Posting.objects.get().remote_id == campaign.remote_id, "even so, what was kept first stays"


def test_what_is_wanted_while_somebody_is_at_it_is_done_by_them(
    campaign: Campaign, double: ProlificDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    overtaking = Overtaking()
    posting = campaign_lifecycle._create_posting

    def slow(*args: object, **named: object) -> None:
        overtaking.wait_inside()
        posting(*args, **named)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(campaign_lifecycle, "_create_posting", slow)
    late = worker(campaign, double)

    def end() -> Campaign:
        actions.end_campaign(campaign=campaign, by=None, now=timezone.now())
        return late()

    first, second = race(worker(campaign, double), overtaking.overtake(end))

    assert isinstance(second, Campaign)
    assert second.state == State.ENDING, "another worker is at it, so this one goes"
    assert isinstance(first, Campaign), first
    assert first.state == State.ENDED


def test_one_comparison_at_a_time(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    monkeypatch.setattr(tasks, "marketplace_of", lambda campaign: None)
    monkeypatch.setattr(actions, "reconcile", lambda *, campaign, **_named: done.append(campaign.pk))
    overtaking = Overtaking()

    def comparing() -> None:
        with alone(RECONCILE, campaign.pk) as nobody_else:
            assert nobody_else
            overtaking.wait_inside()

    outcomes = race(comparing, overtaking.overtake(lambda: tasks.reconcile(campaign.pk)))

    assert not errors(outcomes)
    assert done == []
    tasks.reconcile(campaign.pk)
    assert done == [campaign.pk]
    connection.close()
