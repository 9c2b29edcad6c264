"""Races about experts and rounds: answers are revealed once, and never while somebody is waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.errors import WrongState
from annotation.models import Event, Membership
from qualification import actions
from qualification.actions import attempts, experts, rounds
from qualification.models import Attempt, ExpertReview, Round
from tests import builders
from tests.concurrency.racing import Overtaking, errors, race, slowly, together, without_locks

pytestmark = pytest.mark.django_db(transaction=True)


def ask(round: Round, *names: str) -> list[ExpertReview]:
    found = [User.objects.get_or_create(username=name)[0] for name in names]
    for user in found:
        annotation_actions.set_role(
            study=round.study, user=user, role=Membership.Role.REVIEWER, by=None, now=timezone.now()
        )
    return actions.ask_experts(round=round, experts=found, by=None, now=timezone.now())


@pytest.fixture
def round() -> Round:
    study = builders.make_study(stories=1, opened=False, qualification_required=True)
    return builders.make_round(study, 1)


def answered(review: ExpertReview) -> ExpertReview:
    for entry in review.round.round_stories.select_related("story__study"):
        actions.save_expert_answers(review=review, round_story=entry, submitted=builders.ALL_YES)
    return review


def handing_in(review: ExpertReview) -> Callable[[], Any]:
    return lambda: actions.hand_in_review(review=review, by=review.expert, now=timezone.now())


def revealed() -> int:
    return Event.objects.filter(note="experts' answers revealed").count()


def test_the_last_experts_at_once_reveal_once(round: Round, monkeypatch: pytest.MonkeyPatch) -> None:
    reviews = [answered(review) for review in ask(round, "ada", "ben", "cleo")]
    slowly(monkeypatch, experts, "record_about_round")

    outcomes = race(*map(handing_in, reviews))

    assert not errors(outcomes)
    round.refresh_from_db()
    assert round.revealed_at
    assert revealed() == 1


def test_control_without_locks_no_expert_sees_the_others_and_nobody_lays_open(
    round: Round, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviews = [answered(review) for review in ask(round, "ada", "ben", "cleo")]
    without_locks(monkeypatch)
    together(monkeypatch, type(round.reviews.all()), "exists", 3)  # asks for experts who are not done

    outcomes = race(*map(handing_in, reviews))

    assert not errors(outcomes)
    assert round.reviews.filter(handed_in_at=None).count() == 0
    assert revealed() == 0


def _hand_in_while_all_is_revealed(round: Round, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Ben is about to hand in when the answers are revealed without him."""
    done, late = (answered(review) for review in ask(round, "ada", "ben"))
    handing_in(done)()
    overtaking = Overtaking()
    incomplete = experts._incomplete

    def interrupted(review: ExpertReview) -> list[int]:
        overtaking.wait_inside(seconds=0.5)
        return incomplete(review)

    monkeypatch.setattr(experts, "_incomplete", interrupted)
    closing = lambda: actions.close_gathering(round=round, by=None, now=timezone.now())  # noqa: E731
    return race(handing_in(late), overtaking.overtake(closing))


def test_who_hands_in_while_answers_are_revealed_is_in(round: Round, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = _hand_in_while_all_is_revealed(round, monkeypatch)

    assert not errors(outcomes)
    assert round.reviews.filter(handed_in_at__isnull=False, dismissed_at=None).count() == 2
    assert revealed() == 1


def test_control_without_locks_the_database_refuses_who_is_left_out_meanwhile(
    round: Round, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)

    (refused,) = errors(_hand_in_while_all_is_revealed(round, monkeypatch))

    assert isinstance(refused, IntegrityError)
    assert "who_handed_in_is_not_dismissed" in str(refused)


def _ask_while_the_round_becomes_active(round: Round, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    study = round.study
    names = list(round.round_stories.values_list("story__story_id", flat=True))
    key = dict.fromkeys(names, builders.ACCEPTED)
    now = timezone.now()
    actions.set_answer_key(round=round, acceptable=key, by=None, now=now)
    builders.add_round(study, [builders.story_row(9, prefix="other")])
    user = User.objects.create(username="ada")
    annotation_actions.set_role(study=study, user=user, role=Membership.Role.REVIEWER, by=None, now=now)
    overtaking = Overtaking()
    monkeypatch.setattr(experts, "_check_they_are_blind", lambda *_: overtaking.wait_inside(seconds=0.5))
    calls: list[Callable[[], Any]] = [
        lambda: actions.ask_experts(round=round, experts=[user], by=None, now=now),
        overtaking.overtake(lambda: actions.activate_round(round=round, by=None, now=now)),
    ]
    return race(*calls)


def test_a_round_does_not_become_active_while_experts_are_asked(
    round: Round, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So no key is frozen under the hands of who answers."""
    outcomes = _ask_while_the_round_becomes_active(round, monkeypatch)

    (refused,) = errors(outcomes)
    assert isinstance(refused, WrongState)
    assert "still answering" in str(refused)


def test_control_without_locks_experts_answer_about_a_round_that_people_can_begin(
    round: Round, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)

    assert not errors(_ask_while_the_round_becomes_active(round, monkeypatch))

    round.refresh_from_db()
    assert round.state == Round.State.ACTIVE
    assert round.reviews.get().is_pending


def _begin_while_rounds_change(monkeypatch: pytest.MonkeyPatch) -> Round:
    """The old round is retired, the new one becomes active, and the newcomer comes between; their round."""
    study = builders.make_study(qualification=1)
    fresh = builders.make_round(study, [builders.story_row(9, prefix="other")])
    person = builders.consent(builders.invite(study)[0])
    names = list(fresh.round_stories.values_list("story__story_id", flat=True))
    overtaking = Overtaking()
    retire = rounds.move_round

    def interrupted(**said: Any) -> Round:
        moved = retire(**said)
        overtaking.wait_inside(seconds=0.5)
        return moved

    monkeypatch.setattr("qualification.actions.rounds.move_round", interrupted)
    key = dict.fromkeys(names, builders.ACCEPTED)
    calls: list[Callable[[], Any]] = [
        lambda: actions.set_answer_key(round=fresh, acceptable=key, by=None, now=timezone.now()),
        overtaking.overtake(lambda: attempts.start_attempt(enrollment=person, now=timezone.now())),
    ]
    assert not errors(race(*calls))
    return Attempt.objects.get().round


def test_a_newcomer_who_begins_while_rounds_change_is_given_the_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert _begin_while_rounds_change(monkeypatch).number == 2


def test_control_without_locks_a_newcomer_is_given_the_round_that_is_retired(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_locks(monkeypatch)

    assert _begin_while_rounds_change(monkeypatch).number == 1
