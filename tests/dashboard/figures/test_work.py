"""The figures of a study: what they say of its votes, and that they are made once at a time, when due."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from kombu.exceptions import OperationalError

from accounts.actions import ensure_researcher
from annotation import actions
from annotation.models import Study
from dashboard import tasks
from dashboard.figures import compute, store
from dashboard.figures.store import Figures
from tests import builders
from tests.builders import ALL_YES
from tests.publishing.support import ALL_NO, Forms, judged_study, published, random_forms, verdict_counts
from tomannot.celery import app

pytestmark = pytest.mark.django_db(transaction=True)

FORMS: Forms = {
    "good": (ALL_YES, ALL_YES, {**ALL_YES, "q1": "possibly"}),
    "one-against": (ALL_YES, ALL_YES, ALL_NO),
    "two-against": (ALL_YES, {**ALL_YES, "q3": "no"}, ALL_NO),
    "unfinished": (ALL_YES, ALL_NO),
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is sent to the workers."""
    sent: list[Any] = []
    monkeypatch.setattr(app, "send_task", lambda name, args: sent.append((name, args)))
    return sent


def made(study: Study) -> dict[str, Any]:
    document = compute.make(study.pk, now=timezone.now()).document
    assert document is not None
    return document


def test_only_counted_votes_are_looked_at_and_only_complete_stories_compared() -> None:
    study = judged_study("figures", FORMS)
    document = made(study)
    assert document["verdicts"] == {
        "stories": 4,
        "kept": 1,
        "dropped": 2,
        "incomplete": 1,
        "dropped_by_question": {"q1": 2, "q2": 2, "q3": 2, "q4": 2},
    }
    assert document["votes"] == {"counted": 11, "wanted": 12, "surplus": 1, "excluded": 0}
    keeps = {row["name"]: row["kept"] for row in document["filters"]["filters"]}
    assert (keeps["all-agree"], keeps["two-of-three"], keeps["majority"]) == (1, 2, 2)
    people = list(store.people(study))
    assert sorted(person["votes"] for person in people) == [3, 4, 4]
    assert sum(person["alone"] for person in people) == 1


def test_the_figures_are_those_of_a_release(tmp_path: Path, settings: Any) -> None:
    settings.RELEASES_ROOT = tmp_path / "releases"
    study = judged_study("figures", random_forms(3, stories=8))
    document = made(study)
    counts = verdict_counts(study)
    assert document["verdicts"] == {
        "stories": counts.stories,
        "kept": counts.kept,
        "dropped": counts.dropped,
        "incomplete": counts.incomplete,
        "dropped_by_question": counts.dropped_by_question,
    }
    release = published(study)
    statistics = json.loads((release.directory / "statistics.json").read_text(encoding="utf-8"))
    assert not any(person["flags"] for person in store.people(study)), "of so few votes nothing is said"
    assert json.loads(json.dumps(document["statistics"])) == statistics


def test_a_worker_makes_what_was_asked_for_once(asked: list[Any]) -> None:
    study = judged_study("figures", FORMS)
    now = timezone.now()
    assert store.refreshed(study, now=now) == (None, True)
    assert store.refreshed(study, now=now) == (None, True)
    assert asked == [(store.FIGURES_TASK, [study.pk])], "asked for once"
    tasks.compute_figures(study.pk)
    assert not store.is_underway(study)
    later = now + timedelta(hours=1)
    found, underway = store.refreshed(study, now=later + timedelta(hours=1))
    assert found is not None
    assert underway, "the votes came within a minute of the first figures"
    compute.make(study.pk, now=later)
    assert not store.refreshed(study, now=later + timedelta(hours=1))[1], "nothing has happened since"
    actions.pause_study(study=study, by=None, now=later + timedelta(hours=1))
    assert store.refreshed(study, now=later + timedelta(hours=2))[1], "something has"
    assert len(asked) == 3


def test_figures_rest_twenty_times_as_long_as_they_took() -> None:
    begun = datetime(2026, 5, 1, 12, tzinfo=UTC)
    found = Figures(begun, timedelta(minutes=1), {})
    event = begun + timedelta(seconds=5)
    for minutes, due in ((1, False), (20, False), (21, True)):
        now = begun + timedelta(minutes=minutes)
        assert store.is_due(found, newest_event_at=event, now=now) is due
    assert store.is_due(None, newest_event_at=None, now=begun)
    assert not store.is_due(
        found, newest_event_at=begun - timedelta(minutes=2), now=begun + timedelta(days=1)
    )


def test_a_broker_that_takes_nothing_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, client: Client
) -> None:
    study = judged_study("figures", FORMS)
    sent: list[list[int]] = []

    def refuse(name: str, args: list[int]) -> None:
        raise OperationalError("Connection refused")

    monkeypatch.setattr(app, "send_task", refuse)
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    assert client.get("/studies/figures/").status_code == 200
    assert "could not be queued: Connection refused" in caplog.text
    assert store.refreshed(study, now=timezone.now()) == (None, False)
    monkeypatch.setattr(app, "send_task", lambda name, args: sent.append(args))
    assert store.refreshed(study, now=timezone.now()) == (None, True)
    assert sent == [[study.pk]]


def test_votes_that_were_taken_out_are_excluded_and_surplus_once_their_slot_is_filled() -> None:
    study = builders.make_study("figures", stories=1, votes_per_story=1)
    first, second = builders.qualified(study, 2)
    builders.vote(first)
    now = timezone.now()
    actions.exclude_annotator(enrollment=first, reason="random", shown_reason="Thank you.", by=None, now=now)
    assert made(study)["votes"] == {"counted": 0, "wanted": 1, "surplus": 0, "excluded": 1}
    builders.vote(second)
    readmission = actions.readmit_annotator(enrollment=first, reason="a mistake", by=None, now=now)
    assert readmission.displaced == 1
    assert made(study)["votes"] == {"counted": 1, "wanted": 1, "surplus": 1, "excluded": 0}


def test_votes_that_break_the_rules_are_reported_and_not_counted() -> None:
    study = judged_study("figures", FORMS)
    Study.objects.filter(pk=study.pk).update(votes_per_story=2)
    found = compute.make(study.pk, now=timezone.now())
    assert found.document is None
    assert "3 counted votes where the study asks for 2" in found.failure
    assert store.latest(study) == found


def test_a_study_without_votes_or_stories_has_figures() -> None:
    document = made(builders.make_study("empty", stories=0, opened=False))
    assert document["verdicts"]["stories"] == 0
    assert document["seconds_per_vote"] is None
    assert document["finish"] == {"none": "done"}
    document = made(builders.make_study("fresh", stories=2))
    assert document["votes"] == {"counted": 0, "wanted": 6, "surplus": 0, "excluded": 0}
    assert document["finish"] == {"none": "no_votes"}
    assert document["everybody"] == {"people": 0, "votes": 0, "median_seconds": None, "options": {}}
