"""How many visits a campaign is filled in with: as many as the study still wants."""

from __future__ import annotations

import pytest

from recruitment.campaigns import seats_needed
from tests import builders

pytestmark = pytest.mark.django_db


def test_as_many_visits_are_filled_in_as_the_study_still_wants_with_the_checks_among_them() -> None:
    study = builders.make_study(stories=20, votes_per_story=2)
    assert seats_needed(study, stories_per_visit=10) == 4

    (person,) = builders.qualified(study)
    builders.work_through(person, 5)
    assert seats_needed(study, stories_per_visit=1) == 35, "five of forty votes are there"
    builders.claim(person)
    assert seats_needed(study, stories_per_visit=1) == 34, "and one is being given"

    builders.add_checks(study, 1, every=5)
    assert seats_needed(study, stories_per_visit=5) == 9, "4 of 5 stories are votes: 34 / 4"
    assert seats_needed(study, stories_per_visit=20) == 2, "19 of 20 are, with one check in all"
    builders.add_checks(builders.make_study("other"), 1)
    assert seats_needed(builders.make_study("third", stories=5), stories_per_visit=5) == 3
