"""Races about experts and rounds: answers are laid open once, and never while somebody is waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.models import Event, Membership
from qualification import actions
from qualification.actions import attempts, experts, rounds
from qualification.errors import ExpertsAtWork, QualificationError, RoundIsActive
from qualification.models import Attempt, ExpertReview, Round
from tests import builders
from tests.concurrency.racing import Overtaking, errors, race, slowly

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


def laid_open() -> int:
    return Event.objects.filter(note="experts' answers laid open").count()


def test_the_last_two_experts_at_once_lay_open_once(round: Round, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the locks neither sees the other's, and nobody lays open."""
    reviews = [answered(review) for review in ask(round, "ada", "ben", "cleo")]
    slowly(monkeypatch, experts, "_record")

    outcomes = race(*map(handing_in, reviews))

    assert not errors(outcomes)
    round.refresh_from_db()
    assert round.laid_open_at
    assert laid_open() == 1


def test_who_hands_in_while_answers_are_laid_open_is_in_or_out(
    round: Round, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, late = (answered(review) for review in ask(round, "ada", "ben"))
    handing_in(done)()
    slowly(monkeypatch, experts, "_dismiss")
    slowly(monkeypatch, experts, "_incomplete")

    closing = lambda: actions.close_gathering(round=round, by=None, now=timezone.now())  # noqa: E731
    outcomes = race(handing_in(late), closing)

    assert all(isinstance(error, QualificationError) for error in errors(outcomes)), outcomes
    late.refresh_from_db()
    assert (late.handed_in_at is None) != (late.dismissed_at is None)
    assert laid_open() == 1


def test_experts_are_not_asked_while_the_round_becomes_active(round: Round) -> None:
    """One of the two is refused: no key is frozen under the hands of who answers."""
    study = round.study
    names = list(round.round_stories.values_list("story__story_id", flat=True))
    key = dict.fromkeys(names, builders.ACCEPTED)
    now = timezone.now()
    actions.set_answer_key(round=round, acceptable=key, by=None, now=now)
    builders.add_round(study, [builders.story_row(9, prefix="other")])
    user = User.objects.create(username="ada")
    annotation_actions.set_role(study=study, user=user, role=Membership.Role.REVIEWER, by=None, now=now)

    calls: list[Callable[[], Any]] = [
        lambda: actions.ask_experts(round=round, experts=[user], by=None, now=now),
        lambda: actions.activate_round(round=round, by=None, now=now),
    ]
    outcomes = race(*calls)

    assert [type(error) for error in errors(outcomes)] in ([RoundIsActive], [ExpertsAtWork])


def test_a_newcomer_who_begins_while_rounds_change_is_given_the_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The old round is retired, the new one becomes active, and the newcomer waits for both."""
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

    monkeypatch.setattr("qualification.actions.keys.move_round", interrupted)
    key = dict.fromkeys(names, builders.ACCEPTED)
    calls: list[Callable[[], Any]] = [
        lambda: actions.set_answer_key(round=fresh, acceptable=key, by=None, now=timezone.now()),
        overtaking.overtake(lambda: attempts.start_attempt(enrollment=person, now=timezone.now())),
    ]

    outcomes = race(*calls)

    assert not errors(outcomes)
    assert Attempt.objects.get().round == fresh
