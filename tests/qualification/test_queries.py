"""How far people come."""

from __future__ import annotations

import pytest
from django.utils import timezone

from annotation.models import Enrollment, Study
from qualification import actions, queries
from tests import builders

pytestmark = pytest.mark.django_db


def consented(study: Study, count: int) -> list[Enrollment]:
    return [builders.consent(person) for person in builders.invite(study, count)]


def test_people_are_counted_once() -> None:
    study = builders.make_study(qualification={"rows": 2, "attempts_allowed": 2})
    first, second, third, fourth = consented(study, 4)
    builders.take_test(first)
    builders.take_test(second, builders.answers(q3="no"))
    builders.take_test(second)
    builders.take_test(third, builders.answers(q3="no", q1="no"))
    actions.start_attempt(enrollment=fourth, now=timezone.now())

    found = queries.tested(study)

    assert (found.started, found.submitted, found.passed) == (4, 3, 2)


def test_rehearsals_are_left_out() -> None:
    study = builders.make_study(qualification=1)
    (person,) = consented(study, 1)
    actions.start_attempt(enrollment=person, now=timezone.now())
    assert queries.tested(study).started == 1
    Enrollment.objects.update(environment="rehearsal")

    assert queries.tested(study).started == 0
