"""Giving out stories and taking answers, one step at a time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from annotation import actions, sql
from annotation.actions import leases
from annotation.models import Assignment, Enrollment, Story, Study, Vote
from annotation.rules import Reason, Refusal
from tests import builders
from tests.annotation.serving import LATER, NOW, ask, refused

pytestmark = pytest.mark.django_db


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


def test_rows_of_hot_statements_are_what_the_orm_reads() -> None:
    (person,) = builders.qualified(builders.make_study())
    held = builders.claim(person)
    with transaction.atomic():
        locked, _ = sql.lock_both_and_look(person.pk, held.pk, NOW)
    assert locked is not None
    for row in (locked, locked.story, locked.enrollment, locked.enrollment.study, locked.enrollment.consent):
        assert row is not None
        same = type(row)._default_manager.get(pk=row.pk)
        fields = [field.attname for field in row._meta.concrete_fields]
        assert [(name, repr(getattr(row, name))) for name in fields] == [
            (name, repr(getattr(same, name))) for name in fields
        ]
        assert (row._state.adding, row._state.db) == (same._state.adding, same._state.db)
        assert not row.get_deferred_fields()


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
