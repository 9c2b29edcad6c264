"""Rotating forms: who takes which, who keeps theirs, and that another form is no further try."""

from __future__ import annotations

from collections import Counter

import pytest
from django.utils import timezone

from annotation import actions as annotation_actions
from annotation.errors import WrongState
from annotation.models import Enrollment, Event, Story, Study
from qualification import actions
from qualification.models import Attempt, Round
from tests import builders
from tests.worlds import built_once

pytestmark = pytest.mark.django_db

State = Round.State


@pytest.fixture
@built_once
def study() -> Study:
    """Two active forms, each with two attempts."""
    study = builders.make_study(qualification={"rows": 1, "attempts_allowed": 2}, opened=False)
    rows = [builders.story_row(7, prefix="second"), builders.story_row(8, prefix="second")]
    builders.add_round(study, rows, attempts_allowed=2, beside=True)
    return annotation_actions.open_study(study=study, by=None, now=timezone.now())


def start(person: Enrollment) -> Attempt:
    return actions.start_attempt(enrollment=person, now=timezone.now())


def states(study: Study) -> list[str]:
    return list(study.rounds.order_by("number").values_list("state", flat=True))


def test_people_take_the_active_forms_in_turn(study: Study) -> None:
    people = [builders.consent(person) for person in builders.invite(study, 5)]
    given = [start(person).round.number for person in reversed(people)]
    assert sorted(Counter(given).values()) == [2, 3]
    assert given[:4] in ([1, 2, 1, 2], [2, 1, 2, 1])


def test_who_failed_keeps_their_form_and_another_form_is_no_further_try(study: Study) -> None:
    people = [builders.consent(person) for person in builders.invite(study, 2)]
    for person in people:
        first = start(person).round
        builders.take_test(person, builders.answers(q3="no"))
        assert start(person).round == first
        builders.take_test(person, builders.answers(q3="no"))
        Enrollment.objects.filter(pk=person.pk).update(state=Enrollment.State.CONSENTED)
        with pytest.raises(WrongState, match="every attempt"):
            start(person)
        assert [attempt.number for attempt in person.attempts.all()] == [1, 2]


def test_a_form_that_is_retired_goes_to_nobody_new(study: Study) -> None:
    first, second = (builders.consent(person) for person in builders.invite(study, 2))
    begun = start(first)
    builders.take_test(second, builders.answers(q3="no"))
    kept, retired = begun.round, second.attempts.get().round
    actions.retire_round(round=retired, by=None, now=timezone.now())

    again = start(second)

    assert (again.round, again.number, again.attempts_allowed) == (kept, 2, 2)
    assert {start(builders.consent(one)).round for one in builders.invite(study, 3)} == {kept}
    actions.activate_round(round=retired, by=None, now=timezone.now())
    actions.retire_round(round=kept, by=None, now=timezone.now())
    assert start(first) == begun  # in the middle of it, they finish it
    notes = Event.objects.filter(type=Event.Type.ROUND_CHANGED, study=study).order_by("pk")
    assert list(notes.values_list("subject", "note"))[-3:] == [
        (f"round {retired.number}", "retired"),
        (f"round {retired.number}", "active"),
        (f"round {kept.number}", "retired"),
    ]


def test_the_last_active_round_stays_and_a_round_needs_a_key(study: Study) -> None:
    first, second = study.rounds.order_by("number")
    actions.retire_round(round=first, by=None, now=timezone.now())
    with pytest.raises(WrongState, match="only active round"):
        actions.retire_round(round=second, by=None, now=timezone.now())
    (story,) = builders.import_rows(
        study, [builders.story_row(9, prefix="third")], role=Story.Role.QUALIFICATION
    )
    keyless = actions.create_round(study=study, story_ids=[story.story_id], by=None, now=timezone.now())
    for change in (actions.activate_round, actions.retire_round):
        with pytest.raises(WrongState, match="no answer key"):
            change(round=keyless, by=None, now=timezone.now())
    assert states(study) == [State.RETIRED, State.ACTIVE, State.PREPARING]


def test_a_new_key_gives_the_round_to_newcomers_alone_unless_it_comes_beside(study: Study) -> None:
    builders.add_round(study, [builders.story_row(9, prefix="third")])
    assert states(study) == [State.RETIRED, State.RETIRED, State.ACTIVE]
    builders.add_round(study, [builders.story_row(6, prefix="fourth")], beside=True)
    assert states(study) == [State.RETIRED, State.RETIRED, State.ACTIVE, State.ACTIVE]
