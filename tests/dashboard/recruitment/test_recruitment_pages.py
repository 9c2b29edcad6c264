"""The pages of recruitment: from a draft to people who are paid, and what is said when money is missing."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from operator import attrgetter
from typing import Any, cast
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation.models import Event, Study
from dashboard.recruitment.queries import campaigns as queries
from recruitment import actions, tasks
from recruitment.marketplace import NotConfigured, Status, Unreachable, Work
from recruitment.models import Campaign, Grant, Mismatch, Payment, Submission
from recruitment.platforms import platform_named
from tests import builders
from tests.doubles.mturk.faults import Fault
from tests.doubles.mturk.server import KEY_ID, SECRET, MTurkDouble
from tests.recruitment.campaigns import TEST, make_campaign, stranger_on_a_platform
from tests.recruitment.handed_in import Desk, reject
from tomannot.celery import app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
State = Campaign.State
ACCOUNT = ("key_id", "secret", "endpoint", "notification_topic", "notification_password")


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[Any]]]:
    """What workers are told to do, once it is committed."""
    told: list[tuple[str, list[Any]]] = []
    monkeypatch.setattr(app, "send_task", lambda name, args, **_more: told.append((name, args)))
    monkeypatch.setattr("django.db.transaction.on_commit", lambda call, robust=False: call())
    return told


@pytest.fixture
def double(settings: Any) -> Iterator[MTurkDouble]:
    with MTurkDouble() as double:
        account = dict.fromkeys(ACCOUNT, "") | {"key_id": KEY_ID, "secret": SECRET, "endpoint": double.url}
        settings.MTURK = {"live": account, "rehearsal": dict.fromkeys(ACCOUNT, "")}
        yield double


@pytest.fixture
def study() -> Study:
    return builders.make_study("main", stories=2, qualification=1, pay_rate=Decimal("15.00"))


@pytest.fixture
def boss() -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    return client


def address(page: str, *more: Any) -> str:
    return reverse(f"dashboard:{page}", args=["main", *more])


def words(client: Client, page: str, *more: Any) -> str:
    text = re.sub(r"<[^>]+>", " ", client.get(address(page, *more)).content.decode())
    return " ".join(text.split())


def filled(client: Client, page: str, *more: Any) -> dict[str, Any]:
    """What the form on a page would send as it stands."""
    form = client.get(address(page, *more)).context["form"]
    given = {name: form[name].value() for name in form.fields}
    return {name: value for name, value in given.items() if value not in (None, False)}


def said(client: Client, page: str, *more: Any, **data: Any) -> str:
    """What a POST says on the page that it leads to."""
    response = client.post(address(page, *more), data, follow=True)
    assert response.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def test_from_the_form_to_a_campaign_that_people_see(
    study: Study, boss: Client, double: MTurkDouble, queued: list[tuple[str, list[Any]]], settings: Any
) -> None:
    form = filled(boss, "new_campaign", "mturk", "stories") | {"description": "Two sentences each."}
    assert (form["seats"], form["reward"]) == (6, Decimal("0.25")), (
        "what the study needs, and a minute is worth"
    )
    response = boss.post(address("new_campaign", "mturk", "stories"), form | {"reward": "0.005"})
    assert response.status_code == 422
    boss.post(address("new_campaign", "mturk", "stories"), form)
    campaign = Campaign.objects.get()
    boss.post(address("change_campaign", 1), filled(boss, "change_campaign", 1) | {"title": "Read stories"})
    shown = words(boss, "campaign", 1)
    for text in ("Read stories", "Total 1.80 USD", "Account balance 1000.00 USD", "US"):
        assert text in shown
    assert (double.calls["CreateHITType"], list(double.world.hits.values()), queued) == (0, [], [])

    assert "being put on the platform" in said(boss, "move_campaign", 1, "start")
    assert queued == [("recruitment.tasks.carry_out", [campaign.pk])]
    tasks.carry_out(campaign.pk)
    assert "people can come" in words(boss, "campaign", 1)
    assert "2 / 2" in words(boss, "campaign", 1)
    assert "Change the draft" not in words(boss, "campaign", 1)

    assert "at least one" in said(boss, "move_campaign", 1, "widen", more="0")
    (sent,) = re.findall(r'name="offered" value="(\d+)"', boss.get(address("campaign", 1)).content.decode())
    for answer in ("being put on the platform", "Nothing was added"):  # pressed twice, with a quick worker
        assert answer in said(boss, "move_campaign", 1, "widen", more="3", offered=sent)
        tasks.carry_out(campaign.pk)
    assert "3 / 3" in words(boss, "campaign", 1)
    assert "The campaign: is being paused" in said(boss, "move_campaign", 1, "pause")
    shown = words(boss, "campaign", 1)
    assert "3 can still be taken" in shown
    assert "Continue now" in shown
    assert queued[-1] == ("recruitment.tasks.carry_out", [campaign.pk])
    assert "The campaign: is being ended" in said(boss, "move_campaign", 1, "end")
    account = settings.MTURK["live"]
    settings.MTURK = {"live": dict.fromkeys(account, "")}
    with pytest.raises(NotConfigured):
        tasks.carry_out(campaign.pk)
    settings.MTURK = {"live": account}
    shown = words(boss, "campaign", 1)
    assert "3 can still be taken" in shown
    assert "docs/mechanical-turk.md" in shown, "why it is not ended stands on the page"
    tasks.carry_out(campaign.pk)
    assert "1 · Mechanical Turk · stories ended 9 places" in words(boss, "recruitment")
    assert boss.post(address("move_campaign", 1, "burn")).status_code == 404


def test_a_draft_is_discarded_and_what_was_started_is_not(
    study: Study, boss: Client, double: MTurkDouble, queued: list[tuple[str, list[Any]]]
) -> None:
    make_campaign(study)
    assert "campaign 1 is discarded" in said(boss, "discard_campaign", 1)
    assert "No campaigns yet" in words(boss, "recruitment")
    logged = Event.objects.filter(subject="main-1").order_by("pk").values_list("type", "note")
    assert list(logged) == [
        ("campaign_created", "mturk"),
        ("campaign_changed", "draft discarded: Judge short stories"),
    ]
    draft = make_campaign(study)
    said(boss, "move_campaign", 1, "start")
    assert "end it instead" in said(boss, "discard_campaign", 1)
    draft.refresh_from_db()
    assert "Discard the draft" not in words(boss, "campaign", 1)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"reward": "0"}, "whole cents above zero"),
        ({"minutes_expected": "60", "minutes_allowed": "50"}, "Allow at least the time"),
        ({"stories_per_visit": "0"}, "greater than or equal to 1"),
        ({"seats": "0"}, "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_offered_is_said_in_plain_words(
    study: Study, boss: Client, changed: dict[str, str], text: str
) -> None:
    form = filled(boss, "new_campaign", "mturk", "stories")
    page = boss.post(address("new_campaign", "mturk", "stories"), form | changed)
    assert page.status_code == 422
    assert [text in error for errors in page.context["form"].errors.values() for error in errors] == [True]


def test_the_form_asks_for_nothing_that_does_nothing(study: Study, boss: Client) -> None:
    everywhere = {
        "title",
        "description",
        "seats",
        "reward",
        "currency",
        "minutes_expected",
        "minutes_allowed",
    }
    everywhere |= {"approved_percent", "approved_work", "countries", "auto_approves"}
    of_stories, of_mturk = (
        {"stories_per_visit", "counts_unconfirmed", "suggested_for"},
        {*platform_named("prolific").unused_fields},
    )
    for platform, purpose, more in (
        ("prolific", "test", set()),
        ("prolific", "stories", of_stories),
        ("mturk", "test", of_mturk),
        ("mturk", "stories", of_stories | of_mturk | {"seats_per_posting"}),
    ):
        form = boss.get(address("new_campaign", platform, purpose)).context["form"]
        assert set(form.fields) == everywhere | more
    assert "whether they pass or not" in words(boss, "new_campaign", "prolific", "test")
    assert "Enter it in the settings first" not in words(boss, "new_campaign", "prolific", "test")
    Study.objects.update(pay_rate=None)
    assert "Enter it in the settings first" in words(boss, "new_campaign", "prolific", "test")


def test_a_campaign_whose_days_are_over_says_so(
    study: Study, boss: Client, double: MTurkDouble, queued: list[tuple[str, list[Any]]]
) -> None:
    draft = make_campaign(study)
    said(boss, "move_campaign", draft.number, "start")
    tasks.carry_out(draft.pk)
    assert "Resume" not in words(boss, "campaign", 1)
    Campaign.objects.update(offered_until=timezone.now() - timedelta(hours=1))
    assert "The offer expired on" in words(boss, "campaign", 1)
    assert "The offer has expired" in words(boss, "recruitment")
    said(boss, "move_campaign", 1, "resume")
    tasks.carry_out(draft.pk)
    assert "The offer expired on" not in words(boss, "campaign", 1)


def test_the_list_counts_what_is_there_without_multiplying_it(double: MTurkDouble) -> None:
    """Joined to one another, 10,800 visits and 3,600 HITs and 20 mismatches are 800 million rows."""
    study = builders.make_study("open", stories=6)
    desk = Desk(double, study)
    desk.hand_in()
    for _time in range(2):
        desk.hand_in(confirmed=False)
    stranger_on_a_platform(study)
    with CaptureQueriesContext(connection) as asked:
        counts = attrgetter("arrived", "confirmed", "open_mismatches")
        newest, oldest = map(counts, queries.campaigns_of(study, now=timezone.now()))
    assert (newest, oldest) == ((0, 0, 1), (3, 1, 0))
    assert len(asked) == 3
    assert "JOIN" not in asked[0]["sql"].split('FROM "recruitment_campaign"')[-1]


def test_a_site_without_an_account_says_what_to_set(study: Study, boss: Client, settings: Any) -> None:
    for platform, setting in (("prolific", "PROLIFIC_TOKEN"), ("mturk", "docs/mechanical-turk.md")):
        draft = make_campaign(study, platform=platform)
        shown = boss.get(address("campaign", draft.number)).content.decode()
        assert setting in shown
        assert "Start on the platform" not in shown
        assert "The rewards alone come to" in shown
        assert setting in said(boss, "move_campaign", draft.number, "start")
    assert set(Campaign.objects.values_list("state", flat=True)) == {State.DRAFT}
    shown = words(boss, "recruitment")
    assert "Offer stories on Prolific" in shown
    assert "Offer stories on Mechanical Turk" not in shown, "it is closed, and this site has no account there"
    settings.MTURK = {"live": dict.fromkeys(ACCOUNT, "") | {"key_id": KEY_ID, "secret": SECRET}}
    shown = words(boss, "recruitment")
    assert "Offer stories on Mechanical Turk" in shown
    assert "Mechanical Turk closed" in shown


def test_too_little_money_is_said_with_the_sums(study: Study, boss: Client, double: MTurkDouble) -> None:
    double.world.deposit = Decimal("1.00")
    make_campaign(study)
    double.faults.next = {"GetAccountBalance": [Fault.THROTTLED]}
    assert "could not do GetAccountBalance now" in words(boss, "campaign", 1)
    assert double.calls["GetAccountBalance"] == 1, "nobody waits for a page while it is asked again"
    assert "costs 2.70 USD, and the account holds 1.00" in said(boss, "move_campaign", 1, "start")
    assert Campaign.objects.get().state == State.DRAFT


def test_work_is_approved_rejected_and_given_a_bonus(
    study: Study, boss: Client, double: MTurkDouble, queued: list[tuple[str, list[Any]]]
) -> None:
    study = builders.make_study("open", stories=4, pay_rate=Decimal("15.00"))
    desk = Desk(double, study)
    works = [desk.hand_in(minutes=2) for _person in range(6)]

    def page(name: str, *more: Any) -> str:
        return reverse(f"dashboard:{name}", args=["open", *more])

    def post(name: str, *more: Any, **data: Any) -> str:
        return boss.post(page(name, *more), data, follow=True).content.decode()

    def decide(submission: int, **data: Any) -> str:
        return post("decide_submission", submission, **data)

    shown = boss.get(page("submissions", 1)).content.decode()
    assert shown.count("Approve and pay") == 6
    rejecting = [form for form in re.findall(r"<form.*?</form>", shown, re.S) if 'name="reason"' in form]
    assert [re.findall(r'value="(\w+)">', form)[-1] for form in rejecting] == ["reject"] * 6
    assert not [form for form in rejecting if 'value="approve"' in form], (
        "Enter in a field would press that button"
    )
    assert desk.worker_of(works[0]) not in shown
    assert "Recorded, and sent" in decide(works[0].pk, way="approve")
    (token,) = re.findall(r'name="token" value="([^"]+)"', boss.get(page("submissions", 1)).content.decode())
    bonus = {"way": "bonus", "amount": "0.40", "reason": "Thanks", "token": token}
    for _press in range(2):
        assert "Recorded, and sent" in decide(works[0].pk, **bonus)
    assert "0.40 USD was asked for with this" in post(
        "decide_submission", works[0].pk, **bonus | {"amount": "4"}
    )
    assert "Reload the page" in decide(works[0].pk, **bonus | {"token": ""})
    assert "needs a reason" not in post(
        "decide_submission", works[1].pk, way="reject", reason="No story was read."
    )
    assert Payment.objects.count() == 3
    assert "decided already" in decide(works[1].pk, way="reject", reason="Again.")
    other = bonus | {"token": str(uuid4())}
    large = other | {"amount": "500"}
    question = " ".join(re.sub(r"<[^>]+>", " ", decide(works[0].pk, **large)).split())
    for said in ("Nothing has been paid yet", "Total 600.00 USD", "Account balance", "Yes, pay 500 USD"):
        assert said in question
    assert Payment.objects.count() == 3
    assert "not been approved" in decide(works[2].pk, **other)
    for wrong in ({"way": "burn"}, {"way": "bonus", "amount": "lots", "reason": "x"}, {"way": "reject"}):
        decide(works[2].pk, **wrong)
    decide(works[0].pk, **large | {"amount": "NaN"})
    assert Payment.objects.count() == 3
    assert "Recorded, and sent" in post(
        "decide_submission", works[0].pk, **large | {"amount": "0.76", "sure": "yes"}
    )
    Payment.objects.get(amount=Decimal("0.76"))
    assert "4 submissions are approved" in post("move_campaign", 1, "approve")
    assert queued[-1] == ("recruitment.tasks.send_due", [desk.campaign.pk])
    assert "No confirmed work waits" in post("move_campaign", 1, "approve")
    desk.send_all()
    for work in works:
        desk.look(work)
    shown = " ".join(boss.get(page("campaign", 1)).content.decode().split())
    assert "Top up 5 submissions" in shown
    assert "In total 1.50 USD, with fees" in shown
    assert "5 submissions are topped up" in post("move_campaign", 1, "top_up")
    double.world.deposit = Decimal(1)
    desk.send_all()
    shown = " ".join(boss.get(page("payments")).content.decode().split())
    assert shown.count("Retried automatically") == 5
    assert "Retry 5 waiting or refused payments" in shown
    double.world.deposit = Decimal(100)
    assert "A worker sends them now" in post("retry_payments", 1)
    name, args = queued[-1]
    assert name == "recruitment.tasks.retry_campaign"
    assert tasks.retry_campaign(*args) == 5
    desk.send_all()
    assert "waiting or refused" not in boss.get(page("payments")).content.decode()


def test_a_rejection_is_taken_back_and_the_work_waits_again(
    study: Study, boss: Client, double: MTurkDouble
) -> None:
    desk = Desk(double, builders.make_study("open", stories=4))
    work = desk.hand_in()
    rejection = actions.reject(submission=work, reason="Nothing was read.", by=None, now=timezone.now())
    payments = reverse("dashboard:payments", args=["open"])
    assert "Undo" in boss.get(payments).content.decode()
    shown = boss.post(reverse("dashboard:undo_rejection", args=["open", rejection.pk]), follow=True)
    assert "waits for a decision again" in shown.content.decode()
    assert "Approve and pay" in shown.content.decode()
    listed = boss.get(payments).content.decode()
    assert "taken back" in listed
    assert "Retry" not in listed, "it is rejected anew, if at all, where the work stands"
    again = reverse("dashboard:retry_payment", args=["open", rejection.pk])
    assert "Only what the platform refused" in boss.post(again, follow=True).content.decode()
    assert "Retry" not in boss.get(payments).content.decode()


def test_who_was_asked_to_return_work_is_still_asked_after_the_rejection_is_taken_back(
    study: Study, boss: Client
) -> None:
    work = stranger_on_a_platform(study).submission
    assert work is not None
    rejection, now = reject(work), timezone.now()

    class Asks:
        """Prolific, which asks the person to return the work first."""

        def reject(self, *_about: Any, **_more: Any) -> None:
            raise Unreachable("asked", maybe_done=False, not_before=now + timedelta(days=3))

    with pytest.raises(Unreachable):
        actions.send_payment(payment_id=rejection.pk, marketplace=cast(Any, Asks()), now=now)
    shown = said(boss, "undo_rejection", rejection.pk, way="approve")
    assert "undone, and the submission approved" in shown
    assert "the matter is settled" in shown
    assert [payment.kind for payment in Payment.objects.exclude(state="withdrawn")] == ["approval"]


def test_rejecting_a_test_offers_to_take_its_author_out_of_the_group(study: Study, boss: Client) -> None:
    campaign = make_campaign(study, TEST)
    work = Work(remote_id="3ASSIGNMENT", person="A1WORKER", status=Status.SUBMITTED)
    actions.record_submission(campaign=campaign, work=work, now=timezone.now())
    page = boss.get(address("submissions", 1)).content.decode()
    assert re.search(r'name="leave_group"\s+checked', page)
    stories = replace(work, remote_id="3OTHER")
    actions.record_submission(campaign=make_campaign(study), work=stories, now=timezone.now())
    assert "leave_group" not in boss.get(address("submissions", 2)).content.decode()


def test_each_mismatch_can_be_dealt_with(
    study: Study, boss: Client, queued: list[tuple[str, list[Any]]]
) -> None:
    stranger = stranger_on_a_platform(study)
    shown = words(boss, "mismatches")
    assert "Handed in there, nothing of it here" in shown
    assert "5f3a9c0de1" not in shown
    assert "Count the votes" not in shown, "there are none"
    assert "1 submission on which the platform and this site disagree" in words(boss, "recruitment")
    here = ("settle_mismatch", stranger.pk)
    assert "in a few words" in said(boss, *here, way="settle", how=" ")
    assert "in a few words" in said(boss, *here, way="burn", how="done")
    assert "Nothing of this work is here" in said(boss, *here, way="confirm", how="done")
    short = {"way": "reject", "how": "rejected", "reason": "Too short.", "category": "NO_DATA"}
    said(boss, *here, **short)
    assert not Payment.objects.exists(), "Prolific wants a hundred characters"
    assert Mismatch.objects.get().settled_at is None
    assert "the log says how" in said(boss, *here, way="approve", how="They showed us their answers.")
    payment = Payment.objects.get()
    assert queued == [("recruitment.tasks.send_due", [payment.submission.campaign_id])]
    found = Mismatch.objects.get()
    assert (found.settled_how, str(found.settled_by)) == ("They showed us their answers.", "boss")
    assert "None. This study has no campaign on a platform" in words(boss, "mismatches")


def test_nobody_is_told_that_all_agrees_before_it_was_compared_or_while_that_fails(
    study: Study, boss: Client, double: MTurkDouble
) -> None:
    desk = Desk(double, study)
    shown = words(boss, "mismatches")
    assert "not compared yet" in shown
    assert "site matched" not in shown
    desk.sweep()
    assert "The platform and this site matched at the last comparison" in words(boss, "mismatches")
    actions.record_sync_problem(campaign=desk.campaign, problem="It does not accept the credentials.")
    shown = words(boss, "mismatches")
    assert "does not accept the credentials" in shown
    assert "Later submissions have not been compared yet" in shown
    assert "site matched" not in shown


def test_payments_are_a_table_without_names_that_runs_no_formula(study: Study, boss: Client) -> None:
    work = stranger_on_a_platform(study).submission
    assert work is not None
    actions.approve(submission=work, by=None, now=timezone.now())
    Payment.objects.update(problem="=HYPERLINK(1)")
    shown = words(boss, "payments")
    assert "0.25 USD on its way" in shown
    response: Any = boss.get(address("payments_file"))
    text = b"".join(response.streaming_content).decode()
    assert "5f3a9c0de1" not in text + shown
    assert "a-session" not in text + shown
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["kind"], row["amount"], row["problem"]) == ("approval", "0.25", "'=HYPERLINK(1)")


def test_groups_that_the_platform_refused_are_shown(study: Study, boss: Client) -> None:
    work = stranger_on_a_platform(study).submission
    assert work is not None
    Campaign.objects.update(qualified_group="group", state=State.LIVE)
    campaign = Campaign.objects.select_related("study").get()
    made = actions.grant(
        campaign=campaign, annotator=work.annotator, kind=Grant.Kind.QUALIFIED, now=timezone.now()
    )
    assert made is not None
    Grant.objects.update(state=Grant.State.FAILED, problem="No such group.")
    assert "1 person could not be put into our group on the platform: No such group." in words(
        boss, "campaign", 1
    )


def test_nothing_of_another_study_can_be_reached(study: Study, boss: Client) -> None:
    other = builders.make_study("other")
    mismatch = stranger_on_a_platform(other)
    work = Submission.objects.get()
    actions.approve(submission=work, by=None, now=timezone.now())
    payment = Payment.objects.get()
    assert boss.get(address("campaign", 1)).status_code == 404
    for page, number in (
        ("settle_mismatch", mismatch),
        ("decide_submission", work),
        ("retry_payment", payment),
    ):
        assert boss.post(address(page, number.pk), {"way": "approve", "how": "x"}).status_code == 404


def test_a_balance_that_is_not_told_can_be_asked_for_again(
    study: Study, boss: Client, double: MTurkDouble
) -> None:
    make_campaign(study)
    double.faults.next["GetAccountBalance"] = [Fault.BEFORE]
    shown = words(boss, "campaign", 1)
    assert "Total" in shown, "the costs are known all the same"
    assert "Account balance" not in shown
    assert "Retry" in shown
    shown = words(boss, "campaign", 1)
    assert "Account balance 1000.00 USD" in shown
    assert "Retry" not in shown


@pytest.mark.parametrize("has_account", [False, True])
def test_a_closed_platform_is_offered_only_where_it_is_set_up(
    study: Study, boss: Client, settings: Any, has_account: bool
) -> None:
    account = {"key_id": KEY_ID, "secret": SECRET} if has_account else {}
    settings.MTURK = dict.fromkeys(("live", "rehearsal"), dict.fromkeys(ACCOUNT, "") | account)
    shown = words(boss, "recruitment")
    assert ("Mechanical Turk" in shown) == has_account
    assert "Prolific" in shown
