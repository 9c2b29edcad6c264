"""What the addresses of the API do, through the actions that pages call."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation import actions
from annotation.actions.studies import SETTINGS
from annotation.errors import ImportRefused
from annotation.models import Event, StoryImport, Study
from api.requests import NewStudy, StudyChanges
from dashboard.figures import compute
from dashboard.settings.forms import NewStudyForm
from publishing.actions import releases as publishing_actions
from publishing.actions.published import withdraw_release
from publishing.models import Release
from tests import builders
from tests.api.client import Program, member, problem
from tests.publishing.conftest import published_twice

pytestmark = pytest.mark.django_db

NEW = {
    "slug": "tea",
    "title": "Tea",
    "contact": "tea@example.org",
    "consent": "Write to {contact}.",
    "votes_per_story": 5,
    "most_votes": 7,
    "decided_by": "majority",
    "pay_rate": "15.50",
}


@pytest.fixture(autouse=True)
def uploads(settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT, settings.RELEASES_ROOT = tmp_path / "media", tmp_path / "releases"


def lines(*rows: dict[str, Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def test_a_study_is_made_as_by_the_form_and_changed_and_opened() -> None:
    assert set(NewStudy().fields) == set(NewStudyForm.base_fields)
    assert set(StudyChanges().fields) == set(SETTINGS) - {"serving_seed"}
    program = Program(ensure_researcher(username="ada", password="seven wet otters"))
    made = program.post("studies/", NEW)
    assert made.status_code == 201
    assert made["Location"] == "http://testserver/api/v1/studies/tea/"
    assert [made.json()[name] for name in ("votes_per_story", "most_votes", "decided_by")] == [
        5,
        7,
        "majority",
    ]
    assert made.json()["qualification"] == "ready", "our test, unless said otherwise"
    assert made.json()["environment"] == "live"
    trial = NEW | {"slug": "trial", "environment": "rehearsal", "test": "none"}
    assert program.post("studies/", trial).json()["environment"] == "rehearsal"
    study = Study.objects.get(slug="tea")
    assert study.consent_texts.get().text == "Write to tea@example.org."
    assert [event.actor for event in study.events.filter(type="study_created")] == [program.token.owner]
    assert problem(program.post("studies/", NEW), 409)["code"] == "study_exists"
    blocked = problem(program.ask("PUT", "studies/tea/state/", data={"state": "open"}), 409)
    assert blocked["errors"][0]["detail"] == made.json()["blockers"][0]
    builders.import_rows(study, [builders.story_row(1)], now=timezone.now())
    asked = problem(program.ask("PUT", "studies/tea/state/", data={"state": "open"}), 409)
    assert (asked["code"], [error["field"] for error in asked["errors"]]) == (
        "gaps_not_accepted",
        ["contact"],
    )
    assert program.ask("PATCH", "studies/tea/", data={"contact": "a@tea.example"}).status_code == 200
    opening = {"state": "open", "accepted": ["pay"]}
    assert program.ask("PUT", "studies/tea/state/", data=opening).json()["state"] == "open"
    events = study.events.count()
    assert program.ask("PUT", "studies/tea/state/", data={"state": "open"}).status_code == 200
    assert study.events.count() == events, "asking again changes nothing"
    raised = program.ask("PATCH", "studies/tea/", data={"pay_rate": "16", "title": "Green tea"})
    assert (raised.json()["pay_rate"], raised.json()["title"]) == ("16.00", "Green tea")
    lowered = problem(program.ask("PATCH", "studies/tea/", data={"pay_rate": "1", "title": "Tea"}), 422)
    assert [error["field"] for error in lowered["errors"]] == ["pay_rate"]
    assert program.get("studies/tea/").json()["title"] == "Green tea", "all changes or none"


def test_what_is_wrong_with_a_study_is_told_all_at_once_and_where() -> None:
    program = Program(ensure_researcher(username="ada", password="seven wet otters"))
    wrong = NEW | {"slug": "a b", "votes_per_story": 0, "test": "sample", "protocol": "multiple-choice"}
    told = problem(program.post("studies/", wrong), 422)
    assert {error["field"] for error in told["errors"]} == {"slug", "votes_per_story"}
    told = problem(program.post("studies/", wrong | {"slug": "b", "votes_per_story": 3}), 422)
    assert {error["field"] for error in told["errors"]} == {"test"}
    told = problem(program.post("studies/", NEW | {"titel": "x"}), 422)
    assert told["errors"][0]["field"] == "titel"
    assert "title" in told["errors"][0]["detail"]
    told = problem(program.post("studies/", NEW | {"slug": "new"}), 422)
    assert told["errors"][0]["field"] == "slug"
    assert not Study.objects.exists()


def test_a_refused_file_is_reported_line_by_line() -> None:
    study = builders.make_study("main", stories=1, opened=False)
    program = Program(member(study))
    bad = lines(builders.story_row(1), *({"story_id": f"bad-{number}"} for number in range(3)))
    sent = program.post("studies/main/stories/?name=mine.jsonl", bad, content_type="application/jsonl")
    assert sent.status_code == 202
    assert (sent.json()["state"], sent.json()["file_name"]) == ("queued", "mine.jsonl")
    number = sent.json()["number"]
    assert sent["Location"] == f"http://testserver/api/v1/studies/main/imports/{number}/"
    with pytest.raises(ImportRefused):
        actions.run_import(story_import_id=number, now=timezone.now())
    report = program.get(f"studies/main/imports/{number}/").json()
    assert report["state"] == "refused"
    found: list[dict[str, Any]] = []
    path = f"studies/main/imports/{number}/problems/?limit=2"
    while path:
        page = program.get(path).json()
        assert len(page["results"]) <= 2
        found += page["results"]
        path = page["next"].partition("/api/v1/")[2] if page["next"] else ""
    stored = StoryImport.objects.get(pk=number).problems.values_list("line", "field", "message", "remedy")
    assert [(row["line"], row["field"], row["message"], row["remedy"]) for row in found] == list(stored)
    assert {row["line"] for row in found} == {2, 3, 4}
    assert len(found) == report["problems_found"]
    other = builders.make_study("other", opened=False)
    problem(Program(member(other)).get(f"studies/other/imports/{number}/"), 404)


def test_a_file_is_checked_decided_about_and_the_same_file_twice_is_once() -> None:
    study = builders.make_study("main", stories=1, opened=False)
    program = Program(member(study))
    rows = lines(builders.story_row(1), builders.story_row(2))
    sent = program.post("studies/main/stories/?dry_run=true", rows, content_type="application/x-ndjson")
    number = sent.json()["number"]
    actions.run_import(story_import_id=number, now=timezone.now())
    assert program.get(f"studies/main/imports/{number}/").json()["state"] == "checked"
    assert study.stories.count() == 1
    problem(program.post(f"studies/main/imports/{number}/", {"decision": "perhaps"}), 422)
    for _ in range(2):
        decided = program.post(f"studies/main/imports/{number}/", {"decision": "import"})
        assert decided.json()["state"] == "queued"
    assert actions.run_import(story_import_id=number, now=timezone.now()).stories_added == 2
    sent = program.post("studies/main/stories/", rows, content_type="application/jsonl")
    again = actions.run_import(story_import_id=sent.json()["number"], now=timezone.now())
    assert (again.stories_added, again.stories_unchanged) == (0, 2)
    assert program.get("studies/main/imports/?limit=1").json()["results"][0]["number"] == again.pk
    assert "body" in problem(program.post("studies/main/stories/"), 422)["errors"][0]["field"]
    problem(program.post("studies/main/stories/", rows, content_type="application/json"), 415)


def test_a_body_that_is_nested_too_deeply_cannot_be_read() -> None:
    program = Program(member(builders.make_study("main", stories=1, opened=False)))
    program.let_faults_pass()
    for body in (b"[" * 200_000, b'{"a":' * 100_000):
        sent = program.ask("PATCH", "studies/main/", data=body)
        assert "nested" in problem(sent, 400)["detail"]


def test_a_file_that_is_too_large_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    study = builders.make_study("main", stories=1, opened=False)
    monkeypatch.setattr("api.stories.StoriesView.largest", 10)
    sent = Program(member(study)).post("studies/main/stories/", b"x" * 11, content_type="text/csv")
    assert "10 bytes" in problem(sent, 413)["detail"]
    assert study.imports.count() == 1


def test_lists_go_page_by_page_with_the_same_queries_however_much_there_is() -> None:
    study = builders.make_study("main", stories=3, votes_per_story=1)
    builders.vote(builders.qualified(study)[0])
    owner = member(study)
    program = Program(owner)
    paths = ("studies/?limit=2", "studies/main/stories/?limit=2", "studies/main/imports/?limit=2")

    def queries() -> list[int]:
        counts = []
        for path in paths:
            with CaptureQueriesContext(connection) as captured:
                assert program.get(path).status_code == 200
            counts.append(len(captured))
        return counts

    program.get("token/")  # notes the use
    before = queries()
    for number in range(3):
        more = builders.make_study(f"more-{number}", opened=False)
        actions.set_role(study=more, user=owner, role="owner", by=None, now=timezone.now())
        builders.import_rows(study, [builders.story_row(10 + number)], now=timezone.now())
    assert queries() == before
    for path, name, count in zip(paths, ("slug", "story_id", "number"), (4, 6, 4), strict=True):
        seen, following = [], path
        while following:
            page = program.get(following).json()
            seen += [row[name] for row in page["results"]]
            following = page["next"].partition("/api/v1/")[2] if page["next"] else ""
        assert len(seen) == len(set(seen)) == count
        assert seen == sorted(seen, reverse=name == "number")
    kept = program.get("studies/main/stories/?verdict=kept").json()["results"]
    assert [(row["votes"], row["verdict"]) for row in kept] == [(1, "kept")]
    problem(program.get("studies/main/stories/?limit=9999"), 422)


@pytest.mark.django_db(transaction=True)  # figures and releases are made in transactions of their own
def test_figures_are_those_of_the_pages_and_a_release_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    study = builders.make_study("main", stories=2, votes_per_story=1, pay_rate=12)
    builders.answer_everything(builders.qualified(study))
    program = Program(member(study))
    waiting = program.get("studies/main/statistics/")
    assert waiting.status_code == 202
    assert waiting["Retry-After"] == "5"
    assert program.get("studies/main/progress/").json()["verdicts"] is None
    compute.make(study.pk, now=timezone.now())
    progress = program.get("studies/main/progress/").json()
    assert progress["verdicts"] == {
        "stories": 2, "kept": 2, "dropped": 0, "incomplete": 0, "dropped_by_question": {},
    }  # fmt: skip
    assert progress["votes"] == {"counted": 2, "wanted": 2, "surplus": 0, "excluded": 0}
    assert progress["people"]["active"] == 1
    statistics = program.get("studies/main/statistics/").json()
    assert statistics["statistics"]["stories"]["kept"] == 2
    assert statistics["made_at"] == progress["made_at"]

    assert problem(program.post("studies/main/releases/", {"number": 2}), 409)["detail"].endswith("not 2.")
    asked = program.post("studies/main/releases/", {"number": 1})
    assert asked.status_code == 202
    assert asked["Location"].endswith("/api/v1/studies/main/releases/1/")
    assert problem(program.post("studies/main/releases/"), 409)["code"] == "release_underway"
    assert program.get("studies/main/releases/1/").json()["files"] == []
    publishing_actions.build_release(release_id=Release.objects.get().pk, now=timezone.now())
    again = program.post("studies/main/releases/", {"number": 1})
    assert (again.status_code, again.json()["state"]) == (200, "published"), "asked twice is once"
    other = problem(program.post("studies/main/releases/", {"filter": "majority", "number": 1}), 409)
    assert other["code"] == "number_taken"
    assert "all-agree" in other["detail"]
    assert Event.objects.filter(type=Event.Type.RELEASE_REQUESTED).count() == 1
    release = program.get("studies/main/releases/1/").json()
    file = next(file for file in release["files"] if file["path"] == "annotations/votes.jsonl")
    anybody = Client()
    fetched = b"".join(anybody.get(file["url"].removeprefix("http://testserver")))
    assert hashlib.sha256(fetched).hexdigest() == file["sha256"]
    archive = anybody.get(release["archives"]["tar"].removeprefix("http://testserver"))
    assert len(b"".join(archive)) > sum(file["size"] for file in release["files"])
    withdraw_release(release=Release.objects.get(number=1), reason="A mistake.", by=None, now=timezone.now())
    assert program.get("studies/main/releases/1/").json()["withdrawal"]["reason"] == "A mistake."
    gone = problem(program.post("studies/main/releases/", {"number": 1}), 409)
    assert (gone["code"], "A mistake." in gone["detail"]) == ("number_taken", True)


@pytest.mark.django_db(transaction=True)
def test_of_two_releases_the_newer_is_listed_first_and_alone_if_one_is_asked_for() -> None:
    program = Program(member(published_twice()[0].study))
    page = program.get("studies/small/releases/?limit=1").json()
    assert [row["number"] for row in page["results"]] == [2]
    following = program.get(page["next"].partition("/api/v1/")[2]).json()
    assert [row["number"] for row in following["results"]] == [1]
    assert following["next"] is None
