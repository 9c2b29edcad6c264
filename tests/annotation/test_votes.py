"""Recording a vote: its context, repeated and late forms, the next story."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import DataError, connection

from annotation import actions, sql
from annotation.actions import serving
from annotation.errors import NotTheirs
from annotation.models import Assignment, Enrollment, Event, Story, SurplusReason, Vote
from annotation.protocols.base import IncompleteForm
from annotation.rules import Reason
from tests import builders
from tests.annotation.serving import LATER, NOW, ask, refused, send, send_and_ask

pytestmark = pytest.mark.django_db


def test_the_vote_is_stored_with_its_context() -> None:
    study = builders.make_study()
    (person,) = builders.qualified(study)
    assignment = builders.claim(person, now=NOW)

    receipt = send(assignment, now=NOW + timedelta(seconds=42), q1="possibly", q2="no")

    vote = receipt.vote
    assert not receipt.differs
    assert vote.seconds_on_task == 42
    assert vote.surplus_reason == SurplusReason.NONE
    assert vote.story_hash == assignment.story.content_hash
    assert (vote.protocol_version, vote.environment, vote.order_position) == ("1", "live", 1)
    answers = vote.answers.order_by("question").values_list("question", "option", "counts_against")
    assert list(answers) == [
        ("q1", "possibly", False),
        ("q2", "no", True),
        ("q3", "yes", False),
        ("q4", "yes", False),
    ]
    assert list(Vote.objects.counted()) == [vote]
    assert Event.objects.filter(type=Event.Type.VOTE_SUBMITTED, subject=f"vote {vote.pk}").exists()
    person.refresh_from_db()
    assert person.stories_submitted == 1


def test_a_clock_that_runs_behind_does_not_lose_the_answer() -> None:
    study = builders.make_study()
    (person,) = builders.qualified(study)
    assignment = builders.claim(person, now=NOW)

    assert send(assignment, now=NOW - timedelta(seconds=5)).vote.seconds_on_task == 0


def test_the_same_form_again_is_the_same_receipt() -> None:
    study = builders.make_study()
    (person,) = builders.qualified(study)
    assignment = builders.claim(person, now=NOW)
    first = send(assignment)

    again = send(assignment, now=LATER)
    other = send(assignment, now=LATER, q4="no")

    assert again.vote == other.vote == first.vote
    assert (again.differs, other.differs) == (False, True)
    assert Vote.objects.get().answers.filter(option="no").count() == 0


def test_an_incomplete_form_stores_nothing() -> None:
    study = builders.make_study()
    (person,) = builders.qualified(study)
    assignment = builders.claim(person)

    for form in ({}, {"q1": "yes"}, builders.answers(q3="possibly"), builders.answers(q4="")):
        with pytest.raises(IncompleteForm):
            actions.record_vote(assignment_id=assignment.pk, enrollment=person, submitted=form, now=NOW)

    assert not Vote.objects.exists()
    assignment.refresh_from_db()
    assert assignment.state == Assignment.State.LEASED


def test_somebody_elses_story_cannot_be_answered() -> None:
    study = builders.make_study()
    one, two = builders.qualified(study, 2)
    theirs = builders.claim(one)

    with pytest.raises(NotTheirs):
        actions.record_vote(assignment_id=theirs.pk, enrollment=two, submitted=builders.ALL_YES, now=NOW)
    assert not Vote.objects.exists()


def test_a_late_answer_counts_while_the_slot_is_free() -> None:
    study = builders.make_study(stories=1, votes_per_story=1)
    (person,) = builders.qualified(study)
    assignment = builders.claim(person, now=NOW)
    actions.release_expired_leases(now=LATER)

    receipt = send(assignment, now=LATER)

    assert receipt.vote.surplus_reason == SurplusReason.NONE
    assert list(Vote.objects.counted()) == [receipt.vote]
    assert not Story.objects.get().has_free_slot


def test_a_late_answer_after_somebody_elses_is_kept_and_credited_as_surplus() -> None:
    study = builders.make_study(stories=1, votes_per_story=1)
    one, two = builders.qualified(study, 2)
    late = builders.claim(one, now=NOW)
    counted = builders.vote(two, now=LATER).vote

    receipt = send(late, now=LATER)

    assert receipt.vote.surplus_reason == SurplusReason.LATE
    assert list(Vote.objects.counted()) == [counted]
    one.refresh_from_db()
    assert one.stories_submitted == 1
    assert refused(ask(one, now=LATER)) == Reason.ALL_DONE
    assert send(late, now=LATER).vote == receipt.vote


def test_an_answer_brings_the_next_story_until_there_is_none() -> None:
    study = builders.make_study(stories=2, votes_per_story=1)
    (person,) = builders.qualified(study)
    first = builders.claim(person, now=NOW)

    receipt, second = send_and_ask(first)

    assert receipt.vote == Vote.objects.get()
    assert isinstance(second, Assignment)
    assert second == builders.claim(person, now=NOW) == Assignment.objects.get(state=Assignment.State.LEASED)
    assert (second.order_position, second.slot) == (2, 1)
    assert refused(send_and_ask(second)[1]) == Reason.ALL_DONE
    assert not study.stories.filter(has_free_slot=True).exists()


def test_the_gate_is_asked_again_after_the_answer() -> None:
    study = builders.make_study(stories=3, story_cap=1)
    (person,) = builders.qualified(study)

    receipt, outcome = send_and_ask(builders.claim(person))

    assert (receipt.vote.surplus_reason, refused(outcome)) == (SurplusReason.NONE, Reason.CAP_REACHED)


def test_the_same_answer_again_brings_the_story_they_hold_now() -> None:
    study = builders.make_study()
    (person,) = builders.qualified(study)
    answered = builders.claim(person)
    first, held = send_and_ask(answered)

    again, outcome = send_and_ask(answered)

    assert again.vote == first.vote
    assert outcome == held


def test_a_late_answer_brings_the_story_they_hold_now() -> None:
    """They came back, were given another story, and then the answer to the first one arrived."""
    study = builders.make_study(stories=2, votes_per_story=2)
    (person,) = builders.qualified(study)
    late = builders.claim(person, now=NOW)
    actions.release_expired_leases(now=LATER)
    Story.objects.filter(pk=late.story_id).update(has_free_slot=False)
    held = builders.claim(person, now=LATER)
    Story.objects.filter(pk=late.story_id).update(has_free_slot=True)

    receipt, outcome = send_and_ask(late, now=LATER)

    assert receipt.vote.assignment == late
    assert outcome == held != late


@pytest.mark.parametrize("failures", [1, 2])
def test_an_answer_is_kept_when_no_story_can_be_found_after_it(
    failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = builders.make_study(stories=2)
    (person,) = builders.qualified(study)
    held = builders.claim(person)
    find = sql.lock_next_story
    failed: list[Enrollment] = []

    def failing(enrollment: Enrollment) -> Story | None:
        if len(failed) < failures:
            failed.append(enrollment)
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 / 0")  # the database refuses the rest of the transaction
        return find(enrollment)

    monkeypatch.setattr(serving, "lock_next_story", failing)

    if failures == 1:
        assert isinstance(send_and_ask(held)[1], Assignment)
    else:
        with pytest.raises(DataError):
            send_and_ask(held)
    assert Vote.objects.get().assignment == held
    assert len(failed) == failures


def test_an_answer_is_kept_when_the_next_story_cannot_be_given_out(monkeypatch: pytest.MonkeyPatch) -> None:
    (person,) = builders.qualified(builders.make_study(stories=2))
    held = builders.claim(person)
    found = iter([held.story])  # which they have had after all: an error that no server raises
    monkeypatch.setattr(serving, "lock_next_story", lambda who: next(found, None) or sql.lock_next_story(who))
    assert isinstance(send_and_ask(held)[1], Assignment)
    assert Vote.objects.get().assignment == held


def test_the_answer_of_somebody_suspended_is_surplus_and_the_slot_is_served_again() -> None:
    study = builders.make_study(stories=1, votes_per_story=1)
    one, two = builders.qualified(study, 2)
    held = builders.claim(one, now=NOW)
    actions.suspend(enrollment=one, by=None, now=NOW, reason="too fast")

    assert send(held).vote.surplus_reason == SurplusReason.NOT_QUALIFIED
    assert not Vote.objects.counted().exists()
    assert builders.claim(two, now=NOW).story == held.story


@pytest.mark.parametrize("move", [actions.pause_study, actions.close_study])
def test_a_held_story_can_be_finished_after_the_study_stopped(move: object) -> None:
    study = builders.make_study()
    (person,) = builders.qualified(study)
    held = builders.claim(person, now=NOW)
    move(study=study, by=None, now=NOW)  # type: ignore[operator]

    assert ask(person) == held
    assert send(held).vote.surplus_reason == SurplusReason.NONE
    assert refused(ask(person)) in (Reason.STUDY_PAUSED, Reason.STUDY_CLOSED)


def test_the_same_form_again_after_a_change_is_still_the_first_receipt() -> None:
    """A form that is sent twice because its answer was lost is not told about a change made since."""
    study = builders.make_study()
    (person,) = builders.qualified(study)
    assignment = builders.claim(person, now=NOW)
    first = send(assignment)
    changed = actions.change_vote(
        assignment_id=assignment.pk, enrollment=person, submitted=builders.answers(q4="no"), now=NOW
    )
    assert changed.revision == 2

    again = send(assignment, now=LATER)
    other = send(assignment, now=LATER, q4="no")

    assert again.vote == other.vote == first.vote
    assert first.vote.revision == 1
    assert (again.differs, other.differs) == (False, True)
    assert Vote.objects.count() == 2
