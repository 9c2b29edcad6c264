"""A whole study through Prolific, on our pages and through our actions: test, group, stories, money.

Once with a Prolific that does what it is asked, and with one where every fifth request goes wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest

from accounts.models import PlatformIdentity
from annotation.models import Assignment, Enrollment, Story, Study, Vote, WorkSession
from recruitment import actions
from recruitment.actions import CampaignSettings
from recruitment.marketplace import Unreachable
from recruitment.models import Campaign, Grant, Mismatch, Payment, Submission, Visit
from recruitment.prolific.arrivals import keys_of
from tests import builders
from tests.annotation.pages import Browser
from tests.doubles.prolific import TOKEN, ProlificDouble
from tests.recruitment.handed_in import assert_books_agree
from tests.recruitment.prolific.conftest import Lab

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

SETTINGS: dict[str, Any] = {
    "platform": "prolific",
    "title": "Read short stories",
    "description": "Two sentences each, and four questions.",
    "reward": Decimal("0.50"),
    "currency": "GBP",
    "seats": 8,
    "seats_per_posting": 8,
    "minutes_expected": 2,
    "minutes_allowed": 30,
}


class Campaigns(Lab):
    """A study, its campaigns on the double, and the people who come."""

    def __init__(self, double: ProlificDouble, **more: Any) -> None:
        super().__init__(double, **more)
        self.study: Study = builders.make_study(stories=2, qualification=1)

    def publish_campaign(self, purpose: str, **changes: Any) -> Campaign:
        visits = {"stories_per_visit": 2} if purpose == "stories" else {}
        chosen = CampaignSettings(**SETTINGS | visits | changes, purpose=purpose)
        now = self.platform.clock.now()
        campaign = actions.create_campaign(study=self.study, settings=chosen, by=None, now=now)
        for step in (partial(actions.start_campaign, by=None), actions.carry_out):
            again(partial(step, campaign=reload(campaign), marketplace=self.prolific, now=now))
        self.double.settle()
        return reload(campaign)

    def come(self, person: str, campaign: Campaign) -> tuple[str, Browser]:
        """The participant takes a place; their submission, and the browser in which our page opens."""
        started = self.double.start(person, campaign.remote_id)
        browser = Browser()
        browser.open(started.url)
        return started.submission, browser

    def sweep(self, *campaigns: Campaign) -> None:
        """What the workers do every few minutes, until nothing is left to be sent."""
        platform = self.prolific
        for _round in range(4):
            now = self.platform.clock.now()
            for campaign in campaigns:
                again(partial(actions.reconcile, campaign=reload(campaign), marketplace=platform, now=now))
            payments = list(Payment.objects.due(now=now))
            for payment in payments:
                with unreachable_is_later():
                    actions.payment_delivery.send_payment(
                        payment_id=payment.pk, marketplace=platform, now=now
                    )
            grants = list(Grant.objects.due(now=now))
            for grant in grants:
                again(partial(actions.grants.send_grant, grant_id=grant.pk, marketplace=platform, now=now))
            self.double.settle()
            if not (payments or grants or self.double.faults.rate):
                return


def again(ask: Any) -> Any:
    for _time in range(40):
        with unreachable_is_later():
            return ask()
    raise AssertionError("Prolific never answered")


@contextmanager
def unreachable_is_later() -> Iterator[None]:
    try:
        yield
    except Unreachable:
        return


@pytest.fixture(
    params=[pytest.param(0, id="no faults"), pytest.param(1, id="faults", marks=pytest.mark.torture)]
)
def lab(request: pytest.FixtureRequest, settings: Any) -> Iterator[Campaigns]:
    """With a Prolific that does what it is asked; in the long form, every fifth request goes wrong."""
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


def hand_in(lab: Campaigns, submission: str, browser: Browser) -> None:
    """The participant follows the link on the last page back to Prolific."""
    browser.open(f"/work/{browser.url.split('/')[2]}/hand-in/")
    links = [url for url in browser.document.xpath("//a/@href") if "/submissions/complete" in url]
    assert len(links) == 1, browser.heading
    lab.double.complete(submission, parse_qs(urlsplit(links[0]).query)["cc"][0])


def take_test(lab: Campaigns, person: str, campaign: Campaign, **answers: str) -> str:
    submission, browser = lab.come(person, campaign)
    enrollment = Enrollment.objects.get(visits__remote_id=submission)
    builders.take_test(builders.consent(enrollment), builders.answers(**answers))
    hand_in(lab, submission, browser)
    return submission


@pytest.mark.parametrize(
    "lab",
    [pytest.param(0, id="no faults", marks=pytest.mark.torture), pytest.param(1, id="faults")],
    indirect=True,
)
def test_who_passes_is_let_in_and_everybody_is_paid_once(lab: Campaigns) -> None:
    tests = lab.publish_campaign("test")
    stories = lab.publish_campaign("stories", seats=6)
    passes = [lab.double.join() for _person in range(2)]
    fails, leaves = lab.double.join(), lab.double.join()
    assert lab.double.sees(passes[0]) == [tests.remote_id]
    for person in passes:
        take_test(lab, person, tests)
    take_test(lab, fails, tests, q3="no")
    left, _browser = lab.come(leaves, tests)
    lab.double.give_back(left)
    lab.double.settle()
    lab.sweep(tests)
    assert lab.paid("reward") == [50] * 3
    seen = [lab.double.sees(person) for person in (*passes, fails, leaves)]
    assert seen == [[stories.remote_id], [stories.remote_id], [], []]
    assert Grant.objects.filter(kind="qualified", state="done").count() == 2
    assert WorkSession.objects.get(visit__remote_id=left).state == WorkSession.State.DOUBTED

    submissions = []
    for person in passes:
        submission, browser = lab.come(person, stories)
        for _story in range(2):
            browser.press("Save and continue", **builders.ALL_YES)
        hand_in(lab, submission, browser)
        submissions.append(submission)
    votes = Vote.objects.filter(assignment__story__role=Story.Role.MAIN)
    assert votes.count() == 4
    assert not Assignment.objects.filter(
        state=Assignment.State.SUBMITTED, story__role=Story.Role.MAIN
    ).exists()
    lab.double.settle()
    lab.sweep(stories)
    counted = Assignment.objects.filter(state=Assignment.State.SUBMITTED, story__role=Story.Role.MAIN)
    assert counted.count() == 4
    assert lab.paid("reward") == [50] * 5
    assert Mismatch.objects.count() == 0

    work = Submission.objects.get(remote_id=submissions[0])
    now = lab.platform.clock.now()
    for amount in ("0.20", "0.20"):
        actions.give_bonus(submission=work, amount=Decimal(amount), reason="Thank you", by=None, now=now)
    for _day in range(3):
        lab.sweep(stories)
        lab.platform.clock.advance(hours=13)
        if not Payment.objects.exclude(state__in=["done", "failed"]).exists():
            break
    bonuses = Payment.objects.filter(kind=Payment.Kind.BONUS)
    done = bonuses.filter(state=Payment.State.DONE).count()
    assert done + bonuses.filter(state=Payment.State.FAILED, problem__contains="a day").count() == 2
    assert lab.paid("bonus") == [20] * done
    assert_books_agree(sum((Decimal(entry.cents) for entry in lab.platform.ledger), Decimal(0)) / 100)
    assert not Payment.objects.exclude(state__in=["done", "failed"]).exists()
    spent = 5 * Decimal("0.70") + done * Decimal("0.28")
    for campaign in (tests, stories):
        actions.end_campaign(campaign=campaign, by=None, now=now)
        again(partial(actions.carry_out, campaign=campaign, marketplace=lab.prolific, now=now))
    assert again(lab.prolific.balance) == Decimal("10000.00") - spent


def reload(campaign: Campaign) -> Campaign:
    return Campaign.objects.get(pk=campaign.pk)


@pytest.mark.parametrize("lab", [0], indirect=True)
def test_nobody_comes_as_somebody_else_and_ids_stay_out_of_our_addresses(lab: Campaigns) -> None:
    tests = lab.publish_campaign("test")
    person, other = lab.double.join(), lab.double.join()
    started = lab.double.start(person, tests.remote_id)
    forged = Browser()
    assert forged.open(started.url.replace(person, other)).status_code == 403
    assert forged.open(started.url.replace(started.submission, "f" * 24)).status_code == 403
    assert forged.open(started.url.replace(tests.remote_id, "f" * 24)).status_code in (403, 404)
    assert not Visit.objects.exists()
    assert not PlatformIdentity.objects.exists()
    browser = Browser()
    browser.open(started.url)
    visit = Visit.objects.select_related("session").get()
    assert visit.session is not None
    assert visit.session.identity_claimed is False
    assert person not in browser.url
    assert PlatformIdentity.objects.get(person=person).platform == PlatformIdentity.Platform.PROLIFIC


@pytest.mark.parametrize("lab", [0], indirect=True)
def test_a_signature_is_enough_and_where_there_are_signatures_nothing_else_is(
    lab: Campaigns, settings: Any
) -> None:
    settings.PROLIFIC_SIGNED_ADDRESSES = {"live": True, "rehearsal": False}
    lab.prolific.signs_addresses = True
    tests = lab.publish_campaign("test")
    person, other = lab.double.join(), lab.double.join()
    started, theirs = (lab.double.start(who, tests.remote_id) for who in (person, other))
    lab.double.seen.clear()
    browser = Browser()
    browser.open(started.url)
    visit = Visit.objects.select_related("session").get()
    assert visit.session is not None
    assert (visit.remote_id, visit.session.identity_claimed) == (started.submission, False)
    assert lab.double.seen == ["GET /.well-known/study/jwks.json"]
    assert "prolific_token" not in browser.url

    plain, _token, signature = theirs.url.partition("&prolific_token=")
    mine = jwt.decode(started.url.partition("&prolific_token=")[2], options={"verify_signature": False})
    mine_once = lab.platform.signer.token(mine | {"iat": mine["iat"] - 600, "exp": mine["exp"] - 600})
    forged = (
        plain,
        f"{plain}&prolific_token={mine_once}",
        f"{plain}&prolific_token={started.url.partition('&prolific_token=')[2]}",
        f"{plain}&prolific_token={signature[:-8]}AAAAAAAA",
    )
    for url in forged:
        assert Browser().open(url).status_code == 403
    assert Visit.objects.count() == 1

    claims = jwt.decode(signature, options={"verify_signature": False})
    long_ago = claims | {"iat": claims["iat"] - 600, "exp": claims["exp"] - 600}
    loaded_again = Browser()  # the tab was open for ten minutes: now Prolific is asked instead
    loaded_again.open(f"{plain}&prolific_token={lab.platform.signer.token(long_ago)}")
    visit = Visit.objects.select_related("session").latest("pk")
    assert visit.session is not None
    assert (visit.remote_id, visit.session.identity_claimed) == (theirs.submission, False)
    assert lab.double.seen[-1] == f"GET /api/v1/submissions/{theirs.submission}/"


def test_a_study_that_is_paused_there_is_said_to_be_and_resumed_from_here(lab: Campaigns) -> None:
    tests = lab.publish_campaign("test")
    lab.double.faults.rate = 0.0  # a list that is old is mended by the next sweep

    def offer_after(action: str) -> str:
        path = f"/studies/{tests.remote_id}/transition/"
        lab.prolific.client.post(path, {"action": action}, repeatable=True)
        lab.double.settle()
        lab.sweep(tests)
        found = reload(tests)
        assert found.state == "live"
        assert (found.platform_offer_since is None) == (found.platform_offer == "")
        return found.platform_offer

    assert offer_after("PAUSE") == "paused"
    asked = actions.resume_campaign(campaign=reload(tests), by=None, now=lab.platform.clock.now())
    assert asked.platform_offer == "", "what it said before says nothing any more"
    actions.carry_out(campaign=asked, marketplace=lab.prolific, now=lab.platform.clock.now())
    lab.double.settle()
    lab.sweep(tests)
    assert (reload(tests).platform_offer, lab.platform.studies[tests.remote_id].status) == ("", "ACTIVE")
    assert offer_after("STOP") == "over"
