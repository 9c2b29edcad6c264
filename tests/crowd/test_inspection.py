"""Drafts of narratives from the sample to a release: inspected, and kept unless somebody objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts.actions import ensure_researcher
from annotation.models import LintFinding, Vote
from crowd.behaviour import Population
from crowd.knowledge import truth_of
from dashboard.actions import load_sample_study
from dashboard.settings.sample_study import SAMPLES
from publishing.verification import check_release
from tests.crowd.test_label_tables import rows, tampered
from tests.crowd.test_live import work
from tests.publishing.support import published
from tests.publishing.test_reimport import broken_promises, imported

pytestmark = pytest.mark.django_db(transaction=True)

CAREFUL = Population(careful=1.0, skill_careful=(1.0, 1.0), declines=0.0)
FLAWED = {"i-cheese": "open", "i-piano": "sense", "i-map": "apart"}
BETTER = (
    "Marek has bought a goat cheese for Sunday and set it on the window sill. "
    "Tilda cannot stand the smell.\n\n"
    "As soon as Marek has left for work, she carries the plate to the cellar.\n\n"
    "In the evening he comes home with a loaf of bread."
)


def test_drafts_are_inspected_a_revised_one_again_and_the_sound_ones_kept(
    live_server: LiveServer, tmp_path: Path, settings: Any
) -> None:
    settings.RELEASES_ROOT = tmp_path / "releases"
    study = load_sample_study(now=timezone.now(), name="inspection")
    assert LintFinding.objects.get(story__study=study).story.story_id == "i-map"
    new = "i-cheese.r2"
    table = json.loads((SAMPLES["inspection"].parent / "truth.json").read_bytes())
    table[new] = table["i-cheese"] | {"open": "yes"}
    truth = truth_of(study, table=table, valid=1.0, seed=1)
    work(study, live_server, 2, truth=truth, population=CAREFUL)
    assert Vote.objects.of_study(study).counted().count() == 12
    client = Client()
    client.force_login(ensure_researcher(username="owner", password="quite-long-enough-9"))
    page = client.post(
        f"/studies/{study.slug}/stories/i-cheese/revise/",
        {"narrative": BETTER, "reason": "“Marek does not know” gave the answers away."},
        follow=True,
    ).content.decode()
    assert "i-cheese.r2 replaces i-cheese." in page
    work(study, live_server, 2, truth=truth, population=CAREFUL)

    place = published(study).directory
    report = check_release(place)
    assert report.is_sound, report.shown
    kept = {row["story_id"] for row in rows(place, "story-data/test.jsonl")}
    dropped = {row["story_id"]: row["reason"] for row in rows(place, "annotations/dropped-stories.jsonl")}
    assert (kept, dropped) == ({"i-scarf", "i-stamps", "i-kettle", new}, FLAWED | {"i-cheese": "revised"})
    votes = rows(place, "annotations/votes.jsonl")
    voted = [vote["story_id"] for vote in votes]
    assert (voted.count("i-cheese"), voted.count(new), len(voted)) == (2, 2, 14)
    for vote in votes:
        said = {name for name in vote if name.endswith("-change") and vote[name]}
        assert said == {f"{name}-change" for name in ("open", "sense", "apart") if vote[name] == "no"}
    copy, _ = imported(place, "copy", "--with-votes")
    statistics = (place / "statistics.json").read_bytes()
    assert (published(copy).directory / "statistics.json").read_bytes() == statistics
    assert broken_promises() == []
    told = tampered(place, "annotations/votes.jsonl", b'"open":"no"', b'"open":"yes"')
    assert any("agreement.open" in one for one in told), told
