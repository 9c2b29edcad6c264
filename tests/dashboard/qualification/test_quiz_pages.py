"""The pages about a comprehension quiz: listed with the tests, and its key filled in from the file."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone
from lxml import html

from annotation import actions as annotation_actions
from annotation.models import Membership, Study
from qualification import actions
from qualification.models import Round
from tests import builders
from tests.dashboard.qualification.test_answer_key_pages import member
from tests.qualification.test_quiz import made

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
HERE = "/studies/asked/qualification/"


@pytest.fixture
def study() -> Study:
    study = made()
    annotation_actions.pause_study(study=study, by=None, now=timezone.now())
    return study


@pytest.fixture
def rosa(study: Study) -> Client:
    return member(study, "rosa", Membership.Role.RESEARCHER)


def told(client: Client, address: str) -> str:
    page = html.fromstring(client.get(address).content)
    return " ".join(str(page.xpath("normalize-space(//main)")).split())


def again(study: Study) -> Round:
    """Return another round of the quiz's questions, without a key."""
    quiz = study.rounds.get()
    names = list(quiz.round_stories.values_list("story__story_id", flat=True))
    return actions.create_round(
        study=study, story_ids=names, kind=Round.Kind.QUIZ, by=None, now=timezone.now()
    )


def test_a_quiz_is_listed(study: Study, rosa: Client) -> None:
    assert "Round 1 quiz active participants began0" in told(rosa, HERE)


def test_the_right_answers_of_the_file_are_ticked(study: Study, rosa: Client) -> None:
    again(study)
    page = html.fromstring(rosa.get(f"{HERE}2/key/").content)
    ticked = page.xpath("//input[@type='checkbox' and @checked]/@value")
    assert ticked == ["b", "b", "b"]
    text = told(rosa, f"{HERE}2/key/")
    assert "Question 1" in text
    assert "Story 1" not in text
    assert "Shown after participants answer." in text
    assert "Kept with the key." not in text.replace(
        "Who decided, what changes, and why. Kept with the key.", ""
    )


def test_a_quiz_is_in_turn_with_quizzes_alone(study: Study, rosa: Client) -> None:
    again(study)
    in_turn = "Newcomers in turn with the active rounds"
    assert in_turn in told(rosa, f"{HERE}2/key/"), "the active round is a quiz too"
    test = builders.make_round(study)
    assert in_turn not in told(rosa, f"{HERE}{test.number}/key/")


def test_the_notes_on_the_key_are_shown_beside_it(study: Study, rosa: Client) -> None:
    test = builders.add_round(study, note="life_jackets: far from accepted practice.")
    assert "life_jackets: far from accepted practice." in told(rosa, f"{HERE}{test.number}/key/")
