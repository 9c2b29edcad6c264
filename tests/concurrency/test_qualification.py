"""Races for the one attempt (invariant 5), each beside what happens without the guard."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError
from django.utils import timezone

from annotation import actions as annotation_actions
from annotation.errors import WrongState
from annotation.models import Enrollment, Event, Study
from qualification import actions, queries
from qualification.errors import AlreadyHandedIn
from qualification.models import AnswerKey, Attempt, Round
from tests import builders
from tests.concurrency.racing import Overtaking, errors, race, slowly, together, without_locks
from tests.worlds import built_once

pytestmark = pytest.mark.django_db(transaction=True)


def starting(enrollment: Enrollment) -> Callable[[], Attempt]:
    return lambda: actions.start_attempt(enrollment=enrollment, now=timezone.now())


def handing_in(attempt: Attempt) -> Callable[[], Attempt]:
    """As each request does it: with an attempt of its own, read from the database."""
    return lambda: actions.submit_attempt(
        attempt=Attempt.objects.select_related("enrollment__study").get(pk=attempt.pk), now=timezone.now()
    )


@built_once
def newcomer_to_two_forms() -> Enrollment:
    study = builders.make_study(qualification=1, opened=False)
    builders.add_round(study, [builders.story_row(7, prefix="second")], beside=True)
    annotation_actions.open_study(study=study, by=None, now=timezone.now())
    return builders.consent(builders.invite(study)[0])


@pytest.fixture
def beginner(monkeypatch: pytest.MonkeyPatch) -> Enrollment:
    """Somebody in a study with two forms, each of which allows one attempt."""
    slowly(monkeypatch, queries, "next_attempt")
    return newcomer_to_two_forms()


def test_two_tabs_begin_one_attempt(beginner: Enrollment) -> None:
    outcomes = race(*[starting(beginner)] * 3)

    assert not errors(outcomes)
    assert {outcome.pk for outcome in outcomes if isinstance(outcome, Attempt)} == {Attempt.objects.get().pk}
    assert Event.objects.filter(type=Event.Type.ATTEMPT_STARTED).count() == 1


def test_control_without_locks_the_constraint_refuses_another_form(
    beginner: Enrollment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each tab is given another form, as if the active ones changed between them."""
    without_locks(monkeypatch)
    together(monkeypatch, Attempt.objects, "create", 2, before=True)
    given = itertools.count()
    monkeypatch.setattr(queries, "round_for", lambda place, rounds: rounds[next(given) % 2])

    outcomes = race(*[starting(beginner)] * 2)

    assert [type(error) for error in errors(outcomes)] == [IntegrityError]
    assert Attempt.objects.count() == 1


@built_once
def answered_attempt() -> Attempt:
    study = builders.make_study(qualification=1)
    attempt = starting(builders.consent(builders.invite(study)[0]))()
    for entry in attempt.round.round_stories.select_related("story"):
        actions.save_answers(attempt=attempt, round_story=entry, submitted=builders.ALL_YES)
    return attempt


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> Attempt:
    """An attempt with every answer, ready to be handed in."""
    slowly(monkeypatch, queries, "grade_by")
    return answered_attempt()


def test_handing_in_twice_at_once_gives_one_grade(answered: Attempt) -> None:
    outcomes = race(*[handing_in(answered)] * 3)

    assert not errors(outcomes)
    assert {outcome.passed for outcome in outcomes if isinstance(outcome, Attempt)} == {True}
    assert Event.objects.filter(type=Event.Type.ATTEMPT_SUBMITTED).count() == 1
    assert Event.objects.filter(type=Event.Type.ENROLLMENT_QUALIFIED).count() == 1
    assert Enrollment.objects.get().state == Enrollment.State.QUALIFIED


def test_control_without_locks_handing_in_twice_collides(
    answered: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    together(monkeypatch, queries, "grade_by", 3)

    outcomes = race(*[handing_in(answered)] * 3)

    graded_twice = Event.objects.filter(type=Event.Type.ATTEMPT_SUBMITTED).count() > 1
    assert graded_twice or any(isinstance(e, DatabaseError | WrongState) for e in errors(outcomes))


def test_an_answer_cannot_slip_in_behind_the_grade(answered: Attempt) -> None:
    """Whoever is first, the grade is the grade of the answers that are stored."""
    entry = answered.round.round_stories.select_related("story").get()
    change = builders.answers(q3="no")

    outcomes = race(
        handing_in(answered),
        lambda: actions.save_answers(attempt=answered, round_story=entry, submitted=change),
    )

    answered.refresh_from_db()
    options = set(answered.answers.filter(question="q3").values_list("option", flat=True))
    assert options == ({"yes"} if answered.passed else {"no"})
    assert all(isinstance(error, AlreadyHandedIn) for error in errors(outcomes))


KeyRace = Callable[[], tuple[list[Any], Attempt, AnswerKey]]


@pytest.fixture(params=["the key is being set", "the attempt is being started"])
def key_race(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> KeyRace:
    """A new key and the first attempt at once: whoever is first has looked, and not yet written.

    Runs both and returns what came of them, the attempt, and the newest key.
    """
    study: Study = builders.make_study(qualification=1)
    (person,) = builders.invite(study)
    person = builders.consent(person)
    made = Round.objects.get(study=study)
    stricter = {
        entry.story.story_id: builders.ACCEPTED | {"q1": ["yes"]} for entry in made.round_stories.all()
    }
    overtaking = Overtaking()

    def setting() -> AnswerKey:
        return actions.set_answer_key(round=made, acceptable=stricter, by=None, now=timezone.now())

    key_first = request.param == "the key is being set"
    owner, name = (AnswerKey.objects, "create") if key_first else (Attempt.objects, "create")
    create = getattr(owner, name)

    def interrupted(**values: Any) -> Any:
        overtaking.wait_inside(seconds=1)
        return create(**values)

    monkeypatch.setattr(owner, name, interrupted)
    calls: tuple[Callable[[], Any], ...]
    if key_first:
        calls = (setting, overtaking.overtake(starting(person)))
    else:
        calls = (starting(person), overtaking.overtake(setting))

    def run() -> tuple[list[Any], Attempt, AnswerKey]:
        outcomes = race(*calls)
        return outcomes, Attempt.objects.get(), AnswerKey.objects.latest("version")

    return run


def test_an_attempt_is_graded_by_the_key_that_stays(key_race: KeyRace) -> None:
    outcomes, attempt, newest = key_race()

    assert attempt.key_id == newest.pk
    if newest.version == 1:
        (refused,) = errors(outcomes)
        assert isinstance(refused, WrongState)
        assert "attempted this round" in str(refused)
    else:
        assert not errors(outcomes)


@pytest.mark.parametrize("key_race", ["the attempt is being started"], indirect=True)
def test_control_without_locks_the_key_changes_behind_an_attempt(
    key_race: KeyRace, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)

    outcomes, attempt, newest = key_race()

    assert not errors(outcomes)
    assert (newest.version, attempt.key.version) == (2, 1)
