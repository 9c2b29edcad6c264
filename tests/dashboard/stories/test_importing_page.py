"""Uploading stories: a report before anything is saved, then a decision."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils.datastructures import MultiValueDict

from accounts.actions import ensure_researcher
from annotation import tasks
from annotation.actions import story_files
from annotation.importing.files import read_rows
from annotation.importing.progress import tell_progress
from annotation.importing.rows import Problem, SourceRow
from annotation.models import Story, StoryImport, Study
from annotation.protocols import all_protocols
from annotation.protocols.base import Protocol
from dashboard.settings.forms import UploadForm
from tests import builders
from tests.dashboard.settings.test_creating import shown
from tomannot.celery import app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

ADDRESS = "/studies/main/stories/import/"


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    calls: list[list[int]] = []
    monkeypatch.setattr(app, "send_task", lambda name, *, args: calls.append(args))
    return calls


@pytest.fixture
def study() -> Study:
    return builders.make_study("main", stories=0, opened=False)


@pytest.fixture
def boss(study: Study) -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    return client


def upload(boss: Client, rows: list[dict[str, Any]], role: str = "main") -> Any:
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return boss.post(ADDRESS, {"file": SimpleUploadedFile("tins.jsonl", content), "role": role})


def work() -> StoryImport:
    job = StoryImport.objects.latest("pk")
    tasks.run_import.apply(args=[job.pk]).get()
    job.refresh_from_db()
    return job


def test_a_file_is_checked_and_then_imported(boss: Client) -> None:
    report = upload(boss, [builders.story_row(1), builders.story_row(2)])["Location"]
    page = boss.get(report)
    assert "A worker is checking the file; nothing is saved." in shown(page)
    assert 'hx-trigger="every 2s"' in page.content.decode()
    job = work()
    page = boss.get(report)
    assert "hx-trigger" not in page.content.decode(), "the page stops looking once the report is there"
    assert "The file can be imported. Nothing is saved yet." in shown(page)
    assert Story.objects.count() == 0
    boss.post(report, {"decision": "import"})
    assert "A worker is importing the file." in shown(boss.get(report))
    tell_progress(job.pk, 1)
    assert "1 story read so far." in shown(boss.get(report))
    work()
    assert "The stories are imported." in shown(boss.get(report))
    assert 'class="button" href="/studies/main/stories/"' in boss.get(report).content.decode()
    assert Story.objects.filter(role="main").count() == 2
    assert "tins.jsonl" in shown(boss.get(ADDRESS))


def test_the_report_names_a_quiz(boss: Client) -> None:
    choices = {"text": ["One.", "Two."], "label": ["A", "B"]}
    question = {"id": "scale", "question": "Which is right?", "choices": choices, "answerKey": "B"}
    report = upload(boss, [question], role="quiz")["Location"]
    work()
    page = shown(boss.get(report))
    assert "For a quiz." in page
    assert "The file can be imported." in page


def test_cancelling_saves_nothing(boss: Client) -> None:
    report = upload(boss, [builders.story_row(1)])["Location"]
    work()
    boss.post(report, {"decision": "cancel"})
    page = shown(boss.get(report))
    assert "Cancelled. Nothing was saved." in page
    assert "Import these" not in page
    late = boss.post(report, {"decision": "import"}, follow=True)
    assert "Upload it again" in shown(late)
    assert not Story.objects.exists()


def test_a_refused_file_says_every_problem_page_by_page_and_as_a_file(boss: Client) -> None:
    wrong = [builders.story_row(number, scenario_name="=nowhere") for number in range(60)]
    report = upload(boss, wrong)["Location"]
    job = work()
    first = shown(boss.get(report))
    assert f"The file has {job.problems_found} problems." in first
    assert f"Problems 1 to 50 of {job.problems_found}" in first
    last = shown(boss.get(report + "?page=2"))
    assert f"Problems 51 to {job.problems_found}" in last
    response = boss.get(report + "problems.csv")
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert len(rows) == job.problems_found == 60
    assert [int(row["line"]) for row in rows] == list(range(1, 61))
    assert not any(re.match(r"[=+@-]", cell) for row in rows for cell in row.values())


def test_when_there_are_more_problems_than_are_kept_the_page_says_so(
    boss: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(story_files, "PROBLEMS_KEPT", 2)
    report = upload(boss, [builders.story_row(n, scenario_name="nowhere") for n in range(5)])["Location"]
    work()
    page = shown(boss.get(report))
    assert "The file has 5 problems." in page
    assert "Only the first 2 are stored." in page


@pytest.mark.parametrize("protocol", all_protocols().values(), ids=all_protocols())
def test_the_example_of_each_protocol_can_be_imported_as_it_stands(
    protocol: Protocol, tmp_path: Path
) -> None:
    example = protocol.example
    file = tmp_path / ("e.jsonl" if example.startswith("{") else "e.csv")
    file.write_text(example, encoding="utf-8")
    rows = list(read_rows(file, name=file.name))
    stories = list(protocol.read(row for row in rows if isinstance(row, SourceRow)))
    items = 2 * (6 if protocol.name == "human-performance" else 1)  # a template gives six conditions
    assert len(stories) == items
    assert not [problem for problem in (*rows, *stories) if isinstance(problem, Problem)]


def test_lint_findings_by_kind_with_examples(boss: Client) -> None:
    twin = builders.story_row(1) | {"story_id": "twin_sev1", "core_id": "twin"}
    report = upload(boss, [builders.story_row(1), twin])["Location"]
    work()
    page = shown(boss.get(report))
    assert "the same as another story · 1" in page
    assert "Line 2, twin_sev1:" in page


def test_a_file_that_is_too_large_or_missing_is_refused_at_once(
    boss: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def errors(size: int) -> dict[str, Any]:
        upload = SimpleUploadedFile("x.jsonl", b"x" * size)
        return dict(UploadForm({"role": "main"}, MultiValueDict({"file": [upload]})).errors)

    assert UploadForm.most_mb == 200
    monkeypatch.setattr(UploadForm, "most_mb", 1)
    assert errors(1_000_000) == {}
    assert errors(1_000_001) == {"file": ["The file is larger than 1 MB."]}
    monkeypatch.setattr(UploadForm, "most_mb", 0)
    response = upload(boss, [builders.story_row(1)])
    assert response.status_code == 422
    assert "larger than 0 MB" in shown(response)
    assert boss.post(ADDRESS, {"role": "nonsense"}).context["form"].errors.keys() == {"file", "role"}
    assert not StoryImport.objects.exists()


def test_another_studys_report_is_not_there(boss: Client) -> None:
    builders.make_study("other", stories=1)
    job = StoryImport.objects.get(study__slug="other")
    for page in ("", "problems.csv"):
        assert boss.get(f"{ADDRESS}{job.pk}/{page}").status_code == 404


def test_the_example_on_the_page_can_be_imported_for_the_test(boss: Client) -> None:
    page = boss.get(ADDRESS).content.decode()
    found = re.search(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)
    assert found
    file = SimpleUploadedFile("example.csv", found[1].encode())
    report = boss.post(ADDRESS, {"file": file, "role": "qualification"})["Location"]
    assert work().stories_added == 2
    assert "/qualification/new/" not in boss.get(report).content.decode()
    boss.post(report, {"decision": "import"})
    work()
    assert "/qualification/new/" in boss.get(report).content.decode()
    assert set(Story.objects.values_list("role", flat=True)) == {Story.Role.QUALIFICATION}
