"""The command that imports files of stories: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Story, Study
from tests import builders

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return builders.make_study(stories=0, opened=False)


def rows(*numbers: int, **changes: Any) -> list[dict[str, Any]]:
    return [builders.story_row(number, **changes) for number in numbers]


def test_the_command_imports_several_files(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = builders.write_rows(tmp_path / "one.jsonl", rows(1, 2))
    two = builders.write_rows(tmp_path / "two.jsonl", rows(2, 3))

    call_command("import_stories", "study", one, two)

    assert capsys.readouterr().out.splitlines() == [
        f"{one}: 2 stories read, 2 added, 0 there already, 0 lint warnings.",
        f"{two}: 2 stories read, 1 added, 1 there already, 0 lint warnings.",
    ]


def test_the_command_refuses_one_file_and_imports_the_other(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = builders.write_rows(tmp_path / "bad.jsonl", rows(1, 2, scenario_name="nowhere"))
    good = builders.write_rows(tmp_path / "good.jsonl", rows(3))

    with pytest.raises(CommandError, match="bad") as error:
        call_command("import_stories", "study", bad, good)

    assert error.value.returncode == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(f"{bad}:1: scenario_name: ")
    assert said[-1] == f"{bad}: 2 problems."
    assert Story.objects.count() == 1


def test_the_command_speaks_json(study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = builders.write_rows(tmp_path / "bad.jsonl", rows(1, scenario_name="nowhere"))
    good = builders.write_rows(tmp_path / "good.jsonl", rows(3))

    with pytest.raises(CommandError):
        call_command("import_stories", "study", good, bad, json=True, dry_run=True)

    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {
        "file": str(good),
        "state": "checked",
        "stories_read": 1,
        "stories_added": 1,
        "stories_unchanged": 0,
        "lint_findings": 0,
    }
    assert (second["state"], second["problems_found"]) == ("refused", 1)
    assert second["problems"][0]["line"] == 1
    assert second["problems"][0]["remedy"]
    assert not Story.objects.exists()


def test_the_command_knows_the_studies(study: Study, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no study “stduy”"):
        call_command("import_stories", "stduy", tmp_path / "x.jsonl")


def test_the_command_says_when_there_is_no_such_file(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CommandError):
        call_command("import_stories", "study", tmp_path / "absent.jsonl")
    assert "There is no such file." in capsys.readouterr().err
