"""The sample study of ratings: pages and a card that say nothing of stories kept or dropped.

See test_whole_study for the statistics of a release.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation import actions
from annotation.models import Study, Vote
from dashboard.actions import OPEN, create_study, move_study
from dashboard.figures import compute
from dashboard.settings.configuration import parse_configuration
from dashboard.settings.sample_study import SAMPLES
from publishing import tasks
from publishing.card.markdown import decimal
from publishing.errors import UnknownFilter
from publishing.verification import check_release
from tests import builders
from tests.publishing.support import published

pytestmark = pytest.mark.django_db(transaction=True)

CONDITIONS = ("false belief", "true belief")
QUESTIONS = ("understandable", "coherent", "unambiguous")
MEANINGLESS = re.compile(r"\b(kept|dropped|drops|keeps|validated|retention|objects? alone)\b", re.IGNORECASE)


@pytest.fixture
def rated(tmp_path: Path, settings: Any) -> Study:
    """Half of the sample study of ratings with all its votes: four people rate each of six items."""
    settings.RELEASES_ROOT = tmp_path / "releases"
    content = json.loads(SAMPLES["ratings"].read_bytes())
    lines = (SAMPLES["ratings"].parent / content["stories"]).read_text(encoding="utf-8").splitlines()
    content |= {"design": {"by": "condition", "load": dict.fromkeys(CONDITIONS, 3)}, "votes_per_story": 4}
    for name in ("stories", "truth", "slug"):
        del content[name]
    config = parse_configuration(json.dumps(content).encode(), name="study.json")
    study = create_study(slug="rated", config=config, by=None, now=timezone.now())
    builders.import_rows(study, [json.loads(line) for line in lines[:6]])
    study = actions.make_rehearsal(study=study, by=None, now=timezone.now())
    move_study(study=study, move=OPEN, campaigns=(), by=None, now=timezone.now())
    for number, person in enumerate(builders.qualified(study, 4)):
        for place in range(6):
            rating = str((number + place) % 5 + 1)
            builders.vote(person, dict.fromkeys(QUESTIONS, rating))
    assert Vote.objects.of_study(study).counted().count() == 24
    return study


def test_pages_say_nothing_that_has_no_meaning_for_ratings(rated: Study, client: Client) -> None:
    compute.make(rated.pk, now=timezone.now())
    with pytest.raises(UnknownFilter, match="every-item"):
        published(rated, filter_name="all-agree")
    release = published(rated)
    assert (release.filter_name, release.kept, release.dropped) == ("every-item", 6, 0)
    card = (release.directory / "README.md").read_text()
    assert "3 of false belief and 3 of true belief (by `scenario_name`)" in card
    assert not MEANINGLESS.search(card), MEANINGLESS.search(card)
    (difference,) = json.loads((release.directory / "statistics.json").read_bytes())["contrasts"][
        "kinds"
    ].values()
    assert (difference["items"], len(difference["interval"])) == (6, 2)
    assert f"| `false belief − true belief` | 6 | {decimal(difference['difference'])}" in card
    report = check_release(release.directory)
    assert report.is_sound, report.shown
    tasks.compare_releases(release.pk, published(rated).pk)
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
    assert changes == ["0.000"] * len(QUESTIONS)
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
    assert "Differences between kinds of items" in quality
    assert "false belief − true belief" in quality
