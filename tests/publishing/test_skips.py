"""Skips, comments and seeds in a release, and back from it."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from hypothesis import given, settings, strategies as st

from annotation import actions
from annotation.identifiers import PATTERNS, without_identifiers
from annotation.models import Assignment, Comment, Skip, Story, Study, Vote
from integrity.catalogue import CHECKS, run
from publishing.files import jsonl
from publishing.models import Release
from publishing.verification import check_release
from tests import builders
from tests.publishing.support import published
from tests.publishing.verification.support import seal
from tests.worlds import built_once

VOTES, SKIPS = "annotations/votes.jsonl", "annotations/skips.jsonl"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def release(releases_root: Path) -> Release:
    return _release()


@built_once
def _release() -> Release:
    """Three people of four judge three stories; one skips two of them, of which one is not complete."""
    study = builders.make_study(
        "first", stories=4, serving_order=Study.ServingOrder.OWN, option_order=Study.OptionOrder.PERSON
    )
    now = timezone.now() - timedelta(hours=1)
    *judges, skipper = builders.qualified(study, 4, now=now)
    for reason, words in (("broken", "Ask me:\nme@example.org"), ("known", "")):
        held = builders.claim(skipper, now=now)
        actions.skip_story(
            assignment_id=held.pk,
            enrollment=skipper,
            reason=reason,
            words=words,
            now=now + timedelta(seconds=4.25),
        )
    builders.vote(skipper, now=now)
    for number, person in enumerate(judges):
        while isinstance(given := actions.assign_next_story(enrollment=person, now=now), Assignment):
            actions.record_vote(
                assignment_id=given.pk,
                enrollment=person,
                submitted=builders.ALL_YES,
                comment=f"Nº {number};, | mail A1B2C3D4E5F6G7 “ok”\nend" if number else "",
                now=now + timedelta(seconds=9),
            )
    return published(study)


def rows(release: Release, path: str) -> list[dict[str, Any]]:
    text = (release.directory / path).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def problems(directory: Path) -> list[str]:
    return [str(finding) for finding in check_release(directory, with_machine_validation=False).shown]


def test_votes_tell_position_seeds_and_comment(release: Release) -> None:
    told = rows(release, VOTES)
    stored = {
        (vote.assignment.story.story_id, vote.assignment.enrollment.pseudonym): vote
        for vote in Vote.objects.counted().select_related(
            "assignment__story", "assignment__enrollment", "comment"
        )
    }
    assert len(told) == len(stored) > 9
    for row in told:
        vote = stored[row["story_id"], row["annotator"]]
        assert list(row)[-7:-3] == ["seconds_on_task", "position", "order_seed", "option_seed"]
        assert (row["position"], row["order_seed"]) == (vote.order_position, vote.order_seed)
        assert row["option_seed"] == vote.option_seed is not None
    assert {row["comment"] for row in told} == {""} | {
        f"Nº {number};, | mail [removed] “ok”\nend" for number in (1, 2)
    }


def test_skips_are_a_file_of_their_own_and_the_release_is_sound(release: Release) -> None:
    told = rows(release, SKIPS)
    assert sorted((row["reason"], row["words"]) for row in told) == [
        ("broken", "Ask me:\n[removed]"),
        ("known", ""),
    ]
    assert {row["seconds_on_task"] for row in told} == {4.25}
    assert {row["position"] for row in told} == {1, 2}
    voted = {(row["story_id"], row["annotator"]) for row in rows(release, VOTES)}
    assert voted.isdisjoint((row["story_id"], row["annotator"]) for row in told)
    assert problems(release.directory) == []


def test_a_release_of_the_import_tells_the_same(release: Release, releases_root: Path) -> None:
    call_command("import_release", str(release.directory), "--study", "copy", "--with-votes")
    study = Study.objects.get(slug="copy")
    complete = set(Story.objects.filter(study=study).values_list("story_id", flat=True))
    assert [outcome.check.name for outcome in run(CHECKS) if not outcome.holds] == []

    def without_names(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
        found = [row | {"annotator": ""} for row in told if row["story_id"] in complete]
        return sorted(found, key=lambda row: json.dumps(row, sort_keys=True))

    again = published(study)
    for path in (VOTES, SKIPS):
        assert without_names(rows(again, path)) == without_names(rows(release, path))
    assert Skip.objects.reported(study).count() == len(without_names(rows(release, SKIPS))) > 0
    assert Comment.objects.filter(vote__assignment__story__study=study).exists()
    assert problems(again.directory) == []


UNSOUND: tuple[tuple[dict[str, Any], str], ...] = (
    ({"reason": "boring"}, "reason is not one of"),
    ({"annotator": "Anna"}, "annotator is not a pseudonym"),
    ({"words": None}, "words is not a text"),
    ({"position": 0}, "position is not a whole number"),
    ({"seconds_on_task": -1}, "seconds_on_task is not a number"),
    ({"skipped_at": "today"}, "skipped_at is not a time"),
    ({"story_id": ""}, "story_id is not a non-empty text"),
    ({"q1": "yes"}, "they should be story_id, annotator, reason"),
    ({"words": "me@example.org"}, "This looks like an e-mail address"),
)


def test_every_unsound_skip_is_found(release: Release) -> None:
    first, *_ = rows(release, SKIPS)
    (release.directory / SKIPS).write_bytes(b"".join(jsonl.line(first | change) for change, _ in UNSOUND))
    seal(release.directory)
    found = problems(release.directory)
    for number, (_, said) in enumerate(UNSOUND, 1):
        assert any(f"{SKIPS}:{number}: " in problem and said in problem for problem in found), (said, found)


@settings(max_examples=40)
@given(st.text() | st.from_regex(r"[a-z]{1,5}@[a-z]{1,5}\.[a-z]{2}( [0-9a-f]{24})?", fullmatch=True))
def test_nothing_that_looks_like_an_identifier_stays(text: str) -> None:
    text = text.encode("utf-8", "ignore").decode()
    left = without_identifiers(text)
    assert not any(pattern.search(left.encode()) for _, pattern in PATTERNS.values())
    assert without_identifiers(left) == left
