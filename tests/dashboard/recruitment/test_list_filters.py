"""Payments and mismatches are narrowed to some of them, and mismatches of a kind noted all at once."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import lxml.html
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation.errors import ReasonMissing
from annotation.models import Event
from dashboard.recruitment.pages import submissions
from recruitment import actions
from recruitment.models import Mismatch, Payment
from tests import builders
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES
from tests.recruitment.handed_in import Desk, approve, bonus

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
PAYMENTS, FILE, DIFFERENCES = (
    reverse(f"dashboard:{name}", args=["study"]) for name in ("payments", "payments_file", "mismatches")
)


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Iterator[Desk]:
    with MTurkDouble() as double:
        yield Desk(double, builders.make_study(stories=3), replace(STORIES, seats=6))


@pytest.fixture
def desk(built: Desk) -> Iterator[Desk]:
    with built.for_one_test() as desk:
        yield desk


@pytest.fixture
def boss() -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="unguessable-1"))
    return client


def parsed(content: bytes) -> Any:
    return lxml.html.fromstring(content.decode())


def listed(client: Client, url: str) -> list[str]:
    """What the rows of the table say that the payments are."""
    page = parsed(client.get(url).content)
    return [" ".join(cell.text_content().split()) for cell in page.xpath("//tbody/tr/td[1]")]


def links(client: Client, url: str) -> list[str]:
    return [str(link) for link in parsed(client.get(url).content).xpath("//a/@href")]


def test_what_was_refused_is_found_among_all_that_was_paid(
    desk: Desk, boss: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submissions, "ON_A_PAGE", 1)
    work = desk.hand_in()
    desk.send(approve(work))
    desk.later(days=200)  # too late for bonuses
    for _time in range(2):
        desk.send(bonus(work))
    desk.later(days=-200)
    bonus(work, "0.10")
    refused = f"{PAYMENTS}?campaign=1&state=failed"
    campaign = links(boss, reverse("dashboard:campaign", args=["study", 1]))
    assert {refused, f"{PAYMENTS}?campaign=1&state=underway"} <= {*campaign}
    assert refused in links(boss, PAYMENTS)
    assert listed(boss, f"{PAYMENTS}?state=underway&kind=bonus") == ["bonus"]
    assert listed(boss, f"{PAYMENTS}?kind=approval") == ["approval"]
    assert listed(boss, f"{PAYMENTS}?campaign=2") == listed(boss, PAYMENTS), "there is no such campaign"
    assert listed(boss, f"{PAYMENTS}?state=withdrawn") == []
    first, _second = Payment.objects.filter(state="failed").order_by("-pk")
    further = f"?before={first.pk}&campaign=1&state=failed"
    assert further in links(boss, refused)
    assert "?before=" not in "".join(links(boss, PAYMENTS + further)), "the second is the last"
    assert refused in links(boss, PAYMENTS + further), "and leads back to the first of these"
    response: Any = boss.get(FILE, {"state": "failed", "campaign": "1"})
    rows = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))
    assert [(row["kind"], row["state"]) for row in rows] == [("bonus", "failed")] * 2
    assert f"{FILE}?campaign=1&state=failed" in links(boss, refused)


def unproven(desk: Desk, receipt: str = "typed by hand") -> None:
    visit = desk.come()
    desk.answer(visit)
    actions.record_hand_in(visit=visit, now=timezone.now())
    desk.submit(visit, receipt=receipt)


def test_all_mismatches_of_a_kind_are_noted_with_one_press_and_each_in_the_log(
    desk: Desk, boss: Client
) -> None:
    for _time in range(2):
        unproven(desk)
    worker = desk.double.crowd.hire().worker_id
    seat = desk.double.crowd.accept(desk.double.crowd.available(worker)[0], worker)
    desk.double.crowd.submit([("assignmentId", seat.assignment_id), ("receipt", "none")])
    desk.sweep()
    assert b"how-all" not in boss.get(DIFFERENCES).content, "not of all kinds at once"
    url = f"{DIFFERENCES}?campaign=1&kind=wrong_receipt"
    page = parsed(boss.get(url).content)
    assert "Settle all 2" in page.text_content()
    assert "no answers here" not in page.xpath("string(//ul[@class='list'])")
    (form,) = page.xpath("//form[.//input[@id='how-all']]")
    sent = {key: value for key, value in form.form_values() if key != "csrfmiddlewaretoken"}
    unproven(desk)
    desk.sweep()  # another one is noticed before the button is pressed

    def press(how: str) -> str:
        return boss.post(form.action, sent | {"how": how}, follow=True).content.decode()

    assert "in a few words" in press(" ")
    assert not Mismatch.objects.exclude(settled_at=None).exists()
    assert (
        "2 mismatches are settled"
        in boss.post(form.action, sent | {"how": "We asked them."}, follow=True).content.decode()
    )
    left = Mismatch.objects.filter(settled_at=None).values_list("kind", flat=True)
    assert sorted(left) == ["no_data", "wrong_receipt"]
    assert Event.objects.filter(note="We asked them.", subject__startswith="wrong_receipt ").count() == 2
    assert "0 mismatches are settled" in press("Again.")
    with pytest.raises(ReasonMissing):
        actions.settle_similar(
            study=desk.study, kind="no_data", newest=10**9, how="", by=None, now=timezone.now()
        )
