"""Somebody answers the questions about themselves while the answers of a closed study are counted."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from annotation import actions, queries
from annotation.actions.studies import group_intake
from annotation.models import IntakeAnswer, Study
from tests import builders
from tests.concurrency.racing import MOMENT, Overtaking, errors, race, without_locks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("guarded", [True, False], ids=["locked", "control"])
def test_no_answer_stays_that_is_not_counted(guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    study = builders.make_study(intake_questions=["age"])
    (person,) = builders.qualified(study)
    builders.vote(person)
    actions.close_study(study=study, by=None, now=timezone.now())
    if not guarded:
        without_locks(monkeypatch)
    overtaking, asked_of = Overtaking(), queries.asked_of

    def asked(*args: Any, **options: Any) -> Any:
        found = asked_of(*args, **options)
        overtaking.wait_inside(MOMENT if guarded else 20)  # the person has read that they are asked
        return found

    monkeypatch.setattr(queries, "asked_of", asked)

    raced = race(
        lambda: actions.answer_intake(enrollment=person, given={"age": "65+"}, now=timezone.now()),
        overtaking.overtake(lambda: group_intake(study=study, by=None, now=timezone.now())),
    )
    assert not errors(raced)
    assert Study.objects.get().intake_grouped_at
    assert IntakeAnswer.objects.exists() != guarded
