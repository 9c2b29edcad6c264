"""A study of narratives from the sample to its release: whole blocks, macro-F1 of pairs, right answers."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts.actions import ensure_researcher
from annotation.models import Vote
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

SOME_SKILL = Population(careful=0.0, skill_others=(0.6, 0.8), declines=0.0)
KINDS = {"location, first order", "location, second order", "change", "who moved it", "attitude"}


def rows(place: Path, path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place / path).read_text(encoding="utf-8").splitlines()]


def test_agreement_of_pairs_follows_from_the_release_alone(
    live_server: LiveServer, tmp_path: Path, settings: Any
) -> None:
    from sklearn.metrics import f1_score  # loaded here: every worker imports this module

    settings.RELEASES_ROOT = tmp_path / "releases"
    study = load_sample_study(now=timezone.now(), name="narrative-validation")
    table = json.loads((SAMPLES["narrative-validation"].parent / "truth.json").read_bytes())
    work(study, live_server, 4, truth=truth_of(study, table=table, valid=1.0, seed=1), population=SOME_SKILL)
    assert Vote.objects.of_study(study).counted().count() == 18
    place = published(study).directory
    report = check_release(place)
    assert report.is_sound, report.shown

    asked = {
        (row["story_id"], question["id"]): question
        for row in rows(place, "story-data/test.jsonl")
        for question in row["item"]["questions"]
    }
    given: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for vote in rows(place, "annotations/votes.jsonl"):
        answers = {name.removeprefix("answer."): vote[name] for name in vote if name.startswith("answer.")}
        assert len(answers) == 5  # whoever answers a narrative answers all its questions
        for question, option in answers.items():
            given[vote["story_id"], question][vote["annotator"]] = option
    pairs: defaultdict[tuple[str, str, str], list[tuple[str, str]]] = defaultdict(list)
    for place_of, chosen in given.items():
        for one, other in combinations(sorted(chosen), 2):
            pairs[asked[place_of]["kind"], one, other].append((chosen[one], chosen[other]))
    statistics = json.loads((place / "statistics.json").read_bytes())
    found = statistics["pairwise_f1"]
    assert set(found["kinds"]) == set(statistics["accuracy"]["configs"]) == KINDS
    card = (place / "README.md").read_text(encoding="utf-8")
    for kind, entry in found["kinds"].items():
        scores = [
            f1_score(*map(list, zip(*both, strict=True)), average="macro")
            for (of, _, _), both in pairs.items()
            if of == kind
        ]
        assert entry["macro_f1"] == pytest.approx(fmean(scores), abs=1e-9)
        assert f"| `{kind}` | 6 | {len(scores)} | {entry['macro_f1']:.2f} |" in card
        of_kind = [(asked[key], chosen) for key, chosen in given.items() if asked[key]["kind"] == kind]
        right = [option == one["answerKey"] for one, chosen in of_kind for option in chosen.values()]
        assert statistics["accuracy"]["configs"][kind]["accuracy"] == pytest.approx(fmean(right), abs=1e-9)
    assert not {"kept", "dropped", "validated"} & {*card.lower().split()}
    copy, _ = imported(place, "copy", "--with-votes")
    assert json.loads((published(copy).directory / "statistics.json").read_bytes()) == statistics
    assert broken_promises() == []
    _assert_another_answer_is_caught(place)

    compute.make(study.pk, now=timezone.now())
    client = Client()
    client.force_login(ensure_researcher(username="owner", password="quite-long-enough-9"))
    quality = client.get(f"/studies/{study.slug}/quality/").content.decode()
    assert "Agreement of pairs" in quality
    assert f"{found['all']['macro_f1']:.3f}" in quality
    table_of_pairs = client.get(f"/studies/{study.slug}/quality/statistics.csv").content.decode()
    assert table_of_pairs.splitlines()[0].lstrip("\ufeff") == "statistic,kind,measure,value,low,high"
    page = client.get(f"/studies/{study.slug}/releases/human-baseline/").content.decode()
    assert all(kind in page for kind in KINDS)


def _assert_another_answer_is_caught(place: Path) -> None:
    path = place / "annotations/votes.jsonl"
    before = path.read_bytes()
    options = (b'"answer.feel":"pos"', b'"answer.feel":"neg"')
    was, now = options if options[0] in before else options[::-1]
    path.write_bytes(before.replace(was, now, 1))
    manifest = place / "MANIFEST"
    old, new = (hashlib.sha256(one).hexdigest() for one in (before, path.read_bytes()))
    manifest.write_text(manifest.read_text().replace(old, new))
    told = [str(finding) for finding in check_release(place).shown]
    assert any("statistics.json: pairwise_f1.kinds.attitude" in one for one in told), told
