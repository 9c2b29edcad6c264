"""Excluded votes and releases: what is published stays, and the next release says how it is now."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from annotation import actions
from annotation.models import Assignment, Vote
from publishing.models import Release
from publishing.queries import surplus_votes
from tests import builders
from tests.publishing.support import published

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("releases_root")]


def files(release: Release) -> dict[str, bytes]:
    return {
        str(path.relative_to(release.directory)): path.read_bytes()
        for path in release.directory.rglob("*")
        if path.is_file()
    }


def kept(release: Release) -> list[str]:
    text = (release.directory / "story-data" / "test.jsonl").read_text(encoding="utf-8")
    return [json.loads(line)["story_id"] for line in text.splitlines()]


def test_a_published_release_stays_and_the_next_one_has_the_new_verdicts() -> None:
    study = builders.make_study("main", stories=2, votes_per_story=1)
    careless, careful = builders.qualified(study, 2)
    builders.vote(careless, builders.answers(q2="no"))
    builders.vote(careful)
    first = published(study)
    before = files(first)
    assert len(kept(first)) == 1

    actions.exclude_annotator(
        enrollment=careless, reason="random", shown_reason="Thank you.", by=None, now=timezone.now()
    )
    second = published(study)
    assert (second.kept, second.dropped, second.incomplete) == (1, 0, 1)
    builders.vote(careful)
    third = published(study)

    assert len(kept(third)) == 2
    assert files(first) == before
    assert surplus_votes(third) == {"excluded": 1}
    card = (third.directory / "README.md").read_text(encoding="utf-8")
    assert "The researchers excluded 1 vote by 1 person; no file of this release has them." in card
    ((only,),) = {tuple(Vote.objects.counted().values_list("assignment__enrollment").distinct())}
    assert only == (careful.pk,)


def test_a_vote_that_lost_its_slot_while_excluded_is_named_as_surplus() -> None:
    study = builders.make_study("main", stories=1, votes_per_story=1)
    excluded, other = builders.qualified(study, 2)
    builders.vote(excluded)
    actions.exclude_annotator(
        enrollment=excluded, reason="random", shown_reason="Thank you.", by=None, now=timezone.now()
    )
    builders.vote(other)
    actions.readmit_annotator(enrollment=excluded, reason="a mistake", by=None, now=timezone.now())
    assert surplus_votes(published(study)) == {"displaced": 1}


def test_votes_of_visits_that_no_platform_confirmed_are_named() -> None:
    study = builders.make_study("main", stories=2, votes_per_story=2)
    now = timezone.now()
    for person in builders.qualified(study, 2):
        session = actions.open_session(
            enrollment=person,
            story_limit=1,
            counts_unconfirmed=False,
            identity_claimed=True,
            framed=False,
            expires_at=now + timedelta(minutes=30),
            now=now,
        )
        held = actions.assign_next_story(enrollment=person, now=now, session_id=session.pk)
        assert isinstance(held, Assignment)
        actions.record_vote(
            assignment_id=held.pk,
            enrollment=person,
            submitted=builders.ALL_YES,
            now=now,
            session_id=session.pk,
        )
    actions.doubt_session(session=session, reason="not handed in", by=None, now=now)
    builders.answer_everything(builders.qualified(study, 2))
    assert surplus_votes(published(study)) == {"doubted": 1, "pending": 1}
