"""The commands of a human baseline: drawing it, inviting its people, and a simulated crowd that answers."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django.live_server_helper import LiveServer

from annotation.models import Enrollment, Study
from publishing.human_baseline.study_results import results
from publishing.models import Release
from tests import builders
from tests.annotation.pages import Browser
from tests.dashboard.baselines import drawn, keys, opened, other, question_rows, released_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("client")]


@pytest.fixture
def release(releases_root: Path) -> Release:
    return released_study()


def test_the_command_draws_and_writes_the_truth(release: Release, tmp_path: Path) -> None:
    out = io.StringIO()
    call_command(
        "draw_baseline", "pilot", "1", "--seed", "7", "--per-scenario", "2", "--truth",
        str(tmp_path / "truth.json"), "--json", stdout=out,
    )  # fmt: skip
    said = json.loads(out.getvalue())
    study = Study.objects.get(slug="pilot-1-baseline")
    assert (said["study"], said["seed"], said["questions"]) == (study.slug, 7, 12)
    assert (said["viewers"], said["excluded"], said["qualified_remaining"]) == (2, 2, 3)
    truth = json.loads((tmp_path / "truth.json").read_text())
    assert {name: row["answer"] for name, row in truth.items()} == keys(study)


def test_the_command_says_what_came_of_it_and_what_is_next(release: Release) -> None:
    out = io.StringIO()
    call_command("draw_baseline", "pilot", "1", "--per-scenario", "5", "--votes", "4", stdout=out)
    said = out.getvalue()
    assert "24 questions about 8 stories" in said
    assert "inside_reuse_labeled_containers has 4 stories, fewer than 5: all are taken." in said
    assert "2 people were shown some of these stories; they may take part." in said
    assert "invite pilot-1-baseline --qualified" in said


REFUSED = [
    (["pilot", "2"], 1, "has no release 2"),
    (["nothing", "1"], 1, "no study"),
    (["pilot", "1", "--per-scenario", "0"], 2, "--per-scenario: give at least 1"),
    (["pilot", "1", "--who", "round"], 2, "--round: give it with --who round"),
    (["pilot", "1", "--study", "pilot"], 1, "already"),
    (["pilot", "1", "--consent", "/nowhere"], 2, "--consent"),
]


def test_the_command_refuses(release: Release) -> None:
    for arguments, code, says in REFUSED:
        with pytest.raises(CommandError, match=says) as refused:
            call_command("draw_baseline", *arguments)
        assert refused.value.returncode == code
    assert Study.objects.count() == 1


def test_a_round_of_its_own(release: Release, tmp_path: Path) -> None:
    rows = [row | {"id": f"test-{place}"} for place, row in enumerate(question_rows(release).values())][:2]
    builders.write_rows(tmp_path / "test.jsonl", rows)
    key = {"stories": {row["id"]: {"answer": [row["answerKey"].lower()]} for row in rows}}
    (tmp_path / "key.json").write_text(json.dumps(key), encoding="utf-8")
    (tmp_path / "round.json").write_text(json.dumps({"stories": "test.jsonl", "key": "key.json"}))
    call_command(
        "draw_baseline", "pilot", "1", "--who", "round", "--round", str(tmp_path / "round.json"),
        stdout=io.StringIO(),
    )  # fmt: skip
    study = opened(Study.objects.get(slug="pilot-1-baseline"))
    person = builders.consent(builders.invite(study)[0])
    assert person.state == "consented"
    wrong = {"answer": other(rows[0]["answerKey"].lower())}
    assert builders.take_test(person, wrong).state == "failed"


def test_inviting_the_qualified_prints_their_old_and_new_links(release: Release) -> None:
    study = opened(drawn(release)[0])
    out = io.StringIO()
    call_command("invite", study.slug, "--qualified", stdout=out)
    lines = [line.split("\t") for line in out.getvalue().splitlines()]
    assert len(lines) == 3
    for before, link in lines:
        assert before != link
        browser = Browser()
        browser.open(link)
        assert study.title in browser.page.content.decode()
    with pytest.raises(CommandError, match="invited already"):
        call_command("invite", study.slug, "--qualified")
    with pytest.raises(CommandError, match="doesn’t take"):
        call_command("invite", "pilot", "--qualified")


def test_the_simulated_crowd_answers_it(releases_root: Path, live_server: LiveServer, tmp_path: Path) -> None:
    release = released_study("trial", rehearsal=True)
    study = opened(drawn(release, per_scenario=1)[0])
    truth = tmp_path / "truth.json"
    truth.write_text(json.dumps({name: {"answer": key} for name, key in keys(study).items()}))
    crowd = ("simulate", study.slug, "--base-url", live_server.url, "--seed", "1", "--truth", str(truth))
    with pytest.raises(CommandError, match="at most --annotators 3"):
        call_command(*crowd, "--annotators", "4")
    assert not Enrollment.objects.filter(study=study).exists()
    usual = ("--careful", "1", "--declines", "0", "--leaves", "0", "--comes-late", "0")
    call_command(*crowd, *usual, "--annotators", "3", stdout=io.StringIO())
    found = results(study)["all"]
    assert (found["complete"], found["votes"]) == (6, 18)
    assert found["accuracy"] > 0.85
