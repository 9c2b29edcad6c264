"""A study with an adaptive number of votes over HTTP, from simulated people to a release that adds up."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from annotation.models import Story, Vote
from crowd.behaviour import Population
from integrity.catalogue import CHECKS, run
from publishing.verification import check_release
from tests import builders
from tests.crowd.test_label_tables import rows
from tests.crowd.test_live import check_receipts, work
from tests.publishing.support import published
from tests.publishing.verification.support import edit_rows, seal

pytestmark = pytest.mark.django_db(transaction=True)

VOTES = "annotations/votes.jsonl"
UNSURE = Population(careful=1.0, skill_careful=(0.8, 0.95), declines=0.0)
STORIES, LEAST, MOST = 8, 2, 5


def test_crowd_votes_until_every_story_is_decided(
    live_server: LiveServer, tmp_path: Path, settings: Any
) -> None:
    settings.RELEASES_ROOT = tmp_path / "releases"
    study = builders.make_study(
        stories=STORIES, votes_per_story=LEAST, most_votes=MOST, decided_by="majority", story_language="en"
    )
    report = work(study, live_server, 6, population=UNSURE, max_seconds=120)
    check_receipts(report, study)
    assert not Story.objects.filter(study=study, has_free_slot=True).exists()
    assert not [outcome.check.name for outcome in run(CHECKS) if not outcome.holds]

    place = published(study).directory
    checked = check_release(place)
    assert checked.is_sound, checked.shown
    assert "**Assignment.**" not in (place / "README.md").read_text(), "no stories are given to anybody"
    given: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for vote in rows(place, VOTES):
        given[vote["story_id"]].append(vote)
    assert sum(map(len, given.values())) == Vote.objects.of_study(study).counted().count()
    kept = {row["story_id"] for row in rows(place, "story-data/test.jsonl")}
    for story_id, votes in given.items():
        needed = MOST // 2 + 1
        noes = [sum(vote[question] == "no" for vote in votes) for question in builders.ALL_YES]
        lost = any(MOST - no < needed for no in noes)
        won = all(len(votes) - no >= needed for no in noes)
        assert lost or won, "it ended undecided"
        assert won is (story_id in kept)
        assert len(votes) >= LEAST
    statistics = json.loads((place / "statistics.json").read_bytes())
    ended = Counter(map(len, given.values()))
    assert len(ended) > 1, "all the same: the people of this test agree too much or too little"
    assert statistics["stories_by_votes"] == {str(votes): ended[votes] for votes in sorted(ended)}
    assert statistics["votes_saved"] == MOST * STORIES - sum(map(len, given.values())) > 0

    short = min(given, key=lambda story_id: len(given[story_id]))
    edit_rows(VOTES, lambda votes: votes.remove(given[short][-1]))(place)
    seal(place)
    found = "\n".join(map(str, check_release(place).shown))
    assert f"by its votes it is incomplete ({len(given[short]) - 1} of at most 5 votes)" in found
