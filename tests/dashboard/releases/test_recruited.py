"""A release's annotation report states recruitment, test and pay."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation.models import Enrollment
from dashboard.releases.recruited import recruited
from publishing.actions.releases import build_release, request_release
from publishing.models import Release
from publishing.verification import check_release
from publishing.verification.schema import misfit
from publishing.verification.study import ONLY_HERE
from recruitment import actions
from tests import builders
from tests.doubles.mturk.server import MTurkDouble
from tests.publishing.conftest import published_small
from tests.recruitment.campaigns import STORIES
from tests.recruitment.handed_in import Desk, approve, bonus, reject


def report_of(release: Release) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((release.directory / "annotation-report.json").read_bytes())
    return found


def note_paid(person: Enrollment, amount: int) -> None:
    actions.record_link_payments(
        study=person.study,
        amounts={person.pk: Decimal(amount)},
        reason="In cash.",
        token=uuid4(),
        by=ensure_researcher(username="rita", password="a long enough password"),
        now=timezone.now(),
    )


@pytest.mark.django_db
def test_pay_is_what_arrived_for_each_visit_and_hour_under_nobodys_name() -> None:
    with MTurkDouble() as double:
        settings = replace(STORIES, seats=9, reward=Decimal("1.20"))
        desk = Desk(double, builders.make_study(stories=4), settings)
        visits = [desk.hand_in(minutes=minutes) for minutes in (15, 30, 60, 60)]
        for visit in visits:
            approve(visit)
        bonus(visits[0], "0.30")
        refused = desk.hand_in(minutes=5)
        reject(refused)
        desk.hand_in(minutes=10)
        bonus(visits[1], "2.40", pays_for=desk.hand_in(minutes=120))
        desk.send_all()
        found = recruited(desk.campaign.study)
    (campaign,) = found["campaigns"]
    assert (campaign["platform"], campaign["reward"], campaign["people"]) == ("mturk", "1.20", 7)
    assert campaign["screen_out_reward"] is None
    assert found["people_by_link"] == 0
    told = {name: found[name] for name in ("campaigns", "people_by_link")}
    assert (
        misfit(told, ONLY_HERE["recruitment"])
        == misfit(found["achieved"], ONLY_HERE["pay"]["achieved"])
        == ""
    )
    assert found["achieved"] == [
        {
            "purpose": "stories",
            "currency": "USD",
            "paid": 5,
            "rejected": 1,
            "waiting": 1,
            "per_visit": {"lower_quartile": "1.20", "median": "1.20", "upper_quartile": "1.50"},
            "per_hour": {"lower_quartile": "1.20", "median": "1.20", "upper_quartile": "2.40"},
        }
    ]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("releases_root")
def test_a_release_says_how_people_came_were_tested_and_paid_until_it_was_requested() -> None:
    study = builders.make_study("told", stories=2, qualification=2, votes_per_story=1, pay_rate=12)
    person, *others = builders.qualified(study, 3)
    for one in (person, *others):
        actions.arrive_by_link(enrollment=one, now=timezone.now())
    builders.vote(person)
    note_paid(person, 5)
    release = request_release(study=study, by=None, now=timezone.now(), recruited=recruited(study))
    note_paid(others[0], 7)
    build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    report = report_of(release)
    assert report["recruitment"]["people_by_link"] == 3
    assert report["evaluators"] == {"with_counted_votes": 1, "arrived": 3, "consented": 3}
    (form,) = report["training"]["rounds"]
    assert form["stories"] == 2
    assert form["enough"] == form["answers"]
    assert (report["training"]["attempted"], report["training"]["passed"]) == (3, 3)
    (paid,) = report["pay"]["achieved"]
    assert paid == {
        "purpose": "outside platforms",
        "currency": "USD",
        "paid": 1,
        "rejected": 0,
        "waiting": 0,
        "per_visit": None,  # or it would say what the one person got
        "per_hour": None,
    }
    assert check_release(release.directory, with_machine_validation=False).shown == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("releases_root")
def test_a_release_that_was_requested_without_these_figures_says_null() -> None:
    report = report_of(published_small())
    assert report["recruitment"]["campaigns"] is None
    assert report["pay"]["achieved"] is None
