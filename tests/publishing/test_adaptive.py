"""Releases of studies with an adaptive number of votes: what they say, and what their files alone tell."""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from django.utils import timezone

from annotation import actions
from annotation.models import Assignment, Study
from integrity.catalogue import CHECKS, run
from publishing.errors import UnknownFilter
from publishing.models import Release
from publishing.verification import check_release
from tests import builders
from tests.publishing.support import published
from tests.publishing.test_builder import SCALES, build, judged, rows
from tests.publishing.test_reimport import imported
from tests.publishing.verification.support import edit_rows, pseudonymous, seal
from tests.worlds import built_once

YES, NO = "yyyy", "yyny"
VOTES = "annotations/votes.jsonl"
STORIES = [
    *(judged(number, YES, YES, YES) for number in range(6)),  # 3 of at most 5 for it
    *(judged(number, NO, YES, YES, YES) for number in range(6, 10)),
    *(judged(number, YES, NO, NO, YES, NO) for number in range(10, 12)),
    judged(12, NO, NO, NO),
    judged(13, NO, YES),  # incomplete
    judged(14, YES, YES),  # incomplete: the three still to come could all object
    judged(15),
]


def adaptive(place: Path, stories: list[Any] = STORIES, **changes: Any) -> Path:
    facts: dict[str, Any] = {"filter_name": "majority", "votes_per_story": 2, "most_votes": 5} | changes
    build(place, map(pseudonymous, stories), **facts)
    return place


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return adaptive(tmp_path_factory.mktemp("adaptive") / "1")


@pytest.fixture
def place(sound: Path, tmp_path: Path) -> Path:
    """A copy, to be broken."""
    return Path(shutil.copytree(sound, tmp_path / "1"))


def document(place: Path, path: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((place / path).read_bytes())
    return read


def test_release_says_both_numbers_and_the_rule(sound: Path) -> None:
    place = sound
    described = document(place, "release.json")
    assert described["filter"]["parameters"] == {"votes_per_story": 2, "most_votes": 5, "ties": "dropped"}
    assert "no vote that could still come would change its outcome" in described["filter"]["rule"]
    counts = described["counts"]
    assert [counts[name] for name in ("kept", "dropped", "incomplete")] == [10, 3, 3]
    assert {
        row["story_id"]: row["reason"] for row in rows(place, "annotations/incomplete-stories.jsonl")
    } == {"s0013": "2 of at most 5 votes", "s0014": "2 of at most 5 votes", "s0015": "0 of at most 5 votes"}
    assert len(rows(place, VOTES)) == sum(len(one.votes) for one in STORIES), "every counted vote is in it"
    croissant = document(place, "croissant.json")
    assert croissant["rai:annotationsPerItem"] == "2–5"
    report = check_release(place)
    assert report.is_sound, report.shown


def test_agreement_is_over_the_first_votes_that_every_story_gets(sound: Path) -> None:
    """Again by another implementation, from the files alone; incomplete stories count, too."""
    place = sound
    complete = {row["story_id"] for row in rows(place, "story-data/test.jsonl")}
    complete |= {row["story_id"] for row in rows(place, "annotations/dropped-stories.jsonl")}
    first: defaultdict[str, list[str]] = defaultdict(list)
    given: Counter[str] = Counter()
    for vote in rows(place, VOTES):
        given[vote["story_id"]] += 1
        if len(first[vote["story_id"]]) < 2:
            first[vote["story_id"]].append(vote["q3"])
    statistics = document(place, "statistics.json")
    found = statistics["agreement"]["q3"]
    counted = np.array([[votes.count(option) for option in SCALES["q3"]] for votes in first.values()])
    assert found["stories"] == len(first) == len(complete) + 2 == 15
    assert found["krippendorff_alpha"] == pytest.approx(
        krippendorff.alpha(value_counts=counted, level_of_measurement="nominal"), abs=1e-9
    )
    assert found["percent"] == pytest.approx(sum(len(set(votes)) == 1 for votes in first.values()) / 15)
    ended = Counter(given[story_id] for story_id in complete)
    assert statistics["stories_by_votes"] == {str(votes): ended[votes] for votes in sorted(ended)}
    assert statistics["votes_saved"] == sum((5 - votes) * stories for votes, stories in ended.items()) == 18


def test_card_says_how_many_votes_stories_got_and_what_it_saved(sound: Path) -> None:
    card = (sound / "README.md").read_text(encoding="utf-8")
    told = " ".join(card.split())
    assert "Every story needed 2–5 votes, each by a different annotator" in told
    assert "| stories with 2–5 votes | 13 |" in told
    assert "That saved 18 of the 65 votes that 5 for every complete story would have taken." in told
    assert "| votes | complete stories | | ---: | ---: | | 3 | 7 | | 4 | 4 | | 5 | 2 |" in told
    assert (
        "Computed over the first 2 counted votes of every story that has as many, complete or not; the later"
        in told
    )


def test_old_version_enters_the_agreement_only_with_the_first_votes(tmp_path: Path) -> None:
    old = [
        replace(one, story=replace(one.story, is_old_version=True))
        for one in (judged(20, YES, YES), judged(21, NO))
    ]
    document_of = document(adaptive(tmp_path / "1", [*STORIES, *old]), "statistics.json")
    assert document_of["agreement"]["q3"]["stories"] == 16
    assert sum(document_of["stories_by_votes"].values()) == 13


def test_with_one_vote_of_each_story_no_agreement_is_computed_and_the_card_says_so(tmp_path: Path) -> None:
    stories = [judged(number, NO) for number in range(4)]
    stories += [judged(number, YES, YES, YES) for number in range(4, 9)]
    place = adaptive(tmp_path / "1", stories, filter_name="all-agree", votes_per_story=1, most_votes=3)
    agreement = document(place, "statistics.json")["agreement"]["q3"]
    assert agreement["krippendorff_alpha"] is agreement["percent"] is None
    told = " ".join((place / "README.md").read_text(encoding="utf-8").split())
    assert "the later ones were asked for because of these, so there is nothing to compare" in told
    assert findings(place) == ""


def findings(place: Path) -> str:
    seal(place)
    return "\n".join(map(str, check_release(place, with_machine_validation=False).shown))


def test_votes_that_are_taken_away_are_missed(place: Path) -> None:
    def take_the_last(votes: list[dict[str, Any]]) -> None:
        for story_id in ("s0000", "s0006", "s0010"):
            del votes[max(number for number, vote in enumerate(votes) if vote["story_id"] == story_id)]

    edit_rows(VOTES, take_the_last)(place)
    found = findings(place)
    assert found.count("The story is kept; by its votes it is incomplete") == 2
    assert "The story is kept; by its votes it is incomplete (2 of at most 5 votes)" in found
    assert "The story is dropped (q3); by its votes it is incomplete (4 of at most 5 votes)" in found
    assert "statistics.json" in found


def test_story_cannot_be_called_complete_or_incomplete_against_the_rule(place: Path) -> None:
    path = place / "release.json"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"most_votes": 5', b'"most_votes": 4'))
    found = findings(place)
    assert "has 5 votes; 4 count" in found
    assert "filter does not match the definition of majority" in found
    path.write_bytes(whole.replace(b'"most_votes": 5', b'"most_votes": 2'))
    assert "a greater most_votes" in findings(place)


def adaptive_study(slug: str = "adaptive") -> Study:
    study = builders.make_study(
        slug, stories=6, votes_per_story=2, most_votes=4, decided_by="majority", license="CC0-1.0"
    )
    for place, person in enumerate(builders.qualified(study, 5)):
        while isinstance(
            held := actions.assign_next_story(enrollment=person, now=timezone.now()), Assignment
        ):
            against = held.story.source_line % 3 > place
            actions.record_vote(
                assignment_id=held.pk,
                enrollment=person,
                submitted=builders.answers(q3="no") if against else builders.ALL_YES,
                now=timezone.now(),
            )
    return study


@built_once
def adaptive_release() -> Release:
    study = adaptive_study()
    actions.close_study(study=study, by=None, now=timezone.now())
    return published(study)


@pytest.mark.django_db(transaction=True)
def test_study_is_released_by_the_filter_that_decided_it_and_by_no_other(releases_root: Path) -> None:
    release = adaptive_release()
    assert (release.filter_name, release.most_votes, release.incomplete) == ("majority", 4, 0)
    statistics = document(release.directory, "statistics.json")
    assert len(statistics["stories_by_votes"]) > 1
    assert check_release(release.directory, with_machine_validation=False).is_sound
    with pytest.raises(UnknownFilter, match="majority decided how many votes"):
        published(release.study, filter_name="all-agree")
    assert published(release.study, filter_name="majority+one-of-each").kept == release.kept


@pytest.mark.django_db(transaction=True)
def test_release_makes_the_same_study_again_with_its_votes(releases_root: Path) -> None:
    release = adaptive_release()
    copy, _ = imported(release.directory, "copy", "--with-votes")
    assert (copy.votes_per_story, copy.most_votes, copy.decided_by) == (2, 4, "majority")
    assert not [outcome.check.name for outcome in run(CHECKS) if not outcome.holds]
    again = published(copy).directory
    for path in ("statistics.json", "story-data/test.jsonl"):
        assert (again / path).read_bytes() == (release.directory / path).read_bytes()
