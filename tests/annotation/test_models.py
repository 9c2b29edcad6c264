"""What the database itself refuses, whatever the code does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils import timezone

from annotation.models import Answer, Assignment, ConsentText, Enrollment, Event, Story, Study, Vote
from qualification import actions as qualification_actions
from qualification.models import AcceptableOption, Attempt, AttemptAnswer, Round
from tests import builders

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def study(module_transaction: None) -> Study:
    """Two people have answered a story each, a third holds one."""
    study = builders.make_study(stories=2, qualification=1)
    one, two, three = builders.qualified(study, 3)
    builders.vote(one)
    builders.vote(two)
    builders.claim(three)
    return study


def another(row: Any, /, **changes: Any) -> None:
    """Store a copy of the row with these changes."""
    row.pk = None
    for name, value in changes.items():
        setattr(row, name, value)
    row.save(force_insert=True)


def lease() -> Assignment:
    return Assignment.objects.get(state="leased")


def answer_in_an_open_attempt() -> AttemptAnswer:
    person = builders.consent(builders.invite(Study.objects.get())[0])
    attempt = qualification_actions.start_attempt(enrollment=person, now=timezone.now())
    (entry,) = attempt.round.round_stories.all()
    qualification_actions.save_answers(attempt=attempt, round_story=entry, submitted=builders.ALL_YES)
    return attempt.answers.all()[0]


def option_of_a_key_nobody_began_under() -> AcceptableOption:
    fresh = builders.make_study("fresh", qualification=1)
    return AcceptableOption.objects.filter(key__round__study=fresh)[0]


VIOLATIONS: dict[str, Callable[[], object]] = {
    "one_living_assignment_per_slot": lambda: Assignment.objects.filter(state="leased").update(slot=1),
    "slot_is_one_of_the_storys_slots": lambda: Assignment.objects.filter(state="leased").update(slot=4),
    "one_lease_at_a_time_per_person": lambda: another(
        lease(), story=Story.objects.filter(assignments=None, role="main")[0], slot=1
    ),
    "one_assignment_per_person_and_story": lambda: another(lease(), state="expired"),
    "one_vote_per_assignment_and_revision": lambda: another(Vote.objects.all()[0]),
    "vote_revisions_count_from_one": lambda: another(Vote.objects.all()[0], revision=0),
    "vote_is_submitted_after_it_was_served": lambda: another(
        Vote.objects.all()[0], revision=2, submitted_at=timezone.now() - timedelta(days=1)
    ),
    "one_answer_per_question_and_row": lambda: another(Answer.objects.all()[0]),
    "answer_says_something": lambda: another(Answer.objects.all()[0], row="r", option=""),
    "one_story_per_id_in_a_study": lambda: another(Story.objects.filter(role="main")[0]),
    "only_main_stories_have_slots": lambda: Story.objects.filter(role="qualification").update(
        has_free_slot=True
    ),
    "one_enrollment_per_annotator_and_study": lambda: another(Enrollment.objects.all()[0]),
    "nobody_goes_on_without_consent": lambda: Enrollment.objects.update(consent=None),
    "one_consent_text_per_version": lambda: another(ConsentText.objects.get()),
    "consent_text_says_something": lambda: another(ConsentText.objects.get(), version=9, text=""),
    "study_asks_1_to_99_votes_per_story": lambda: Study.objects.update(votes_per_story=0),
    "more_votes_are_wanted_at_most_than_at_least": lambda: Study.objects.update(most_votes=1),
    "study_cap_is_positive": lambda: Study.objects.update(story_cap=0),
    "study_lease_is_positive": lambda: Study.objects.update(lease_minutes=0),
    "study_is_opened_unless_draft": lambda: Study.objects.update(opened_at=None),
    "study_closed_at_says_closed": lambda: Study.objects.update(state="closed"),
    "open_study_has_consent_and_gate": lambda: Study.objects.update(gate="missing"),
    "one_attempt_per_number_and_person": lambda: another(Attempt.objects.all()[0]),
    "attempt_is_one_of_those_allowed": lambda: another(Attempt.objects.all()[0], number=2),
    "attempt_is_graded_when_handed_in": lambda: another(Attempt.objects.all()[0], passed=None),
    "one_round_per_number_in_a_study": lambda: another(Round.objects.get()),
    "round_allows_an_attempt": lambda: Round.objects.update(attempts_allowed=0),
    "one_attempt_answer_per_question": lambda: another(answer_in_an_open_attempt()),
    "an_option_is_accepted_once": lambda: another(option_of_a_key_nobody_began_under()),
}


def test_the_database_refuses(subtests: pytest.Subtests, study: Study) -> None:
    for constraint, violate in VIOLATIONS.items():
        refused = pytest.raises(IntegrityError, match=constraint)
        with subtests.test(constraint), refused, transaction.atomic():
            violate()


FINAL: dict[str, str] = {
    "a vote": "UPDATE annotation_vote SET surplus_reason = 'late'",
    "a vote's existence": "DELETE FROM annotation_vote",
    "an answer": "UPDATE annotation_answer SET option = 'no'",
    "an answer's existence": "DELETE FROM annotation_answer",
    "an event": "UPDATE annotation_event SET note = 'otherwise'",
    "an event's existence": "DELETE FROM annotation_event",
    "a consent text": "UPDATE annotation_consenttext SET text = 'otherwise'",
    "a story's content": "UPDATE annotation_story SET content = '{}'",
    "a story's hash": "UPDATE annotation_story SET content_hash = ''",
    "a story's role": "UPDATE annotation_story SET role = 'check'",
    "the answer key": "UPDATE qualification_acceptableoption SET option = 'no'",
    "the answer key's existence": "DELETE FROM qualification_acceptableoption",
    "a graded answer": "UPDATE qualification_attemptanswer SET option = 'no'",
}


def test_a_fact_cannot_be_changed(subtests: pytest.Subtests, study: Study) -> None:
    for fact, change in FINAL.items():
        refused = pytest.raises(DatabaseError, match="pgtrigger")
        with subtests.test(fact), refused, transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(change)


def test_what_is_counted_is_the_newest_revision(study: Study) -> None:
    first = Vote.objects.counted().order_by("pk")[0]
    another(Vote.objects.get(pk=first.pk), revision=2)

    counted = set(Vote.objects.counted())

    assert len(counted) == 2
    assert first not in counted


def test_everything_has_a_name_people_can_read(study: Study) -> None:
    for model in (Study, ConsentText, Story, Enrollment, Assignment, Vote, Answer, Event, Round, Attempt):
        text = str(model._default_manager.all()[0])
        assert text
        assert "object (" not in text
