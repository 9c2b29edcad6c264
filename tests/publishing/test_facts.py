"""The facts a card is written from, as the database has them up to the moment of the request."""

from __future__ import annotations

from collections import Counter

import pytest
from django.utils import timezone

from annotation.actions import record_vote, reinstate, suspend
from annotation.models import Vote
from publishing import actions, queries
from publishing.facts import MOST_SECONDS, Tally
from recruitment.actions import arrive_by_link
from tests import builders
from tests.builders import ALL_YES
from tests.publishing.support import judged_study, published

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("releases_root")]


def test_surplus_votes_and_arrivals_are_those_before_the_request() -> None:
    study = judged_study("counted", {"a": (ALL_YES,) * 2, "b": (ALL_YES,), "c": ()}, votes_per_story=2)
    for person in study.enrollments.all():
        arrive_by_link(enrollment=person, now=timezone.now())
        arrive_by_link(enrollment=person, now=timezone.now())
    release = actions.request_release(study=study, by=None, now=timezone.now())
    before = queries.release_facts(release)
    assert before.surplus == {"not_qualified": 3}
    assert (before.people.visited, before.people.consented) == (2, 2)
    late = builders.qualified(study)[0]
    arrive_by_link(enrollment=late, now=timezone.now())
    held = builders.claim(late)
    suspend(enrollment=late, by=None, now=timezone.now(), reason="test")
    record_vote(assignment_id=held.pk, enrollment=late, submitted=ALL_YES, now=timezone.now())
    reinstate(enrollment=late, by=None, now=timezone.now(), reason="test")
    assert Vote.objects.exclude(surplus_reason="").count() == 4
    assert queries.release_facts(release) == before


def test_the_card_says_in_which_languages_people_read_the_form() -> None:
    study = builders.make_study("languages", stories=2, votes_per_story=1)
    person = builders.qualified(study)[0]
    for language in ("de", "en"):
        held = builders.claim(person)
        record_vote(
            assignment_id=held.pk,
            enrollment=person,
            submitted=ALL_YES,
            language=language,
            now=timezone.now(),
        )
    assert Counter(Vote.objects.values_list("language", flat=True)) == {"de": 1, "en": 1}
    card = (published(study).directory / "README.md").read_text(encoding="utf-8")
    assert "People read the form in German (1 vote, 50.0 %) and English (1 vote, 50.0 %)." in card


@pytest.mark.parametrize(
    ("seconds", "median"),
    [([], None), ([5], 5), ([1, 9], 1), ([1, 2, 9], 2), ([1, 10_000, 10_000], MOST_SECONDS)],
)
def test_the_median_of_the_time_on_task(seconds: list[int], median: int | None) -> None:
    tally = Tally(votes=len(seconds), seconds=Counter(min(number, MOST_SECONDS) for number in seconds))
    assert tally.median_seconds() == median
