"""What the database itself refuses: answers moved out of what was handed in, stories of other rounds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.models import Membership, Study
from qualification import actions
from qualification.models import (
    AcceptableOption,
    Attempt,
    AttemptAnswer,
    ExpertAnswer,
    ExpertReview,
    KeyReason,
    Round,
    RoundStory,
)
from tests import builders

pytestmark = pytest.mark.django_db


def refused(*writes: Callable[[], Any]) -> None:
    for write in writes:
        with pytest.raises(DatabaseError, match="pgtrigger: Cannot"), transaction.atomic():
            write()


def asked(round: Round, *names: str) -> list[ExpertReview]:
    experts = [User.objects.get_or_create(username=name)[0] for name in names]
    for expert in experts:
        annotation_actions.set_role(
            study=round.study, user=expert, role=Membership.Role.REVIEWER, by=None, now=timezone.now()
        )
    return actions.ask_experts(round=round, experts=experts, by=None, now=timezone.now())


def answered(review: ExpertReview) -> ExpertReview:
    for entry in review.round.round_stories.select_related("story__study"):
        actions.save_expert_answers(review=review, round_story=entry, submitted=builders.ALL_YES)
    return review


def test_experts_answers_and_blindness() -> None:
    study = builders.make_study(stories=1, opened=False, qualification_required=True)
    round = builders.make_round(study)
    other = builders.make_round(study, [builders.story_row(9, prefix="other")])
    done, open_one = map(answered, asked(round, "ada", "ben"))
    actions.hand_in_review(review=done, by=done.expert, now=timezone.now())
    elsewhere, entry = other.round_stories.get(), round.round_stories.get(position=1)
    refused(
        lambda: done.answers.update(review=open_one),
        lambda: done.answers.filter(question="q1").update(review=open_one, option="no"),
        lambda: open_one.answers.filter(question="q1").update(review=done),
        lambda: open_one.answers.filter(round_story=entry, question="q1").update(round_story=elsewhere),
        lambda: ExpertAnswer.objects.create(
            review=open_one, round_story=elsewhere, question="q1", option="no"
        ),
        lambda: Round.objects.filter(pk=round.pk).update(revealed_at=timezone.now()),
    )
    actions.close_gathering(round=round, by=None, now=timezone.now())
    refused(
        lambda: ExpertReview.objects.filter(pk=open_one.pk).update(dismissed_at=None),
        lambda: ExpertReview.objects.create(
            round=round, expert=User.objects.create(username="cleo"), asked_at=timezone.now()
        ),
    )


def test_keys_and_attempts() -> None:
    study: Study = builders.make_study(qualification=1)
    first = study.rounds.get()
    builders.add_round(study, [builders.story_row(9, prefix="other")], beside=True)
    elsewhere = RoundStory.objects.get(round__number=2)
    attempt = actions.start_attempt(
        enrollment=builders.consent(builders.invite(study)[0]), now=timezone.now()
    )
    entry = first.round_stories.select_related("story").get()
    actions.save_answers(attempt=attempt, round_story=entry, submitted=builders.ALL_YES)
    said = {"round_story": elsewhere, "question": "q1"}
    refused(
        lambda: AttemptAnswer.objects.create(attempt=attempt, option="yes", **said),
        lambda: AcceptableOption.objects.create(key=attempt.key, option="x", **said),
        lambda: KeyReason.objects.create(key=attempt.key, reason="x", **said),
        lambda: Attempt.objects.filter(pk=attempt.pk).update(key=elsewhere.round.keys.get()),
        lambda: RoundStory.objects.filter(pk=entry.pk).update(position=7),
        lambda: RoundStory.objects.create(round=first, story=elsewhere.story, position=2),
    )
    another = {"round_story": entry, "question": "q9"}
    refused(
        lambda: AcceptableOption.objects.create(key=attempt.key, option="x", **another),
        lambda: KeyReason.objects.create(key=attempt.key, reason="later", **another),
    )
    actions.submit_attempt(attempt=attempt, now=timezone.now())
    refused(
        lambda: AttemptAnswer.objects.create(attempt=attempt, option="x", **another),
        lambda: Attempt.objects.filter(pk=attempt.pk).update(passed=False),
        lambda: Attempt.objects.filter(pk=attempt.pk)._raw_delete("default"),
    )


def test_a_void_attempt_stays_as_it_was() -> None:
    study = builders.make_study(stories=1, qualification=1)
    done, began = builders.invite(study, 2)
    builders.take_test(builders.consent(done), builders.answers(q1="no"))
    attempt = actions.start_attempt(enrollment=builders.consent(began), now=timezone.now())
    entry = attempt.round.round_stories.get()
    actions.save_answers(attempt=attempt, round_story=entry, submitted=builders.ALL_YES)
    handed_in = Attempt.objects.get(enrollment=done)
    refused(  # of one that was handed in, nothing else changes with it
        lambda: Attempt.objects.filter(pk=handed_in.pk).update(
            state="void", voided_at=timezone.now(), passed=True
        )
    )

    for person in (done, began):
        assert actions.void_attempts(enrollment=person, were_theirs=True, now=timezone.now()) == 1

    for void in (handed_in, attempt):
        it, its_answers = Attempt.objects.filter(pk=void.pk), AttemptAnswer.objects.filter(attempt=void)
        refused(
            partial(it.update, state="started", voided_at=None),
            partial(it.update, was_theirs=False),
            partial(it._raw_delete, "default"),
            partial(its_answers.update, option="x"),
            partial(its_answers._raw_delete, "default"),
        )
