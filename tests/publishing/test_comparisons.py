"""Comparisons of the filters on a study's votes: what is read, and that they are made once at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import caches
from django.utils import timezone

from annotation.models import Study
from publishing import comparisons, tasks
from tests.builders import ALL_YES
from tests.publishing.support import ALL_NO, Forms, judged_study
from tomannot.celery import app

pytestmark = pytest.mark.django_db(transaction=True)

FORMS: Forms = {
    "good": (ALL_YES, ALL_YES, {**ALL_YES, "q1": "possibly"}),
    "one-against": (ALL_YES, ALL_YES, ALL_NO),
    "two-against": (ALL_YES, {**ALL_YES, "q3": "no"}, ALL_NO),
    "unfinished": (ALL_YES, ALL_NO),
}


@pytest.fixture
def study() -> Iterator[Study]:
    study = judged_study("compared", FORMS)
    yield study
    forget(study)


def forget(study: Study) -> None:
    """Databases of tests begin counting ids anew; the cache would know a study of an earlier test."""
    caches["shared"].delete_many([comparisons._result_key(study.pk), comparisons._underway_key(study.pk)])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is sent to the workers."""
    sent: list[Any] = []
    monkeypatch.setattr(app, "send_task", lambda name, args: sent.append((name, args)))
    return sent


def test_only_complete_stories_and_counted_votes_are_compared(study: Study) -> None:
    stories = [[against for _, against in votes] for votes in comparisons.complete_stories(study)]
    everything = frozenset(ALL_NO)
    nobody: frozenset[str] = frozenset()
    assert sorted(sorted(map(sorted, against)) for against in stories) == sorted(
        sorted(map(sorted, against))
        for against in (
            [nobody, nobody, nobody],
            [nobody, nobody, everything],
            [nobody, frozenset({"q3"}), everything],
        )
    )


def test_a_worker_makes_the_comparison_that_was_asked_for(study: Study, asked: list[Any]) -> None:
    comparisons.ask(study)
    comparisons.ask(study)
    assert asked == [(comparisons.COMPARE_TASK, [study.pk])], "asked for once"
    assert comparisons.is_underway(study)
    tasks.compare_filters(study.pk)
    assert not comparisons.is_underway(study)
    found = comparisons.latest(study)
    assert found is not None
    assert found.document is not None
    kept = {row["name"]: row["kept"] for row in found.document["filters"]}
    assert (kept["all-agree"], kept["two-of-three"], kept["majority"]) == (1, 2, 2)
    comparisons.ask(study)
    assert len(asked) == 2, "it may be made again"


def test_votes_that_break_the_rules_are_reported_and_not_compared(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(votes_per_story=2)
    made = comparisons.make(study.pk, now=timezone.now())
    assert made.document is None
    assert "3 counted votes where the study asks for 2" in made.failure
    assert comparisons.latest(study) == made
