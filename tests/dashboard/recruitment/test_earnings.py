"""What people were really paid by the hour."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from annotation.actions import confirm_session
from annotation.rules import pseudonym
from dashboard.recruitment.queries import Earned, earned_by, earned_by_everybody
from recruitment import actions
from tests import builders
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES
from tests.recruitment.handed_in import Desk, approve, bonus

pytestmark = pytest.mark.django_db


def test_pay_by_the_hour_is_what_arrived_over_the_time_it_took() -> None:
    with MTurkDouble() as double:
        desk = Desk(double, builders.make_study(stories=4), replace(STORIES, seats=3, reward=Decimal("1.20")))
        work = desk.hand_in(minutes=15)
        assert work.visit is not None
        person = work.visit.enrollment
        assert earned_by(person) == [], "nothing has arrived yet"
        actions.approve(submission=work, by=None, now=timezone.now())
        desk.send_all()
        assert earned_by(person) == [Earned(Decimal("1.20"), "USD", timedelta(minutes=15))]
        bonus(work, "0.30")
        desk.send_all()
        (earned,) = earned_by(person)
        assert (earned.amount, earned.per_hour) == (Decimal("1.50"), Decimal("6.00"))
        name = pseudonym(person.study.pseudonym_key, person.annotator_id)
        assert earned_by_everybody(person.study) == {name: earned}


def test_the_time_of_work_whose_pay_waits_is_not_yet_set_against_what_arrived() -> None:
    with MTurkDouble() as double:
        settings = replace(STORIES, seats=6, reward=Decimal("1.20"))
        desk = Desk(double, builders.make_study(stories=2), settings)
        paid = desk.hand_in(minutes=15)
        assert paid.visit is not None
        person = paid.visit.enrollment
        approve(paid)
        desk.send_all()
        again = desk.come_again(paid.visit)
        desk.answer(again)
        actions.record_hand_in(visit=again, now=again.arrived_at + timedelta(minutes=45))
        desk.submit(again)
        work = desk.marketplace.one_work(again.remote_id)
        assert work is not None
        submission = actions.reconciliation.record_submission(
            campaign=desk.campaign, work=work, now=timezone.now()
        )
        assert submission is not None
        name = pseudonym(person.study.pseudonym_key, person.annotator_id)
        once = Earned(Decimal("1.20"), "USD", timedelta(minutes=15))
        assert earned_by(person) == [once], "nothing is asked for yet"
        assert again.session is not None
        confirm_session(session=again.session, by=None, now=timezone.now())
        approve(submission)
        assert earned_by(person) == [once], "asked for, and not sent"
        assert earned_by_everybody(person.study) == {name: once}
        desk.send_all()
        (both,) = earned_by(person)
        assert both == Earned(Decimal("2.40"), "USD", timedelta(hours=1))
        assert earned_by_everybody(person.study) == {name: both}
