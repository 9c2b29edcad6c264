"""Leases that run out, and suspensions, race with the people who hold them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from annotation import actions, rules
from annotation.actions import leases, serving
from annotation.models import Assignment, Enrollment, Event, Study, SurplusReason, Vote
from annotation.protocols.validity import ValidityProtocol
from tests import builders
from tests.annotation.invariants import broken
from tests.concurrency.racing import (
    MOMENT,
    Overtaking,
    errors,
    race,
    slowly,
    together,
    without_constraint,
    without_locks,
)
from tests.concurrency.serving import claiming, submitting, submitting_and_claiming

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Assignment:
    """An assignment of the only story, for its only vote, whose lease has run out."""
    study = builders.make_study(stories=1, votes_per_story=1)
    an_hour_ago = timezone.now() - timedelta(hours=1)
    assignment = builders.claim(builders.qualified(study, now=an_hour_ago)[0], now=an_hour_ago)
    actions.release_expired_leases(now=timezone.now())
    slowly(monkeypatch, rules, "lowest_free_slot")
    return assignment


def _others(study: Study, count: int) -> list[Callable[[], object]]:
    """People who claim the story and answer it at once."""

    def claim_and_answer(person: Enrollment) -> object:
        outcome = actions.assign_next_story(enrollment=person, now=timezone.now())
        return submitting(outcome, person)() if isinstance(outcome, Assignment) else outcome

    return [partial(claim_and_answer, person) for person in builders.qualified(study, count)]


def test_a_late_form_races_others_for_the_slot_and_is_never_lost(late: Assignment) -> None:
    late_person = late.enrollment

    outcomes = race(submitting(late, late_person), *_others(late.story.study, 2))

    assert not errors(outcomes)
    receipt = outcomes[0]
    assert isinstance(receipt, actions.Receipt)
    assert receipt.vote.surplus_reason in (SurplusReason.NONE, SurplusReason.LATE)
    assert Vote.objects.counted().count() == 1
    assert Enrollment.objects.get(pk=late_person.pk).stories_submitted == 1
    assert not broken()


def test_late_forms_that_ask_for_the_next_story_do_not_block_one_another(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each takes a slot of the one story that only the other one can be given next.

    Somebody who kept that story locked while they wait for the other would deadlock here.
    """
    study = builders.make_study(stories=2, votes_per_story=2)
    an_hour_ago = timezone.now() - timedelta(hours=1)
    one, filler, two = builders.qualified(study, 3, now=an_hour_ago)
    first = builders.claim(one, now=an_hour_ago)
    builders.vote(filler, now=an_hour_ago)
    second = builders.claim(two, now=an_hour_ago)
    actions.release_expired_leases(now=timezone.now())
    assert first.story != second.story
    slowly(monkeypatch, rules, "lowest_free_slot")

    outcomes = race(*[submitting_and_claiming(lease) for lease in (first, second)])

    assert not errors(outcomes)
    assert "No story could be found" not in caplog.text
    assert Vote.objects.counted().count() == 3
    assert not broken()


def test_a_late_form_races_the_sweep() -> None:
    """The lease has run out but nobody has freed the slot: whoever is first, the vote counts."""
    study = builders.make_study(stories=2, votes_per_story=1)
    an_hour_ago = timezone.now() - timedelta(hours=1)
    leases = [
        builders.claim(person, now=an_hour_ago) for person in builders.qualified(study, 2, now=an_hour_ago)
    ]

    outcomes = race(
        *[submitting(lease, lease.enrollment) for lease in leases],
        *[lambda: actions.release_expired_leases(now=timezone.now())] * 2,
    )

    assert not errors(outcomes)
    assert Vote.objects.counted().count() == 2
    assert not broken()


@pytest.fixture
def returning() -> Enrollment:
    """Somebody whose lease has run out, asking for their story again."""
    study = builders.make_study(stories=1, votes_per_story=1)
    an_hour_ago = timezone.now() - timedelta(hours=1)
    person = builders.qualified(study, now=an_hour_ago)[0]
    builders.claim(person, now=an_hour_ago)
    return person


def _sweeping() -> int:
    time.sleep(MOMENT / 2)
    return actions.release_expired_leases(now=timezone.now())


def test_somebody_who_asks_again_races_the_sweep_for_their_story(
    returning: Enrollment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they are shown is theirs, with a slot and a lease that has not run out."""

    def slow_lease(study: Study) -> timedelta:
        time.sleep(MOMENT)
        return timedelta(minutes=30)

    monkeypatch.setattr(Study, "lease", property(slow_lease))

    outcomes = race(claiming(returning), _sweeping, _sweeping)

    assert not errors(outcomes)
    assert Assignment.objects.get().state == Assignment.State.LEASED
    assert Assignment.objects.get().lease_expires_at > timezone.now()
    assert not broken()


def test_control_without_locks_they_are_shown_a_story_they_no_longer_hold(
    returning: Enrollment, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    renewing = Overtaking()

    def slow_lease(study: Study) -> timedelta:
        renewing.wait_inside()
        return timedelta(minutes=30)

    monkeypatch.setattr(Study, "lease", property(slow_lease))

    outcomes = race(claiming(returning), renewing.overtake(_sweeping))

    assert isinstance(outcomes[0], Assignment)
    assert Assignment.objects.get().state == Assignment.State.EXPIRED


def test_a_page_that_asks_while_its_story_is_freed_is_told_so(
    returning: Enrollment, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Assignment.objects.get()
    sweeping = _freed_meanwhile(monkeypatch)

    renewed, _ = race(sweeping.overtake(_renewing(held)), _sweeping)

    assert renewed is False
    held.refresh_from_db()
    assert held.state == Assignment.State.EXPIRED


def test_control_without_the_locks_of_the_sweep_a_page_keeps_a_story_that_is_freed(
    returning: Enrollment, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Assignment.objects.get()
    without_locks(monkeypatch)
    sweeping = _freed_meanwhile(monkeypatch)

    renewed, _ = race(sweeping.overtake(_renewing(held)), _sweeping)

    assert renewed is True
    held.refresh_from_db()
    assert held.state == Assignment.State.EXPIRED


def _renewing(held: Assignment) -> Callable[[], bool]:
    return lambda: actions.renew_lease(enrollment=held.enrollment, assignment_id=held.pk, now=timezone.now())


def _freed_meanwhile(monkeypatch: pytest.MonkeyPatch) -> Overtaking:
    """Something else may happen after a sweep has chosen what it frees and before it frees it."""
    sweeping = Overtaking()

    def chosen(rows: Iterable[Any]) -> list[Any]:
        found = list(rows)
        sweeping.wait_inside(4 * MOMENT)
        return found

    monkeypatch.setattr(leases, "list", chosen, raising=False)
    return sweeping


def test_control_without_locks_a_late_form_counts_beside_the_others(
    late: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = _others(late.story.study, 4)
    without_locks(monkeypatch)
    together(monkeypatch, rules, "lowest_free_slot", 5)
    with without_constraint(Assignment, "one_living_assignment_per_slot"):
        race(submitting(late, late.enrollment), *others)

        assert Vote.objects.counted().count() > 1


def test_claims_that_find_leases_run_out_do_not_block_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each could free a lease on the one story that only the other one can be given.

    A claim that freed leases first and then waited for a story would deadlock here.
    """
    study = builders.make_study(stories=2)
    began = timezone.now() - timedelta(hours=2)
    soon, soon_after = began + timedelta(minutes=10), began + timedelta(minutes=35)
    extra, one, gone, two, left = builders.qualified(study, 5, now=began)
    builders.claim(extra, now=began)
    builders.vote(one, now=soon)
    builders.claim(gone, now=soon)
    builders.vote(two, now=soon)
    builders.claim(left, now=soon)
    assert (
        actions.release_expired_leases(now=soon_after) == 1
    )  # the one of extra: both stories have a free slot
    monkeypatch.setattr(leases, "RECLAIM_AT_ONCE", 1)
    slowly(monkeypatch, serving, "free_expired_leases")

    outcomes = race(claiming(one), claiming(two))

    assert not errors(outcomes)
    given = [outcome.story for outcome in outcomes if isinstance(outcome, Assignment)]
    assert given == list(study.stories.order_by("-order_key"))


@pytest.fixture
def suspect() -> Assignment:
    """A story held by somebody who is about to be suspended."""
    study = builders.make_study(stories=1)
    return builders.claim(builders.qualified(study)[0])


def _suspending(enrollment: Enrollment) -> Callable[[], Enrollment]:
    return lambda: actions.suspend(enrollment=enrollment, by=None, now=timezone.now(), reason="too fast")


def _counted_after_the_suspension() -> bool:
    suspended = Event.objects.get(type=Event.Type.ENROLLMENT_SUSPENDED)
    voted = Event.objects.get(type=Event.Type.VOTE_SUBMITTED)
    return Vote.objects.counted().exists() and voted.pk > suspended.pk


def test_a_form_races_the_suspension_of_its_author(
    suspect: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly(monkeypatch, ValidityProtocol, "read_form")

    outcomes = race(submitting(suspect, suspect.enrollment), _suspending(suspect.enrollment))

    assert not errors(outcomes)
    assert Vote.objects.count() == 1
    assert not _counted_after_the_suspension()
    assert not broken()


def test_control_without_locks_a_form_counts_after_the_suspension(
    suspect: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    reading = Overtaking()
    read_form = ValidityProtocol.read_form

    def slow(*args: Any) -> Any:
        reading.wait_inside()
        return read_form(*args)

    monkeypatch.setattr(ValidityProtocol, "read_form", slow)

    race(submitting(suspect, suspect.enrollment), reading.overtake(_suspending(suspect.enrollment)))

    assert _counted_after_the_suspension()
