"""Studies of label tables from the sample to the release: what people decided follows from it alone."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts.actions import ensure_researcher
from annotation.models import Study, Vote
from crowd.behaviour import Population
from crowd.knowledge import truth_of
from dashboard.actions import load_sample_study
from dashboard.figures import compute
from dashboard.settings.sample_study import SAMPLES
from publishing.verification import check_release
from tests.crowd.test_live import work
from tests.publishing.support import published
from tests.publishing.test_reimport import broken_promises, imported

pytestmark = pytest.mark.django_db(transaction=True)

SOME_SKILL = Population(careful=1.0, skill_careful=(0.75, 0.95), declines=0.0)
Labels = dict[tuple[str, str], dict[str, str]]
"""Per story and field: the answer of each annotator."""


def rows(place: Path, path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place / path).read_bytes().splitlines()]


def released(name: str, server: LiveServer, settings: Any, root: Path) -> tuple[Study, Path]:
    settings.RELEASES_ROOT = root / "releases"
    study = load_sample_study(now=timezone.now(), name=name)
    table = json.loads((SAMPLES[name].parent / "truth.json").read_bytes())
    truth = truth_of(study, table=table, valid=1.0, seed=1)
    work(study, server, study.votes_per_story + 1, truth=truth, population=SOME_SKILL)
    assert Vote.objects.of_study(study).counted().count() == 4 * study.votes_per_story
    place = published(study).directory
    report = check_release(place)
    assert report.is_sound, report.shown
    card = (place / "README.md").read_text(encoding="utf-8")
    assert not {"kept", "dropped", "validated"} & {*card.lower().split()}
    copy, _ = imported(place, "copy", "--with-votes")
    again = published(copy).directory
    assert (again / "statistics.json").read_bytes() == (place / "statistics.json").read_bytes()
    assert broken_promises() == []
    return study, place


def answers(place: Path) -> Labels:
    given: Labels = defaultdict(dict)
    for vote in rows(place, "annotations/votes.jsonl"):
        for column, value in vote.items():
            if "." in column:
                given[vote["story_id"], column][vote["annotator"]] = value
    return given


def strict(given: Labels, question: str) -> tuple[int, int]:
    """Return on how many rows all answers are the same, of how many."""
    alike = [
        len({*chosen.values()}) == 1 for (_, field), chosen in given.items() if field.startswith(question)
    ]
    return sum(alike), len(alike)


def tampered(place: Path, path: str, was: bytes, now: bytes) -> list[str]:
    file = place / path
    before = file.read_bytes()
    assert was in before
    file.write_bytes(before.replace(was, now, 1))
    manifest = place / "MANIFEST"
    old, new = (hashlib.sha256(one).hexdigest() for one in (before, file.read_bytes()))
    manifest.write_text(manifest.read_text().replace(old, new))
    return [str(finding) for finding in check_release(place).shown]


def quality(study: Study, page: str = "") -> str:
    compute.make(study.pk, now=timezone.now())
    client = Client()
    client.force_login(ensure_researcher(username="owner", password="quite-long-enough-9"))
    return client.get(f"/studies/{study.slug}/quality/{page}").content.decode()


def test_labels_of_beliefs(live_server: LiveServer, tmp_path: Path, settings: Any) -> None:
    study, place = released("belief-labels", live_server, settings, tmp_path)
    given = answers(place)
    assert len(given) == 22 * 7
    suggested = {
        (story["story_id"], f"{label}.{belief['id']}"): option
        for story in rows(place, "story-data/test.jsonl")
        for belief in story["item"]["beliefs"]
        for label, option in belief["labels"].items()
    }
    lines = rows(place, "annotations/labels.jsonl")
    assert len(lines) == len(given)
    from datasets import load_dataset  # loaded here: every worker imports this module

    loaded = load_dataset(str(place), "labels", split="test")
    assert loaded.to_list() == lines
    assert pq.read_table(place / "parquet/annotations/labels.parquet").to_pylist() == lines
    _assert_the_documented_lines_give_labels(place, lines)
    for line in lines:
        place_of = line["story_id"], line["labelled"]
        ((option, times),) = Counter(given[place_of].values()).most_common(1)
        assert (line["answers"], line["agreeing"]) == (3, times)
        assert line["label"] == (option if times > 1 else None)
        assert line["suggested"] == suggested[place_of]
    statistics = json.loads((place / "statistics.json").read_bytes())
    for question in study.protocol.questions:
        alike, cells = strict(given, question.key)
        entry = statistics["strict_agreement"]["kinds"][question.key]
        assert (entry["rows"], entry["alike"]) == (cells, alike)
        assert entry["share"] == pytest.approx(alike / cells, abs=1e-9)
        assert statistics["agreement"][question.key]["categories"] == len(question.options)
    changed = sum(option != suggested[where] for where, of in given.items() for option in of.values())
    entry = statistics["suggestions"]["all"]
    assert (entry["answers"], entry["changed"]) == (3 * len(given), changed)
    card = (place / "README.md").read_text(encoding="utf-8")
    alike, cells = strict(given, "")
    undecided = sum(max(Counter(of.values()).values()) == 1 for of in given.values())
    assert statistics["strict_agreement"]["all"]["undecided"] == undecided
    assert f"| `all` | {cells} | {alike} | {statistics['strict_agreement']['all']['share']:.2f}" in card
    assert "## How much people agreed\n" in card
    page = quality(study)
    assert "Strict agreement" in page
    assert "What participants changed" in page
    numbers = quality(study, "statistics.csv").splitlines()
    assert f"strict_agreement,all,alike,{alike},," in numbers
    told = tampered(place, "annotations/labels.jsonl", b'"label":"true"', b'"label":"false"')
    assert any("does not follow from its votes" in one for one in told), told


def _assert_the_documented_lines_give_labels(place: Path, lines: list[dict[str, Any]]) -> None:
    docs = (settings.BASE_DIR / "docs/protocols.md").read_text(encoding="utf-8")
    (code,) = [block for block in docs.split("```python\n") if 'read("annotations/labels.jsonl")' in block]
    code = code.partition("```")[0].replace("        ending", "        made.append(belief)\n        ending")
    program = f"made = []\n{code}\nprint(sum(len(belief['labels']) for belief in made))"
    told = subprocess.run([sys.executable, "-c", program], cwd=place, capture_output=True, check=True)
    assert int(told.stdout) == len(lines)


def test_alignment_of_two_tables(live_server: LiveServer, tmp_path: Path, settings: Any) -> None:
    study, place = released("alignment", live_server, settings, tmp_path)
    given = answers(place)
    judge, side = {}, {}
    for story in rows(place, "story-data/test.jsonl"):
        first = story["item"]["table_a"]
        for table in ("predicted", "gold"):
            for entry in story["item"][table]:
                field = f"count.{'a' if table == first else 'b'}-{entry['id']}"
                judge[story["story_id"], field] = entry["judge"]
                side[story["story_id"], field] = table
    assert {*side.values()} == {"predicted", "gold"}
    found: defaultdict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
    for story_id in {story for story, _ in given}:
        for person in {name for (story, _), of in given.items() if story == story_id for name in of}:
            counts = {f: int(of[person]) for (story, f), of in given.items() if story == story_id}
            shares = [
                fmean(count > 0 for field, count in counts.items() if side[story_id, field] == table)
                for table in ("predicted", "gold")
            ]
            f1 = 2 * shares[0] * shares[1] / sum(shares) if sum(shares) else 0.0
            agreed = fmean((count > 0) == (judge[story_id, f] > 0) for f, count in counts.items())
            found[story_id].append((shares[0], shares[1], f1, agreed))
    means = [fmean(fmean(one[place] for one in people) for people in found.values()) for place in range(4)]
    found_there = json.loads((place / "statistics.json").read_bytes())["match_count"]
    entry = found_there["all"]
    assert found_there["kinds"]["sample-model"]["f1"] == entry["f1"]
    names = ("precision", "recall", "f1", "judge_agreement")
    assert [entry[name] for name in names] == pytest.approx(means, abs=1e-9)
    chosen = Counter(option for of in given.values() for option in of.values())
    assert [entry[f"count_{number}"] for number in range(4)] == [chosen[str(number)] for number in range(4)]
    page = quality(study)
    assert f"{entry['f1']:.3f}" in page
    assert "Agreement with the judge" in page


def test_experts_judge_every_condition(live_server: LiveServer, tmp_path: Path, settings: Any) -> None:
    study, place = released("expert-evaluation", live_server, settings, tmp_path)
    given = {where: {p: str(v) for p, v in of.items()} for where, of in answers(place).items()}
    assert len(given) == 4 * 6 * 2
    statistics = json.loads((place / "statistics.json").read_bytes())
    for question in ("structure", "behaviour"):
        numbers = [
            int(v) for (_, field), of in given.items() if field.startswith(question) for v in of.values()
        ]
        assert statistics["ratings"][question]["mean"] == pytest.approx(fmean(numbers), abs=1e-9)
        assert statistics["strict_agreement"]["kinds"][question]["alike"] == strict(given, question)[0]
    assert len(rows(place, "annotations/ratings.jsonl")) == len(given)
    page = quality(study)
    assert "Ratings" in page
    assert "Strict agreement" in page
