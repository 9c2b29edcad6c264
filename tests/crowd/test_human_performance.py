"""A study of human performance from templates to its release: exact loads, accuracy by condition."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from pathlib import Path
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

pytestmark = pytest.mark.django_db(transaction=True)

SOME_SKILL = Population(careful=0.0, skill_others=(0.75, 0.9), declines=0.0)
CONDITIONS = {
    f"{kind}-{belief}"
    for kind in ("forward-belief", "forward-action", "backward-belief")
    for belief in ("true", "false")
}


def rows(place: Path, path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place / path).read_text(encoding="utf-8").splitlines()]


# With every run, test_whole_study deals exact loads to a crowd, and test_human_baseline of the dashboard goes
# from answers to the accuracy of a release.
@pytest.mark.torture
def test_accuracy_by_condition_follows_from_the_release_alone(
    live_server: LiveServer, tmp_path: Path, settings: Any
) -> None:
    from datasets import load_dataset  # loaded here: every worker imports this module
    from statsmodels.stats.proportion import (
        proportion_confint,  # loaded here: every worker imports this module
    )

    settings.RELEASES_ROOT = tmp_path / "releases"
    study = load_sample_study(now=timezone.now(), name="human-performance")
    table = json.loads((SAMPLES["human-performance"].parent / "truth.json").read_bytes())
    work(study, live_server, 8, truth=truth_of(study, table=table, valid=1.0, seed=1), population=SOME_SKILL)
    assert Vote.objects.of_study(study).counted().count() == 72
    place = published(study).directory
    report = check_release(place)
    assert report.is_sound, report.shown

    items = {row["story_id"]: row["item"] for row in rows(place, "story-data/test.jsonl")}
    votes = rows(place, "annotations/votes.jsonl")
    loads: defaultdict[str, Counter[str]] = defaultdict(Counter)
    right: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for vote in votes:
        item = items[vote["story_id"]]
        loads[vote["annotator"]][item["config"]] += 1
        right[item["config"]][vote["story_id"]] += vote["answer"] == item["answerKey"].lower()
    assert len(loads) == 6
    assert all(load == dict.fromkeys(CONDITIONS, 2) for load in loads.values())
    found = json.loads((place / "statistics.json").read_bytes())
    assert found["agreement"] == {}
    assert "agreement_on_validity" not in found
    accuracy = found["accuracy"]
    assert set(accuracy["configs"]) == CONDITIONS
    for condition, one in accuracy["configs"].items():
        assert (one["items"], one["complete"], one["votes"], one["chance"]) == (4, 4, 12, 0.5)
        assert one["accuracy"] == pytest.approx(right[condition].total() / 12, abs=1e-9)
        majorities = sum(times > 1 for times in right[condition].values())
        assert one["majority"]["right"] == majorities
        wilson = proportion_confint(majorities, 4, method="wilson")
        assert one["majority"]["interval"] == pytest.approx(wilson, abs=1e-9)
    total = sum(counted.total() for counted in right.values())
    assert accuracy["all"]["accuracy"] == pytest.approx(total / 72, abs=1e-9)
    low, high = accuracy["all"]["interval"]
    assert low < accuracy["all"]["accuracy"] < high
    card = (place / "README.md").read_text(encoding="utf-8")
    assert f"| `all` | 24 | {100 * total / 72:.1f} % [{100 * low:.1f}, {100 * high:.1f}] |" in card
    assert all(f"| `{condition}` | 4 |" in card for condition in CONDITIONS)
    assert not {"kept", "dropped", "validated"} & {*card.lower().split()}
    assert all(name in (place / "figures/accuracy.svg").read_text() for name in CONDITIONS)
    loaded = load_dataset(str(place), "story-data", split="test")
    assert {row["item"]["config"] for row in loaded} == CONDITIONS
    _assert_another_right_answer_is_caught(place)

    compute.make(study.pk, now=timezone.now())
    client = Client()
    client.force_login(ensure_researcher(username="owner", password="quite-long-enough-9"))
    page = client.get(f"/studies/{study.slug}/releases/human-baseline/").content.decode()
    assert all(condition in page for condition in CONDITIONS)
    assert f"{total} / 72" in page
    quality = client.get(f"/studies/{study.slug}/quality/").content.decode()
    assert "AC1" not in quality


def _assert_another_right_answer_is_caught(place: Path) -> None:
    path = place / "story-data/test.jsonl"
    before = path.read_bytes()
    after = before.replace(b'"answerKey":"A"', b'"answerKey":"B"', 1)
    assert after != before
    path.write_bytes(after)
    manifest = place / "MANIFEST"
    was, now = (hashlib.sha256(one).hexdigest() for one in (before, after))
    manifest.write_text(manifest.read_text().replace(was, now))
    told = [str(finding) for finding in check_release(place).shown]
    assert any("statistics.json: accuracy.configs" in one for one in told), told
    path.write_bytes(before.replace(b'"answerKey":"A"', b'"answerKey":"C"', 1))
    told = [str(finding) for finding in check_release(place).shown]
    assert any("answerKey: must be the label of one of the choices" in one for one in told), told
