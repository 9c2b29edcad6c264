"""Lists of beliefs from the sample to the release: two people list, experts make one list of both."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.conf import settings as conf
from django.test import Client
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts.actions import ensure_researcher
from annotation import actions
from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.models import Adjudication, Story, Study, Vote
from annotation.protocols import get_protocol
from crowd.behaviour import Population
from crowd.knowledge import truth_of
from dashboard.actions import load_sample_study
from dashboard.figures import compute
from dashboard.settings.sample_study import SAMPLES
from publishing.verification import check_release
from tests import builders
from tests.crowd.test_label_tables import rows, tampered
from tests.crowd.test_live import work
from tests.publishing.support import published
from tests.publishing.test_reimport import broken_promises, imported

pytestmark = pytest.mark.django_db(transaction=True)

NAME = "belief-extraction"
RECONCILED = "annotations/reconciled.jsonl"
HALF = Population(careful=1.0, skill_careful=(0.6, 0.8), declines=0.0)


def researcher() -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="owner", password="quite-long-enough-9"))
    return client


def form_of(client: Client, study: Study, story: str) -> dict[str, str]:
    """The form of the page as it comes, every field as shown."""
    page = client.get(f"/studies/{study.slug}/quality/decisions/of/{story}/").content.decode()
    areas = re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>([^<]*)</textarea>', page)
    (seen,) = re.findall(r'name="seen" value="(\d+)"', page)
    return {name: unescape(words) for name, words in areas} | {"seen": seen}


def reconcile(client: Client, study: Study, story: str, changed: dict[str, str] | None = None) -> str:
    form = form_of(client, study, story) | {"reason": "Two experts, in one call."} | (changed or {})
    address = f"/studies/{study.slug}/quality/decisions/of/{story}/"
    return client.post(address, form, follow=True).content.decode()


def listed(place: Path) -> dict[str, dict[tuple[str, str], set[str]]]:
    """Return the numbers of the people who listed each row of each story; case and full stop do not count."""
    found: dict[str, dict[tuple[str, str], set[str]]] = {}
    for vote in rows(place, "annotations/votes.jsonl"):
        numbers = {name.partition(".")[2] for name in vote if name.startswith("actor.")}
        for number in numbers:
            said = vote[f"actor.{number}"].lower(), vote[f"belief.{number}"].lower().rstrip(".")
            found.setdefault(vote["story_id"], {}).setdefault(said, set()).add(vote["annotator"])
    return found


def test_two_lists_become_one(live_server: LiveServer, tmp_path: Path, settings: Any) -> None:
    from datasets import load_dataset  # loaded here: every worker imports this module

    settings.RELEASES_ROOT = tmp_path / "releases"
    study = load_sample_study(now=timezone.now(), name=NAME)
    table = json.loads((SAMPLES[NAME].parent / "truth.json").read_bytes())
    work(study, live_server, 3, truth=truth_of(study, table=table, valid=1.0, seed=1), population=HALF)
    assert Vote.objects.of_study(study).counted().count() == 8
    client = researcher()
    begun = client.get(f"/studies/{study.slug}/quality/decisions/next/?queue=unreconciled")
    assert begun["Location"].endswith("/x-bus/?queue=unreconciled")

    with pytest.raises(AssertionError, match="reconciled no list"):
        published(study)

    # Only what nobody changed needs no remark.
    form = form_of(client, study, "x-kite")
    first, second, *_ = (name.partition(".")[2] for name in form if name.startswith("remark."))
    refused = reconcile(client, study, "x-kite", {f"belief.{first}": "The kite is under the roof."})
    assert "Row 1: write a remark" in refused
    assert "The kite is under the roof." in refused
    assert not Adjudication.objects.exists()
    reconcile(
        client, study, "x-kite",
        {
            f"belief.{first}": "The kite is under the roof.", f"remark.{first}": "More exact.",
            f"left-out.{second}": "yes", f"remark.{second}": "The story gives no reason.",
            "actor.new-0": "Tom", "belief.new-0": "Mira\u2003will look for it.",
            "remark.new-0": "Both missed it. Ask al@example.org\x00",
        },
    )  # fmt: skip
    for story in ("x-bus", "x-letter"):
        reconcile(client, study, story)
    page = client.get(f"/studies/{study.slug}/stories/x-kite/").content.decode()
    for said in ("More exact.", "Ask [removed]", "under the roof.", "Two experts, in one call."):
        assert said in page

    place = published(study).directory
    report = check_release(place)
    assert report.is_sound, report.shown
    lines = rows(place, RECONCILED)
    assert {line["story_id"] for line in lines} == {"x-bus", "x-kite", "x-letter"}
    who = listed(place)
    for line in lines:
        if line["change"] == "added":
            assert (line["actor"], line["belief"]) == ("Tom", "Mira will look for it.")
            assert (line["listed"], line["listed_by"]) == ([], [])
            continue
        actor, belief = line["listed"]
        people = who[line["story_id"]].pop((actor.lower(), belief.lower().rstrip(".")))
        assert {*line["listed_by"]} == people
        same = [line["actor"], line["belief"]] == line["listed"]
        assert same == (line["change"] in ("kept", "left out"))
        assert bool(line["remark"]) == (line["change"] != "kept")
    assert not any(left for story, left in who.items() if story != "x-soup")
    changes = [line["change"] for line in lines]
    assert [changes.count(one) for one in ("revised", "left out", "added")] == [1, 1, 1]

    entry = json.loads((place / "statistics.json").read_bytes())["extraction"]["all"]
    by_all = sum(len(line["listed_by"]) == 2 for line in lines)
    told = {"stories": 3, "rows": len(lines), "by_all": by_all, "revised": 1, "added": 1, "left_out": 1}
    assert {name: entry[name] for name in told} == told
    assert entry["share"] == pytest.approx(1 - 3 / len(lines), abs=1e-9)
    card = (place / "README.md").read_text(encoding="utf-8")
    assert "Overlap of the lists" in card
    loaded = load_dataset(str(place), "reconciled", split="test")
    assert loaded.to_list() == lines
    assert pq.read_table(place / "parquet/annotations/reconciled.parquet").to_pylist() == lines

    _assert_the_documented_lines_make_a_file_to_label(place, lines)
    copy, _ = imported(place, "copy", "--with-votes")
    again = published(copy).directory
    for path in ("statistics.json", "annotations/adjudications.jsonl"):
        assert (again / path).read_bytes() == (place / path).read_bytes()
    assert [line | {"listed_by": len(line["listed_by"])} for line in rows(again, RECONCILED)] == [
        line | {"listed_by": len(line["listed_by"])} for line in lines
    ]
    assert broken_promises() == []
    compute.make(study.pk, now=timezone.now())
    assert "Overlap of the lists" in client.get(f"/studies/{study.slug}/quality/").content.decode()
    response: Any = client.get(f"/studies/{study.slug}/quality/decisions.csv")
    file = b"".join(response.streaming_content).decode()
    assert len(file.splitlines()) == 1 + len(lines)
    form = form_of(client, study, "x-bus")
    key = next(name for name in form if name.startswith("remark.")).removeprefix("remark.")
    reconcile(client, study, "x-bus", {f"left-out.{key}": "yes", f"remark.{key}": "After all."})
    later = published(study).directory
    (changed,) = rows(later, "changes.jsonl")
    assert (changed["story_id"], changed["because"]) == ("x-bus", ["expert"])
    invented = b'"labelled":"beliefs.zzz"'
    problems = tampered(
        later, "annotations/adjudications.jsonl", f'"labelled":"beliefs.{key}"'.encode(), invented
    )
    assert any("beliefs.zzz" in one for one in problems), problems
    problems = tampered(place, RECONCILED, b"under the roof", b"under the bed")
    assert any("does not follow from its votes and experts" in one for one in problems), problems


def _assert_the_documented_lines_make_a_file_to_label(place: Path, lines: list[dict[str, Any]]) -> None:
    docs = (conf.BASE_DIR / "docs/protocols.md").read_text(encoding="utf-8")
    (code,) = [block for block in docs.split("```python\n") if "to-label.jsonl" in block]
    program = code.partition("```")[0]
    subprocess.run([sys.executable, "-c", program], cwd=place, check=True)
    found = [SourceRow("", number, row) for number, row in enumerate(rows(place.parent, "to-label.jsonl"), 1)]
    stories = list(get_protocol("belief-labels").read(found))
    assert not [one for one in stories if isinstance(one, Problem)]
    stay = [line for line in lines if line["change"] != "left out"]
    assert sum(len(story.content["beliefs"]) for story in stories if isinstance(story, StoryRow)) == len(stay)


def test_who_comes_second_sees_what_the_first_one_did(settings: Any) -> None:
    """Their own words are shown beside it, and a second press changes only what they then see."""
    stories = [{"story_id": "s", "story": "Bo sees it."}]
    study = builders.make_study("lists", protocol=NAME, stories=stories, votes_per_story=1)
    (person,) = builders.qualified(study, 1)
    held = builders.claim(person)
    form = {"actor.01": "Bo", "belief.01": "It is here."}
    actions.record_vote(assignment_id=held.pk, enrollment=person, submitted=form, now=timezone.now())
    client = researcher()
    seen = form_of(client, study, "s")
    key = next(name for name in seen if name.startswith("remark.")).removeprefix("remark.")
    reconcile(client, study, "s", {f"belief.{key}": "By the first.", f"remark.{key}": "Better."})
    late = {**seen, f"belief.{key}": "By the second.", f"remark.{key}": "No.", "reason": "Alone."}
    page = client.post(f"/studies/{study.slug}/quality/decisions/of/s/", late).content.decode()
    assert "in the meantime" in page
    notice = page.partition("which is not saved")[2].partition("</ul>")[0]
    assert "By the second." in notice
    assert "By the first." in page
    again = form_of(client, study, "s")
    assert again[f"belief.{key}"] == "By the first."
    reconcile(client, study, "s", {})
    assert form_of(client, study, "s")[f"belief.{key}"] == "By the first."


def test_an_answer_after_all_reopens_the_reconciled_lists(settings: Any) -> None:
    study = builders.make_study(
        "lists", protocol=NAME, stories=[{"story_id": "s", "story": "Bo sees it."}], votes_per_story=1
    )
    (person,) = builders.qualified(study, 1)
    held = builders.claim(person)
    form = {"actor.01": "Bo", "belief.01": "It is here."}
    given: dict[str, Any] = {"assignment_id": held.pk, "enrollment": person, "now": timezone.now()}
    actions.record_vote(**given, submitted=form)
    client, story = researcher(), Story.objects.get(story_id="s")
    assert "are reconciled" in reconcile(client, study, "s")
    queue = f"/studies/{study.slug}/quality/decisions/next/?queue=unreconciled"
    assert client.get(queue).status_code == 200
    actions.change_vote(**given, submitted=form | {"belief.01": "It is gone."})
    assert client.get(queue).status_code == 302
    assert story.adjudications.count() == 1
