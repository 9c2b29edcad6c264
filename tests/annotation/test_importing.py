"""Importing: a whole file or nothing of it, and the same file twice is once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation import actions, rules
from annotation.actions import story_files
from annotation.errors import ImportRefused
from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.models import Event, LintFinding, Story, StoryImport, Study
from annotation.protocols.base import Finding
from annotation.protocols.validity import ValidityProtocol
from tests import builders

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return builders.make_study(stories=0, opened=False)


def rows(*numbers: int, **changes: Any) -> list[dict[str, Any]]:
    return [builders.story_row(number, **changes) for number in numbers]


def bring(
    study: Study, path: Path, rows: Iterable[Mapping[str, Any]] | None = None, **options: Any
) -> StoryImport:
    if rows is not None:
        builders.write_rows(path, rows)
    return actions.import_stories(study=study, path=path, by=None, now=timezone.now(), **options)


def refusal_of(study: Study, path: Path, rows: Iterable[Mapping[str, Any]], **options: Any) -> ImportRefused:
    with pytest.raises(ImportRefused) as refusal:
        bring(study, path, rows, **options)
    return refusal.value


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "stories.jsonl"


def test_stories_are_stored_with_their_provenance(study: Study, path: Path) -> None:
    job = bring(study, path, rows(1, 2))

    assert (job.state, job.rows_read, job.stories_added, job.stories_unchanged) == ("imported", 2, 2, 0)
    assert job.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    story = Story.objects.get(story_id="story_00002_sev1")
    assert (story.core_id, story.severity_original, story.source_line) == ("story_00002", 1, 2)
    assert (story.role, story.has_free_slot, story.story_import) == ("main", True, job)
    assert story.order_key == rules.order_key(1, "story_00002_sev1")
    assert story.item.question == "What will Noor likely do next?"
    event = Event.objects.get(type=Event.Type.STORIES_IMPORTED)
    assert (event.subject, event.note) == (
        f"import {job.pk}",
        "stories.jsonl: 2 added as main, 0 there already",
    )


def test_a_bad_last_line_leaves_nothing(study: Study, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than one batch before it, so that stories had been stored and were taken back."""
    monkeypatch.setattr(story_files, "BATCH", 2)
    many = rows(*range(5))
    builders.write_rows(path, many)
    path.write_text(path.read_text() + '{"story_id": \n')

    with pytest.raises(ImportRefused) as refusal:
        bring(study, path)

    assert [problem.line for problem in refusal.value.problems] == [len(many) + 1]
    assert not Story.objects.exists()
    assert not LintFinding.objects.exists()
    job = StoryImport.objects.get()
    assert (job.state, job.stories_added, job.findings, job.problems_found) == ("refused", 0, 0, 1)
    stored = job.problems.get()
    assert stored.line == len(many) + 1
    assert stored.message
    assert stored.remedy
    assert Event.objects.filter(type=Event.Type.IMPORT_REFUSED, subject=f"import {job.pk}").exists()


def test_every_problem_is_counted_and_the_first_are_kept(
    study: Study, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(story_files, "PROBLEMS_KEPT", 3)

    refusal = refusal_of(study, path, rows(*range(7), scenario_name="nowhere"))

    assert refusal.total == 7
    assert [problem.line for problem in refusal.problems] == [1, 2, 3]
    job = StoryImport.objects.get()
    assert job.problems_found == 7
    assert job.problems.count() == 3


def test_the_same_file_again_adds_nothing(study: Study, path: Path) -> None:
    bring(study, path, rows(1, 2))
    again = bring(study, path, rows(1, 2, 3))

    assert (again.stories_added, again.stories_unchanged) == (1, 2)
    assert Story.objects.count() == 3


def test_the_same_id_with_another_content_is_refused(study: Study, path: Path) -> None:
    bring(study, path, rows(1, 2))

    refusal = refusal_of(study, path, [*rows(1), *rows(2, action_aware="call the police")])

    (problem,) = refusal.problems
    assert (problem.line, problem.field) == (2, "story_id")
    assert "with another content" in problem.message


def test_the_same_story_in_another_role_is_refused(study: Study, path: Path) -> None:
    bring(study, path, rows(1))

    refusal = refusal_of(study, path, rows(1), role=Story.Role.QUALIFICATION)

    assert "with another role" in refusal.problems[0].message
    assert Story.objects.get().role == Story.Role.MAIN


def test_qualification_stories_have_no_slots(study: Study, path: Path) -> None:
    bring(study, path, rows(1), role=Story.Role.QUALIFICATION)

    assert not Story.objects.get().has_free_slot


def test_a_dry_run_says_the_same_and_stores_nothing(study: Study, path: Path) -> None:
    bring(study, path, rows(1))

    dry = bring(study, path, rows(1, 2, 3), dry_run=True)
    assert Story.objects.count() == 1
    assert Event.objects.filter(type=Event.Type.STORIES_IMPORTED).count() == 1
    assert LintFinding.objects.filter(story__story_id="story_00002_sev1").count() == 0
    real = bring(study, path)

    assert (dry.state, real.state) == ("checked", "imported")
    said = ("rows_read", "stories_added", "stories_unchanged", "findings", "sha256")
    assert [getattr(dry, name) for name in said] == [getattr(real, name) for name in said]
    assert StoryImport.objects.get(pk=dry.pk).rows_read == 3


def test_a_dry_run_refuses_what_an_import_refuses(study: Study, path: Path) -> None:
    bad = rows(1, question="")

    dry = refusal_of(study, path, bad, dry_run=True)
    real = refusal_of(study, path, bad)

    assert dry.problems == real.problems


def test_lint_findings_are_stored_with_their_story(study: Study, path: Path) -> None:
    telling = "Ilse secretly knows that the sealed jar is filled with gravel."
    row = builders.story_row(0, key_information=telling)
    row["story"] = f"{telling} {row['story_sentence']}"

    job = bring(study, path, [row, *rows(1)])

    found = LintFinding.objects.filter(story__story_id=row["story_id"])
    assert {"mental_state_word", "give_away_word"} <= set(found.values_list("code", flat=True))
    assert all(finding.message for finding in found)
    assert job.findings == LintFinding.objects.count()


def test_near_duplicates_are_found_across_two_imports(study: Study, path: Path) -> None:
    (original,) = rows(1)
    bring(study, path, [original])

    bring(study, path, [original | {"story_id": "copy_sev1", "core_id": "copy", "question": "What now?"}])

    finding = LintFinding.objects.get(code="near_duplicate")
    assert finding.story.story_id == "copy_sev1"
    assert original["story_id"] in finding.message


def test_versions_of_one_core_are_not_duplicates(study: Study, path: Path) -> None:
    (original,) = rows(1)
    bring(study, path, [original])

    bring(study, path, [original | {"story_id": "story_00001_sev2", "severity_original": 2}])

    assert not LintFinding.objects.filter(code="near_duplicate").exists()


def test_nothing_comes_into_a_closed_study(path: Path) -> None:
    study = builders.make_study()
    actions.close_study(study=study, by=None, now=timezone.now())

    refusal = refusal_of(study, path, rows(7))

    assert "is closed" in refusal.problems[0].message


def test_more_stories_can_come_while_people_work(path: Path) -> None:
    study = builders.make_study(stories=1, votes_per_story=1)
    (person,) = builders.qualified(study)
    builders.vote(person)

    bring(study, path, rows(7))

    assert builders.claim(person).story.story_id == "story_00007_sev1"


def test_progress_is_told_batch_by_batch(study: Study, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story_files, "BATCH", 2)
    told: list[int] = []

    bring(study, path, rows(1, 2, 3), progress=told.append)

    assert told == [2, 3]


def test_a_fault_leaves_nothing_but_its_reason(
    study: Study, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("a wheel came off")

    monkeypatch.setattr(story_files, "_finish", broken)
    with pytest.raises(RuntimeError, match="a wheel came off"):
        bring(study, path, rows(1))

    assert not Story.objects.exists()
    job = StoryImport.objects.get()
    assert (job.state, job.problems_found) == ("refused", 1)
    problem = job.problems.get()
    assert problem.message == "A fault in tomannot: RuntimeError: a wheel came off."
    assert "log" in problem.remedy


class Plain(ValidityProtocol):
    """A protocol that checks nothing in a file: a row has the facts and the content as they stand."""

    def read(self, rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
        names = ("core_id", "scenario_name", "story_prompt_example", "story_generator_model")
        for row in rows:
            facts: dict[str, Any] = {**dict.fromkeys(names, ""), "severity_original": None, **row.data}
            yield StoryRow(row.file, row.line, **facts)

    def parse(self, content: Mapping[str, Any]) -> Any:
        if "text" not in content:
            raise ValueError("text: it is missing.")
        return content

    def lint(self, story: StoryRow) -> list[Finding]:
        return []

    def text_for_duplicates(self, story: StoryRow) -> str:
        return str(story.content["text"])


@pytest.fixture
def plain(study: Study, monkeypatch: pytest.MonkeyPatch) -> Study:
    """A study whose protocol leaves the checks to the import."""
    monkeypatch.setattr(Study, "protocol", Plain())
    return study


def plain_row(**changes: Any) -> dict[str, Any]:
    return {"story_id": "one", "content": {"text": "She waits."}} | changes


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"story_id": "x" * 101}, "story_id", "101 characters; there is room for 100"),
        ({"story_generator_model": "x" * 101}, "story_generator_model", "101 characters"),
        ({"story_id": ""}, "story_id", "no id"),
        ({"core_id": "a\0b"}, "core_id", "U+0000"),
        ({"severity_original": 40_000}, "severity_original", "40000"),
        ({"severity_original": -1}, "severity_original", "-1"),
        ({"content": {"text": "a\0b"}}, "text", "U+0000"),
        ({"content": {"text": ["ok", {"more": "\ud800"}]}}, "text", "half of a surrogate pair"),
        (
            {"harmfulness_predicted": [{"harmfulness": 1, "predictor_model": "\0"}]},
            "harmfulness_predicted",
            "U+0000",
        ),
        ({"content": {"words": "She waits."}}, "", "text: it is missing."),
    ],
)
def test_what_cannot_be_stored_is_a_problem_whatever_the_protocol(
    plain: Study, path: Path, changes: dict[str, Any], field: str, said: str
) -> None:
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in (plain_row(), plain_row(**{"story_id": "two"} | changes)))
    )

    with pytest.raises(ImportRefused) as refusal:
        bring(plain, path)

    (problem,) = refusal.value.problems
    assert (problem.line, problem.field) == (2, field)
    assert said in problem.message
    assert problem.remedy
    assert StoryImport.objects.get().problems.get().message == problem.message


def test_an_id_twice_in_a_file_is_one_story_or_a_problem(plain: Study, path: Path) -> None:
    job = bring(plain, path, [plain_row(), plain_row()])
    assert (job.rows_read, job.stories_added) == (1, 1)

    other = plain_row(story_id="two")
    refusal = refusal_of(plain, path, [other, other | {"content": {"text": "She leaves."}}])

    (problem,) = refusal.problems
    assert (problem.line, problem.field) == (2, "story_id")
    assert "stands at line 1 with other content" in problem.message


def test_a_file_has_a_bounded_number_of_rows(
    study: Study, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(story_files, "MOST_ROWS", 2)

    refusal = refusal_of(study, path, [*rows(1, scenario_name="nowhere"), *rows(2, 3)])

    assert [problem.line for problem in refusal.problems] == [0, 1]
    assert "more than 2 rows" in refusal.problems[0].message
    assert refusal.total == 2
    assert bring(study, path, rows(1, 2)).stories_added == 2


def test_of_stored_stories_only_what_is_compared_is_read(study: Study, path: Path) -> None:
    """And that only when there is a new story to compare."""
    bring(study, path, rows(1))

    def reads_of(*numbers: int) -> list[str]:
        with CaptureQueriesContext(connection) as queries:
            bring(study, path, rows(*numbers))
        return [
            query["sql"]
            for query in queries
            if '"story_prompt_example"' in query["sql"].split(" FROM ")[0]
            and query["sql"].startswith(("SELECT", "DECLARE"))
        ]

    assert reads_of(1) == []
    (read,) = reads_of(1, 2)
    assert "content_hash" not in read
    assert "harmfulness_predicted" not in read
