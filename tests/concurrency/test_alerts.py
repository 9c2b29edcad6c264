"""Several workers sending the same alerts at the same moment, beside what happens without the guards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation import actions
from annotation.actions import alerts
from annotation.alert_kinds import AlertKind
from annotation.models import Alert, Event, Study
from dashboard.alerts import delivery
from tests import builders
from tests.concurrency.racing import errors, race, slowly, together, without_locks
from tests.doubles.webhooks import Receiver, receiving

pytestmark = pytest.mark.django_db(transaction=True)
WORKERS = 3


def waiting(receiver: Receiver, settings: Any) -> Study:
    """A study with one alert that a webhook waits for."""
    settings.WEBHOOK_ALLOWED_ORIGINS = [receiver.origin]
    study, now = builders.make_study(), timezone.now()
    kinds = [AlertKind.STUDY_STALLED]
    actions.add_webhook(study=study, url=receiver.origin, kinds=kinds, by=None, now=now)
    actions.note_progress(study=study, now=now + timedelta(days=2))
    return study


def sending(now: Any) -> Callable[[], int]:
    alert = Alert.objects.get()
    to = (alert.study_id, alert.user_id, alert.webhook_id)
    return lambda: delivery.deliver(to, now=now)


def test_of_several_workers_one_sends(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as receiver:
        waiting(receiver, settings)
        slowly(monkeypatch, delivery, "post")
        outcomes = race(*[sending(timezone.now() + timedelta(days=2))] * WORKERS)
        assert errors(outcomes) == []
        assert Counter(outcomes) == {0: WORKERS - 1, 1: 1}
        assert len(receiver.received) == 1


def test_control_without_the_locks_all_send(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as receiver:
        waiting(receiver, settings)
        without_locks(monkeypatch)
        together(monkeypatch, delivery, "claim_alerts", WORKERS)
        monkeypatch.setattr(Alert.objects, "due", lambda now: Alert.objects.filter(sent_at=None))
        race(*[sending(timezone.now() + timedelta(days=2))] * WORKERS)
        assert len(receiver.received) == WORKERS


def test_two_sweeps_notice_a_stalled_study_once(monkeypatch: pytest.MonkeyPatch) -> None:
    study, now = builders.make_study(), timezone.now() + timedelta(days=2)
    slowly(monkeypatch, alerts, "_is_complete")
    race(*[lambda: actions.note_progress(study=study, now=now)] * WORKERS)
    assert Event.objects.filter(type=Event.Type.STUDY_STALLED).count() == 1


def test_control_without_the_studys_lock_each_notices_it(monkeypatch: pytest.MonkeyPatch) -> None:
    study, now = builders.make_study(), timezone.now() + timedelta(days=2)
    monkeypatch.setattr(alerts, "locked", lambda study: study)
    together(monkeypatch, alerts, "_is_complete", WORKERS)
    race(*[lambda: actions.note_progress(study=study, now=now)] * WORKERS)
    assert Event.objects.filter(type=Event.Type.STUDY_STALLED).count() == WORKERS
