"""A release counts the people who voted only in groups in which nobody can be recognised."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from annotation import actions
from annotation.intake import REST, grouped
from annotation.models import Event, IntakeAnswer, IntakeGroup, Study
from dashboard.settings.configuration_export import configuration_of
from publishing.models import Release
from publishing.verification import check_release
from tests import builders
from tests.publishing.support import published
from tests.publishing.verification.support import edit_document
from tests.worlds import built_once

AGES = ["18-24"] * 6 + ["25-34"] * 5 + ["65+"] * 1 + [""] * 1


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, {}),
        ({"a": 4}, {}),
        ({"a": 4, "b": 4, "": 4}, {}),
        ({"a": 12}, {}),
        ({"a": 9, "": 5}, {"a": 9, REST: 5}),
        ({"a": 9, "b": 3, "c": 2}, {"a": 9, REST: 5}),
        ({"a": 9, "b": 6, "c": 1}, {"a": 9, REST: 7}),
        ({"a": 9, "b": 1}, {}),
        ({"b": 7, "a": 9, "c": 5, "d": 4}, {"a": 9, "b": 7, REST: 9}),
    ],
)
def test_small_groups_are_merged_until_none_can_be_computed(counts: Any, expected: Any) -> None:
    assert grouped(counts, 5) == expected


def test_no_group_is_small_whatever_people_said() -> None:
    for numbers in product(range(9), repeat=4):
        counts = dict(zip(("a", "b", "c", ""), numbers, strict=True))
        found = grouped(counts, 5)
        if found:
            assert min(found.values()) >= 5
            assert len(found) > 1, "or it says what everybody said"
            assert sum(found.values()) == sum(numbers), "so what is missing from the whole is nobody"


@built_once
def voted(**settings: Any) -> Study:
    """Thirteen people who voted and said how old they are, and one who said so and did not vote."""
    asked: Mapping[str, Any] = {"intake_questions": ["age", "country"], "votes_per_story": 1} | settings
    study = builders.make_study("grouped", stories=len(AGES) + 2, **asked)
    for person, age in zip(builders.qualified(study, len(AGES) + 1), [*AGES, "65+"], strict=True):
        actions.answer_intake(enrollment=person, given={"age": age, "country": "DE"}, now=timezone.now())
    for person in study.enrollments.order_by("pk")[: len(AGES)]:
        builders.vote(person)
    return study


def told(release: Release) -> Any:
    report = json.loads((release.directory / "annotation-report.json").read_bytes())
    return report["characteristics"]["intake"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("releases_root")
def test_groups_are_in_the_report_and_on_the_card_once_nobody_new_can_come() -> None:
    study = voted()
    assert configuration_of(study, now=timezone.now())["intake_questions"] == ["age", "country"]
    early = published(study)
    assert told(early) is None
    actions.close_study(study=study, by=None, now=timezone.now())
    assert IntakeAnswer.objects.exists()
    release = published(study)
    assert not IntakeAnswer.objects.exists(), "deleted once they are counted"
    assert Event.objects.filter(study=study, type=Event.Type.INTAKE_GROUPED).count() == 1
    with pytest.raises(DatabaseError, match="Cannot update"), transaction.atomic():
        IntakeGroup.objects.update(people=99)
    assert told(release) == {"smallest_group": 5, "people": {"age": {"18-24": 6, REST: 7}, "country": None}}
    card = (release.directory / "README.md").read_text(encoding="utf-8")
    assert "| `age` | 18-24 | 6 |" in " ".join(card.split()).replace(" |", " |")
    assert "65+" not in card
    for path in release.directory.rglob("*"):
        assert path.is_dir() or path.suffix == ".parquet" or b"65+" not in path.read_bytes(), path
    assert check_release(release.directory, with_machine_validation=False).shown == []

    def smaller(report: Any) -> None:
        report["characteristics"]["intake"]["people"]["country"] = {"DE": 9, "AT": 4}

    def alone(report: Any) -> None:
        report["characteristics"]["intake"]["people"]["country"] = {"DE": 13}

    for wrong in (smaller, alone):
        edit_document("annotation-report.json", wrong)(release.directory)
        found = check_release(release.directory, with_machine_validation=False)
        assert found.count("annotation-report")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("releases_root")
def test_the_study_says_how_large_a_group_must_be() -> None:
    study = voted()
    Study.objects.update(intake_group=7)  # what a study says before it is opened
    actions.close_study(study=study, by=None, now=timezone.now())
    release = published(study)
    assert told(release)["people"] == {"age": None, "country": None}


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("releases_root")
def test_use_of_ai_tools_is_counted_in_the_same_groups() -> None:
    study = voted(intake_questions=["ai_tools"])
    said = ["none"] * 6 + ["some"] * 5 + ["most", ""]
    for person, option in zip(study.enrollments.order_by("pk"), said, strict=False):
        given = {"ai_tools": option}
        actions.answer_intake(enrollment=person, given=given, now=timezone.now(), at_end=True)
    actions.close_study(study=study, by=None, now=timezone.now())
    release = published(study)
    assert told(release)["people"] == {"ai_tools": {"none": 6, REST: 7}}
    card = (release.directory / "README.md").read_text(encoding="utf-8")
    assert "## What the annotators say of AI tools" in card
    assert "the answer would not affect their pay" in " ".join(card.split())
    assert not IntakeAnswer.objects.exists()
    assert check_release(release.directory, with_machine_validation=False).shown == []


def late_answer(study: Study) -> None:
    study = actions.open_study(study=study, by=None, now=timezone.now())
    (late,) = builders.qualified(study)
    actions.answer_intake(enrollment=late, given={"age": "25-34", "country": "DE"}, now=timezone.now())
    builders.vote(late)
    assert not IntakeAnswer.objects.exists(), "which would never be counted"
    actions.close_study(study=study, by=None, now=timezone.now())


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("releases_root")
def test_no_two_releases_differ_by_what_somebody_said() -> None:
    """Whatever happens after the first release of a closed study."""
    first = closed_and_published()
    study = first.study
    one, other, *_, last = study.enrollments.order_by("pk")
    late_answer(study)
    actions.reset_test(
        enrollment=other, asks_consent=True, by=None, now=timezone.now(), reason="Somebody else."
    )
    actions.answer_intake(enrollment=last, given={"age": "65+"}, now=timezone.now())
    actions.forget(annotator=one.annotator, now=timezone.now())
    second = published(study)
    assert told(first)["people"]["age"] == told(second)["people"]["age"] == {"18-24": 6, REST: 7}


@built_once
def closed_and_published() -> Release:
    """The first release of the study in which one more voted and said nothing."""
    study = voted()
    (silent,) = builders.qualified(study)
    builders.vote(silent)
    actions.close_study(study=study, by=None, now=timezone.now())
    return published(study)
