"""Three named experts answer the stories given to each, over HTTP, up to a verified release."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from annotation import actions
from annotation.actions import GivenRow
from annotation.models import Enrollment, Study, Vote
from integrity.catalogue import CHECKS, run
from publishing.verification import check_release
from tests import builders
from tests.annotation.pages import Browser, arrive
from tests.annotation.serving import NOW
from tests.publishing.support import published

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("client")]
PARTS = ((0, 1), (1, 2), (0, 2))


def work(person: Enrollment) -> Browser:
    """Open the link, agree, and answer until no story comes."""
    browser = arrive(person)
    browser.press("I agree")
    browser.open(browser.url.replace("instructions/", "stories/"))
    while browser.document.xpath("//main//form//*[@name='q1']"):
        browser.press("Save", **builders.ALL_YES)
    return browser


def test_three_experts_answer_what_each_was_given(tmp_path: Path, settings: Any) -> None:
    settings.RELEASES_ROOT = tmp_path / "releases"
    order = Study.ServingOrder.GIVEN
    study = builders.make_study(stories=3, votes_per_story=2, opened=False, serving_order=order)
    *experts, stranger = actions.invite(study=study, count=4, by=None, now=NOW)
    rows = [
        GivenRow(1, f"story_{number:05d}_sev1", person.pseudonym)
        for person, part in zip(experts, PARTS, strict=True)
        for number in part
    ]
    actions.give_items(study=study, rows=rows, by=None, now=NOW)
    actions.open_study(study=study, by=None, now=NOW)
    browsers = [work(person) for person in (*experts, stranger)]
    headings = [browser.heading for browser in browsers]
    assert headings == ["There are no stories left for you"] * 3 + ["No story is waiting for you"]

    voted: defaultdict[str, set[str]] = defaultdict(set)
    counted = Vote.objects.of_study(study).counted()
    for name, story_id in counted.values_list(
        "assignment__enrollment__pseudonym", "assignment__story__story_id"
    ):
        voted[name].add(story_id)
    given: defaultdict[str, set[str]] = defaultdict(set)
    for row in rows:
        given[row.person].add(row.story_id)
    assert voted == given
    assert all(outcome.holds for outcome in run(CHECKS))

    release = published(study)
    report = check_release(release.directory)
    assert report.is_sound, report.shown
    card = (release.directory / "README.md").read_text()
    assert "6 of the counted votes are on such stories." in " ".join(card.split())
