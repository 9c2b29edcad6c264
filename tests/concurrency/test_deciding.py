"""A researcher rejects work while a comparison is about to confirm it, and what comes of it without locks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from django.utils import timezone

from annotation.models import WorkSession
from recruitment import actions
from recruitment.actions import settlement
from recruitment.models import Payment, Submission
from recruitment.reconciliation.plan import Steps, plan
from tests import builders
from tests.concurrency.racing import Overtaking, errors, race, without_locks
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES
from tests.recruitment.handed_in import Desk, reject

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def work() -> Iterator[Submission]:
    """Whole work that was handed in, and that the next comparison confirms."""
    with MTurkDouble() as double:
        patient = replace(STORIES, auto_approves=False)
        yield Desk(double, builders.make_study(stories=1), patient).hand_in(confirmed=False)


def rejecting_in_the_middle(
    monkeypatch: pytest.MonkeyPatch, work: Submission
) -> tuple[Callable[[], Steps], Callable[[], Payment]]:
    """A comparison that has made its plan, and a rejection that comes before the plan is carried out."""
    overtaking, making = Overtaking(), plan
    visit = work.visit_id
    assert visit is not None

    def slow(*args: object, **named: object) -> Steps:
        steps = making(*args, **named)  # type: ignore[arg-type]  # as it was called
        overtaking.wait_inside(1)
        return steps

    monkeypatch.setattr(settlement, "plan", slow)
    return (
        lambda: actions.settlement.settle_visit(visit_id=visit, polls=[], now=timezone.now()),
        overtaking.overtake(lambda: reject(work)),
    )


def test_a_rejection_waits_for_the_comparison_and_has_the_last_word(
    work: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = race(*rejecting_in_the_middle(monkeypatch, work))

    assert not errors(outcomes)
    session = WorkSession.objects.get()
    assert (session.state, Payment.objects.get().kind) == (WorkSession.State.DOUBTED, "rejection")


def test_control_without_locks_the_votes_of_rejected_work_count(
    work: Submission, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    race(*rejecting_in_the_middle(monkeypatch, work))

    session = WorkSession.objects.get()
    assert (session.state, Payment.objects.get().kind) == (WorkSession.State.CONFIRMED, "rejection")
