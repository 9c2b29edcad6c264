"""BigToM's rating study over HTTP: a quiz, loads per stratum, exact votes, a release that tells all."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from annotation import actions
from annotation.models import Enrollment, Story, Study, Vote
from crowd.behaviour import Population
from crowd.knowledge import truth_of
from dashboard.actions import create_study
from dashboard.settings.configuration import parse_configuration
from dashboard.settings.sample_study import SAMPLES
from integrity.catalogue import CHECKS, run
from publishing.verification import check_release
from qualification.models import Attempt
from tests import builders
from tests.crowd.test_live import work
from tests.publishing.support import published

pytestmark = pytest.mark.django_db(transaction=True)

QUESTIONS = ("understandable", "coherent", "unambiguous")
CONDITIONS = {"true belief": 10, "false belief": 10, "expert": 5, "everyday": 5}
"""The published loads: 10/10/5/5."""
ABLE = Population(careful=0.0, skill_others=(0.75, 0.95), declines=0.0)


@dataclass(frozen=True)
class Size:
    """A study in which ``people`` with a share of the loads give every item its votes."""

    people: int
    votes: int
    share: int
    """The published loads, divided by this."""
    invited: int
    """More than are needed: some fail the quiz."""

    @property
    def load(self) -> dict[str, int]:
        return {name: load // self.share for name, load in CONDITIONS.items()}

    def items(self, condition: str) -> int:
        return self.load[condition] * self.people // self.votes


SMALL = Size(people=4, votes=2, share=5, invited=7)
WHOLE = Size(people=40, votes=20, share=1, invited=60)


def rows(place: Path, path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place / path).read_text(encoding="utf-8").splitlines()]


def item(condition: str, number: int) -> dict[str, str]:
    thing = f"key {number} of the {condition} kind"
    return {
        "story_id": f"{condition.replace(' ', '-')}-{number}",
        "condition": condition,
        "source": "human" if condition == "expert" else "sample-model",
        "story": f"Rosa puts {thing} into a drawer and leaves. Her son moves it to the hook by the door.",
        "question": f"Where does Rosa look for {thing}?",
        "answer_a": "In the drawer.",
        "answer_b": "On the hook.",
    }


def made(size: Size) -> tuple[Study, list[dict[str, str]]]:
    """The sample's quiz and texts with other items and the published loads, opened."""
    content = json.loads(SAMPLES["ratings"].read_bytes())
    content |= {"design": {"by": "condition", "load": size.load}, "votes_per_story": size.votes}
    content |= {"rehearsal": True}
    for name in ("stories", "truth", "slug"):
        content.pop(name)
    config = parse_configuration(json.dumps(content).encode(), name="study.json")
    study = create_study(slug="whole", config=config, by=None, now=timezone.now())
    items = [item(name, number) for name in CONDITIONS for number in range(size.items(name))]
    builders.import_rows(study, items)
    actions.open_study(study=study, by=None, now=timezone.now())
    study.refresh_from_db()
    return study, items


@pytest.mark.parametrize(
    "size", [SMALL, pytest.param(WHOLE, marks=pytest.mark.torture)], ids=["small", "whole"]
)
def test_the_study_comes_out_exactly_and_its_release_says_so(
    size: Size, live_server: LiveServer, tmp_path: Path, settings: Any
) -> None:
    settings.RELEASES_ROOT = tmp_path / "releases"
    study, items = made(size)
    table = {one["story_id"]: dict.fromkeys(QUESTIONS, "4") for one in items}
    truth = truth_of(study, table=table, valid=1.0, seed=1)
    work(study, live_server, size.invited, truth=truth, population=ABLE, max_seconds=540)

    counted = Vote.objects.of_study(study).counted()
    per_item = Counter(counted.values_list("assignment__story__story_id", flat=True))
    assert per_item == dict.fromkeys((one["story_id"] for one in items), size.votes)
    loads: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for person, condition in counted.values_list(
        "assignment__enrollment", "assignment__story__scenario_name"
    ):
        loads[person][condition] += 1
    assert len(loads) == size.people
    assert all(load == size.load for load in loads.values())
    assert not Story.objects.filter(study=study, has_free_slot=True).exists()
    raters = Enrollment.objects.filter(pk__in=loads)
    assert Attempt.objects.filter(enrollment__in=raters, passed=True).count() == size.people
    assert all(outcome.holds for outcome in run(CHECKS))
    release = published(study)
    report = check_release(release.directory)
    assert report.is_sound, report.shown
    recompute(release.directory, size)
    assert_a_changed_rating_is_caught(release.directory)


def recompute(place: Path, size: Size) -> None:
    """Loads and statistics again, from the files of the release alone."""
    votes = rows(place, "annotations/votes.jsonl")
    conditions = {row["story_id"]: row["scenario_name"] for row in rows(place, "story-data/test.jsonl")}
    loads: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for vote in votes:
        loads[vote["annotator"]][conditions[vote["story_id"]]] += 1
    assert len(loads) == size.people
    assert all(load == size.load for load in loads.values())
    statistics = json.loads((place / "statistics.json").read_bytes())["ratings"]
    for question in QUESTIONS:
        given: defaultdict[str, list[int]] = defaultdict(list)
        for vote in votes:
            given[vote["story_id"]].append(vote[question])
        ratings = np.array([given[story_id] for story_id in sorted(given)])
        assert ratings.shape == (len(conditions), size.votes)
        found = statistics[question]
        assert found["mean"] == pytest.approx(ratings.mean(), abs=1e-9)
        assert found["median"] == np.median(ratings)
        interval = found["intervals"]["mean"]
        assert interval is None or interval[0] < found["mean"] < interval[1]  # None: all gave the same
        means = {
            row["story_id"]: row["mean"]
            for row in rows(place, "annotations/ratings.jsonl")
            if row["rated"] == question
        }
        assert means == {story_id: pytest.approx(np.mean(rated)) for story_id, rated in given.items()}
        alpha = krippendorff.alpha(ratings.T, level_of_measurement="ordinal", value_domain=[1, 2, 3, 4, 5])
        assert found["krippendorff_alpha_ordinal"] == pytest.approx(alpha, abs=1e-9)
        for condition in CONDITIONS:
            of_it = [given[story_id] for story_id, name in conditions.items() if name == condition]
            assert found["by_scenario"][condition]["mean"] == pytest.approx(np.mean(of_it), abs=1e-9)


def assert_a_changed_rating_is_caught(place: Path) -> None:
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
