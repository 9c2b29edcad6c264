"""The card says what came of judging votes that were drawn at random, up to the release's moment."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation import actions
from annotation.models import ReviewSample, SpotCheck
from publishing import queries
from publishing.facts import SpotChecks
from publishing.models import Release
from publishing.statistics.intervals import wilson
from tests import builders
from tests.publishing.support import published

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("releases_root")]

Decision, Among = SpotCheck.Decision, ReviewSample.Among


def judge(sample: ReviewSample, position: int, decision: SpotCheck.Decision, **when: float) -> None:
    item = sample.items.get(position=position)
    actions.spot_check(
        vote=item.vote,
        item=item,
        decision=decision,
        reason="careless",
        by=None,
        now=timezone.now() + timedelta(**when),
    )


def test_the_card_tells_of_votes_drawn_at_random_and_of_no_others() -> None:
    study = builders.make_study("judged", stories=6, votes_per_story=1)
    first, second = builders.qualified(study, 2)
    for person in (first, second):
        for _ in range(3):
            builders.vote(person)
    now = timezone.now()
    sample = actions.draw_sample(
        study=study, kind=ReviewSample.Kind.RANDOM, people=2, per_person=2, by=None, now=now
    )
    other = actions.draw_sample(
        study=study, kind=ReviewSample.Kind.RANDOM, people=1, per_person=3, by=None, now=now,
        among=Among.PERSON, of=[first.pk],
    )  # fmt: skip
    judge(sample, 1, Decision.ACCEPT)
    judge(sample, 2, Decision.ACCEPT)
    judge(sample, 2, Decision.REJECT)
    drawn = set(sample.items.values_list("vote", flat=True))
    judge(other, other.items.exclude(vote__in=drawn).get().position, Decision.UNCOUNTED)

    release = published(study)

    card = (release.directory / "README.md").read_text(encoding="utf-8")
    low, high = wilson(1, 2) or (0, 0)
    people = {item.vote.assignment.enrollment_id for item in sample.items.filter(position__lte=2)}
    most = 3 - len(people)
    assert f"Researchers judged 2 votes drawn at random: at most {most} from each of" in card
    assert "so that each weighs the same however many votes they gave" in card
    assert f"they rejected 1 of 2 (50.0 %) (Wilson's 95 % interval [{low:.2f}, {high:.2f}]" in card
    assert "excluded 1 from the count" in card
    judge(sample, 3, Decision.REJECT, minutes=1)
    expected = SpotChecks(1, 0, 1, people=len(people), most_of_one=most)
    assert queries.release_facts(Release.objects.get(pk=release.pk)).spot_checks == expected


def test_what_was_decided_last_about_a_vote_stands_in_whichever_sample() -> None:
    study = builders.make_study("twice", stories=1, votes_per_story=1)
    builders.vote(builders.qualified(study)[0])
    now = timezone.now()
    sample = actions.draw_sample(
        study=study, kind=ReviewSample.Kind.RANDOM, people=1, per_person=1, by=None, now=now
    )
    judge(sample, 1, Decision.REJECT)
    vote = sample.items.get().vote
    actions.spot_check(vote=vote, decision=Decision.ACCEPT, reason="", by=None, now=timezone.now())
    facts = queries.release_facts(published(study))
    assert facts.spot_checks == SpotChecks(1, 0, 0, people=1, most_of_one=1)


def test_without_spot_checks_the_card_says_nothing_of_them(release: Release) -> None:
    card = (release.directory / "README.md").read_text(encoding="utf-8")
    assert "Spot checks" not in card
