"""A study of ratings from the sample to its release: a crowd over HTTP, files that tell all, quiet pages."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
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
from publishing import tasks
from publishing.errors import UnknownFilter
from publishing.verification import check_release
from tests.crowd.test_live import work
from tests.publishing.support import published

pytestmark = pytest.mark.django_db(transaction=True)

QUESTIONS = ("understandable", "coherent", "unambiguous")
SOME_SKILL = Population(careful=0.0, skill_others=(0.6, 0.8), declines=0.0)
MEANINGLESS = re.compile(r"\b(kept|dropped|drops|keeps|validated|retention|objects? alone)\b", re.IGNORECASE)


def rows(place: Path, path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place / path).read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def rated(live_server: LiveServer, tmp_path: Path, settings: Any) -> Study:
    """The sample study of ratings with all its votes: twelve items, ten of them for each of six people."""
    settings.RELEASES_ROOT = tmp_path / "releases"
    study = load_sample_study(now=timezone.now(), name="ratings")
    table = json.loads((SAMPLES["ratings"].parent / "truth.json").read_bytes())
    truth = truth_of(study, table=table, valid=1.0, seed=1)
    work(study, live_server, 14, truth=truth, population=SOME_SKILL)  # some fail the quiz
    assert Vote.objects.of_study(study).counted().count() == 60
    return study


def test_means_and_alpha_follow_from_the_release_alone_and_a_changed_rating_is_caught(rated: Study) -> None:
    with pytest.raises(UnknownFilter, match="every-item"):
        published(rated, filter_name="all-agree")
    release = published(rated)
    assert (release.filter_name, release.kept, release.dropped) == ("every-item", 12, 0)
    place = release.directory
    report = check_release(place)
    assert report.is_sound, report.shown

    votes = rows(place, "annotations/votes.jsonl")
    conditions = {row["story_id"]: row["scenario_name"] for row in rows(place, "story-data/test.jsonl")}
    statistics = json.loads((place / "statistics.json").read_bytes())["ratings"]
    assert list(statistics) == list(QUESTIONS)
    for question in QUESTIONS:
        given: defaultdict[str, list[int]] = defaultdict(list)
        for vote in votes:
            given[vote["story_id"]].append(vote[question])
        table = np.array([given[story_id] for story_id in sorted(given)])
        assert table.shape == (12, 5)
        found = statistics[question]
        alpha = krippendorff.alpha(table.T, level_of_measurement="ordinal", value_domain=[1, 2, 3, 4, 5])
        assert found["mean"] == pytest.approx(table.mean(), abs=1e-9)
        assert found["median"] == np.median(table)
        assert found["krippendorff_alpha_ordinal"] == pytest.approx(alpha, abs=1e-9)
        low, high = found["intervals"]["mean"]
        assert low < found["mean"] < high
        for condition in ("false belief", "true belief"):
            of_it = [given[story_id] for story_id, name in conditions.items() if name == condition]
            assert found["by_scenario"][condition]["mean"] == pytest.approx(np.mean(of_it), abs=1e-9)
        means = {
            row["story_id"]: row["mean"]
            for row in rows(place, "annotations/ratings.jsonl")
            if row["rated"] == question
        }
        assert means == {story_id: pytest.approx(np.mean(ratings)) for story_id, ratings in given.items()}
    card = (place / "README.md").read_text()
    assert "5 of false belief and 5 of true belief (by `scenario_name`)" in card
    assert not MEANINGLESS.search(card), MEANINGLESS.search(card)
    _assert_a_changed_rating_is_caught(place)


def _assert_a_changed_rating_is_caught(place: Path) -> None:
    votes = place / "annotations" / "votes.jsonl"
    before = votes.read_bytes()
    first = json.loads(before.splitlines()[0])["understandable"]
    after = before.replace(b'"understandable":%d' % first, b'"understandable":%d' % (first % 5 + 1), 1)
    votes.write_bytes(after)
    manifest = place / "MANIFEST"
    was, now = (hashlib.sha256(one).hexdigest() for one in (before, after))
    manifest.write_text(manifest.read_text().replace(was, now))
    told = [str(finding) for finding in check_release(place).shown]
    assert any("annotations/ratings.jsonl" in one for one in told)
    assert any("statistics.json: ratings.understandable.mean" in one for one in told)


def test_pages_say_nothing_that_has_no_meaning_for_ratings(rated: Study) -> None:
    compute.make(rated.pk, now=timezone.now())
    release = published(rated)
    tasks.compare_releases(release.pk, published(rated).pk)
    client = Client()
    client.force_login(ensure_researcher(username="owner", password="quite-long-enough-9"))
    study = f"/studies/{rated.slug}/"
    story = Vote.objects.of_study(rated).first().assignment.story.story_id  # type: ignore[union-attr]
    pages = {
        "overview": study,
        "quality": f"{study}quality/",
        "publish": f"{study}releases/publish/",
        "stories": f"{study}stories/",
        "story": f"{study}stories/{story}/",
        "release": f"/releases/{rated.slug}/{release.number}/",
    }
    shown = client.get(f"{study}releases/compare/?first=1&second=2").content.decode()
    assert shown.count("Change of the mean") == 1
    changes = re.findall(r"<td class=\"number\">\s*(\S+)\s*</td>\s*</tr>", shown)
    assert changes == ["0.00"] * len(QUESTIONS)
    listed = client.get(pages["stories"]).content.decode()
    assert "Decide about the ticked" not in listed
    meaningless = {}
    for name, address in pages.items():
        response = client.get(address)
        assert response.status_code == 200, (name, address)
        shown = re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", response.content.decode(), flags=re.DOTALL)
        meaningless[name] = {found[0].lower() for found in MEANINGLESS.finditer(shown)}
    assert not any(meaningless.values()), meaningless
    quality = client.get(pages["quality"]).content.decode()
    assert all(title in quality for title in ("Understandable", "Coherent", "Unambiguous", "AC2"))
