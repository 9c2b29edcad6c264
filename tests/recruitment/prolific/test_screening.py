"""A test whose campaign pays less to whoever does not pass it: Prolific's in-study screening."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from annotation import actions as annotation_actions
from annotation.models import Enrollment, WorkSession
from dashboard.recruitment.queries import submissions_page
from integrity.catalogue import CHECKS
from recruitment import actions
from recruitment.actions import CampaignSettings
from recruitment.errors import CannotRecruit
from recruitment.models import Grant, Mismatch, Payment, Submission
from recruitment.offers import problems_of
from recruitment.places import free_places
from recruitment.prolific.arrivals import keys_of
from tests import builders
from tests.doubles.prolific import TOKEN, ProlificDouble
from tests.recruitment.handed_in import assert_books_agree
from tests.recruitment.prolific.conftest import OFFER, Lab
from tests.recruitment.prolific.test_campaign import SETTINGS, Campaigns, again, hand_in, reload, take_test

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
LESS = {"screen_out_reward": Decimal("0.30")}
LEAVING: dict[str, Callable[[Enrollment], object]] = {
    "withdrawn": lambda person: annotation_actions.withdraw(enrollment=person, now=timezone.now()),
    "erased": lambda person: annotation_actions.forget(annotator=person.annotator, now=timezone.now()),
    "asked once more": lambda person: annotation_actions.reset_test(
        enrollment=person, asks_consent=False, by=None, now=timezone.now(), reason="The key was wrong."
    ),
}


@pytest.fixture(
    params=[pytest.param(0, id="no faults"), pytest.param(3, id="faults", marks=pytest.mark.torture)]
)
def campaigns(request: pytest.FixtureRequest, settings: Any) -> Iterator[Campaigns]:
    keys_of.cache_clear()
    with ProlificDouble(seed=request.param) as double:
        account = {
            "token": TOKEN,
            "workspace": double.platform.workspace_id,
            "project": "",
            "api": double.url,
        }
        settings.PROLIFIC = {"live": account, "rehearsal": dict.fromkeys(account, "")}
        double.faults.rate = 0.2 if request.param else 0.0
        yield Campaigns(double)


@pytest.mark.parametrize("campaigns", [pytest.param(3, id="faults")], indirect=True)
def test_whoever_fails_is_paid_the_smaller_reward_and_their_place_is_free_again(campaigns: Campaigns) -> None:
    tests = campaigns.publish_campaign("test", seats=2, **LESS)
    passes, fails, next_one = (campaigns.double.join() for _person in range(3))
    good = take_test(campaigns, passes, tests)
    bad = take_test(campaigns, fails, tests, q3="no")
    campaigns.double.settle()
    campaigns.sweep(tests)
    assert (campaigns.paid("reward"), campaigns.paid("screen-out")) == ([50], [30])
    amounts = Payment.objects.filter(state="done").values_list("submission__remote_id", "amount")
    assert dict(amounts) == {good: Decimal("0.50"), bad: Decimal("0.30")}
    assert Submission.objects.get(remote_id=bad).status == "screened_out"
    assert set(WorkSession.objects.values_list("state", flat=True)) == {WorkSession.State.CONFIRMED}
    assert Enrollment.objects.get(visits__remote_id=bad).state == Enrollment.State.FAILED
    assert not Mismatch.objects.exists()
    assert {row.remote_id for row in submissions_page(reload(tests), size=9)[0]} == {good, bad}
    assert free_places(reload(tests)) == 1
    assert campaigns.double.sees(next_one) == [tests.remote_id]
    assert_books_agree(sum((Decimal(entry.cents) for entry in campaigns.platform.ledger), Decimal(0)) / 100)
    amounts_agree = next(check for check in CHECKS if check.name == "payment_is_of_its_amount")
    assert amounts_agree.find(None).count == 0


def test_people_read_what_a_failed_test_pays_before_they_begin_and_before_they_hand_in(
    campaigns: Campaigns,
) -> None:
    tests = campaigns.publish_campaign("test", **LESS)
    rate = {"pay_rate": Decimal("12.00")}  # of those who come by a link
    annotation_actions.change_study(study=campaigns.study, changes=rate, by=None, now=timezone.now())
    submission, browser = campaigns.come(campaigns.double.join(), tests)
    person = builders.consent(Enrollment.objects.get(visits__remote_id=submission))
    browser.open(f"/work/{browser.url.split('/')[2]}/qualification/")
    text = " ".join(browser.document.text_content().split())
    assert "You are paid 0.50 GBP if you pass, and 0.30 GBP if you don’t." in text
    assert "whether you pass or not" not in text
    builders.take_test(person, builders.answers(q3="no"))
    browser.open(f"/work/{browser.url.split('/')[2]}/qualification/result/")
    assert browser.heading == "Thank you for trying"
    assert "the time you spent" not in browser.document.text_content(), "a submission has a fixed reward"
    browser.open(f"/work/{browser.url.split('/')[2]}/hand-in/")
    text = " ".join(browser.document.text_content().split())
    assert "You didn’t pass the test, so you are paid 0.30 GBP for it." in text


def test_whoever_fails_and_uses_the_other_code_waits_for_a_researcher(
    campaigns: Campaigns, admin_client: Client
) -> None:
    tests = campaigns.publish_campaign("test", **LESS)
    submission, _browser = campaigns.come(campaigns.double.join(), tests)
    person = Enrollment.objects.get(visits__remote_id=submission)
    builders.take_test(builders.consent(person), builders.answers(q3="no"))
    campaigns.double.complete(submission, tests.completion_code)
    campaigns.double.settle()
    campaigns.sweep(tests)
    assert (campaigns.paid("reward"), campaigns.paid("screen-out")) == ([], [])
    assert Mismatch.objects.get().kind == Mismatch.Kind.WRONG_RECEIPT
    page = admin_client.get(f"/studies/{campaigns.study.slug}/recruitment/mismatches/").content.decode()
    assert "did not pass the test, but handed in with the code of those who did" in page
    assert "0.30 GBP" in page


def test_so_many_may_fail_as_there_are_places_and_more_places_let_more_fail(campaigns: Campaigns) -> None:
    tests = campaigns.publish_campaign("test", seats=2, **LESS)
    for _person in range(2):
        take_test(campaigns, campaigns.double.join(), tests, q3="no")
    campaigns.double.settle()
    assert campaigns.platform.studies[tests.remote_id].status == "PAUSED"
    now = campaigns.platform.clock.now()
    again(partial(campaigns.prolific.widen, tests.remote_id, tests.remote_id, seats=5, token=uuid4()))
    again(partial(campaigns.prolific.resume, tests.remote_id, tests.remote_id, until=now))
    take_test(campaigns, campaigns.double.join(), tests, q3="no")
    campaigns.double.settle()
    assert campaigns.platform.studies[tests.remote_id].status == "ACTIVE"


def test_the_estimate_holds_what_those_who_fail_may_cost(lab: Lab) -> None:
    offer = replace(OFFER, is_test=True, screen_out_reward=Decimal("0.50"))
    plain, screening = (
        lab.prolific.estimate(replace(offer, screen_out_reward=None)),
        lab.prolific.estimate(offer),
    )
    assert screening.rewards - plain.rewards == 3 * Decimal("0.50")
    assert screening.fees > plain.fees
    assert screening.lines[1].label == "Up to 3 rewards of 0.50 for tests not passed"
    assert sum((line.amount for line in screening.lines), Decimal(0)) == screening.total
    assert not plain.warnings
    assert any("3.00 GBP per hour" in warning for warning in screening.warnings)


@pytest.mark.parametrize(
    "wrong",
    [
        {"screen_out_reward": Decimal("0.50")},
        {"screen_out_reward": Decimal(0)},
        {"purpose": "stories", "stories_per_visit": 2},
        {"platform": "mturk"},
    ],
    ids=["as much", "nothing", "stories", "Mechanical Turk"],
)
def test_only_a_test_on_a_platform_that_can_do_it_pays_less(wrong: dict[str, Any]) -> None:
    study = builders.make_study(stories=2, qualification=1)
    chosen = {**SETTINGS, **LESS, "purpose": "test", **wrong}
    plain = problems_of(CampaignSettings(**chosen | {"screen_out_reward": None}), study)
    assert len(problems_of(CampaignSettings(**chosen), study)) == len(plain) + 1
    with pytest.raises(CannotRecruit, match="second reward"):
        actions.create_campaign(
            study=study, settings=CampaignSettings(**chosen), by=None, now=study.created_at
        )


@pytest.mark.parametrize("leave", LEAVING, ids=LEAVING)
def test_whoever_passed_has_passed_though_they_have_left_since(campaigns: Campaigns, leave: str) -> None:
    tests = campaigns.publish_campaign("test", seats=2, **LESS)
    good = take_test(campaigns, campaigns.double.join(), tests)
    LEAVING[leave](Enrollment.objects.get(visits__remote_id=good))
    campaigns.double.settle()
    campaigns.sweep(tests)
    assert not Mismatch.objects.exists()
    assert WorkSession.objects.get().state == WorkSession.State.CONFIRMED
    assert not Grant.objects.exists(), "they get no stories, so they don’t join the group that is shown them"
    payment = Payment.objects.get(kind=Payment.Kind.APPROVAL)
    if leave == "erased":
        assert "decide this only on the platform" in payment.problem
    else:
        assert campaigns.paid("reward") == [50]


@pytest.mark.parametrize("campaigns", [0], indirect=True)
def test_whoever_failed_has_failed_though_they_may_take_the_test_again(campaigns: Campaigns) -> None:
    tests = campaigns.publish_campaign("test", seats=2, **LESS)
    submission, _browser = campaigns.come(campaigns.double.join(), tests)
    person = Enrollment.objects.get(visits__remote_id=submission)
    LEAVING["asked once more"](builders.take_test(builders.consent(person), builders.answers(q3="no")))
    campaigns.double.complete(submission, tests.completion_code)
    campaigns.double.settle()
    campaigns.sweep(tests)
    assert Mismatch.objects.get().kind == Mismatch.Kind.WRONG_RECEIPT


@pytest.mark.parametrize("campaigns", [0], indirect=True)
def test_whoever_finds_no_test_is_not_paid_by_prolific_but_waits_for_a_researcher(
    campaigns: Campaigns,
) -> None:
    tests = campaigns.publish_campaign("test", seats=2, **LESS)
    submission, browser = campaigns.come(campaigns.double.join(), tests)
    builders.consent(Enrollment.objects.get(visits__remote_id=submission))
    annotation_actions.pause_study(study=campaigns.study, by=None, now=timezone.now())
    hand_in(campaigns, submission, browser)
    campaigns.double.settle()
    campaigns.sweep(tests)
    assert (campaigns.paid("reward"), campaigns.paid("screen-out")) == ([], [])
    assert Submission.objects.get().status == Submission.Status.SUBMITTED
    assert Mismatch.objects.get().kind == Mismatch.Kind.PARTIAL
