"""Questions about participants: asked once after the consent text, forgotten with the person."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from annotation import actions
from annotation.errors import InvalidStudy
from annotation.intake import QUESTIONS
from annotation.models import Enrollment, Event, IntakeAnswer, Study
from tests import builders
from tests.annotation.pages import token_of

pytestmark = pytest.mark.django_db


def asking(**settings: Any) -> Study:
    return builders.make_study("asking", stories=1, intake_questions=["age", "country"], **settings)


def at(person: Enrollment, page: str) -> str:
    return f"/work/{token_of(person)}/{page}"


def said(person: Enrollment) -> dict[str, str]:
    return dict(person.intake_answers.order_by("pk").values_list("question", "option"))


def newcomer(study: Study) -> Enrollment:
    (person,) = actions.invite(study=study, count=1, by=None, now=timezone.now())
    return person


def test_people_are_asked_once_between_consent_and_instructions(client: Client) -> None:
    person = newcomer(asking())
    agreed = client.post(at(person, "consent/"), {"decision": "agree"})
    assert agreed["Location"].endswith("/intake/")
    page = client.get(agreed["Location"]).content.decode()
    assert page.count("Prefer not to say") == 2
    assert "at least 5 people" in page
    given = {"age": "25-34", "country": "", "gender": "woman"}
    answered = client.post(agreed["Location"], given)
    assert answered["Location"].endswith("/instructions/")
    assert said(person) == {"age": "25-34", "country": ""}
    client.post(agreed["Location"], {"age": "65+", "country": "DE"})
    assert said(person) == {"age": "25-34", "country": ""}, "the first answer stays"
    assert client.get(agreed["Location"])["Location"].endswith("/instructions/")
    event = Event.objects.get(type=Event.Type.INTAKE_ANSWERED)
    assert "25-34" not in event.subject + event.note


def test_a_study_without_questions_asks_none(client: Client) -> None:
    person = newcomer(builders.make_study("silent", stories=1))
    agreed = client.post(at(person, "consent/"), {"decision": "agree"})
    assert agreed["Location"].endswith("/instructions/")
    after = client.get(at(person, "intake/"))
    assert after["Location"].endswith("/instructions/")
    client.post(at(person, "intake/"), {"age": "25-34"})
    assert not IntakeAnswer.objects.exists()


def test_nothing_is_stored_of_people_who_have_not_agreed() -> None:
    person = newcomer(asking())
    actions.answer_intake(enrollment=person, given={"age": "25-34"}, now=timezone.now())
    assert said(person) == {}


def test_only_options_are_stored_and_the_database_knows_them() -> None:
    person = newcomer(asking())
    builders.consent(person)
    actions.answer_intake(enrollment=person, given={"age": "31", "country": "Mars"}, now=timezone.now())
    assert said(person) == {"age": "", "country": ""}
    for question, option in (("gender", "31"), ("age", "DE"), ("country", "de"), ("shoe_size", "44")):
        with pytest.raises(IntegrityError), transaction.atomic():
            IntakeAnswer.objects.create(enrollment=person, question=question, option=option)


def test_the_languages_that_most_people_speak_first_can_be_named() -> None:
    options = QUESTIONS["first_language"].options
    most = {
        "zh",
        "es",
        "en",
        "hi",
        "pt",
        "bn",
        "ru",
        "ja",
        "yue",
        "vi",
        "tr",
        "wuu",
        "mr",
        "te",
        "ko",
        "fr",
        "ta",
    }
    also = {
        "de",
        "ar",
        "ur",
        "jv",
        "gu",
        "it",
        "fa",
        "bho",
        "ha",
        "pa",
        "kn",
        "tl",
        "yo",
        "or",
        "ml",
        "am",
        "my",
    }
    assert most | also | {"mul", "mis"} <= options.keys()
    assert all(re.search(QUESTIONS["first_language"].pattern, code) for code in options)
    assert len(set(options.values())) == len(options)


def test_it_is_forgotten_with_the_person_and_asked_again_of_another_one() -> None:
    study = asking()
    for end in ("forget", "reset"):
        person = newcomer(study)
        builders.consent(person)
        actions.answer_intake(enrollment=person, given={"age": "25-34"}, now=timezone.now())
        assert said(person)
        if end == "forget":
            actions.forget(annotator=person.annotator, now=timezone.now())
        else:
            actions.reset_test(
                enrollment=person, asks_consent=True, by=None, now=timezone.now(), reason="Somebody else."
            )
        assert said(person) == {}


@pytest.mark.parametrize(
    "wrong", [{"intake_questions": ["shoe_size"]}, {"intake_group": 4}], ids=["unknown", "small groups"]
)
def test_unknown_questions_and_small_groups_are_refused(wrong: dict[str, Any]) -> None:
    study = asking(opened=False)
    with pytest.raises(InvalidStudy):
        actions.change_study(study=study, changes=wrong, by=None, now=timezone.now())
    with pytest.raises(IntegrityError), transaction.atomic():
        Study.objects.filter(pk=study.pk).update(**wrong)


def test_questions_and_the_promised_size_of_groups_stay_once_people_may_have_read_them() -> None:
    study = asking(intake_group=9)
    for change in ({"intake_group": 5}, {"intake_questions": ["age", "country", "gender"]}):
        with pytest.raises(InvalidStudy, match="people answered because of it"):
            actions.change_study(study=study, changes=change, by=None, now=timezone.now())
