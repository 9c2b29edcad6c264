"""Events that cause an alert, which is written together with its cause."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core import mail
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from annotation import actions
from annotation.alert_kinds import CAUSES, AlertKind
from annotation.models import Alert, Event, Study
from dashboard import tasks
from dashboard.alerts import delivery
from dashboard.figures import compute
from qualification import actions as qualification_actions
from tests import builders
from tests.builders import answers
from tests.dashboard.settings.test_alerts import address, hook, kinds_of, member, signed_in, stall
from tests.doubles.webhooks import Receiver
from tests.recruitment.campaigns import stranger_on_a_platform

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client", "mailing")]


@pytest.fixture
def study() -> Study:
    """A study with one story, opened 30 hours ago, without a vote."""
    yesterday = timezone.now() - timedelta(hours=30)
    return builders.make_study("main", stories=1, votes_per_story=1, now=yesterday)


def test_a_study_that_stalls_and_then_completes_says_each_once(study: Study) -> None:
    user = member(study)
    assert study.opened_at
    assert actions.note_progress(study=study, now=study.opened_at + timedelta(hours=23)) is None
    for _ in range(2):
        tasks.prepare_alerts()
    assert kinds_of(user) == ["study_stalled"]
    [person] = builders.qualified(study)
    held = builders.claim(person)
    tasks.prepare_alerts()
    assert kinds_of(user) == ["study_stalled"], "its last story is held"
    actions.record_vote(
        assignment_id=held.pk, enrollment=person, submitted=builders.ALL_YES, now=timezone.now()
    )
    for _ in range(2):
        tasks.prepare_alerts()
    assert kinds_of(user) == ["study_stalled", "study_complete"]


def test_with_zero_hours_a_study_never_stalls(study: Study) -> None:
    user = member(study)
    response = signed_in(user).post(address("stall_hours"), {"stall_hours": "0"})
    assert response.status_code == 302
    actions.note_progress(study=study, now=timezone.now() + timedelta(days=400))
    assert kinds_of(user) == []
    assert "24 → 0" in Event.objects.filter(type=Event.Type.ALERTS_CHANGED).latest("pk").note


def test_an_expert_is_told_and_nobody_else(study: Study) -> None:
    draft = builders.make_study("draft", opened=False, qualification_required=True)
    round = builders.make_round(draft)
    member(draft)
    ada = member(draft, "ada", kinds=None, role="reviewer")
    qualification_actions.ask_experts(round=round, experts=[ada], by=None, now=timezone.now())
    assert [alert.user for alert in Alert.objects.all()] == [ada], "what is asked of them is on by default"
    tasks.send_alerts()
    assert mail.outbox[0].to == ["ada@example.org"]
    assert reverse("dashboard:expert", args=["draft", round.number]) in mail.outbox[0].body


def test_a_key_that_is_ready_is_said_to_others_than_who_set_it() -> None:
    draft = builders.make_study("draft", opened=False, qualification_required=True)
    olga, ben = member(draft), member(draft, "ben")
    round = builders.make_round(draft)
    story_ids = round.round_stories.values_list("story__story_id", flat=True)
    acceptable = dict.fromkeys(story_ids, builders.ACCEPTED)
    qualification_actions.set_answer_key(round=round, acceptable=acceptable, by=olga, now=timezone.now())
    assert (kinds_of(olga), kinds_of(ben)) == ([], ["key_ready"])


def test_a_mismatch_with_a_platform_is_told(study: Study, receiver: Receiver) -> None:
    hook(study, receiver)
    mismatch = stranger_on_a_platform(study)
    tasks.send_alerts()
    [document] = receiver.documents
    assert document["type"] == "payment_mismatch"
    assert document["data"]["about"] == f"{mismatch.kind} {mismatch.pk}"
    assert "5f3a9c0de1" not in str(receiver.received), "the id on the platform stays here"


@pytest.mark.django_db(transaction=True)
def test_flagged_participants_are_told_once_per_flag() -> None:
    study = builders.make_study("flags", stories=15, votes_per_story=2)
    user = member(study)
    builders.add_checks(study, 3, every=5)
    person, other = builders.qualified(study, 2)
    builders.work_through(person, 15, on_checks=answers(q3="no"))
    builders.work_through(other, 1)
    for _ in range(2):
        compute.make(study.pk, now=timezone.now())
    told = Alert.objects.filter(user=user, kind=AlertKind.PARTICIPANT_FLAGGED).select_related("event")
    assert [(one.event.enrollment_id, one.event.subject) for one in told if one.event] == [
        (person.pk, "fails_checks")
    ]
    tasks.send_alerts()
    assert person.pseudonym in mail.outbox[0].body
    assert "fails_checks" not in mail.outbox[0].body, "the reason of a flag is on the page only"
    assert b'"about":""' in delivery.webhook_body(told[0])


def test_a_release_that_is_done_or_failed_is_told(study: Study) -> None:
    user = member(study)
    for kind in (Event.Type.RELEASE_PUBLISHED, Event.Type.RELEASE_FAILED):
        actions.record_event(study=study, type=kind, now=timezone.now())
    events = Event.objects.filter(alerts__user=user).order_by("pk").values_list("type", flat=True)
    assert list(events) == ["release_published", "release_failed"]


def test_every_kind_of_event_that_alerts_is_one_of_the_log() -> None:
    assert set(CAUSES) <= set(Event.Type.values)


def test_an_alert_is_written_with_its_cause_or_not_at_all(study: Study) -> None:
    user = member(study)
    with transaction.atomic():
        stall(study)
        assert kinds_of(user) == ["study_stalled"]
        transaction.set_rollback(True)
    assert kinds_of(user) == []
