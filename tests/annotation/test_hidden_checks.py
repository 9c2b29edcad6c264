"""Hidden checks as the study's people and its database meet them."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation import actions, hidden_checks
from annotation.errors import ImportRefused, InvalidKey, InvalidStudy, ReasonMissing, WrongState
from annotation.hidden_checks import CheckRules
from annotation.models import (
    Assignment,
    CheckKey,
    CheckOption,
    CheckResult,
    Enrollment,
    Event,
    Story,
    Study,
    Vote,
)
from annotation.rules import Reason, Refusal
from dashboard.settings.sample_study import SAMPLES
from tests import builders
from tests.worlds import built_once

pytestmark = pytest.mark.django_db

WRONG = builders.answers(q1="no", q3="no")
NOW = timezone.now()


@pytest.fixture
@built_once
def study() -> Study:
    """Thirty stories of two votes, and four checks, one in five stories."""
    made = builders.make_study(stories=30, votes_per_story=2)
    builders.add_checks(made, 4)
    return made


def roles(stories: list[Story]) -> list[str]:
    return [story.role for story in stories]


def events(study: Study, *types: Event.Type) -> list[Event]:
    return list(Event.objects.filter(study=study, type__in=types).order_by("pk"))


def test_a_check_comes_in_every_block_until_there_are_no_more(study: Study) -> None:
    (one,) = builders.qualified(study)

    met = builders.work_through(one, 25)

    due = [
        hidden_checks.is_due(key=study.pseudonym_key, person=one.pk, position=position, every=5)
        for position in range(1, 26)
    ]
    assert sum(due) == 5
    expected = ["check" if at else "main" for at in due]
    expected[25 - due[::-1].index(True) - 1] = "main"  # everybody gets each of the four checks once
    assert roles(met) == expected
    assert len(set(met)) == len(met)
    one.refresh_from_db()
    assert one.stories_submitted == 25  # checks are work: they are paid and fill the cap as any story


def test_checks_take_no_slot_and_never_count(study: Study) -> None:
    people = builders.qualified(study, 3)
    for person in people:
        builders.work_through(person, 5, on_checks=WRONG)

    given = Assignment.objects.filter(story__role=Story.Role.CHECK)
    assert set(given.values_list("slot", "slots", "state")) == {(None, 0, "submitted")}
    assert given.count() == 3
    assert not Story.objects.filter(role=Story.Role.CHECK, has_free_slot=True).exists()
    of_study = Vote.objects.of_study(study).counted()
    assert (Vote.objects.count(), of_study.count()) == (15, 12)
    assert not of_study.filter(answers__option="no").exists()


def test_the_database_keeps_slots_and_checks_apart(study: Study) -> None:
    (person,) = builders.qualified(study)
    builders.work_through(person, 5)
    main = Assignment.objects.filter(story__role=Story.Role.MAIN)[0]

    with pytest.raises(DatabaseError, match="only a hidden check"), transaction.atomic():
        Assignment.objects.filter(pk=main.pk).update(slot=None, slots=0)
    with pytest.raises(IntegrityError, match="only_main_stories_have_slots"), transaction.atomic():
        Story.objects.filter(role=Story.Role.CHECK).update(has_free_slot=True)
    for final in (
        "UPDATE annotation_checkresult SET passed = NOT passed",
        "DELETE FROM annotation_checkresult",
        "UPDATE annotation_checkoption SET option = 'no'",
        "UPDATE annotation_checkkey SET version = 9",
        "UPDATE annotation_checkkey SET state = 'replaced'",
        "DELETE FROM annotation_checkkey",
    ):
        with pytest.raises(DatabaseError, match="pgtrigger"), transaction.atomic(), connection.cursor() as c:
            c.execute(final)
    result = CheckResult.objects.get()
    other = CheckKey.objects.exclude(pk=result.key_id)[0]
    vote = Vote.objects.exclude(pk=result.pk)[0]
    with pytest.raises(DatabaseError, match="graded by the key of its own"), transaction.atomic():
        CheckResult.objects.create(vote=vote, key=other, passed=True)
    with pytest.raises(DatabaseError, match="Cannot add to a key"), transaction.atomic():
        CheckOption.objects.create(key=result.key, question="q1", option="no")


def test_a_check_comes_again_to_somebody_whose_lease_ran_out(study: Study) -> None:
    (person,) = builders.qualified(study)
    while (held := builders.claim(person, now=NOW)).story.role != Story.Role.CHECK:
        actions.record_vote(assignment_id=held.pk, enrollment=person, submitted=builders.ALL_YES, now=NOW)

    later = NOW + study.lease + timedelta(minutes=1)
    actions.release_expired_leases(now=later)
    assert Assignment.objects.get(pk=held.pk).state == Assignment.State.EXPIRED
    again = builders.claim(person, now=later)
    actions.release_lease(study=study, assignment_id=again.pk, by=None, now=later)
    late = actions.record_vote(
        assignment_id=again.pk, enrollment=person, submitted=WRONG, now=later + timedelta(hours=1)
    )

    assert again == held
    assert (late.vote.surplus_reason, late.vote.check_result.passed) == ("", False)
    assert Assignment.objects.get(pk=held.pk).state == Assignment.State.SUBMITTED


def test_nobody_meets_the_text_of_a_check_twice_under_whatever_id(study: Study) -> None:
    (person,) = builders.qualified(study)
    met = [story for story in builders.work_through(person, 20) if story.role == Story.Role.CHECK]
    wrong = met[0]
    actions.leave_out_check(story=wrong, reason="Two answers are right", by=None, now=timezone.now())
    row = builders.story_row(500, prefix="mended")
    text = {name: wrong.content[name] for name in row if name in wrong.content}
    (again,) = builders.import_rows(study, [row | text], role=Story.Role.CHECK)
    assert again.content == wrong.content
    actions.set_check_key(story=again, accepted=builders.ACCEPTED, by=None, now=timezone.now())
    assert again not in builders.work_through(person, 10)
    (newcomer,) = builders.qualified(study)
    assert again in builders.work_through(newcomer, 20)


def test_no_text_of_a_study_is_both_a_check_and_another_story(study: Study) -> None:
    Role = Story.Role
    for number, role, there in ((3, Role.CHECK, "story_00003_sev1"), (500, Role.MAIN, "known_00500_sev1")):
        with pytest.raises(ImportRefused) as refusal:
            builders.import_rows(study, [builders.story_row(number, prefix="again")], role=role)
        assert f"has this text as “{there}”" in refusal.value.problems[0].message


@pytest.mark.parametrize("role", [Story.Role.MAIN, Story.Role.QUALIFICATION])
def test_nobody_is_given_a_check_whose_text_they_met_as_another_story(
    role: Story.Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files that come in at once can bring it."""
    monkeypatch.setattr(hidden_checks, "is_due", lambda *, position, **_: position == 2)
    study = builders.make_study(stories=12, votes_per_story=2, qualification=1)
    builders.add_checks(study, 1)
    check = Story.objects.get(role=Story.Role.CHECK)
    (before,) = builders.qualified(study)
    twin = Story.objects.filter(role=role).order_by("order_key")[0]
    twin.pk, twin.story_id, twin.content, twin.text_hash = None, "twin", check.content, check.text_hash
    twin.order_key = -(2**63)  # it comes first
    twin.save(force_insert=True)
    with pytest.raises(InvalidKey, match="also has this text as “twin”"):
        actions.set_check_key(story=check, accepted=builders.ACCEPTED, by=None, now=NOW)

    assert check not in builders.work_through(before, 3)


def test_no_check_is_given_to_somebody_who_has_answered_every_story() -> None:
    study = builders.make_study(stories=4, votes_per_story=5)
    builders.add_checks(study, 3)
    (person,) = builders.qualified(study)
    while isinstance(given := actions.assign_next_story(enrollment=person, now=timezone.now()), Assignment):
        last = given.story
        actions.record_vote(
            assignment_id=given.pk, enrollment=person, submitted=builders.ALL_YES, now=timezone.now()
        )
    assert last.role == Story.Role.MAIN


def test_the_log_does_not_say_what_a_check_accepts(study: Study) -> None:
    story = Story.objects.filter(study=study, role=Story.Role.CHECK).first()
    assert story is not None
    notes = Event.objects.filter(study=study, subject=story.story_id).values_list("note", flat=True)
    assert list(notes) == ["key 1"]


def test_no_check_is_given_out_when_the_study_needs_no_more_answers() -> None:
    study = builders.make_study(stories=4, votes_per_story=1)
    builders.add_checks(study, 3)
    people = builders.qualified(study, 4)
    builders.answer_everything(people)
    asked = CheckResult.objects.count()

    outcomes = [actions.assign_next_story(enrollment=person, now=timezone.now()) for person in people]

    assert {outcome.reason for outcome in outcomes if isinstance(outcome, Refusal)} == {Reason.ALL_DONE}
    assert CheckResult.objects.count() == asked < 4


def test_a_check_that_is_left_out_is_given_to_nobody_and_held_against_nobody(study: Study) -> None:
    one, two = builders.qualified(study, 2)
    builders.work_through(one, 5, on_checks=WRONG)
    check = CheckResult.objects.get().key.story
    with pytest.raises(ReasonMissing):
        actions.leave_out_check(story=check, reason=" ", by=None, now=NOW)

    actions.leave_out_check(story=check, reason="Two answers are right.", by=None, now=NOW)

    assert check not in builders.work_through(two, 20)
    assert CheckResult.objects.of_person(one).counts() == (0, 0)
    with pytest.raises(WrongState):
        actions.leave_out_check(story=check, reason="Again.", by=None, now=NOW)
    actions.reuse_check(story=check, by=None, now=NOW)
    assert CheckResult.objects.of_person(one).counts() == (1, 1)
    notes = [event.note for event in events(study, Event.Type.CHECKS_CHANGED)][-2:]
    assert notes == ["left_out. Two answers are right", "in_use"]


def test_known_answers_are_complete_and_stay_once_somebody_answered(study: Study) -> None:
    check = study.stories.filter(role=Story.Role.CHECK)[0]
    with pytest.raises(InvalidKey) as refused:
        actions.set_check_key(story=check, accepted={"q1": ["maybe"], "q9": ["yes"]}, by=None, now=NOW)
    assert len(refused.value.problems) == 5
    main = study.stories.main()[0]
    with pytest.raises(WrongState):
        actions.set_check_key(story=main, accepted=builders.ACCEPTED, by=None, now=NOW)

    stricter = builders.ACCEPTED | {"q1": ["no"]}
    second = actions.set_check_key(story=check, accepted=stricter, by=None, now=NOW)
    (person,) = builders.qualified(study)
    builders.work_through(person, 25)  # all four checks come to somebody who goes on that long

    assert second.version == 2
    assert CheckOption.objects.filter(key=second, question="q1").count() == 1
    results = CheckResult.objects.filter(key__story=check)
    assert results.exists()
    assert set(results.values_list("key", "passed")) == {(second.pk, False)}
    with pytest.raises(WrongState, match="can’t change"):
        actions.set_check_key(story=check, accepted=builders.ACCEPTED, by=None, now=NOW)


def test_a_check_that_is_passed_without_changing_anything_is_no_check() -> None:
    file = SAMPLES["belief-labels"].parent / "stories.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()[:2]]
    study = builders.make_study("labels", protocol="belief-labels", stories=rows[:1])
    builders.import_rows(study, rows[1:], role=Story.Role.CHECK)
    (check,) = study.stories.filter(role=Story.Role.CHECK)
    right = {field: [option] for field, option in study.protocol.suggested(check.item).items()}
    with pytest.raises(InvalidKey, match="keeps every suggestion"):
        actions.set_check_key(story=check, accepted=right, by=None, now=NOW)
    actions.set_check_key(story=check, accepted=right | {"order.b1": ["3"]}, by=None, now=NOW)


def test_rules_are_checked_and_changes_logged(study: Study) -> None:
    with pytest.raises(InvalidStudy) as refused:
        actions.change_check_rules(study=study, rules=CheckRules(3, 0, 50, 20), by=None, now=NOW)
    assert set(refused.value.problems) == {"every", "minimum"}

    before = len(events(study, Event.Type.CHECKS_CHANGED))
    same = actions.change_check_rules(study=study, rules=study.check_rules, by=None, now=NOW)
    actions.change_check_rules(study=same, rules=CheckRules(20, 3, 30, None), by=None, now=NOW)

    (event,) = events(study, Event.Type.CHECKS_CHANGED)[before:]
    assert event.note == "every: 5 → 20\nwarn_percent: none → 30"


def test_excluding_and_readmitting_somebody_leaves_checks_without_slots(study: Study) -> None:
    (person,) = builders.qualified(study)
    builders.work_through(person, 5)

    actions.exclude_annotator(enrollment=person, reason="A robot.", shown_reason="Paused.", by=None, now=NOW)
    assert set(Assignment.objects.values_list("state", flat=True)) == {"excluded"}
    readmission = actions.readmit_annotator(enrollment=person, reason="No robot.", by=None, now=NOW)

    assert (readmission.counting, readmission.displaced) == (4, 0), "an answer to a check is no vote"
    assert Assignment.objects.get(story__role=Story.Role.CHECK).slot is None


def _statements(person: Enrollment) -> int:
    held = builders.claim(person)
    with CaptureQueriesContext(connection) as queries:
        actions.record_vote_and_assign_next(
            assignment_id=held.pk, enrollment=person, submitted=builders.ALL_YES, now=timezone.now()
        )
    return len(queries)


def test_checks_cost_at_most_one_statement_more() -> None:
    plain = builders.make_study("plain", stories=4)
    checked = builders.make_study("checked", stories=12)
    builders.add_checks(checked, 3, warn_percent=50)
    (one,), (two,) = builders.qualified(plain), builders.qualified(checked)

    usual = {_statements(one) for _ in range(3)}
    costs = [_statements(two) for _ in range(10)]

    assert CheckResult.objects.count() == 2
    (usual_cost,) = usual
    assert set(costs) <= {usual_cost - 1, usual_cost, usual_cost + 1}
    assert costs.count(usual_cost + 1) <= 4  # with the answer to a check, and at the end of a block
