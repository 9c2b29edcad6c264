"""Work handed in on the double of Mechanical Turk, for tests of what follows from it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from accounts.models import PlatformIdentity
from annotation import actions as annotation_actions
from annotation.models import Assignment, Enrollment, Study
from dashboard.recruitment.queries import money_of
from recruitment import actions
from recruitment.actions import CampaignSettings
from recruitment.actions.payments import REJECTION_WAITS
from recruitment.arrival_rules import Arrival
from recruitment.marketplace import Work
from recruitment.models import Campaign, Grant, Payment, Submission, Visit
from tests import builders
from tests.doubles.mturk.client import marketplace_for
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES, make_campaign

SITE = "https://www.mturk.com"


class Desk:
    """A campaign that is on the double, people who work in it, and what workers of the queue do."""

    def __init__(self, double: MTurkDouble, study: Study, settings: CampaignSettings | None = None) -> None:
        self.double, self.study = double, study
        self.marketplace = marketplace_for(double)
        settings = settings or replace(STORIES, seats=18)
        now = timezone.now()
        draft = make_campaign(study, settings, now=now)
        started = actions.start_campaign(campaign=draft, marketplace=self.marketplace, by=None, now=now)
        self.campaign: Campaign = actions.carry_out(campaign=started, marketplace=self.marketplace, now=now)

    @contextmanager
    def for_one_test(self) -> Iterator[Desk]:
        """A desk with rows of its own, where one was built for a module (see ``module_transaction``)."""
        mine = copy.copy(self)
        mine.marketplace = copy.copy(self.marketplace)
        mine.campaign = Campaign.objects.select_related("study").get(pk=self.campaign.pk)
        mine.study = mine.campaign.study
        with self.double.put_back():
            yield mine

    def come(self) -> Visit:
        """Somebody new takes a seat, agrees, and opens our page in the frame."""
        return self._come(self.double.crowd.hire().worker_id)

    def come_again(self, visit: Visit) -> Visit:
        """The same person takes another seat."""
        return self._come(self.worker_of_visit(visit))

    def _come(self, worker: str) -> Visit:
        hit = self.double.crowd.available(worker)[0]
        seat = self.double.crowd.accept(hit, worker)
        arrival = Arrival(seat.assignment_id, hit, worker, SITE)
        visit = actions.arrive_for_campaign(
            campaign=self.campaign, arrival=arrival, is_proven=False, now=timezone.now()
        )
        if visit.enrollment.state == Enrollment.State.INVITED:
            builders.consent(visit.enrollment)
        return Visit.objects.select_related("session", "enrollment", "campaign__study").get(pk=visit.pk)

    def answer(self, visit: Visit) -> None:
        """The person answers what the visit is for."""
        person = Enrollment.objects.select_related("study").get(pk=visit.enrollment_id)
        given = annotation_actions.assign_next_story(
            enrollment=person, now=timezone.now(), session_id=visit.session_id
        )
        assert isinstance(given, Assignment), given
        annotation_actions.record_vote(
            assignment_id=given.pk,
            enrollment=person,
            submitted=builders.ALL_YES,
            now=timezone.now(),
            session_id=visit.session_id,
        )

    def submit(self, visit: Visit, *, receipt: str | None = None) -> None:
        """The browser hands the form of the last page in."""
        fields = {"assignmentId": visit.remote_id, "receipt": visit.receipt if receipt is None else receipt}
        self.double.crowd.submit(list(fields.items()))

    def hand_in(self, *, whole: bool = True, confirmed: bool = True, minutes: int = 0) -> Submission:
        """Somebody does the work, if ``whole``, and hands it in; ``confirmed``: it has been compared too."""
        visit = self.come()
        if whole:
            self.answer(visit)
        actions.record_hand_in(visit=visit, now=visit.arrived_at + timedelta(minutes=minutes))
        self.submit(visit)
        listed = self.marketplace.one_work(visit.remote_id)
        assert listed is not None
        submission = actions.reconciliation.record_submission(
            campaign=self.campaign, work=listed, now=timezone.now()
        )
        assert submission is not None
        if confirmed:
            assert visit.session is not None
            annotation_actions.confirm_session(session=visit.session, by=None, now=timezone.now())
        return submission

    def look(self, submission: Submission) -> Work:
        """What the platform says of the work now, taken in."""
        listed = self.marketplace.one_work(submission.remote_id)
        assert listed is not None
        actions.reconciliation.record_submission(campaign=self.campaign, work=listed, now=timezone.now())
        return listed

    def send(self, payment: Payment, *, now: datetime | None = None) -> Payment | None:
        """What a worker does that was told to send it."""
        return actions.payment_delivery.send_payment(
            payment_id=payment.pk, marketplace=self.marketplace, now=now or timezone.now()
        )

    def send_all(self) -> None:
        for payment in Payment.objects.due(now=timezone.now()):
            actions.payment_delivery.send_payment(
                payment_id=payment.pk, marketplace=self.marketplace, now=timezone.now()
            )

    def send_grants(self) -> None:
        for grant in Grant.objects.due(now=timezone.now()):
            actions.grants.send_grant(grant_id=grant.pk, marketplace=self.marketplace, now=timezone.now())

    def sweep(self, *, now: datetime | None = None) -> None:
        """Compare, then send what is due."""
        campaign = Campaign.objects.select_related("study").get(pk=self.campaign.pk)
        actions.reconcile(campaign=campaign, marketplace=self.marketplace, now=now or timezone.now())
        self.send_all()

    def later(self, **by: Any) -> None:
        """Time passes on the platform."""
        self.double.world.clock.advance(timedelta(**by))

    def charges(self, kind: str = "reward") -> list[tuple[str, str]]:
        """Amount and fee of everything that left the account for rewards, or for bonuses."""
        rows, is_bonus = self.double.world.charges.values(), kind == "bonus"
        return [(str(row.amount), str(row.fee)) for row in rows if (row.kind == "bonus") == is_bonus]

    def assert_books_agree(self) -> None:
        """What left the account, without fees, is what our sums say that the platform paid."""
        assert_books_agree(sum((row.amount for row in self.double.world.charges.values()), Decimal(0)))

    def worker_of(self, submission: Submission) -> str:
        return PlatformIdentity.objects.get(annotator=submission.annotator_id).person

    def worker_of_visit(self, visit: Visit) -> str:
        return PlatformIdentity.objects.get(annotator=visit.enrollment.annotator_id).person


def assert_books_agree(charged: Decimal) -> None:
    """What a platform has charged in all campaigns, without fees, is what our sums say that it paid."""
    ours = [money_of(campaign) for campaign in Campaign.objects.all()]
    assert sum((money.paid - money.outside for money in ours), Decimal(0)) == charged


def bonus(work: Submission, amount: str = "0.37", **more: Any) -> Payment:
    return actions.give_bonus(
        submission=work, amount=Decimal(amount), reason="Thank you.", by=None, now=timezone.now(), **more
    )


def approve(work: Submission) -> Payment:
    return actions.approve(submission=work, by=None, now=timezone.now())


def reject(work: Submission, reason: str = "Nothing was read.", **more: Any) -> Payment:
    """A rejection that was asked for so long ago that it is sent now."""
    then = timezone.now() - REJECTION_WAITS
    return actions.reject(submission=work, reason=reason, by=None, now=then, **more)
