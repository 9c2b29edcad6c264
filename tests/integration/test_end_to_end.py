"""The whole job as in production: commands, web server, worker, a crowd over HTTP, a release others can load.

Everything is real: PostgreSQL, Redis, granian and a Celery worker. The long form judges the public example
stories where they are at hand (else all of the sample study's), on two workers of granian.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import urllib3
from django.core.management import call_command
from django.db import connections
from django.utils import timezone

from annotation import actions
from annotation.models import Story, Study, Vote
from qualification import queries
from tests.builders import SAMPLE
from tests.integration.servers import running

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(240)]

SLUG = "end-to-end"
FEW_STORIES = 6
QUESTIONS = ("q1", "q2", "q3", "q4")
ABOUT_VOTE = (
    "submitted_at",
    "seconds_on_task",
    "position",
    "order_seed",
    "option_seed",
    "language",
    "instructions",
    "comment",
)
CONFIGS = ("mental-state-qa", "behavior-qa", "judgment-qa", "story-data")
COMMAND_SECONDS = 90.0

LOAD = """
import json, sys
from datasets import load_dataset
place, *configs = sys.argv[1:]
print(json.dumps({config: load_dataset(place, config, split="test").to_list() for config in configs}))
"""


def load(directory: Path, *, cache: Path) -> dict[str, list[dict[str, Any]]]:
    """Every config of a release as ``datasets`` reads it in a fresh process without a network."""
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(directory), *CONFIGS],
        env={**os.environ, **offline},
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    loaded: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    return loaded


def manage(command: str, *arguments: str | int | Path) -> str:
    """Run a command in this process, which has started already, and return what it says."""
    said = StringIO()
    call_command(command, *map(str, arguments), stdout=said)
    return said.getvalue()


def configuration(directory: Path) -> Path:
    """The sample study's configuration with its test stories, and no stories to judge yet."""
    config = json.loads((SAMPLE / "study.json").read_text(encoding="utf-8"))
    config |= {"slug": SLUG, "contact": "study@university.example"}
    config["stories"] = []
    config["qualification"] |= {
        name: str(SAMPLE / config["qualification"][name]) for name in ("stories", "key")
    }
    path = directory / "study.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def a_few_stories(directory: Path) -> Path:
    """A file with the first stories of the sample study."""
    lines = (SAMPLE / "stories.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    path = directory / "few.jsonl"
    path.write_text("".join(lines[:FEW_STORIES]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("whole", "people", "seed"),
    [pytest.param(False, 7, 4, id="few"), pytest.param(True, 25, 20, id="all", marks=pytest.mark.torture)],
)
def test_stories_go_in_people_judge_them_and_a_dataset_comes_out(
    child_environment: dict[str, str],
    shared_data: Path | None,
    tmp_path: Path,
    whole: bool,
    people: int,
    seed: int,
) -> None:
    files = [a_few_stories(tmp_path)]
    if whole:
        files = sorted(shared_data.glob("*.jsonl")) if shared_data else [SAMPLE / "stories.jsonl"]
    manage("create_study", SLUG, "--config", configuration(tmp_path))
    manage("import_stories", SLUG, *files)
    manage("open_study", SLUG, "--accept", "consent_edited", "pay", "mail")
    study = Study.objects.get(slug=SLUG)
    imported = set(study.stories.filter(role=Story.Role.MAIN).values_list("story_id", flat=True))
    assert len(imported) == (87 if whole and shared_data else sum(len(read_lines(file)) for file in files))

    directory = tmp_path / "release"
    with running(child_environment, tmp_path / "logs", web_workers=2 if whole else 1) as address:
        options = ("--base-url", address, "--annotators", people, "--seed", seed, "--json")
        crowd = json.loads(manage("simulate", SLUG, *options))
        actions.close_study(study=study, by=None, now=timezone.now())
        published = json.loads(manage("publish_release", SLUG, "--output", directory, "--json"))
        check_public_page(address, published["number"], directory)
        manage("check_integrity")

    study.refresh_from_db()
    check_crowd(crowd, study, people)
    assert crowd["submitted_twice"] or not whole, "of few people, one in twenty crowds sends no form twice"
    check_votes(directory, study, imported)
    check_manifest(directory)
    if whole:  # of small releases, publishing.test_builder loads every config
        check_loaded(load(directory, cache=tmp_path / "cache"), directory)
    connections.close_all()


def check_crowd(crowd: dict[str, Any], study: Study, people: int) -> None:
    """Everybody's part is accounted for, and everything they hold a receipt for is in the database."""
    assert crowd["errors"] == []
    assert sum(crowd["people"].values()) == people
    assert crowd["without_receipt"] == 0
    assert crowd["submitted_twice"] == crowd["same_receipt_twice"]
    assert crowd["votes"] == Vote.objects.of_study(study).count() > 0
    gone_through = queries.tested(study)
    assert gone_through.submitted == crowd["tests_handed_in"]
    assert 3 <= gone_through.passed < gone_through.submitted, "some pass and some do not"


def check_votes(directory: Path, study: Study, imported: set[str]) -> None:
    """Recompute every verdict from the votes file alone, and compare with what was released."""
    votes = read_lines(directory / "annotations" / "votes.jsonl")
    assert len(votes) == Vote.objects.of_study(study).counted().count()
    per_story: dict[str, list[dict[str, Any]]] = {}
    for vote in votes:
        assert list(vote) == ["story_id", "annotator", *QUESTIONS, *ABOUT_VOTE]
        assert re.fullmatch(r"annotator-[0-9a-f]{16}", vote["annotator"])
        per_story.setdefault(vote["story_id"], []).append(vote)
    assert per_story.keys() <= imported
    assert max(map(len, per_story.values())) <= 3
    assert all(len({vote["annotator"] for vote in given}) == len(given) for given in per_story.values())

    complete = {story_id: given for story_id, given in per_story.items() if len(given) == 3}
    against = {
        story_id: sorted({question for vote in given for question in QUESTIONS if vote[question] == "no"})
        for story_id, given in complete.items()
    }
    kept = [row["story_id"] for row in read_lines(directory / "story-data" / "test.jsonl")]
    dropped = read_lines(directory / "annotations" / "dropped-stories.jsonl")
    assert Counter(kept) == Counter(story_id for story_id, found in against.items() if not found)
    assert {row["story_id"]: row["reason"] for row in dropped} == {
        story_id: ",".join(found) for story_id, found in against.items() if found
    }
    assert kept, "a release without stories proves nothing"
    assert dropped

    counts = json.loads((directory / "release.json").read_text(encoding="utf-8"))["counts"]
    assert counts["stories"] == len(imported)
    assert (counts["kept"], counts["dropped"]) == (len(kept), len(dropped))
    assert counts["incomplete"] == len(imported) - len(complete)
    assert counts["votes"] == len(votes)
    assert len(complete) > 0.9 * len(imported), "such a crowd finishes nearly every story"


def check_manifest(directory: Path) -> None:
    """MANIFEST names every other file with its hash."""
    listed = {}
    for line in (directory / "MANIFEST").read_text(encoding="utf-8").splitlines():
        digest, path = line.split("  ", 1)
        listed[path] = digest
    there = {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
    assert listed.keys() == there - {"MANIFEST"}
    for path, digest in listed.items():
        assert sha256((directory / path).read_bytes()).hexdigest() == digest


def check_loaded(loaded: dict[str, list[dict[str, Any]]], directory: Path) -> None:
    """What ``datasets`` reads is what the files say: one story row and three questions per kept story."""
    kept = [row["story_id"] for row in read_lines(directory / "story-data" / "test.jsonl")]
    assert [row["story_id"] for row in loaded["story-data"]] == kept
    suffixes = {"mental-state-qa": "_aware", "behavior-qa": "_action", "judgment-qa": "_judge"}
    stories = {row["story_id"]: row for row in loaded["story-data"]}
    for config, suffix in suffixes.items():
        assert [row["id"] for row in loaded[config]] == [story_id + suffix for story_id in kept]
        for row in loaded[config]:
            answer = row["choices"]["text"][row["choices"]["label"].index(row["answerKey"])]
            questions = stories[row["id"].removesuffix(suffix)]["questions"]
            right = {"_aware": "No", "_action": questions[1]["answer_correct"], "_judge": "Reasonable"}
            assert answer == right[suffix]


def check_public_page(address: str, number: int, directory: Path) -> None:
    """Anybody can look the release up, and download the very files that were published."""
    page = urllib3.request("GET", f"{address}/releases/{SLUG}/{number}/", retries=False, timeout=10)
    assert page.status == 200
    links = re.findall(r'href="([^"]*/files/[^"]+)"', page.data.decode())
    files = {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}
    assert {link.partition("/files/")[2] for link in links} == files
    for link in links:
        got = urllib3.request("GET", f"{address}{link}", retries=False, timeout=10)
        assert got.data == (directory / link.partition("/files/")[2]).read_bytes()
