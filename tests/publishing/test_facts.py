"""The facts a card is written from, as the database has them up to the moment of the request."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from annotation.actions import (
    admit_through,
    change_study,
    enroll,
    open_study,
    record_vote,
    reinstate,
    suspend,
)
from annotation.models import Vote
from publishing import queries
from publishing.actions import releases
from publishing.models import Release
from publishing.statistics.quartiles import quartiles
from publishing.totals import MAX_SECONDS, Tally
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
    release = releases.request_release(study=study, by=None, now=timezone.now())
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
            assignment_id=held.pk, enrollment=person, submitted=ALL_YES, language=language, now=timezone.now()
        )
    assert Counter(Vote.objects.values_list("language", flat=True)) == {"de": 1, "en": 1}
    card = (published(study).directory / "README.md").read_text(encoding="utf-8")
    assert "Annotators read the form in German (1 vote, 50.0 %) and English (1 vote, 50.0 %)." in card


def test_what_is_changed_after_the_request_is_not_in_the_release() -> None:
    study = judged_study("changing", {"a": (ALL_YES,)}, votes_per_story=1, pay_rate=Decimal("12.00"))
    release = releases.request_release(study=study, by=None, now=timezone.now())
    before = queries.release_facts(release)
    assert (before.title, before.story_cap, before.pay_rate) == ("A study for tests", 500, Decimal("12.00"))
    changes = {"title": "Another", "description": "Else.", "story_cap": 900, "pay_rate": Decimal("15.00")}
    change_study(study=study, changes=changes, by=None, now=timezone.now())
    release = Release.objects.get(pk=release.pk)
    assert release.study.title == "Another"
    assert queries.release_facts(release) == before


def test_a_pay_raise_and_a_lowered_cap_are_told_as_they_were() -> None:
    study = judged_study("raised", {"a": (ALL_YES,)}, votes_per_story=1, pay_rate=Decimal("12.00"))
    opened = study.opened_at
    assert opened is not None
    for days, changes in ((2, {"pay_rate": Decimal("13.50"), "title": "New"}), (9, {"story_cap": 40})):
        change_study(study=study, changes=changes, by=None, now=opened + timedelta(days=days))
    change_study(
        study=study, changes={"pay_rate": Decimal("15.00")}, by=None, now=opened + timedelta(days=12)
    )
    release = releases.request_release(study=study, by=None, now=opened + timedelta(days=20))
    releases.build_release(release_id=release.pk, now=opened + timedelta(days=20))
    card = (release.directory / "README.md").read_text(encoding="utf-8")
    first, second = (f"{opened + timedelta(days=days):%-d %B %Y}" for days in (2, 12))
    assert f"pay rate was 12.00 until {first}, then 13.50 until {second}, then 15.00 USD per hour" in card
    assert "nobody was given another story after answering 500." in card


def test_the_study_in_which_people_had_to_be_qualified_is_named() -> None:
    source = builders.make_study("source", qualification=1)
    draft = builders.make_study("study", stories=1, votes_per_story=1, opened=False)
    draft = admit_through(study=draft, source=source, by=None, now=timezone.now())
    study = open_study(study=draft, by=None, now=timezone.now())
    (there,) = builders.qualified(source)
    builders.vote(builders.consent(enroll(study=study, annotator=there.annotator, now=timezone.now())))
    release = published(study)
    card = (release.directory / "README.md").read_text(encoding="utf-8")
    assert "Only people who had qualified in the study `source` could take part" in card
    assert "everybody who consented could vote" not in card
    croissant = (release.directory / "croissant.json").read_text(encoding="utf-8")
    assert "Only people who had qualified in the study source could take part." in croissant


def test_votes_and_people_are_counted_up_to_one_moment() -> None:
    """That at which the answers were fixed, also when people came after the request."""
    study = judged_study("moment", {"a": (ALL_YES,), "b": ()}, votes_per_story=1)
    release = releases.request_release(study=study, by=None, now=timezone.now())
    late = builders.qualified(study)[0]
    builders.vote(late, ALL_YES)
    releases.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    builders.qualified(study)
    assert (release.votes, release.annotators) == (2, 2)
    assert queries.release_facts(release).people.consented == 2


@pytest.mark.parametrize(
    ("seconds", "median"),
    [([], None), ([5], 5), ([1, 9], 1), ([1, 2, 9], 2), ([1, 10_000, 10_000], MAX_SECONDS)],
)
def test_the_median_of_the_time_on_task(seconds: list[int], median: int | None) -> None:
    tally = Tally(votes=len(seconds), seconds=Counter(min(number, MAX_SECONDS) for number in seconds))
    found = quartiles(tally.seconds)
    assert (found and found["median"]) == median
