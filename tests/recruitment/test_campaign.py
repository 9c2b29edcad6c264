"""A whole campaign on the double of Mechanical Turk, with a fifth of all calls going wrong.

Nothing may be paid twice, lost or doubled, whatever the platform answers or leaves unanswered.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.conf import LazySettings

from accounts.models import PlatformIdentity
from annotation.models import Assignment, Story, Study, Vote, WorkSession
from recruitment import actions
from recruitment.marketplace import Group, Marketplace, Unreachable
from recruitment.models import Campaign, Grant, Mismatch, Payment, Submission, Visit
from recruitment.mturk.notifications import read_notification
from recruitment.mturk.terms import reward_fee
from recruitment.offers import offer_of
from recruitment.reconciliation.queries import unsettled_visits
from tests import builders
from tests.doubles.mturk.client import marketplace_for
from tests.doubles.mturk.qualifications import members
from tests.doubles.mturk.server import KEY_ID, SECRET, MTurkDouble
from tests.recruitment.campaigns import STORIES, TEST, make_campaign
from tests.recruitment.crowd import Workers
from tests.recruitment.handed_in import assert_books_agree

# Each step is committed: in one transaction for all, every look at a row that was changed a thousand times
# would go through its thousand versions.
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("client"),
    pytest.mark.timeout(900),
]

FAULTS = 0.2
SIZES = {1: 100, 2: 2}
WORKERS = {1: 24, 2: 8}
"""Stories and workers by seed: each seed is another course of things."""
HOURS = {1: 8, 2: 2}
"""Hours for which people come."""
ROUNDS = {1: 5, 2: 2}
"""Pieces of work that each of them may take in an hour."""
LOOKS = {1: 3, 2: 1}
"""Comparisons in a sweep: with as many faults, a single one often looks at a part only."""
TOPIC = "arn:aws:sns:us-east-1:000000000000:tomannot"
MOST_RUNS = 60
"""Repetitions that a worker process would make, one after the other, until everything is answered."""


@pytest.fixture(params=[pytest.param(1, marks=pytest.mark.torture), 2])
def double(request: pytest.FixtureRequest, settings: LazySettings) -> Iterator[MTurkDouble]:
    with MTurkDouble(seed=request.param) as double:
        settings.MTURK = {"live": {"key_id": KEY_ID, "secret": SECRET, "endpoint": double.url}}
        settings.MTURK_SUBMIT_HOSTS = {"live": [double.url]}
        yield double


def until_done(act: Any, *args: Any, **kwargs: Any) -> Any:
    """Do it again as long as the platform does not answer, as the queue does."""
    for _ in range(MOST_RUNS):
        try:
            return act(*args, **kwargs)
        except Unreachable:
            continue
    raise AssertionError(f"{act.__name__} was not done after {MOST_RUNS} runs.")


def start(campaign: Campaign, marketplace: Marketplace, now: datetime) -> Campaign:
    started = until_done(actions.start_campaign, campaign=campaign, marketplace=marketplace, by=None, now=now)
    for _ in range(MOST_RUNS):
        try:
            return actions.carry_out(campaign=started, marketplace=marketplace, now=now)
        except Unreachable:
            started = Campaign.objects.select_related("study").get(pk=campaign.pk)
    raise AssertionError("The campaign was not put up.")


def be_told(double: MTurkDouble) -> None:
    """The notifications come: some twice, in no order, and some without the worker's id."""
    for message in double.world.post.collect():
        hint = read_notification(json.dumps(message).encode(), topic=TOPIC)
        assert hint
        actions.handle_notification(platform="mturk", hint=hint, environment="live", now=double.world.now())


def sweep(campaign: Campaign, marketplace: Marketplace, now: datetime, *, looks: int) -> None:
    """What the beat does in a while: compare a few times, pay and grant until it is answered."""
    for _ in range(looks):
        campaign.refresh_from_db()
        with suppress(Unreachable):  # about some posting; the others have been looked at
            actions.reconcile(campaign=campaign, marketplace=marketplace, now=now)
    for payment in Payment.objects.due(now=now):
        until_done(
            actions.payment_delivery.send_payment, payment_id=payment.pk, marketplace=marketplace, now=now
        )
    for grant in Grant.objects.due(now=now):
        until_done(actions.grants.send_grant, grant_id=grant.pk, marketplace=marketplace, now=now)


def workers_of(kind: str) -> set[str]:
    granted = Grant.objects.filter(kind=kind, state=Grant.State.DONE).values("annotator")
    return set(PlatformIdentity.objects.filter(annotator__in=granted).values_list("person", flat=True))


def test_a_campaign_is_paid_and_counted_to_the_last_cent_and_vote(double: MTurkDouble) -> None:
    marketplace = marketplace_for(double, topic=TOPIC)
    world, looks = double.world, LOOKS[double.faults.seed]
    study = builders.make_study(
        incomplete_after=1,
        stories=SIZES[double.faults.seed],
        qualification=2,
        pay_rate=Decimal("15.00"),
        story_cap=500,
    )
    crowd = Workers(double, seed=double.world.random.randrange(1000), count=WORKERS[double.faults.seed])
    double.faults.rate = FAULTS

    # The test, and who passes it.
    test = start(
        make_campaign(study, replace(TEST, seats=30, seats_per_posting=30)), marketplace, world.now()
    )
    crowd.take_tests(fail=0.25)
    be_told(double)
    for _ in range(MOST_RUNS):
        sweep(test, marketplace, world.now(), looks=looks)
        if len(workers_of(Group.QUALIFIED)) == len(crowd.tally.passed):
            break
    actions.end_campaign(campaign=test, by=None, now=world.now())
    until_done(actions.carry_out, campaign=test, marketplace=marketplace, now=world.now())
    qualified = Campaign.objects.get(pk=test.pk).qualified_group
    assert members(double.world, qualified) == crowd.tally.passed
    assert workers_of(Group.QUALIFIED) == crowd.tally.passed
    assert len(crowd.tally.passed) >= 3

    # The stories: people come until every seat is taken, and time runs out on who never hands in.
    seats = 3 * Story.objects.main().filter(study=study).count()
    stories = start(make_campaign(study, replace(STORIES, seats=seats)), marketplace, world.now())
    for _ in range(HOURS[double.faults.seed]):
        crowd.work(rounds=ROUNDS[double.faults.seed])
        be_told(double)
        sweep(stories, marketplace, world.now(), looks=looks)
        crowd.wait(timedelta(hours=1))
        double.world.settle()
        be_told(double)
        sweep(stories, marketplace, world.now(), looks=looks)
    crowd.wait(timedelta(hours=2))
    double.world.settle()
    be_told(double)
    for _ in range(MOST_RUNS):
        sweep(stories, marketplace, world.now(), looks=looks)
        if not unsettled_visits(stories).exists():
            break
    bonuses = give_bonuses(stories, marketplace, world.now())

    check_votes(study, crowd)
    check_money(double, [test, stories], crowd, bonuses)
    check_groups(crowd)
    assert double.defects == []
    report(double, study, crowd)


def give_bonuses(campaign: Campaign, marketplace: Marketplace, now: datetime) -> Decimal:
    """Ten bonuses of the same amount, two of them for the same work; what they come to."""
    approved = list(Submission.objects.filter(campaign=campaign, status="approved").order_by("pk")[:9])
    amount = Decimal("0.37")
    for submission in [*approved, approved[0]]:
        actions.give_bonus(
            submission=submission, amount=amount, reason="Thank you for your care.", by=None, now=now
        )
    while due := Payment.objects.due(now=now):
        for payment in due:
            until_done(
                actions.payment_delivery.send_payment, payment_id=payment.pk, marketplace=marketplace, now=now
            )
    return amount * (len(approved) + 1)


def check_votes(study: Study, crowd: Workers) -> None:
    """Every answer that was given is stored once; those of confirmed visits count, three to a story."""
    assert Vote.objects.count() == crowd.tally.answers
    counted = Counter(Vote.objects.counted().values_list("assignment__story", flat=True))
    assert max(counted.values()) <= study.votes_per_story
    sessions = Assignment.objects.filter(votes__in=Vote.objects.counted())
    assert not sessions.exclude(session__state=WorkSession.State.CONFIRMED).exists()
    handed_in = len(crowd.tally.submitted) - Submission.objects.filter(campaign__purpose="test").count()
    displaced = Assignment.objects.filter(state=Assignment.State.DISPLACED).count()
    assert sum(counted.values()) + displaced == handed_in
    held = Assignment.objects.living().values_list("story", "slot")
    assert len(held) == len(set(held))
    free = Story.objects.main().filter(has_free_slot=True).count()
    full = sum(count == study.votes_per_story for count in counted.values())
    assert free + full == Story.objects.main().filter(study=study).count()


def check_money(double: MTurkDouble, campaigns: list[Campaign], crowd: Workers, bonuses: Decimal) -> None:
    """Each piece of work that was handed in is approved once, and the account shows our own sums."""
    world = double.world
    paid = [charge for charge in world.charges.values() if charge.kind != "bonus"]
    assert Counter((charge.assignment_id, charge.worker_id) for charge in paid) == Counter(
        crowd.tally.submitted
    )
    assert not Payment.objects.exclude(state=Payment.State.DONE).exists()
    # Stale answers may have made us give up somebody who was then found; that is shown, and they are paid.
    shown = {Mismatch.Kind.NOT_HANDED_IN, Mismatch.Kind.SUBMITTED_LATE}
    assert not Mismatch.objects.exclude(kind__in=shown).exists()
    extra = [charge for charge in world.charges.values() if charge.kind == "bonus"]
    assert sum(charge.amount for charge in extra) == bonuses
    spent = sum((charge.amount + charge.fee for charge in world.charges.values()), Decimal(0))
    marketplace = marketplace_for(double)
    expected = Decimal(0)
    for payment in Payment.objects.select_related("submission__campaign__study"):
        campaign = payment.submission.campaign
        seats = campaign.seats_per_posting if payment.kind == Payment.Kind.APPROVAL else 1
        expected += payment.amount + reward_fee(payment.amount, seats=seats, masters=False)
    assert spent == expected
    assert_books_agree(sum((charge.amount for charge in world.charges.values()), Decimal(0)))
    for campaign in campaigns:
        estimate = marketplace.estimate(offer_of(campaign))
        per_seat = estimate.total / campaign.seats
        done = [
            charge
            for charge in paid
            if charge.assignment_id
            in set(Submission.objects.filter(campaign=campaign).values_list("remote_id", flat=True))
        ]
        assert sum(charge.amount + charge.fee for charge in done) == per_seat * len(done)


def check_groups(crowd: Workers) -> None:
    """Who passed is in one group; in the other only those of whom the platform told that they left work.

    It does not tell of everybody: a share of its notifications names nobody.
    """
    assert workers_of(Group.QUALIFIED) == crowd.tally.passed
    told = Visit.objects.filter(return_reported_at__isnull=False)
    people = PlatformIdentity.objects.filter(annotator__in=told.values("enrollment__annotator"))
    assert workers_of(Group.INCOMPLETE) <= crowd.tally.not_handed_in | crowd.tally.gave_back
    assert workers_of(Group.INCOMPLETE) <= set(people.values_list("person", flat=True))
    assert workers_of(Group.INCOMPLETE)


def report(double: MTurkDouble, study: Study, crowd: Workers) -> None:
    """Figures for whoever runs this with ``-s``."""
    struck = sum(double.faults.struck.values())
    print(  # noqa: T201
        f"\n{len(crowd.tally.submitted)} pieces of work handed in, {crowd.tally.answers} answers, "
        f"{Vote.objects.counted().count()} counted, {struck} faults, "
        f"{Payment.objects.count()} payments, {sum(p.tries for p in Payment.objects.all())} tries"
    )
