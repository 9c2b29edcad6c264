"""Work that was handed in: its approval, rejection, mismatches and payments on the pages."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, cast
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from accounts.models import User
from annotation.models import Study
from recruitment import actions, pay, tasks
from recruitment.marketplace import Status, Unreachable, Work
from recruitment.models import Campaign, Grant, Mismatch, Payment, Submission
from tests import builders
from tests.dashboard.recruitment.pages import ACCOUNT, address, said, words
from tests.doubles.mturk.faults import Fault
from tests.doubles.mturk.server import KEY_ID, SECRET, MTurkDouble
from tests.recruitment.campaigns import STORIES, TEST, make_campaign, stranger_on_a_platform
from tests.recruitment.handed_in import Desk, reject
from tomannot.celery import app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
State = Campaign.State
SHORT = "Nothing was read. "


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


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Study:
    ensure_researcher(username="boss", password="a long enough password")
    return builders.make_study("main", stories=2, qualification=1, pay_rate=Decimal("15.00"))


@pytest.fixture
def study(built: Study) -> Study:
    return Study.objects.get(pk=built.pk)


@pytest.fixture
def boss(built: Study) -> Client:
    client = Client()
    client.force_login(User.objects.get())
    return client


@pytest.fixture
def desk(double: MTurkDouble) -> Desk:
    """A campaign for stories that everybody may do."""
    study = builders.make_study("open", stories=3, pay_rate=Decimal("15.00"))
    return Desk(double, study, replace(STORIES, seats=3))


def of(page: str, *more: Any) -> str:
    """The address of a page of the desk's study."""
    return reverse(f"dashboard:{page}", args=["open", *more])


def shown_at(client: Client, page: str, *more: Any) -> str:
    return client.get(of(page, *more)).content.decode()


def sent_to(client: Client, page: str, *more: Any, **data: Any) -> str:
    return client.post(of(page, *more), data, follow=True).content.decode()


def test_work_is_approved_rejected_and_given_a_bonus(desk: Desk, boss: Client) -> None:
    works = [desk.hand_in() for _person in range(2)]

    def decide(submission: int, **data: Any) -> str:
        return sent_to(boss, "decide_submission", submission, **data)

    shown = shown_at(boss, "submissions", 1)
    assert shown.count("Approve and pay") == 2
    rejecting = [form for form in re.findall(r"<form.*?</form>", shown, re.S) if 'name="reason"' in form]
    assert [re.findall(r'value="(\w+)">', form)[-1] for form in rejecting] == ["reject"] * 2
    assert not [form for form in rejecting if 'value="approve"' in form], (
        "Enter in a field would press that button"
    )
    assert desk.worker_of(works[0]) not in shown
    for wrong in ({"way": "burn"}, {"way": "bonus", "amount": "lots", "reason": "x"}, {"way": "reject"}):
        decide(works[0].pk, **wrong)
    assert not Payment.objects.exists()
    assert "Recorded. The platform" in decide(works[0].pk, way="approve")
    decide(works[1].pk, way="reject", reason="No story was read.")
    assert "already decided" in decide(works[1].pk, way="reject", reason="Again.")
    assert "only for an approved submission" in decide(works[1].pk, **bonus_of("0.40"))
    assert list(Payment.objects.order_by("pk").values_list("kind", flat=True)) == ["approval", "rejection"]


def bonus_of(amount: str, token: str = "") -> dict[str, str]:
    return {"way": "bonus", "amount": amount, "reason": "Thanks", "token": token or str(uuid4())}


def test_a_bonus_is_given_once_and_a_large_one_after_a_question(desk: Desk, boss: Client) -> None:
    work = desk.hand_in()
    actions.approve(submission=work, by=None, now=timezone.now())

    def give(bonus: dict[str, str], **more: str) -> str:
        return sent_to(boss, "decide_submission", work.pk, **bonus | more)

    (token,) = re.findall(r'name="token" value="([^"]+)"', shown_at(boss, "submissions", 1))
    bonus = bonus_of("0.40", token)
    for _press in range(2):
        assert "Recorded. The platform" in give(bonus)
    assert "already requested a bonus of 0.40 USD" in give(bonus, amount="4")
    assert "Reload the page" in give(bonus, token="")
    large = bonus_of("500")
    question = " ".join(re.sub(r"<[^>]+>", " ", give(large)).split())
    for part in ("Nothing has been paid yet", "Total 600.00 USD", "Account balance", "Yes, pay 500 USD"):
        assert part in question
    give(large, amount="NaN")
    assert Payment.objects.filter(kind="bonus").count() == 1
    assert "Recorded. The platform" in give(large, amount="0.76", sure="yes")
    assert Payment.objects.filter(kind="bonus", amount=Decimal("0.76")).exists()


def test_all_work_is_approved_topped_up_and_retried_at_a_press(
    desk: Desk, boss: Client, queued: list[tuple[str, list[Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pay, "FEWEST", 2)
    works = [desk.hand_in(minutes=2) for _person in range(2)]
    assert "2 submissions are approved" in sent_to(boss, "move_campaign", 1, "approve")
    assert queued[-1] == ("recruitment.tasks.send_due", [desk.campaign.pk])
    assert "No confirmed submission waits" in sent_to(boss, "move_campaign", 1, "approve")
    desk.send_all()
    for work in works:
        desk.look(work)
    shown = " ".join(shown_at(boss, "campaign", 1).split())
    assert "Top up 2 submissions" in shown
    assert "In total 0.60 USD, with fees" in shown
    assert "2 submissions are topped up" in sent_to(boss, "move_campaign", 1, "top_up")
    desk.double.world.deposit = Decimal(1)
    desk.send_all()
    shown = " ".join(shown_at(boss, "payments").split())
    assert shown.count("Retried automatically") == 2
    assert "Retry 2 waiting or refused payments" in shown
    desk.double.world.deposit = Decimal(100)
    assert "A worker sends them now" in sent_to(boss, "retry_payments", 1)
    name, args = queued[-1]
    assert name == "recruitment.tasks.retry_campaign"
    assert tasks.retry_campaign(*args) == 2
    desk.send_all()
    assert "waiting or refused" not in shown_at(boss, "payments")


def test_a_rejection_is_taken_back_and_the_work_waits_again(study: Study, boss: Client) -> None:
    work = stranger_on_a_platform(study).submission
    assert work is not None
    rejection = actions.reject(submission=work, reason=SHORT * 10, by=None, now=timezone.now())
    assert "Undo" in words(boss, "payments")
    shown = said(boss, "undo_rejection", rejection.pk)
    assert "waits for a decision again" in shown
    assert "Approve and pay" in shown
    listed = words(boss, "payments")
    assert "undone" in listed
    assert "Retry" not in listed, "it is rejected anew, if at all, where the work stands"
    assert "a payment that the platform refused" in said(boss, "retry_payment", rejection.pk)


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
        actions.payment_delivery.send_payment(payment_id=rejection.pk, marketplace=cast(Any, Asks()), now=now)
    shown = said(boss, "undo_rejection", rejection.pk, way="approve")
    assert "undone, and the submission approved" in shown
    assert "the matter is settled" in shown
    assert [payment.kind for payment in Payment.objects.exclude(state="withdrawn")] == ["approval"]


def test_rejecting_a_test_offers_to_take_its_author_out_of_the_group(study: Study, boss: Client) -> None:
    campaign = make_campaign(study, TEST)
    work = Work(remote_id="3ASSIGNMENT", person="A1WORKER", status=Status.SUBMITTED)
    actions.reconciliation.record_submission(campaign=campaign, work=work, now=timezone.now())
    page = boss.get(address("submissions", 1)).content.decode()
    assert re.search(r'name="leave_group"[^>]* checked>', page)
    stories = replace(work, remote_id="3OTHER")
    actions.reconciliation.record_submission(campaign=make_campaign(study), work=stories, now=timezone.now())
    assert "leave_group" not in boss.get(address("submissions", 2)).content.decode()


def test_each_mismatch_can_be_dealt_with(
    study: Study, boss: Client, queued: list[tuple[str, list[Any]]]
) -> None:
    stranger = stranger_on_a_platform(study)
    shown = words(boss, "mismatches")
    assert "Handed in there, no answers here" in shown
    assert "5f3a9c0de1" not in shown
    assert "Count the votes" not in shown, "there are none"
    assert "1 submission on which the platform and this site disagree" in words(boss, "recruitment")
    here = ("settle_mismatch", stranger.pk)
    assert "in a few words" in said(boss, *here, way="settle", how=" ")
    assert "Choose what to do" in said(boss, *here, way="burn", how="done")
    assert "has no answers for this submission" in said(boss, *here, way="confirm", how="done")
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
    desk = Desk(double, study, replace(STORIES, seats=1, seats_per_posting=1))
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
    made = actions.grants.grant(
        campaign=campaign, annotator=work.annotator, kind=Grant.Kind.QUALIFIED, now=timezone.now()
    )
    assert made is not None
    Grant.objects.update(state=Grant.State.FAILED, problem="No such group.")
    assert "1 participant could not be put into our group on the platform: No such group." in words(
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
    assert ("Amazon closed Mechanical Turk for good on 30 September 2026." in shown) == has_account
    assert "Prolific approves undecided submissions after 21 days." in shown
    assert "Amazon closed Mechanical Turk for good" in words(boss, "new_campaign", "mturk", "stories")
