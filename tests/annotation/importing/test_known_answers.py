"""Accepted answers of hidden checks that come with the import file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from annotation import actions
from annotation.errors import ImportRefused
from annotation.models import CheckKey, CheckOption, Story, Study
from tests import builders

pytestmark = pytest.mark.django_db
ACCEPTED = {"accepted_q1": "yes|possibly", "accepted_q2": ["yes"], "accepted_q3": "no", "accepted_q4": "yes"}


def import_checks(
    study: Study, tmp_path: Path, rows: list[dict[str, Any]], role: Any = Story.Role.CHECK
) -> Any:
    path = builders.write_rows(tmp_path / "checks.jsonl", rows)
    return actions.import_stories(study=study, path=path, role=role, by=None, now=timezone.now())


@pytest.fixture
def study() -> Study:
    return builders.make_study("main")


def test_answers_in_the_file_become_keys_in_use(study: Study, tmp_path: Path) -> None:
    rows = [builders.story_row(n, prefix="known") for n in (500, 501)]
    import_checks(study, tmp_path, [rows[0] | ACCEPTED, rows[1]])
    [key] = CheckKey.objects.filter(story__study=study)
    assert (key.story.story_id, key.state) == (rows[0]["story_id"], CheckKey.State.IN_USE)
    assert sorted(CheckOption.objects.values_list("question", "option")) == [
        ("q1", "possibly"),
        ("q1", "yes"),
        ("q2", "yes"),
        ("q3", "no"),
        ("q4", "yes"),
    ]
    import_checks(study, tmp_path, [rows[0] | ACCEPTED, rows[1]])
    assert CheckKey.objects.count() == 1, "the same file again changes nothing"


def test_a_wrong_answer_refuses_the_whole_file_with_its_line(study: Study, tmp_path: Path) -> None:
    rows = [builders.story_row(n, prefix="known") | ACCEPTED for n in (500, 501)]
    with pytest.raises(ImportRefused) as refusal:
        import_checks(study, tmp_path, [rows[0], rows[1] | {"accepted_q3": "perhaps"}])
    assert [problem.line for problem in refusal.value.problems] == [2] * len(refusal.value.problems)
    assert "perhaps" in str(refusal.value.problems[0])
    assert not Story.objects.filter(role=Story.Role.CHECK).exists()
    assert not CheckKey.objects.exists()


def test_answers_with_stories_that_are_no_checks_are_refused(study: Study, tmp_path: Path) -> None:
    with pytest.raises(ImportRefused) as refusal:
        import_checks(study, tmp_path, [builders.story_row(500) | ACCEPTED], Story.Role.MAIN)
    assert {problem.field for problem in refusal.value.problems} == set(ACCEPTED)


def test_checks_of_a_csv_file_have_a_column_per_question(study: Study, tmp_path: Path) -> None:
    row = builders.story_row(500, prefix="known") | ACCEPTED | {"accepted_q2": "yes"}
    flat = {name: value for name, value in row.items() if name != "entities" and value is not None}
    flat |= row["entities"]
    path = tmp_path / "checks.csv"
    lines = [";".join(flat), ";".join(str(value) for value in flat.values())]
    path.write_text("\ufeff" + "\n".join(lines) + "\n", encoding="utf-8")
    actions.import_stories(study=study, path=path, role=Story.Role.CHECK, by=None, now=timezone.now())
    assert CheckKey.objects.get().story.story_id == row["story_id"]
