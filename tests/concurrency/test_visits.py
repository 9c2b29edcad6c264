"""The same piece of work opened many times at once: one visit, one work session, one person."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from django.db import IntegrityError, models
from django.utils import timezone

from accounts.models import Annotator
from annotation.models import Enrollment, WorkSession
from recruitment import actions
from recruitment.actions import arrivals
from recruitment.arrival_rules import Arrival
from recruitment.models import Campaign, Visit
from tests import builders
from tests.concurrency.racing import errors, race, slowly, together, without_locks
from tests.recruitment.platform_visits import hit_of, publish_campaign, qualified_worker

pytestmark = pytest.mark.django_db(transaction=True)
AT_ONCE = 3


@pytest.fixture
def campaign() -> Campaign:
    return publish_campaign(builders.make_study(stories=2))


def arriving(campaign: Campaign, worker: str, assignment: str = "3A") -> Callable[[], Visit]:
    arrival = Arrival(assignment, hit_of(campaign), worker, "https://www.mturk.com")
    return partial(
        actions.arrive_for_campaign, campaign=campaign, arrival=arrival, is_proven=False, now=timezone.now()
    )


def rows() -> tuple[int, ...]:
    counted: tuple[type[models.Model], ...] = (Annotator, Enrollment, Visit, WorkSession)
    return tuple(model._default_manager.count() for model in counted)


def test_somebody_new_in_many_windows_has_one_visit(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly(monkeypatch, arrivals, "_let_in")

    outcomes = race(*[arriving(campaign, "A1")] * AT_ONCE, *[arriving(campaign, "A2")] * AT_ONCE)

    assert not errors(outcomes)
    assert rows() == (2, 2, 2, 2), "the same id of a piece of work with two people"
    for one in (outcomes[:AT_ONCE], outcomes[AT_ONCE:]):
        assert len({visit.receipt for visit in one if isinstance(visit, Visit)}) == 1


def test_control_without_locks_only_the_constraint_keeps_a_second_visit_out(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    qualified_worker(campaign.study, "A1")
    without_locks(monkeypatch)
    together(monkeypatch, arrivals, "_let_in", AT_ONCE)

    outcomes = race(*[arriving(campaign, "A1")] * AT_ONCE)

    assert len(errors(outcomes)) == AT_ONCE - 1
    assert all(isinstance(error, IntegrityError) for error in errors(outcomes))
    assert Visit.objects.count() == 1
