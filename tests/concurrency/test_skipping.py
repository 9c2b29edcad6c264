"""Races of a skip with a vote, with itself and with an expiring lease, beside what happens without locks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.utils import timezone

from annotation import actions, rules
from annotation.models import Assignment, Enrollment, Skip, Story, Vote
from tests import builders
from tests.annotation.invariants import broken
from tests.concurrency.racing import errors, race, slowly, together, without_locks

pytestmark = pytest.mark.django_db(transaction=True)


def skipping(held: Assignment, reason: str = "unclear") -> Callable[[], Skip | None]:
    return lambda: actions.skip_story(
        assignment_id=held.pk, enrollment=held.enrollment, reason=reason, now=timezone.now()
    )


def voting(held: Assignment) -> Callable[[], actions.Receipt]:
    return lambda: actions.record_vote(
        assignment_id=held.pk, enrollment=held.enrollment, submitted=builders.ALL_YES, now=timezone.now()
    )


def sweeping() -> int:
    return actions.release_expired_leases(now=timezone.now() + timedelta(days=1))


@pytest.fixture
def held() -> Assignment:
    study = builders.make_study(stories=1, votes_per_story=1)
    return builders.claim(builders.qualified(study)[0])


def test_a_skip_and_a_vote_at_once_end_as_one_credited_vote(held: Assignment) -> None:
    outcomes = race(skipping(held), voting(held), skipping(held), voting(held))

    assert not errors(outcomes)
    held.refresh_from_db()
    person = Enrollment.objects.get()
    assert (held.state, Vote.objects.count()) == ("submitted", 1)
    assert (person.stories_submitted, person.stories_skipped) == (1, 0)
    assert not broken()


def test_the_same_skip_many_times_at_once_is_one(held: Assignment, monkeypatch: pytest.MonkeyPatch) -> None:
    slowly(monkeypatch, rules, "is_credited")
    outcomes = race(*[skipping(held)] * 3)

    assert not errors(outcomes)
    assert len({(one.pk, one.skipped_at) for one in outcomes if isinstance(one, Skip)}) == 1
    assert Enrollment.objects.get().stories_submitted == 1
    assert not broken()


def test_control_without_locks_a_skip_is_credited_twice_or_refused(
    held: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    together(monkeypatch, rules, "is_credited", 2)
    outcomes = race(skipping(held), skipping(held))

    assert any(isinstance(error, IntegrityError) for error in errors(outcomes))


def test_a_skip_and_the_end_of_its_lease_at_once_free_the_slot_once(held: Assignment) -> None:
    outcomes = race(skipping(held), sweeping, skipping(held), sweeping)

    assert not errors(outcomes)
    held.refresh_from_db()
    assert (held.state, Story.objects.get().has_free_slot) == ("skipped", True)
    assert not broken()
