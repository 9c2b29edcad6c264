"""How people fare in the rounds, from attempts that were made and handed in."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.models import Study
from qualification import actions, drift, rates
from qualification.drift import Halves
from qualification.models import Round
from qualification.rates import rates_of
from tests import builders

pytestmark = pytest.mark.django_db


def attempt(study: Study, minutes: int, *answers: dict[str, str], takes: int = 60) -> None:
    """Somebody begins so many minutes after the first, and answers story after story as given."""
    now = timezone.now() - timedelta(days=1) + timedelta(minutes=minutes)
    (person,) = builders.invite(study, now=now)
    begun = actions.start_attempt(enrollment=builders.consent(person, now=now), now=now)
    for entry, said in zip(begun.round.round_stories.select_related("story"), answers, strict=True):
        actions.save_answers(attempt=begun, round_story=entry, submitted=builders.answers(**said))
    actions.submit_attempt(attempt=begun, now=now + timedelta(seconds=takes))


def test_every_question_has_its_attempts_early_and_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift, "FEWEST_IN_A_HALF", 2)
    study = builders.make_study(qualification=2)
    attempt(study, 30, {}, {}, takes=50)
    attempt(study, 0, {"q3": "no"}, {}, takes=200)
    attempt(study, 10, {"q3": "no"}, {"q4": "no"}, takes=100)
    attempt(study, 20, {}, {"q2": "possibly"}, takes=70)
    builders.consent(builders.invite(study)[0])
    actions.start_attempt(enrollment=builders.consent(builders.invite(study)[0]), now=timezone.now())

    (rated,) = rates_of(study)

    assert (rated.started, rated.submitted, rated.passed, rated.share) == (5, 4, 2, 0.5)
    found = {(rate.position, rate.question): rate for rate in rated.questions}
    assert list(found) == [(at, q) for at in (1, 2) for q in ("q1", "q2", "q3", "q4")]
    assert found[1, "q3"].halves == Halves(early=2, early_hits=0, late=2, late_hits=2)
    assert (found[1, "q3"].attempts, found[1, "q3"].accepted, found[1, "q3"].alone) == (4, 2, 1)
    assert (found[2, "q4"].accepted, found[2, "q4"].alone) == (3, 0)
    assert found[2, "q2"].share == 1.0
    assert rated.passing == Halves(2, 0, 2, 2)
    assert rated.pace is not None
    assert (rated.pace.early_median, rated.pace.late_median) == (150, 60)
    assert rated.pace.faster == Halves(2, 0, 2, 2)

    monkeypatch.setattr(rates, "REST", 0)
    attempt(study, 40, {"q1": "no"}, {})

    (rated,) = rates_of(study)

    assert rated.questions[0].attempts == 5
    assert rated.passing == Halves(2, 0, 2, 2), "looked at again after 8"


def test_a_second_try_is_not_another_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Later, faster and better by nature: it would make every test look known, and every question easy."""
    monkeypatch.setattr(drift, "FEWEST_IN_A_HALF", 2)
    study = builders.make_study(qualification={"rows": 1, "attempts_allowed": 2})
    for minutes in range(4):
        attempt(study, minutes, {"q1": "no"}, takes=300)
    for person in study.enrollments.all():
        builders.take_test(person)

    (rated,) = rates_of(study)

    assert (rated.submitted, rated.passed, rated.later_tries) == (4, 4, 4)
    assert rated.passing == Halves(2, 0, 2, 0)
    assert (rated.questions[0].attempts, rated.questions[0].accepted) == (4, 0)


def test_rates_are_kept_for_this_study_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    study = builders.make_study(qualification=1)
    attempt(study, 0, {"q1": "no"})
    assert rates_of(study)[0].questions[0].accepted == 0
    with monkeypatch.context() as kept:
        kept.setattr(rates, "_computed", lambda *_args: pytest.fail("worked out again"))
        rates_of(study)
    anew = type(study).objects.get(pk=study.pk)
    anew.created_at += timedelta(days=1)
    with monkeypatch.context() as unkept:
        unkept.setattr(rates, "_computed", lambda *_args: ({}, {}, {}))
        assert rates_of(anew)[0].questions == [], "an id may be another study's in a database made anew"


def test_rounds_are_counted_apart_and_those_nobody_took_are_there() -> None:
    study = builders.make_study(qualification=1, opened=False)
    study.refresh_from_db()
    assert [(rated.share, rated.questions, rated.pace) for rated in rates_of(study)] == [(None, [], None)]
    assert Round.objects.get().state == Round.State.ACTIVE
