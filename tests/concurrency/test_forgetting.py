"""Two people who hold the same stories are forgotten at once."""

from __future__ import annotations

import pytest
from django.utils import timezone

from accounts.models import Annotator
from annotation import actions
from annotation.actions import enrollments
from annotation.models import Assignment, Story, Study
from tests import builders
from tests.concurrency.racing import errors, race, slowly

pytestmark = pytest.mark.django_db(transaction=True)


def holding(annotator: Annotator, studies: list[Study]) -> None:
    for study in studies:
        place = actions.enroll(study=study, annotator=annotator, now=timezone.now())
        builders.claim(builders.consent(place))


def test_they_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    studies = [builders.make_study(slug, stories=1, votes_per_story=2) for slug in ("one", "two")]
    people = [Annotator.objects.create(created_at=timezone.now()) for _ in range(2)]
    holding(people[0], studies)
    holding(people[1], studies[::-1])
    slowly(monkeypatch, enrollments, "release_assignments")

    outcomes = race(
        lambda: actions.forget(annotator=people[0], now=timezone.now()),
        lambda: actions.forget(annotator=people[1], now=timezone.now()),
    )

    assert not errors(outcomes)
    assert set(Assignment.objects.values_list("state", flat=True)) == {Assignment.State.EXPIRED}
    assert Story.objects.filter(has_free_slot=True).count() == 2
