"""Giving out stories and taking answers, one step at a time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import DataError, connection
from django.utils import timezone

from annotation import actions, sql
from annotation.actions import leases, serving
from annotation.errors import NotTheirs
from annotation.models import Assignment, Enrollment, Event, Story, Study, SurplusReason, Vote
from annotation.protocols.base import IncompleteForm
from annotation.rules import Reason, Refusal
from tests import builders

pytestmark = pytest.mark.django_db

NOW = timezone.now()
LATER = NOW + timedelta(minutes=31)
"""When a lease given out at NOW has run out."""


def ask(enrollment: Enrollment, *, now: object = NOW) -> Assignment | Refusal:
    return actions.assign_next_story(enrollment=enrollment, now=now)  # type: ignore[arg-type]


def send(assignment: Assignment, *, now: object = NOW, **changes: str) -> actions.Receipt:
    return actions.record_vote(
        assignment_id=assignment.pk,
        enrollment=assignment.enrollment,
        submitted=builders.answers(**changes),
        now=now,  # type: ignore[arg-type]
    )


def send_and_ask(
    assignment: Assignment, *, now: object = NOW
) -> tuple[actions.Receipt, Assignment | Refusal]:
    return actions.record_vote_and_assign_next(
        assignment_id=assignment.pk,
        enrollment=assignment.enrollment,
        submitted=builders.ALL_YES,
        now=now,  # type: ignore[arg-type]
    )


def refused(outcome: Assignment | Refusal) -> Reason:
    assert isinstance(outcome, Refusal)
    return outcome.reason


def test_stories_come_in_the_seeded_order_the_started_ones_first() -> None:
    study = builders.make_study(stories=4, votes_per_story=2)
    one, two = builders.qualified(study, 2)
    order = list(study.stories.order_by("order_key"))

    assert [builders.vote(one).vote.assignment.story for _ in range(2)] == order[:2]
    assert [builders.vote(two).vote.assignment.story for _ in range(4)] == order
    assert [builders.vote(one).vote.assignment.story for _ in range(2)] == order[2:]
    assert {refused(ask(person)) for person in (one, two)} == {Reason.ALL_DONE}


def test_stories_of_a_test_and_checks_without_known_answers_are_not_served() -> None:
    study = builders.make_study(stories=1, qualification=2, votes_per_story=1)
    builders.import_rows(study, [builders.story_row(50)], role=Story.Role.CHECK)
    (person,) = builders.qualified(study)

    assert builders.vote(person).vote.assignment.story == study.stories.get(role=Story.Role.MAIN)
    assert refused(ask(person)) == Reason.ALL_DONE


def test_an_assignment_remembers_its_slot_and_context() -> None:
    study = builders.make_study(stories=2)
    (person,) = builders.qualified(study)
    builders.vote(person, now=NOW)

    assignment = builders.claim(person, now=NOW)

    assert (assignment.slot, assignment.slots, assignment.order_position) == (1, 3, 2)
    assert (assignment.served_at, assignment.lease_expires_at) == (NOW, NOW + study.lease)


def test_asking_again_gives_the_same_story_and_a_new_lease() -> None:
    study = builders.make_study(stories=3)
    (person,) = builders.qualified(study)

    first = builders.claim(person, now=NOW)
    again = builders.claim(person, now=NOW + timedelta(minutes=20))

    assert again == first
    assert again.served_at == first.served_at
    assert again.lease_expires_at == NOW + timedelta(minutes=50)


def test_somebody_back_after_their_lease_ran_out_keeps_their_story() -> None:
    study = builders.make_study(stories=3, votes_per_story=1)
    (person,) = builders.qualified(study)
    first = builders.claim(person, now=NOW)

    assert builders.claim(person, now=LATER) == first
    assert Assignment.objects.get().state == Assignment.State.LEASED


def test_a_lease_that_ran_out_is_a_free_slot_whether_or_not_anybody_sweeps() -> None:
    study = builders.make_study(stories=1, votes_per_story=1)
    one, two = builders.qualified(study, 2)
    first = builders.claim(one, now=NOW)

    waiting = ask(two, now=NOW)
    assert isinstance(waiting, Refusal)
    assert (waiting.reason, waiting.retry_at) == (Reason.NOTHING_FREE, first.lease_expires_at)
    assert builders.claim(two, now=LATER).story == first.story


def test_many_leases_that_ran_out_do_not_hide_a_free_story(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ones freed are all on a story that the person has had."""
    monkeypatch.setattr(leases, "RECLAIM_AT_ONCE", 2)
    study = builders.make_study(stories=2)
    person, *others = builders.qualified(study, 6)
    first, second = study.stories.order_by("order_key")
    assert builders.vote(person, now=NOW).vote.assignment.story == first
    for minutes, other in enumerate(others):
        builders.claim(other, now=NOW + timedelta(minutes=minutes))
    assert refused(ask(person, now=NOW)) == Reason.NOTHING_FREE

    assert builders.claim(person, now=LATER + timedelta(minutes=10)).story == second


def test_the_sweep_frees_what_ran_out_and_nothing_else() -> None:
    study = builders.make_study(stories=4, votes_per_story=1)
    early, late, done = builders.qualified(study, 3)
    first = builders.claim(early, now=NOW)
    builders.claim(late, now=NOW + timedelta(minutes=20))
    builders.vote(done, now=NOW)

    assert actions.release_expired_leases(now=LATER) == 1
    assert actions.release_expired_leases(now=LATER) == 0

    first.refresh_from_db()
    assert first.state == Assignment.State.EXPIRED
    assert Story.objects.get(pk=first.story_id).has_free_slot
    assert Assignment.objects.exclude(pk=first.pk).filter(state=Assignment.State.EXPIRED).count() == 0


def test_the_vote_is_stored_with_its_context() -> None:
    study = builders.make_study()
    (person,) = builders.qualified(study)
    assignment = builders.claim(person, now=NOW)

    receipt = send(assignment, now=NOW + timedelta(seconds=42), q1="possibly", q2="no")

    vote = receipt.vote
    assert not receipt.repeated
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
    assert (again.repeated, again.differs) == (True, False)
    assert (other.repeated, other.differs) == (True, True)
    assert Vote.objects.get().answers.filter(option="no").count() == 0


@pytest.mark.parametrize(
    "form", [{}, {"q1": "yes"}, builders.answers(q3="possibly"), builders.answers(q4="")]
)
def test_an_incomplete_form_stores_nothing(form: dict[str, str]) -> None:
    study = builders.make_study()
    (person,) = builders.qualified(study)
    assignment = builders.claim(person)

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

    assert (again.vote, again.repeated) == (first.vote, True)
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
                cursor.execute("SELECT 1 / 0")  # the database refuses everything up to the savepoint
        return find(enrollment)

    monkeypatch.setattr(serving, "lock_next_story", failing)

    if failures == 1:
        assert isinstance(send_and_ask(held)[1], Assignment)
    else:
        with pytest.raises(DataError):
            send_and_ask(held)
    assert Vote.objects.get().assignment == held
    assert len(failed) == failures


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


def test_nobody_is_served_past_the_cap() -> None:
    study = builders.make_study(stories=3, story_cap=2)
    (person,) = builders.qualified(study)
    for _ in range(2):
        builders.vote(person)

    assert refused(ask(person)) == Reason.CAP_REACHED


@pytest.fixture
def suspended() -> Enrollment:
    study = builders.make_study()
    (person,) = builders.qualified(study)
    builders.claim(person)
    return actions.suspend(enrollment=person, by=None, now=NOW, reason="too fast")


def test_a_suspended_person_is_not_even_given_back_what_they_hold(suspended: Enrollment) -> None:
    assert refused(ask(suspended)) == Reason.SUSPENDED


def test_people_of_another_environment_are_refused() -> None:
    study = builders.make_study()
    (person,) = builders.qualified(study)
    Enrollment.objects.filter(pk=person.pk).update(environment="rehearsal")

    assert refused(ask(person)) == Reason.WRONG_ENVIRONMENT


def test_the_votes_of_a_rehearsal_count_only_there() -> None:
    live = builders.make_study("live")
    rehearsal: Study = builders.make_study("rehearsal", opened=False)
    actions.make_rehearsal(study=rehearsal, by=None, now=NOW)
    rehearsal = actions.open_study(study=rehearsal, by=None, now=NOW)
    receipt = builders.vote(builders.qualified(rehearsal)[0])

    assert receipt.vote.environment == "rehearsal"
    assert list(Vote.objects.of_study(rehearsal).counted()) == [receipt.vote]
    assert not Vote.objects.of_study(live).exists()


def test_somebody_who_comes_back_keeps_their_story_though_other_leases_are_swept() -> None:
    """Both leases ran out; the sweep on the way to the next story must spare the one who asks."""
    study = builders.make_study(stories=3, votes_per_story=1)
    other, person = builders.qualified(study, 2)
    theirs = builders.claim(other, now=NOW)
    mine = builders.claim(person, now=NOW)
    assert mine.story != theirs.story

    back = builders.claim(person, now=LATER)

    assert (back, back.served_at) == (mine, NOW)
    theirs.refresh_from_db()
    assert theirs.state == Assignment.State.EXPIRED, "nothing was swept: this test shows nothing"


def test_a_flag_that_promises_a_slot_too_many_heals_itself() -> None:
    study = builders.make_study(stories=2, votes_per_story=1)
    one, two, three = builders.qualified(study, 3)
    full = builders.vote(one).vote.assignment.story
    Story.objects.filter(pk=full.pk).update(has_free_slot=True)

    served = builders.claim(two)

    assert served.story != full
    assert not Story.objects.get(pk=full.pk).has_free_slot
    assert Assignment.objects.filter(story=full).count() == 1
    assert refused(ask(three)) == Reason.NOTHING_FREE


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
    assert (again.repeated, again.differs) == (True, False)
    assert (other.repeated, other.differs) == (True, True)
    assert Vote.objects.count() == 2


def test_nobody_is_served_under_another_version_of_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    study = builders.make_study()
    holder, newcomer = builders.qualified(study, 2)
    held = builders.claim(holder)
    monkeypatch.setattr(type(study.protocol), "version", "another")

    assert refused(ask(newcomer)) == Reason.PROTOCOL_CHANGED
    assert refused(ask(holder)) == Reason.PROTOCOL_CHANGED

    monkeypatch.undo()
    assert ask(holder, now=timezone.now()) == held
    assert isinstance(ask(newcomer), Assignment)
