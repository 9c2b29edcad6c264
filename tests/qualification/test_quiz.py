"""A comprehension quiz: questions of its own, k of n, several attempts, and what is right after each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from annotation import actions as annotation_actions
from annotation.errors import ImportRefused, InvalidInput
from annotation.models import Enrollment, Story, Study
from dashboard.actions import create_study
from dashboard.settings.configuration import parse_configuration
from dashboard.settings.configuration_export import configuration_of
from integrity.catalogue import CHECKS, run
from qualification import actions
from qualification.models import Attempt, Round
from tests import builders
from tests.annotation.pages import Browser, at
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
WHY = "Each statement is rated by itself."


def question(name: str, **changes: Any) -> dict[str, Any]:
    choices = {"text": [f"Wrong about {name}.", f"Right about {name}."], "label": ["A", "B"]}
    return {"id": name, "question": f"What about {name}?", "choices": choices, "answerKey": "B"} | changes


NAMES = ("scale", "time", "pay")
QUIZ = {
    "kind": "quiz",
    "attempts": 2,
    "stories": [question(name) for name in NAMES[:2]] + [question("pay", story="You are paid by the hour.")],
    "key": {
        "stories": {name: {"answer": ["b"]} for name in NAMES},
        "reasons": {"scale": {"answer": WHY}},
        "enough": 2,
    },
}


@built_once
def made(**changes: Any) -> Study:
    content = {
        "title": "A study",
        "contact": "study@example.org",
        "consent": "You may stop.",
        "qualification": QUIZ,
    } | changes
    config = parse_configuration(json.dumps(content).encode(), name="study.json")
    study = create_study(slug="asked", config=config, by=None, now=timezone.now())
    builders.import_rows(study, [builders.story_row(1)])
    annotation_actions.open_study(study=study, by=None, now=timezone.now())
    study.refresh_from_db()
    return study


@built_once
def newcomer() -> Enrollment:
    return builders.consent(builders.invite(made())[0])


@pytest.fixture
def person() -> Enrollment:
    return Enrollment.objects.select_related("study").get(pk=newcomer().pk)


def take(person: Enrollment, *answers: str) -> Browser:
    """Answer the quiz without JavaScript, and hand it in: the page of the result."""
    browser = at(person, "qualification/")
    assert "3 questions about the work" in browser.heading
    browser.press("Start")
    for number, answer in enumerate(answers, start=1):
        assert browser.heading == f"Question {number} of 3"
        browser.press("Save", answer=answer)
    assert browser.heading == "Check your answers"
    browser.press("Hand in")
    person.refresh_from_db()
    return browser


def said(browser: Browser) -> str:
    return " ".join(browser.document.xpath("//main")[0].text_content().split())


def test_the_right_answers_are_told_and_one_may_try_again(person: Enrollment) -> None:
    browser = take(person, "a", "a", "b")
    assert person.state == Enrollment.State.CONSENTED
    text = said(browser)
    assert "then try again" in text
    assert text.count("incorrect") == 2
    assert text.count("Right about scale.") == 1
    assert WHY in text
    assert "we don’t show" not in text

    browser = take(person, "b", "a", "b")
    assert person.state == Enrollment.State.QUALIFIED, "two of three are enough"
    assert "You passed" in browser.heading
    assert "Right about time." in said(browser)
    assert [attempt.passed for attempt in Attempt.objects.order_by("number")] == [False, True]
    assert all(outcome.holds for outcome in run(CHECKS))


def test_the_whole_pass_mark_is_stated() -> None:
    key = QUIZ["key"] | {"must_pass": ["pay"]}  # type: ignore[operator]
    person = builders.consent(builders.invite(made(qualification=QUIZ | {"key": key}))[0])
    text = said(at(person, "qualification/"))
    assert "at least 2 of your 3 answers are right. One particular question must be answered" in text


def test_who_used_every_attempt_is_told_what_was_right_too(person: Enrollment) -> None:
    for _ in range(2):
        attempt = actions.start_attempt(enrollment=person, now=timezone.now())
        for entry in attempt.round.round_stories.select_related("story__study"):
            actions.save_answers(attempt=attempt, round_story=entry, submitted={"answer": "a"})
        actions.submit_attempt(attempt=attempt, now=timezone.now())
    browser = at(person, "qualification/result/")
    assert Enrollment.objects.get().state == Enrollment.State.FAILED
    assert "so we can’t give you this work" in said(browser)
    assert "Right about scale." in said(browser)
    assert "Try again" not in said(browser)


def test_a_question_shows_its_own_text_and_nothing_is_told_before_it_is_handed_in(person: Enrollment) -> None:
    browser = at(person, "qualification/")
    browser.press("Start")
    assert said(browser).count("What about scale?") == 1
    browser.press("Save", answer="a")
    assert WHY not in said(browser)
    browser.press("Save", answer="b")
    assert "You are paid by the hour." in said(browser)
    assert browser.open(f"{browser.url.split('/qualification/')[0]}/qualification/result/").status_code == 200
    assert WHY not in said(browser)


def test_the_file_of_a_study_holds_its_quiz() -> None:
    document = configuration_of(made(), now=timezone.now())["qualification"]
    assert (document["kind"], document["attempts"]) == ("quiz", 2)
    assert document["key"] == QUIZ["key"]
    again = made_again(document)
    assert configuration_of(again, now=timezone.now())["qualification"] == document


def made_again(document: dict[str, Any]) -> Study:
    config = {"title": "T", "contact": "a@example.org", "consent": "C", "qualification": document}
    parsed = parse_configuration(json.dumps(config).encode(), name="study.json")
    return create_study(slug="again", config=parsed, by=None, now=timezone.now())


def test_a_quiz_and_a_test_are_no_forms_of_each_other() -> None:
    study = made()
    (quiz,) = Round.objects.active_in(study)
    annotation_actions.pause_study(study=study, by=None, now=timezone.now())
    test = builders.add_round(study, beside=True)
    quiz.refresh_from_db()
    assert quiz.state == Round.State.RETIRED
    actions.activate_round(round=quiz, by=None, now=timezone.now())
    test.refresh_from_db()
    assert test.state == Round.State.RETIRED


def test_a_quiz_takes_questions_and_a_test_stories() -> None:
    study = made()
    with pytest.raises(InvalidInput, match="with the role qualification"):
        builders_round(study, ["scale"], Round.Kind.TEST)
    builders.import_rows(study, [builders.story_row(7, prefix="t")], role=Story.Role.QUALIFICATION)
    with pytest.raises(InvalidInput, match="with the role quiz"):
        builders_round(study, [builders.story_row(7, prefix="t")["story_id"]], Round.Kind.QUIZ)


def builders_round(study: Study, story_ids: list[str], kind: Round.Kind) -> Round:
    return actions.create_round(study=study, story_ids=story_ids, kind=kind, by=None, now=timezone.now())


@pytest.mark.parametrize("earlier", [Story.Role.QUALIFICATION, Story.Role.MAIN], ids=["tested", "voted-on"])
def test_no_quiz_tells_the_right_answer_to_what_is_asked_in_earnest(earlier: Story.Role) -> None:
    study = builders.make_study(protocol="multiple-choice", stories=[], opened=False, qualification=0)
    row = question("asked") | {"config": "behavior-qa", "scenario_name": "s", "story": "The milk is sour."}
    builders.import_rows(study, [row], role=earlier)
    builders.import_rows(study, [row | {"id": "told"}], role=Story.Role.QUIZ)
    annotation_actions.set_gate(study=study, gate=Study.Gate.MISSING, by=None, now=timezone.now())
    if earlier == Story.Role.QUALIFICATION:
        builders_round(study, ["asked"], Round.Kind.TEST)
    with pytest.raises(InvalidInput, match="so their texts can’t be in a test"):
        builders_round(study, ["told"], Round.Kind.QUIZ)


def test_a_question_with_two_equal_options_is_refused() -> None:
    wrong = question("scale", choices={"text": ["Yes", "Yes"], "label": ["A", "B"]})
    with pytest.raises(ImportRefused):
        made(qualification=QUIZ | {"stories": [wrong]})


def test_nobody_practises_a_quiz(person: Enrollment) -> None:
    (quiz,) = Round.objects.active_in(person.study)
    with pytest.raises(DatabaseError), transaction.atomic():
        person.practice_answers.create(
            key=quiz.keys.get(), round_story=quiz.round_stories.get(position=1), turn=1, question="answer",
            option="a", accepted=False, answered_at=timezone.now(),
        )  # fmt: skip
