"""Experts answer blind, their answers are revealed all at once, and the key says where it departs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.errors import ChangedMeanwhile, InvalidInput, InvalidKey, WrongState
from annotation.models import Event, Membership
from qualification import actions
from qualification.errors import AlreadyHandedIn
from qualification.models import AnswerKey, ExpertAnswer, ExpertReview, KeyReason, Round
from tests import builders
from tests.worlds import built_once

pytestmark = pytest.mark.django_db


def now() -> datetime:
    return timezone.now()


def expert(round: Round, name: str, role: str = Membership.Role.REVIEWER) -> User:
    user = User.objects.create_user(name, password=None)
    annotation_actions.set_role(study=round.study, user=user, role=role, by=None, now=now())
    return user


@pytest.fixture
@built_once
def round() -> Round:
    """Two stories and no key yet."""
    study = builders.make_study("main", stories=1, opened=False, qualification_required=True)
    return builders.make_round(study)


@pytest.fixture
def experts(round: Round) -> list[User]:
    return [expert(round, name) for name in ("ada", "ben", "cleo")]


def ask(round: Round, experts: list[User]) -> list[ExpertReview]:
    return actions.ask_experts(round=round, experts=experts, by=None, now=now())


def answer(review: ExpertReview, **changes: str) -> None:
    for entry in review.round.round_stories.select_related("story__study"):
        actions.save_expert_answers(review=review, round_story=entry, submitted=builders.answers(**changes))


def hand_in(review: ExpertReview) -> ExpertReview:
    return actions.hand_in_review(review=review, by=review.expert, now=now())


def set_key(round: Round, accepted: dict[str, list[str]] = builders.ACCEPTED, **said: Any) -> AnswerKey:
    names = round.round_stories.values_list("story__story_id", flat=True)
    return actions.set_answer_key(
        round=round, acceptable=dict.fromkeys(names, accepted), by=None, now=now(), **said
    )


def reasons(round: Round, *fields: str) -> dict[str, dict[str, str]]:
    names = round.round_stories.values_list("story__story_id", flat=True)
    return {name: dict.fromkeys(fields, " We talked about it. ") for name in names}


def test_answers_are_revealed_with_the_last_that_is_handed_in(round: Round, experts: list[User]) -> None:
    reviews = ask(round, experts)
    for review in reviews:
        answer(review)
    for review in reviews[:2]:
        hand_in(review)
        assert not ExpertAnswer.objects.revealed().exists()
    hand_in(reviews[2])
    round.refresh_from_db()
    assert round.revealed_at
    assert ExpertAnswer.objects.revealed().count() == 3 * 2 * 4
    with pytest.raises(DatabaseError, match="pgtrigger: Cannot"), transaction.atomic():
        Round.objects.filter(pk=round.pk).update(revealed_at=None)
    told = Event.objects.filter(study=round.study, subject="round 1").order_by("pk")
    assert list(told.values_list("type", "note"))[1:] == [
        *((Event.Type.EXPERT_ASKED, name) for name in ("ada", "ben", "cleo")),
        *((Event.Type.EXPERT_DONE, name) for name in ("ada", "ben", "cleo")),
        (Event.Type.ROUND_CHANGED, "experts' answers revealed"),
    ]


def test_closing_the_gathering_leaves_out_who_did_not_hand_in(round: Round, experts: list[User]) -> None:
    done, late, _third = ask(round, experts)
    with pytest.raises(WrongState, match="No expert has handed in"):
        actions.close_gathering(round=round, by=None, now=now())
    answer(done)
    hand_in(done)
    answer(late, q1="no")
    actions.close_gathering(round=round, by=None, now=now())
    assert set(ExpertAnswer.objects.revealed().values_list("review__expert__username", flat=True)) == {"ada"}
    late.refresh_from_db()
    for refused in (lambda: answer(late), lambda: hand_in(late), lambda: ask(round, [late.expert])):
        with pytest.raises((InvalidInput, WrongState)):
            refused()


def test_who_handed_in_changes_nothing_any_more(round: Round, experts: list[User]) -> None:
    review = ask(round, experts)[0]
    answer(review, q1="no")
    answer(review)
    hand_in(review)
    refusals: list[Callable[[], Any]] = [
        lambda: answer(review, q1="no"),
        lambda: hand_in(review),
        lambda: actions.dismiss_expert(review=review, by=None, now=now()),
    ]
    for refused in refusals:
        with pytest.raises(AlreadyHandedIn):
            refused()
    assert not review.answers.filter(option="no").exists()
    entry = round.round_stories.get(position=1)
    writes: list[Callable[[], Any]] = [
        lambda: review.answers.update(option="no"),
        lambda: review.answers.all().delete(),
        lambda: ExpertAnswer.objects.create(review=review, round_story=entry, question="q9", option="no"),
        lambda: ExpertReview.objects.filter(pk=review.pk).update(handed_in_at=None),
    ]
    for write in writes:
        with pytest.raises(DatabaseError, match="pgtrigger: Cannot"), transaction.atomic():
            write()


def test_only_members_are_asked_and_only_while_it_can_be_blind(round: Round, experts: list[User]) -> None:
    stranger = User.objects.create_user("stranger", password=None)
    for asked, said in (([], "at least one"), ([experts[0], stranger], "Not members: stranger")):
        with pytest.raises(InvalidInput, match=said):
            ask(round, asked)
    assert not ExpertReview.objects.exists()
    first = ask(round, experts[:2])
    actions.dismiss_expert(review=first[1], by=None, now=now())
    with pytest.raises(WrongState, match="no longer needed"):
        answer(first[1])
    assert ask(round, experts[1:2])[0].is_pending
    assert Event.objects.filter(type=Event.Type.EXPERT_ASKED).count() == 3


def test_no_key_while_experts_are_at_work_who_answer_everything(round: Round, experts: list[User]) -> None:
    (review,) = ask(round, experts[:1])
    with pytest.raises(WrongState, match="still answering"):
        set_key(round)
    entry = round.round_stories.select_related("story__study").get(position=1)
    actions.save_expert_answers(review=review, round_story=entry, submitted=builders.ALL_YES)
    with pytest.raises(WrongState, match="these stories: 2"):
        hand_in(review)
    actions.dismiss_expert(review=review, by=None, now=now())
    assert set_key(round).version == 1


def test_no_key_before_what_was_handed_in_is_revealed(round: Round, experts: list[User]) -> None:
    done, late = ask(round, experts[:2])
    answer(done, q2="no")
    hand_in(done)
    actions.dismiss_expert(review=late, by=None, now=now())
    with pytest.raises(WrongState, match="No expert is answering"):
        set_key(round)
    actions.close_gathering(round=round, by=None, now=now())
    with pytest.raises(InvalidKey, match="q2: give a reason"):
        set_key(round)


def test_a_key_that_departs_from_the_experts_says_why(round: Round, experts: list[User]) -> None:
    for review, changes in zip(ask(round, experts), ({}, {"q1": "possibly"}, {}), strict=True):
        answer(review, **changes)
        hand_in(review)
    with pytest.raises(InvalidKey) as refusal:
        set_key(round)
    said = " ".join(refusal.value.problems)
    assert len(refusal.value.problems) == 4
    assert "q1: give a reason" in said  # experts differ
    assert "q2: give a reason" in said  # they all say yes, and possibly is accepted too
    with pytest.raises(InvalidKey, match="no such question"):
        set_key(round, reasons=reasons(round, "q1", "q2", "q7"))
    with pytest.raises(InvalidKey, match="longer than 500"):
        set_key(round, reasons={name: {"q1": "x" * 501, "q2": "y"} for name in reasons(round)})

    key = set_key(round, reasons=reasons(round, "q1", "q2"), note="agreed on Monday")

    stored = KeyReason.objects.filter(key=key).values_list("round_story__position", "question", "reason")
    assert list(stored) == [(at, q, "We talked about it.") for at in (1, 2) for q in ("q1", "q2")]
    with pytest.raises(DatabaseError, match="pgtrigger: Cannot"), transaction.atomic():
        KeyReason.objects.update(reason="another")
    with pytest.raises(DatabaseError, match="pgtrigger: Cannot"), transaction.atomic():
        AnswerKey.objects.update(note="another")
    just_what_they_chose = {"q1": ["yes", "possibly"], "q2": ["yes"], "q3": ["yes"], "q4": ["yes"]}
    assert set_key(round, just_what_they_chose, reasons=reasons(round, "q1")).version == 2


def test_a_key_made_from_an_older_one_is_refused(round: Round) -> None:
    assert set_key(round, after=0).version == 1
    with pytest.raises(ChangedMeanwhile, match="Version 1"):
        set_key(round, after=0)
    assert set_key(round, after=1).version == 2


def test_once_people_attempt_a_round_nobody_is_asked_about_its_key(round: Round, experts: list[User]) -> None:
    set_key(round)
    annotation_actions.open_study(study=round.study, by=None, now=now())
    builders.take_test(builders.consent(builders.invite(round.study)[0]))
    refusals: list[Callable[[], Any]] = [lambda: ask(round, experts), lambda: set_key(round)]
    for refused in refusals:
        with pytest.raises(WrongState, match="attempted this round"):
            refused()
