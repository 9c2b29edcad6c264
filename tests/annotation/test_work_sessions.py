"""Work that a platform asks for: how much is given out in it, and when its votes count."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation import actions
from annotation.models import Assignment, CheckResult, Enrollment, Event, Story, Study, Vote, WorkSession
from annotation.rules import Reason, Refusal
from tests import builders
from tests.annotation.invariants import broken
from tests.worlds import built_once

pytestmark = pytest.mark.django_db
NOW = timezone.now()
State = Assignment.State


@pytest.fixture
@built_once
def person() -> Enrollment:
    return builders.qualified(builders.make_study(stories=4, votes_per_story=1))[0]


@pytest.fixture
def study(person: Enrollment) -> Study:
    return person.study


def session_of(
    person: Enrollment, *, limit: int = 2, at_once: bool = False, minutes: int = 30
) -> WorkSession:
    return actions.open_session(
        enrollment=person,
        story_limit=limit,
        counts_unconfirmed=at_once,
        identity_claimed=True,
        framed=True,
        expires_at=NOW + timedelta(minutes=minutes),
        now=NOW,
    )


def ask(session: WorkSession, *, now: datetime = NOW) -> Assignment | Refusal:
    return actions.assign_next_story(enrollment=session.enrollment, now=now, session_id=session.pk)


def refused(session: WorkSession, *, now: datetime = NOW) -> Reason:
    outcome = ask(session, now=now)
    assert isinstance(outcome, Refusal)
    return outcome.reason


def send(assignment: Assignment, session: WorkSession | None, **how: Any) -> actions.Receipt:
    return actions.record_vote(
        assignment_id=assignment.pk,
        enrollment=assignment.enrollment,
        submitted=builders.ALL_YES,
        now=how.get("now", NOW),
        session_id=session.pk if session else None,
    )


def answer(session: WorkSession) -> Assignment:
    """The person is given a story in the session, and answers it."""
    assignment = ask(session)
    assert isinstance(assignment, Assignment)
    return send(assignment, session).vote.assignment


def confirm(session: WorkSession) -> bool:
    return actions.confirm_session(session=session, by=None, now=NOW)


def doubt(session: WorkSession) -> bool:
    return actions.doubt_session(session=session, reason="not handed in", by=None, now=NOW)


def state(assignment: Assignment) -> str:
    return Assignment.objects.get(pk=assignment.pk).state


def test_a_session_gives_out_as_many_stories_as_it_is_for(person: Enrollment) -> None:
    session = session_of(person, limit=2)
    assert answer(session).story != answer(session).story
    assert refused(session) == Reason.SESSION_DONE
    assert refused(session_of(person, limit=0)) == Reason.SESSION_DONE
    assert isinstance(ask(session_of(person, limit=1)), Assignment)
    assert WorkSession.objects.get(pk=session.pk).stories_submitted == 2


def test_after_its_time_it_gives_out_none_but_takes_what_comes(person: Enrollment) -> None:
    session = session_of(person, minutes=5)
    assignment = ask(session)
    assert isinstance(assignment, Assignment)
    late = NOW + timedelta(minutes=6)
    assert refused(session, now=late) == Reason.SESSION_OVER
    assert send(assignment, session, now=late).vote.surplus_reason == ""
    assert state(assignment) == State.PENDING


def test_the_gate_comes_before_the_session(person: Enrollment) -> None:
    session = session_of(person)
    actions.suspend(enrollment=person, by=None, now=NOW, reason="too fast")
    assert refused(session) == Reason.SUSPENDED


def test_a_session_serves_nobody_else(study: Study, person: Enrollment) -> None:
    other = builders.qualified(study)[0]
    with pytest.raises(WorkSession.DoesNotExist):
        actions.assign_next_story(enrollment=other, now=NOW, session_id=session_of(person).pk)
    assert not Assignment.objects.exists()


def test_a_vote_waits_holding_its_slot_until_the_visit_is_confirmed(person: Enrollment) -> None:
    session = session_of(person, limit=3)
    assignment, held = answer(session), ask(session)
    assert isinstance(held, Assignment)
    assignment.story.refresh_from_db()
    assert (state(assignment), assignment.story.has_free_slot) == (State.PENDING, False)
    assert not Vote.objects.counted().exists()

    assert confirm(session)

    assert Vote.objects.counted().get().assignment == assignment
    assert not confirm(session)
    assert Event.objects.filter(type=Event.Type.WORK_CONFIRMED).count() == 1
    send(held, session)
    assert Vote.objects.counted().count() == 2, "what they held and send after that counts at once"
    assert refused(session) == Reason.SESSION_SETTLED, "nothing more in it would be paid"
    assert not broken()


def test_a_study_may_count_votes_at_once_and_take_them_back(study: Study, person: Enrollment) -> None:
    session = session_of(person, at_once=True)
    assignment = answer(session)
    assert Vote.objects.counted().count() == 1
    assert doubt(session)
    assert (state(assignment), Vote.objects.counted().count()) == (State.DOUBTED, 0)
    assert not broken()


def test_slots_of_a_doubted_visit_go_to_others_and_come_back_if_they_are_free(
    study: Study, person: Enrollment
) -> None:
    session = session_of(person)
    taken, free = answer(session), answer(session)
    assert doubt(session)
    assert not doubt(session)
    other = builders.qualified(study)[0]
    given = builders.vote(other).vote.assignment
    assert given.story in (taken.story, free.story), "started stories come first"
    if given.story == free.story:
        taken, free = free, taken

    assert confirm(session)

    assert (state(taken), state(free)) == (State.DISPLACED, State.SUBMITTED)
    assert Vote.objects.counted().filter(assignment__enrollment=person).get().assignment == free
    free.story.refresh_from_db()
    assert not free.story.has_free_slot
    assert Enrollment.objects.get(pk=person.pk).stories_submitted == 2, "credited whatever becomes of them"
    assert not broken()


def test_a_story_held_in_a_doubted_visit_goes_to_others_at_once(person: Enrollment) -> None:
    session = session_of(person)
    held = ask(session)
    assert isinstance(held, Assignment)
    doubt(session)
    held.story.refresh_from_db()
    assert (state(held), held.story.has_free_slot) == (State.EXPIRED, True)
    assert refused(session) == Reason.SESSION_SETTLED
    receipt = send(held, session)
    assert receipt.vote.surplus_reason == ""
    held.story.refresh_from_db()
    assert (state(held), held.story.has_free_slot) == (State.DOUBTED, True), "it waits without a slot"
    assert confirm(session)
    held.story.refresh_from_db()
    assert (state(held), held.story.has_free_slot) == (State.SUBMITTED, False)
    assert not broken()


def test_an_answer_of_a_doubted_visit_locks_what_a_suspension_after_it_gives_back(
    study: Study, person: Enrollment
) -> None:
    rows = [actions.GivenRow(1, story.story_id, person.pseudonym) for story in study.stories.all()]
    actions.give_items(study=study, rows=rows, by=None, now=NOW)
    session = session_of(person)
    doubt(session)
    held = builders.claim(person)
    with CaptureQueriesContext(connection) as seen:
        send(held, session)
    assert state(held) == State.DOUBTED
    texts = [query["sql"] for query in seen.captured_queries]
    lock = next(number for number, text in enumerate(texts) if "'reserved'" in text and "FOR NO KEY" in text)
    freed = next(number for number, text in enumerate(texts) if text.startswith('UPDATE "annotation_story"'))
    assert lock < freed


def test_what_is_sent_in_the_page_of_a_doubted_visit_holds_no_slot(person: Enrollment) -> None:
    session = session_of(person)
    doubt(session)
    assignment = builders.claim(person)
    send(assignment, session)
    assignment.story.refresh_from_db()
    assert (state(assignment), assignment.story.has_free_slot) == (State.DOUBTED, True)
    assert not broken()


def counted() -> dict[int, int]:
    return {session.pk: session.stories_submitted for session in WorkSession.objects.all()}


def test_a_story_goes_along_to_the_visit_whose_page_showed_it_last(person: Enrollment) -> None:
    one, two = session_of(person), session_of(person)
    held = ask(one)
    assert isinstance(held, Assignment)
    assert ask(two) == held
    receipt = send(held, two)
    assert counted() == {one.pk: 0, two.pk: 1}
    assert send(held, one) == receipt
    assert Assignment.objects.get(pk=held.pk).session == two
    confirm(one)
    assert not Vote.objects.counted().exists()
    confirm(two)
    assert Vote.objects.counted().count() == 1


@pytest.mark.parametrize("at_once", [False, True], ids=["stored", "stored with the next one"])
def test_an_answer_sent_in_the_page_of_work_that_is_done_belongs_where_its_story_was_given(
    person: Enrollment, at_once: bool
) -> None:
    one, two = session_of(person, limit=1), session_of(person, limit=1)
    answer(one)
    confirm(one)
    held = ask(two)
    assert isinstance(held, Assignment)
    if at_once:
        form: dict[str, Any] = {"assignment_id": held.pk, "enrollment": person, "submitted": builders.ALL_YES}
        _receipt, outcome = actions.record_vote_and_assign_next(**form, now=NOW, session_id=one.pk)
        assert outcome == Refusal(Reason.SESSION_DONE), "the page it was sent in is of work that is done"
    else:
        send(held, one)

    assert counted() == {one.pk: 1, two.pk: 1}
    assert (state(held), Vote.objects.counted().count()) == (State.PENDING, 1)
    assert refused(two) == Reason.SESSION_DONE, "nothing more is asked for"
    assert not broken()


def test_the_page_of_a_confirmed_visit_takes_no_story_from_one_that_is_open(person: Enrollment) -> None:
    one, two = session_of(person, limit=2), session_of(person, limit=1)
    confirm(one)
    held = ask(two)
    assert refused(one) == Reason.SESSION_SETTLED
    assert isinstance(held, Assignment)
    send(held, one)
    assert (counted(), state(held)) == ({one.pk: 0, two.pk: 1}, State.PENDING)


def test_a_story_of_work_that_is_over_may_be_answered_in_the_next_one(person: Enrollment) -> None:
    one, two = session_of(person), session_of(person)
    held = ask(one)
    assert isinstance(held, Assignment)
    doubt(one)
    send(held, two)
    assert (counted(), state(held)) == ({one.pk: 0, two.pk: 1}, State.PENDING)
    assert not broken()


def test_what_no_open_visit_wants_stays_with_the_visit_it_was_given_in(person: Enrollment) -> None:
    one, two = session_of(person, limit=1), session_of(person)
    answer(one)
    confirm(one)
    held = ask(two)
    assert isinstance(held, Assignment)
    doubt(two)
    send(held, one)
    assert (state(held), Vote.objects.counted().count()) == (State.DOUBTED, 1)
    assert not broken()


def test_an_exclusion_outlasts_what_the_platform_says(person: Enrollment) -> None:
    session = session_of(person)
    assignment = answer(session)
    doubt(session)
    actions.exclude_annotator(
        enrollment=person, reason="careless", shown_reason="We look into it.", by=None, now=NOW
    )
    confirm(session)
    assert (state(assignment), Vote.objects.counted().count()) == (State.EXCLUDED, 0)
    actions.readmit_annotator(enrollment=person, reason="a mistake", by=None, now=NOW)
    assert (state(assignment), Vote.objects.counted().count()) == (State.SUBMITTED, 1)
    assert not broken()


def test_somebody_readmitted_waits_again_for_the_platform(person: Enrollment) -> None:
    session = session_of(person)
    pending = answer(session)
    actions.exclude_annotator(
        enrollment=person, reason="careless", shown_reason="We look into it.", by=None, now=NOW
    )
    assert state(pending) == State.EXCLUDED
    actions.readmit_annotator(enrollment=person, reason="a mistake", by=None, now=NOW)
    assert (state(pending), Vote.objects.counted().count()) == (State.PENDING, 0)
    doubt(session)
    actions.exclude_annotator(
        enrollment=person, reason="careless", shown_reason="We look into it.", by=None, now=NOW
    )
    actions.readmit_annotator(enrollment=person, reason="a mistake", by=None, now=NOW)
    assert state(pending) == State.DOUBTED
    assert not broken()


def test_failed_checks_are_held_against_nobody_who_is_only_claimed_to_have_failed_them() -> None:
    study = builders.make_study(stories=9, votes_per_story=1)
    builders.add_checks(study, 2, minimum=1, suspend_percent=50)
    (person,) = builders.qualified(study)
    session = session_of(person, limit=10)

    def answer_five() -> str:
        for _ in range(5):
            assignment = ask(session)
            assert isinstance(assignment, Assignment)
            is_check = assignment.story.role == Story.Role.CHECK
            actions.record_vote(
                assignment_id=assignment.pk,
                enrollment=person,
                submitted=builders.answers(q1="no", q3="no") if is_check else builders.ALL_YES,
                now=NOW,
                session_id=session.pk,
            )
        return Enrollment.objects.get(pk=person.pk).state

    assert answer_five() == Enrollment.State.QUALIFIED
    assert CheckResult.objects.filter(passed=False).exists()
    actions.confirm_identity(session=session)
    assert answer_five() == Enrollment.State.SUSPENDED


def test_an_answer_in_a_session_costs_one_statement_more(person: Enrollment) -> None:
    """The session is locked with the person, and counted up; nothing else may come with it."""

    def statements(session: WorkSession | None) -> int:
        session_id = session.pk if session else None
        given = actions.assign_next_story(enrollment=person, now=NOW, session_id=session_id)
        assert isinstance(given, Assignment)
        with CaptureQueriesContext(connection) as queries:
            actions.record_vote_and_assign_next(
                assignment_id=given.pk,
                enrollment=person,
                submitted=builders.ALL_YES,
                now=NOW,
                session_id=session_id,
            )
        return len(queries)

    plain = statements(None)
    assert statements(session_of(person)) == plain + 2
