"""Two experts decide about one story at the same instant: one of them is told of the other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import timezone

from annotation import actions
from annotation.actions import reviews
from annotation.errors import ChangedMeanwhile
from annotation.models import Adjudication, Story
from tests import builders
from tests.concurrency.racing import errors, race, slowly, together, without_locks

pytestmark = pytest.mark.django_db(transaction=True)


def deciding(story: Story, verdict: Adjudication.Verdict) -> Callable[[], Adjudication]:
    """As somebody who has seen that nobody has decided."""
    return lambda: actions.adjudicate(
        story=story, verdict=verdict, reason="clear", by=None, now=timezone.now(), seen=0
    )


@pytest.fixture
def experts() -> list[Callable[[], Adjudication]]:
    story = builders.make_study(stories=1).stories.get()
    return [
        deciding(story, verdict) for verdict in (Adjudication.Verdict.VALID, Adjudication.Verdict.INVALID)
    ]


def test_the_second_of_two_experts_is_told(
    experts: list[Callable[[], Adjudication]], monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly(monkeypatch, reviews, "lock_to_decide")
    (told,) = errors(race(*experts))
    assert isinstance(told, ChangedMeanwhile)
    assert Adjudication.objects.count() == 1


def test_control_without_the_lock_one_silently_overrules_the_other(
    experts: list[Callable[[], Adjudication]], monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    together(monkeypatch, reviews, "lock_to_decide", 2)
    assert not errors(race(*experts))
    assert Adjudication.objects.count() == 2
