"""Two people finish the votes that every story gets at the same time, and disagree."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from django.utils import timezone

from annotation import actions
from annotation.actions import slots
from annotation.models import Assignment, Story
from annotation.rules import Refusal
from tests import builders
from tests.annotation.invariants import broken
from tests.concurrency.racing import errors, race, slowly, together

pytestmark = pytest.mark.django_db(transaction=True)
UNDECIDED = "story_wants_votes_until_it_is_decided"


def submitting(held: Assignment, submitted: Mapping[str, str]) -> Callable[[], object]:
    return lambda: actions.record_vote_and_assign_next(
        assignment_id=held.pk, enrollment=held.enrollment, submitted=submitted, now=timezone.now()
    )


def both_answer() -> None:
    study = builders.make_study(stories=1, votes_per_story=2, most_votes=3, decided_by="majority")
    anna, bela = (builders.claim(person) for person in builders.qualified(study, 2))
    assert not errors(race(submitting(anna, builders.ALL_YES), submitting(bela, builders.answers(q3="no"))))


def test_whoever_comes_second_sees_that_they_disagree(monkeypatch: pytest.MonkeyPatch) -> None:
    slowly(monkeypatch, slots, "wanted_and_free")

    both_answer()

    story = Story.objects.get()
    assert (story.extra_votes, story.has_free_slot) == (1, True)
    assert not broken("slots", UNDECIDED)


def test_without_the_lock_of_the_story_both_see_only_their_own_vote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots, "lock_in_order", lambda rows: list(rows.values_list("pk", flat=True)))
    together(monkeypatch, slots, "wanted_and_free", 2)

    both_answer()

    story = Story.objects.get()
    assert (story.extra_votes, story.has_free_slot) == (0, False), "nobody would ever be asked to decide"
    assert broken(UNDECIDED)


def test_many_who_answer_at_once_leave_no_story_undecided_and_none_with_too_many() -> None:
    study = builders.make_study(stories=3, votes_per_story=1, most_votes=4, decided_by="majority")
    people = builders.qualified(study, 6)
    forms = [builders.ALL_YES, builders.answers(q3="no")]

    def work(place: int) -> Callable[[], None]:
        def answer_all() -> None:
            while isinstance(
                held := actions.assign_next_story(enrollment=people[place], now=timezone.now()), Assignment
            ):
                submitting(held, forms[(place + held.story_id) % 2])()
            assert isinstance(held, Refusal)

        return answer_all

    assert not errors(race(*(work(place) for place in range(len(people)))))
    for person in people:  # who found nothing free while others answered
        builders.answer_everything([person])
    assert not Story.objects.filter(has_free_slot=True).exists()
    assert not broken("slots", UNDECIDED)
