"""How people fare in the rounds, from attempts that were made and handed in."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.models import Study
from qualification import actions
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


def test_every_question_has_its_attempts_early_and_late() -> None:
    study = builders.make_study(qualification=2)
    attempt(study, 30, {}, {}, takes=50)
    attempt(study, 0, {"q3": "no"}, {}, takes=200)
    attempt(study, 10, {"q3": "no"}, {"q4": "no"}, takes=100)
    attempt(study, 20, {}, {"q2": "possibly"}, takes=70)
    builders.consent(builders.invite(study)[0])
    actions.start_attempt(enrollment=builders.consent(builders.invite(study)[0]), now=timezone.now())

    (rates,) = rates_of(study)

    assert (rates.started, rates.submitted, rates.passed, rates.share) == (5, 4, 2, 0.5)
    found = {(rate.position, rate.question): rate for rate in rates.questions}
    assert list(found) == [(at, q) for at in (1, 2) for q in ("q1", "q2", "q3", "q4")]
    assert found[1, "q3"].halves == Halves(early=2, early_hits=0, late=2, late_hits=2)
    assert (found[1, "q3"].attempts, found[1, "q3"].accepted, found[1, "q3"].alone) == (4, 2, 1)
    assert (found[2, "q4"].accepted, found[2, "q4"].alone) == (3, 0)
    assert found[2, "q2"].share == 1.0
    assert rates.passing == Halves(2, 0, 2, 2)
    assert rates.pace is not None
    assert (rates.pace.early_median, rates.pace.late_median) == (150, 60)
    assert rates.pace.faster == Halves(2, 0, 2, 2)


def test_rounds_are_counted_apart_and_those_nobody_took_are_there() -> None:
    study = builders.make_study(qualification=1, opened=False)
    study.refresh_from_db()
    assert [(rates.share, rates.questions, rates.pace) for rates in rates_of(study)] == [(None, [], None)]
    assert Round.objects.get().state == Round.State.ACTIVE
