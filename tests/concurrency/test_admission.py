"""Inviting the people of another study while one of them is being forgotten."""

from __future__ import annotations

import pytest
from django.utils import timezone

from annotation import actions
from annotation.actions import admission
from annotation.models import Enrollment
from tests import builders
from tests.concurrency.racing import errors, race, slowly

pytestmark = pytest.mark.django_db(transaction=True)


def test_nobody_who_is_being_forgotten_is_invited(monkeypatch: pytest.MonkeyPatch) -> None:
    source = builders.make_study("source")
    annotator = builders.qualified(source)[0].annotator
    study = builders.make_study("study", opened=False)
    study = actions.admit_through(study=study, source=source, by=None, now=timezone.now())
    slowly(monkeypatch, admission, "enroll")

    outcomes = race(
        lambda: actions.invite_qualified(study=study, by=None, now=timezone.now()),
        lambda: actions.forget(annotator=annotator, now=timezone.now()),
    )

    assert not errors(outcomes)
    annotator.refresh_from_db()
    assert annotator.erased_at is not None
    assert set(Enrollment.objects.values_list("state", flat=True)) == {Enrollment.State.WITHDRAWN}
