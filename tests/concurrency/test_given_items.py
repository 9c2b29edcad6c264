"""A story is given by name while somebody claims its last slot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.utils import timezone

from annotation import actions, rules
from annotation.actions import GivenRow, leases, slots
from annotation.errors import InvalidInput
from annotation.models import Assignment, Enrollment, Study
from annotation.rules import Reason, Refusal
from tests import builders
from tests.annotation.invariants import broken
from tests.concurrency.racing import (
    Overtaking,
    errors,
    race,
    slowly,
    together,
    wait_until_blocking,
    without_locks,
)
from tests.concurrency.serving import claiming
from tests.concurrency.test_design import suspend

pytestmark = pytest.mark.django_db(transaction=True)
STORY = "story_00000_sev1"


def giving(study: Study, person: Enrollment, *story_ids: str) -> Callable[[], object]:
    rows = [GivenRow(line, story_id, person.pseudonym) for line, story_id in enumerate(story_ids)]
    return lambda: actions.give_items(study=study, rows=rows, by=None, now=timezone.now())


@pytest.fixture
def study(db: object) -> Study:
    return builders.make_study(stories=1, votes_per_story=1)


def test_the_last_slot_is_given_or_claimed_never_both(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = builders.qualified(study, 2)
    slowly(monkeypatch, rules, "lowest_free_slot")

    given, claimed = race(giving(study, one, STORY), claiming(two))

    assert isinstance(given, InvalidInput) == isinstance(claimed, Assignment)
    assert isinstance(claimed, Assignment) or claimed == Refusal(Reason.ALL_DONE)
    assert Assignment.objects.living().count() == 1
    assert not broken()


def test_control_without_locks_both_want_the_slot(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = builders.qualified(study, 2)
    without_locks(monkeypatch)
    together(monkeypatch, rules, "lowest_free_slot", 2)

    outcomes = race(giving(study, one, STORY), claiming(two))

    assert [isinstance(error, IntegrityError) for error in errors(outcomes)] == [True]


def test_lists_crowds_and_leavers_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two lists name the same people and stories in other orders, while these work and one leaves."""
    study = builders.make_study(stories=12, votes_per_story=2)
    one, two, three = builders.qualified(study, 3)
    ids = [f"story_{number:05d}_sev1" for number in range(12)]
    slowly(monkeypatch, rules, "lowest_free_slot")

    outcomes = race(
        giving(study, one, *ids[:4]),
        giving(study, two, *reversed(ids[2:6])),
        claiming(one),
        claiming(three),
        lambda: actions.withdraw(enrollment=three, now=timezone.now()),
    )

    assert all(isinstance(error, InvalidInput) for error in errors(outcomes))
    taken = Counter(Assignment.objects.living().values_list("story", flat=True))
    assert max(taken.values()) <= 2
    assert not broken()


def take_back(person: Enrollment) -> object:
    return actions.take_items_back(enrollment=person, by=None, now=timezone.now())


@pytest.mark.parametrize("leave", [suspend, take_back])
def test_nothing_is_kept_for_a_leaver_whose_lease_the_sweep_ends(
    monkeypatch: pytest.MonkeyPatch, leave: Callable[[Enrollment], object]
) -> None:
    """The sweep makes the story on their screen reserved again, while they leave and give all back."""
    study = builders.make_study(stories=2, votes_per_story=1)
    an_hour_ago = timezone.now() - timedelta(hours=1)
    (person,) = builders.qualified(study, now=an_hour_ago)
    giving(study, person, STORY, "story_00001_sev1")()
    builders.claim(person, now=an_hour_ago)
    overtaking, free_slots = Overtaking(), slots.free_slots

    def slow(*, held: list[Assignment]) -> None:
        overtaking.wait_inside(0)
        wait_until_blocking()
        free_slots(held=held)

    monkeypatch.setattr(leases, "free_slots", slow)

    outcomes = race(
        lambda: leases.free_expired_leases(now=timezone.now()), overtaking.overtake(lambda: leave(person))
    )

    assert not errors(outcomes)
    assert not Assignment.objects.living().exists()
    assert not broken()
