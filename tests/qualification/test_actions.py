"""Rounds, keys and attempts, through actions."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from annotation import actions as annotation_actions
from annotation.errors import InvalidInput, InvalidKey, WrongState
from annotation.grading import IncompleteAttempt
from annotation.models import Enrollment, Event, Story, Study
from annotation.protocols.base import IncompleteForm
from integrity.catalogue import CHECKS, run
from qualification import actions
from qualification.errors import AlreadyHandedIn, NotTheirTurn
from qualification.models import AnswerKey, Attempt, Round
from tests import builders

pytestmark = pytest.mark.django_db

State = Enrollment.State


@pytest.fixture
def study() -> Study:
    return builders.make_study(qualification={"rows": 2, "attempts_allowed": 2})


@pytest.fixture
def beginner(study: Study) -> Enrollment:
    return builders.consent(builders.invite(study)[0])


def start(person: Enrollment) -> Attempt:
    return actions.start_attempt(enrollment=person, now=timezone.now())


def hand_in(attempt: Attempt) -> Attempt:
    return actions.submit_attempt(attempt=attempt, now=timezone.now())


def answer(attempt: Attempt, **changes: str) -> None:
    for entry in attempt.round.round_stories.select_related("story"):
        actions.save_answers(attempt=attempt, round_story=entry, submitted=builders.answers(**changes))


def standing(person: Enrollment) -> str:
    return Enrollment.objects.get(pk=person.pk).state


def test_passing_qualifies(beginner: Enrollment) -> None:
    attempt = start(beginner)
    answer(attempt, q1="possibly")

    graded = hand_in(attempt)

    assert (graded.state, graded.passed) == (Attempt.State.SUBMITTED, True)
    assert graded.submitted_at
    assert standing(beginner) == State.QUALIFIED
    assert graded.answers.count() == 8
    assert not graded.answers.exclude(accepted=True).exists()
    event = Event.objects.get(type=Event.Type.ENROLLMENT_QUALIFIED)
    assert event.note == f"attempt {graded.pk}"


def test_one_unacceptable_answer_among_all_fails_the_attempt(beginner: Enrollment) -> None:
    attempt = start(beginner)
    answer(attempt)
    entry = attempt.round.round_stories.select_related("story").get(position=2)
    actions.save_answers(attempt=attempt, round_story=entry, submitted=builders.answers(q2="no"))

    graded = hand_in(attempt)

    assert graded.passed is False
    wrong = graded.answers.get(accepted=False)
    assert (wrong.round_story, wrong.question) == (entry, "q2")
    assert standing(beginner) == State.CONSENTED  # another attempt is left


TESTED = [builders.story_row(number, prefix="test") for number in range(2)]
FIRST = TESTED[0]["story_id"]


@pytest.mark.parametrize(
    ("mark", "wrong_at", "passed"),
    [
        ({"enough": 7}, 1, True),
        ({"enough": 8}, 1, False),
        ({"enough": 7, "must_pass": [FIRST]}, 1, False),
        ({"enough": 7, "must_pass": [FIRST]}, 2, True),
    ],
)
def test_a_round_may_forgive_mistakes_but_not_about_the_stories_that_must_be_passed(
    mark: dict[str, Any], wrong_at: int, passed: bool
) -> None:
    study = builders.make_study("forgiving", qualification={"rows": TESTED, **mark})
    attempt = start(builders.consent(builders.invite(study)[0]))
    answer(attempt)
    entry = attempt.round.round_stories.select_related("story").get(position=wrong_at)
    actions.save_answers(attempt=attempt, round_story=entry, submitted=builders.answers(q2="no"))

    assert hand_in(attempt).passed is passed
    of_grades = [check for check in CHECKS if "from_the_key" in check.name]
    assert of_grades
    assert all(result.holds for result in run(of_grades))


def test_a_pass_mark_that_the_round_cannot_reach_is_refused(fresh_round: Round) -> None:
    for mark in ({"enough": 0}, {"enough": 5}, {"must_pass": ["elsewhere"]}):
        with pytest.raises(InvalidKey):
            set_key(fresh_round, builders.ACCEPTED, mark=mark)
    assert fresh_round.keys.count() == 1


def test_the_key_and_its_pass_mark_are_frozen_with_the_first_attempt(
    study: Study, beginner: Enrollment
) -> None:
    attempt = start(beginner)
    answer(attempt)

    with pytest.raises(WrongState, match="attempted this round"):
        set_key(attempt.round, builders.ACCEPTED, mark={"enough": 1})
    with pytest.raises(DatabaseError), transaction.atomic():
        AnswerKey.objects.filter(pk=attempt.key_id).update(enough=1)
    assert hand_in(attempt).key.version == 1


def test_the_last_failed_attempt_ends_it(beginner: Enrollment) -> None:
    for number in (1, 2):
        attempt = start(beginner)
        assert attempt.number == number
        answer(attempt, q3="no")
        hand_in(attempt)

    assert standing(beginner) == State.FAILED
    with pytest.raises(NotTheirTurn):
        start(Enrollment.objects.get(pk=beginner.pk))

    Enrollment.objects.filter(pk=beginner.pk).update(state=State.CONSENTED)
    with pytest.raises(WrongState, match="every attempt"):  # whoever put them back before the test by hand
        start(Enrollment.objects.get(pk=beginner.pk))


def test_an_attempt_that_has_begun_is_gone_on_with_also_when_the_study_pauses(
    study: Study, beginner: Enrollment
) -> None:
    attempt = start(beginner)
    assert start(beginner) == attempt
    answer(attempt)
    annotation_actions.pause_study(study=study, by=None, now=timezone.now())

    assert start(beginner) == attempt
    assert Event.objects.filter(type=Event.Type.ATTEMPT_STARTED).count() == 1
    assert hand_in(attempt).passed


def test_no_attempt_begins_in_a_study_that_is_not_open(study: Study, beginner: Enrollment) -> None:
    annotation_actions.pause_study(study=study, by=None, now=timezone.now())
    with pytest.raises(NotTheirTurn, match="not open"):
        start(beginner)


def test_only_people_before_the_test_may_take_it(study: Study) -> None:
    (invited,) = builders.invite(study)
    (qualified,) = builders.qualified(study)
    for person in (invited, qualified):
        with pytest.raises(NotTheirTurn):
            start(person)


def test_somebody_suspended_in_the_middle_cannot_hand_in(beginner: Enrollment) -> None:
    attempt = start(beginner)
    answer(attempt)
    annotation_actions.suspend(enrollment=beginner, by=None, now=timezone.now(), reason="too fast")

    with pytest.raises(NotTheirTurn, match="suspended"):
        hand_in(attempt)
    with pytest.raises(NotTheirTurn, match="suspended"):
        answer(attempt)
    assert standing(beginner) == State.SUSPENDED

    annotation_actions.reinstate(enrollment=beginner, by=None, now=timezone.now(), reason="a mistake")
    assert hand_in(attempt).passed
    assert standing(beginner) == State.QUALIFIED


def test_answers_can_change_until_handed_in_and_never_after(beginner: Enrollment) -> None:
    attempt = start(beginner)
    answer(attempt, q3="no")
    answer(attempt)
    graded = hand_in(attempt)

    assert graded.passed
    with pytest.raises(AlreadyHandedIn):
        answer(graded, q3="no")
    assert hand_in(graded) == graded
    assert Event.objects.filter(type=Event.Type.ATTEMPT_SUBMITTED).count() == 1


def test_an_incomplete_attempt_is_not_graded_and_an_incomplete_form_changes_nothing(
    beginner: Enrollment,
) -> None:
    attempt = start(beginner)
    entry = attempt.round.round_stories.select_related("story").get(position=1)
    actions.save_answers(attempt=attempt, round_story=entry, submitted=builders.ALL_YES)

    with pytest.raises(IncompleteForm):
        actions.save_answers(attempt=attempt, round_story=entry, submitted={"q1": "no"})
    with pytest.raises(IncompleteAttempt) as refusal:
        hand_in(attempt)

    assert str(refusal.value).count("/") == 4
    attempt.refresh_from_db()
    assert attempt.state == Attempt.State.STARTED
    assert standing(beginner) == State.CONSENTED
    assert not attempt.answers.filter(option="no").exists()
    assert attempt.answers.count() == 4


def test_a_newer_round_is_the_one_people_take_once_it_has_a_key(study: Study) -> None:
    annotation_actions.pause_study(study=study, by=None, now=timezone.now())
    stories = builders.import_rows(
        study, [builders.story_row(7, prefix="newer")], role=Story.Role.QUALIFICATION
    )
    newer = actions.create_round(study=study, story_ids=[stories[0].story_id], by=None, now=timezone.now())
    assert newer.number == 2
    assert [round.number for round in Round.objects.active_in(study)] == [1]

    set_key(newer, builders.ACCEPTED)
    annotation_actions.open_study(study=study, by=None, now=timezone.now())

    assert Round.objects.get(study=study, number=1).state == Round.State.RETIRED
    assert start(builders.consent(builders.invite(study)[0])).round == newer


def test_a_study_without_a_round_says_so() -> None:
    study = builders.make_study(qualification=1)
    person = builders.consent(builders.invite(study)[0])
    other = builders.make_study("other")
    Round.objects.update(study=other)

    with pytest.raises(WrongState, match="no qualification round"):
        start(person)


def set_key(
    round: Round,
    accepted: dict[str, list[str]],
    *,
    mark: dict[str, Any] | None = None,
    **stories: dict[str, list[str]],
) -> None:
    names = round.round_stories.values_list("story__story_id", flat=True)
    acceptable = dict.fromkeys(names, accepted) | stories
    actions.set_answer_key(round=round, acceptable=acceptable, by=None, now=timezone.now(), **(mark or {}))


@pytest.fixture
def fresh_round() -> Round:
    study = builders.make_study(qualification=1, opened=False)
    return Round.objects.get(study=study)


def test_a_key_says_everything_that_is_wrong_with_it(fresh_round: Round) -> None:
    with pytest.raises(InvalidKey) as refusal:
        set_key(
            fresh_round,
            {"q1": ["perhaps", "yes"], "q2": [], "q3": ["yes"], "q9": ["yes"]},
            another_story={"q1": ["yes"]},
        )

    said = " ".join(refusal.value.problems)
    assert len(refusal.value.problems) == 5
    for words in (
        "“another_story”",
        "“q9”, which the form does not ask",
        "“perhaps” is not one of",
        "q2: ",
        "q4: ",
    ):
        assert words in said
    assert fresh_round.keys.count() == 1


def test_a_new_key_is_a_new_version_and_the_old_one_stays(fresh_round: Round) -> None:
    set_key(fresh_round, {name: ["no"] for name in builders.ALL_YES})

    versions = {
        key.version: set(key.options.values_list("option", flat=True)) for key in fresh_round.keys.all()
    }
    assert versions == {1: {"yes", "possibly"}, 2: {"no"}}


def test_a_round_needs_qualification_stories_each_once_and_a_complete_key_opens_the_gate() -> None:
    study = builders.make_study(qualification_required=True, opened=False)
    builders.import_rows(
        study, [builders.story_row(5, story_id="a", core_id="a")], role=Story.Role.QUALIFICATION
    )
    for story_ids in ([], ["a", "a"], ["unknown"], ["story_00000_sev1"]):
        with pytest.raises(InvalidInput, match=r"Import them first|each story once"):
            actions.create_round(study=study, story_ids=story_ids, by=None, now=timezone.now())
    made = actions.create_round(study=study, story_ids=["a"], by=None, now=timezone.now())
    assert study.gate == Study.Gate.MISSING

    set_key(made, builders.ACCEPTED)
    study.refresh_from_db()

    assert study.gate == Study.Gate.READY
