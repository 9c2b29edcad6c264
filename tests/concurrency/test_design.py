"""Many people begin a study with a design at the same instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone

from annotation import actions, design
from annotation.actions import leases, serving, slots
from annotation.models import Assignment, Enrollment, Story
from tests import builders
from tests.annotation.invariants import broken
from tests.annotation.test_design import FEW, ITEMS, LOAD, OPEN, PEOPLE, SEALED, VOTES, designed, given_to
from tests.concurrency.racing import (
    Overtaking,
    errors,
    race,
    slowly,
    together,
    wait_until_blocking,
    without_locks,
)
from tests.concurrency.serving import claiming, submitting
from tests.worlds import built_once

pytestmark = pytest.mark.django_db(transaction=True)


@built_once
def enough_people() -> list[Enrollment]:
    return builders.qualified(designed(items=FEW), PEOPLE)


@pytest.fixture
def beginners(monkeypatch: pytest.MonkeyPatch) -> list[Enrollment]:
    """As many people as fill the study exactly."""
    slowly(monkeypatch, design, "choose")
    return enough_people()


def test_everybody_who_begins_at_once_gets_a_whole_set(beginners: list[Enrollment]) -> None:
    outcomes = race(*map(claiming, beginners))

    assert not errors(outcomes)
    assert all(isinstance(outcome, Assignment) for outcome in outcomes)
    assert all(given_to(person) == LOAD for person in beginners)
    taken = Counter(Assignment.objects.living().values_list("story", flat=True))
    assert set(taken.values()) == {VOTES}
    assert not broken()


def test_control_without_locks_sets_collide(
    beginners: list[Enrollment], monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    together(monkeypatch, design, "in_order", PEOPLE)

    outcomes = race(*map(claiming, beginners))

    assert any(isinstance(error, IntegrityError) for error in errors(outcomes))


def test_people_begin_while_others_leave(beginners: list[Enrollment]) -> None:
    first, second, *others = beginners
    for person in (first, second):
        builders.claim(person)
    leaving = [lambda person=person: actions.forget(annotator=person.annotator, now=timezone.now())
               for person in (first, second)]  # fmt: skip

    outcomes = race(*leaving, *map(claiming, others))

    assert not errors(outcomes)
    assert all(given_to(person) == LOAD for person in others)
    assert not broken()


def suspend(person: Enrollment) -> object:
    return actions.suspend(enrollment=person, by=None, now=timezone.now(), reason="Please wait.")


def withdraw(person: Enrollment) -> object:
    return actions.withdraw(enrollment=person, now=timezone.now())


@pytest.mark.parametrize("skips", [True, False], ids=["skipping", "control"])
def test_somebody_leaves_while_the_sweep_frees_their_lease(
    monkeypatch: pytest.MonkeyPatch, skips: bool
) -> None:
    """The sweep holds their lease, and an item that is reserved for them, and would end the reservations."""
    study = designed(load=ITEMS, votes_per_story=6)
    an_hour_ago = timezone.now() - timedelta(hours=1)
    leaver, other = builders.qualified(study, 2, now=an_hour_ago)
    for person, first in ((leaver, 1), (other, -1)):  # what one is given is reserved for the other
        monkeypatch.setattr(
            design, "in_order", lambda chosen, first=first, **_: sorted(chosen, key=lambda it: first * it.pk)
        )
        builders.claim(person, now=an_hour_ago)
    overtaking, free_slots, lock = Overtaking(), slots.free_slots, models.QuerySet.select_for_update

    def slow(*, held: list[Assignment]) -> None:
        overtaking.wait_inside(0)
        wait_until_blocking()
        free_slots(held=held)

    def waiting(rows: models.QuerySet[Any], **options: Any) -> models.QuerySet[Any]:
        if rows.model is Assignment and not rows.query.is_sliced:
            rows = rows.order_by("-state")  # what is reserved before the lease, wherever the table has them
        return lock(rows, **options | {"skip_locked": False})

    monkeypatch.setattr(leases, "free_slots", slow)
    if not skips:
        monkeypatch.setattr(models.QuerySet, "select_for_update", waiting)

    outcomes = race(
        lambda: leases.free_expired_leases(now=timezone.now()), overtaking.overtake(lambda: withdraw(leaver))
    )

    if not skips:
        assert ["deadlock detected" in str(error) for error in errors(outcomes)] == [True]
        return
    assert not errors(outcomes)
    assert not given_to(leaver)
    assert not broken()


def doubt(person: Enrollment) -> object:
    session = person.work_sessions.get()
    return actions.doubt_session(session=session, reason="Lost.", by=None, now=timezone.now())


@pytest.mark.parametrize("leave", [withdraw, doubt])
def test_who_leaves_holds_no_later_item_while_they_wait_for_an_earlier_one(
    monkeypatch: pytest.MonkeyPatch, leave: Callable[[Enrollment], object]
) -> None:
    """Else two who lock in different orders wait for each other. The planner is kept from ordering by id."""
    study = designed(load=ITEMS)
    (person,) = builders.qualified(study)
    session = actions.open_session(
        enrollment=person, story_limit=9, counts_unconfirmed=True, identity_claimed=False, framed=False,
        expires_at=timezone.now() + timedelta(hours=1), now=timezone.now(),
    )  # fmt: skip
    monkeypatch.setattr(design, "in_order", lambda chosen, **_: sorted(chosen, key=lambda item: -item.pk))
    held = actions.assign_next_story(enrollment=person, now=timezone.now(), session_id=session.pk)
    assert isinstance(held, Assignment)
    form: dict[str, Any] = {"submitted": builders.ALL_YES, "now": timezone.now(), "session_id": session.pk}
    actions.record_vote_and_assign_next(assignment_id=held.pk, enrollment=person, **form)
    theirs = Assignment.objects.living().filter(enrollment=person)
    first, *later = theirs.order_by("story").values_list("story", flat=True)
    assert theirs.get(story_id=first).state == "reserved"
    Story.objects.filter(pk=first).update(has_free_slot=True)  # moves its row to the end of the table
    overtaking = Overtaking()

    def leaving() -> object:
        with connection.cursor() as cursor:
            cursor.execute("SET enable_indexscan = off; SET enable_bitmapscan = off")
        return leave(person)

    def hold_the_first() -> object:
        with transaction.atomic():
            Story.objects.select_for_update(no_key=True).get(pk=first)
            overtaking.wait_inside(0)
            wait_until_blocking()
            others = Story.objects.filter(pk__in=later)
            return len(others.select_for_update(no_key=True, nowait=True))

    outcomes = race(hold_the_first, overtaking.overtake(leaving))

    assert not errors(outcomes)
    assert outcomes[0] == len(later)
    assert not theirs.filter(state="reserved").exists()


@pytest.mark.parametrize("locks", [True, False], ids=["locking", "control"])
def test_a_late_answer_meets_somebody_who_begins(monkeypatch: pytest.MonkeyPatch, locks: bool) -> None:
    """Both want the only slot of an item: without the lock on its stratum, what was chosen is gone."""
    study = designed(load={SEALED: 1, OPEN: 1}, items={SEALED: 1, OPEN: 1}, votes_per_story=1)
    an_hour_ago = timezone.now() - timedelta(hours=1)
    late, beginner = builders.qualified(study, 2, now=an_hour_ago)
    held = builders.claim(late, now=an_hour_ago)
    for _ in range(2):
        actions.release_expired_leases(now=timezone.now())
    overtaking, original = Overtaking(), design.choose

    def choose(*args: Any, **by: Any) -> list[design.Candidate]:
        chosen = original(*args, **by)
        overtaking.wait_inside(0.5 if locks else 20)
        return chosen

    monkeypatch.setattr(design, "choose", choose)
    if not locks:
        monkeypatch.setattr(serving, "lock_story_of", lambda _assignment: None)

    outcomes = race(claiming(beginner), overtaking.overtake(submitting(held, late)))

    if not locks:
        assert "More was chosen than is free" in str(outcomes[0])
        return
    assert not errors(outcomes)
    assert given_to(beginner) == {SEALED: 1, OPEN: 1}
    assert Assignment.objects.get(pk=held.pk).state == "surplus"
    assert not broken()
