"""Who is owed what: a table to pay by that names nobody."""

from __future__ import annotations

import csv
import io
import re
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import Error, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation import actions
from annotation.models import Enrollment, Event, Study
from dashboard.actions import let_take_test_again
from qualification import actions as qualification_actions
from qualification.models import RoundStory
from recruitment import actions as recruitment_actions
from recruitment.codes import CompletionOutcome, completion_code
from recruitment.models import LinkPayment
from recruitment.queries import completion_of
from tests import builders
from tests.annotation.pages import at

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

BEGUN = timezone.now() - timedelta(days=1)


@pytest.fixture
def boss() -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="researcher", password="unguessable-1"))
    return client


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Study:
    found = builders.make_study(stories=40, votes_per_story=2, qualification=2, pay_rate=Decimal("14.37"))
    recruitment_actions.set_join_link(study=found, by=None, now=BEGUN, source="pool")
    return found


@pytest.fixture
def study(built: Study) -> Study:
    return Study.objects.get(pk=built.pk)


def came(study: Study, participant: str) -> Enrollment:
    return builders.consent(
        recruitment_actions.join(link=study.join_link, participant=participant, now=timezone.now())
    )


def take_test(person: Enrollment, *, takes: timedelta, q3: str = "yes") -> Enrollment:
    """At a known pace, which ``builders.take_test`` has not."""
    attempt = qualification_actions.start_attempt(enrollment=person, now=BEGUN)
    for entry in RoundStory.objects.filter(round=attempt.round):
        submitted = builders.answers(q3=q3)
        qualification_actions.save_answers(attempt=attempt, round_story=entry, submitted=submitted)
    qualification_actions.submit_attempt(attempt=attempt, now=BEGUN + takes)
    person.refresh_from_db()
    return person


def answer(person: Enrollment, seconds: list[float]) -> None:
    for number, each in enumerate(seconds):
        shown: datetime = BEGUN + timedelta(minutes=10 * (number + 6))
        assignment = builders.claim(person, now=shown)
        actions.record_vote(
            assignment_id=assignment.pk,
            enrollment=person,
            submitted=builders.ALL_YES,
            now=shown + timedelta(seconds=each),
        )
    person.refresh_from_db()


def rows_of(response: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))


def own_sum(person: Enrollment) -> str:
    """What the person reads on “Your account” that they have earned in all."""
    facts = at(person, "you/").document.xpath("//dl[@class='facts']/div")
    read = {one.find("dt").text_content(): one.find("dd").text_content() for one in facts}
    said = read.get("Total") or read["Your pay for the test"]
    (amount,) = re.findall(r"[0-9.]+", said)
    return str(amount)


def test_each_code_is_owed_to_the_cent_what_its_owner_reads(study: Study, boss: Client) -> None:
    worked = take_test(came(study, "participant-4711"), takes=timedelta(minutes=7, seconds=41))
    answer(worked, [300.3] * 3 + [20.123457, 40.7, 61.000001, 33.3] * 8)  # the first are not of the pace
    failed = take_test(came(study, "another"), takes=timedelta(hours=9), q3="no")
    by_mail = builders.consent(builders.invite(study)[0])
    take_test(by_mail, takes=timedelta(minutes=3))
    came(study, "idle")

    url = reverse("dashboard:amounts_due_file", args=[study.slug])
    rows = rows_of(boss.get(url))

    people = [worked, failed, by_mail]
    assert [row["owed"] for row in rows] == [own_sum(person) for person in people]
    assert [(row["owed_for_test"], row["test"]) for row in rows] == [
        ("1.84", "passed"),  # 461 seconds at 14.37 an hour
        ("7.18", "failed"),  # as much as two stories can take, and not nine hours
        ("0.72", "passed"),
    ]
    assert (rows[0]["median_seconds"], rows[0]["owed_for_stories"]) == ("37.0", "5.17")
    assert [(row["came_by"], row["source"]) for row in rows] == [
        ("join_link", "pool"), ("join_link", "pool"), ("personal_link", ""),
    ]  # fmt: skip
    codes = [completion_of(person) for person in people]
    assert [row["completion_code"] for row in rows] == [code.code for code in codes if code]
    assert not any("participant" in row or "4711" in str(row) for row in rows)

    def only(way: str) -> list[dict[str, str]]:
        return [row | {"as_of": rows[0]["as_of"]} for row in rows_of(boss.get(url, {"came_by": way}))]

    assert (only("join_link"), only("personal_link")) == (rows[:2], rows[2:])
    asked = rows_of(boss.post(url, {"participants": "another\nidle\nnobody\nanother participant-4711"}))
    assert [(row.pop("participant"), row["owed"], row["outcome"]) for row in asked] == [
        ("another", "7.18", "screened out"), ("idle", "", "no work"), ("nobody", "", "no work"),
        ("participant-4711", rows[0]["owed"], "completed"),
    ]  # fmt: skip


def test_a_story_left_open_is_paid_for_as_long_as_one_of_the_test(study: Study, boss: Client) -> None:
    person = take_test(came(study, "slow"), takes=timedelta(minutes=3))
    answer(person, [40 * 60.0, 14 * 3600.0])
    (row,) = rows_of(boss.get(reverse("dashboard:amounts_due_file", args=[study.slug])))
    assert (row["stories"], row["median_seconds"], row["stories_cut"]) == ("2", "900.0", "2")
    assert row["owed_for_stories"] == "7.18", (
        "two stories of 15 minutes at 14.37 an hour, and not of 14 hours"
    )
    assert row["owed"] == own_sum(person)
    assert "counts as 15 minutes" in at(person, "you/").document.text_content()


def test_who_has_been_paid_is_remembered_once_however_often_it_is_said(study: Study, boss: Client) -> None:
    url, page, note = (
        reverse(f"dashboard:{name}", args=[study.slug])
        for name in ("amounts_due_file", "join_link", "note_amounts_paid")
    )
    early = take_test(came(study, "early"), takes=timedelta(minutes=3))
    code_of_test = completion_of(early)
    answer(early, [60.0] * 10)
    late = take_test(came(study, "late"), takes=timedelta(minutes=3))
    monday = rows_of(boss.get(url))
    assert code_of_test
    assert code_of_test.code in monday[0]["every_code"].split()
    assert monday[0]["every_code"].startswith(monday[0]["completion_code"])
    assert [(row["paid_so_far"], row["still_owed"]) for row in monday] == [
        ("0.00", row["owed"]) for row in monday
    ]
    assert datetime.fromisoformat(monday[0]["as_of"])

    def upload(rows: list[dict[str, str]], **changes: str) -> str:
        written = io.StringIO()
        writer = csv.DictWriter(written, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        file = SimpleUploadedFile("owed.csv", written.getvalue().encode())
        sent = {"table": file, "reason": "By bank.", "token": str(uuid4())} | changes
        return boss.post(note, sent, follow=True).content.decode()

    paid = [monday[0] | {"paid": monday[0]["still_owed"]}, monday[1]]
    token = str(uuid4())
    assert "Recorded the payment to 1 participant" in upload(paid, token=token)
    assert "recorded before" in upload(paid, token=token), "a second press"
    assert "was recorded after you downloaded" in upload(paid), "the same table again"
    answer(early, [60.0] * 2)
    friday = rows_of(boss.get(url))
    assert (friday[0]["paid_so_far"], friday[0]["still_owed"]) == (monday[0]["owed"], "0.47")
    assert friday[1]["still_owed"] == friday[1]["owed"]
    wrong = [
        friday[0] | {"paid": "all"},
        friday[1] | {"annotator": "nobody", "completion_code": "", "paid": "1"},
    ]
    said = upload(wrong)
    assert "Line 2: “all” is not an amount. Line 3: no participant" in said
    assert "The column “paid” is empty" in upload(friday)
    mixed = friday[0] | {"annotator": friday[1]["annotator"], "paid": "0.47"}
    said = upload([mixed])
    assert "Line 2: the code and the pseudonym belong to different participants" in said
    for unread in ("1.234,00", "Jan 47"):
        said = upload([friday[0] | {"paid_so_far": unread, "paid": "0.47"}])
        assert f"Line 2: “{unread}” under “paid_so_far” is not an amount" in said
    unreasoned = upload([friday[0] | {"paid": "0.47"}], reason=" ")
    assert "How you paid participants: " in unreasoned
    assert "<details open>" in unreasoned
    assert LinkPayment.objects.count() == 1

    def one(who: str, amount: str) -> str:
        sent = {"who": who, "paid": amount, "reason": "Cash.", "token": str(uuid4())}
        return boss.post(note, sent, follow=True).content.decode()

    assert "Recorded the payment to 1" in one(code_of_test.code, "0,47"), (
        "by the code that they handed in first"
    )
    assert "Recorded the payment to 1" in one(friday[1]["annotator"], "5")
    assert "Recorded the payment to 1" in one(friday[1]["annotator"], "-5"), "it was a mistake"
    refused = one("nobody", "0.47")
    assert "<p>No participant has this code or pseudonym.</p>" in refused
    assert 'value="nobody"' in refused
    assert "<p>“much” is not an amount.</p>" in one(friday[1]["annotator"], "much")
    assert "A correction cannot exceed" in one(friday[1]["annotator"], "-0.01")
    assert [row["still_owed"] for row in rows_of(boss.get(url))] == ["0.00", friday[1]["owed"]]
    entries = LinkPayment.objects.order_by("pk")
    assert [(entry.enrollment, str(entry.noted_by)) for entry in entries] == [
        (person, "researcher") for person in (early, early, late, late)
    ]
    assert Event.objects.filter(type=Event.Type.PAYMENT_SENT, subject__startswith="link payment").count() == 4
    assert "Cash." in boss.get(page).content.decode()
    with pytest.raises(Error), transaction.atomic():
        entries.update(amount=1)


def test_a_study_without_pay_says_so_and_has_no_columns_for_it(boss: Client) -> None:
    study = builders.make_study("unpaid", stories=2)
    builders.vote(builders.qualified(study)[0])
    page = boss.get(reverse("dashboard:join_link", args=[study.slug])).content.decode()
    assert "This study pays nothing." in page
    (row,) = rows_of(boss.get(reverse("dashboard:amounts_due_file", args=[study.slug])))
    assert (row["outcome"], row["stories"]) == ("completed", "1")
    assert not {"owed", "currency"} & set(row)


def test_a_test_that_may_be_taken_again_stays_owed(study: Study, boss: Client) -> None:
    failed = take_test(came(study, "another"), takes=timedelta(minutes=5), q3="no")
    url = reverse("dashboard:amounts_due_file", args=[study.slug])
    (before,) = rows_of(boss.get(url))

    let_take_test_again(
        enrollment=failed, was_somebody_else=False, reason="Their screen broke.", by=None, now=timezone.now()
    )

    (after,) = rows_of(boss.get(url))
    assert (after["owed_for_test"], before["owed_for_test"]) == ("1.20", "1.20")


def test_the_table_tells_partial_work_and_who_found_none_apart(study: Study, boss: Client) -> None:
    recruitment_actions.set_join_link(study=study, by=None, now=timezone.now(), least_stories=2)
    few, enough = (take_test(came(study, name), takes=timedelta(minutes=3)) for name in ("few", "enough"))
    answer(few, [60.0])
    answer(enough, [60.0, 60.0])
    for_nothing = came(study, "for-nothing")
    recruitment_actions.join(link=study.join_link, participant="never-agreed", now=timezone.now())
    url = reverse("dashboard:amounts_due_file", args=[study.slug])
    told = [(row["outcome"], row["why_ended"]) for row in rows_of(boss.get(url))]
    assert told == [("partial", "left"), ("completed", "")]

    actions.close_study(study=study, by=None, now=timezone.now())

    rows = rows_of(boss.get(url))
    assert [(row["outcome"], row["why_ended"], row["stories"]) for row in rows] == [
        ("partial", "left", "1"), ("completed", "", "2"), ("no work left", "", "0"),
    ]  # fmt: skip
    page = boss.post("/studies/study/recruitment/join-link/", {"code": rows[0]["completion_code"]})
    shown = " ".join(page.content.decode().split())
    assert f"The code of {few.pseudonym}: partial" in shown
    assert "Reason: left or returned." in shown
    code = completion_of(Enrollment.objects.get(pk=for_nothing.pk))
    assert code
    assert (rows[2]["completion_code"], rows[2]["owed"]) == (code.code, "0.00")
    earlier = completion_code(study.pseudonym_key, enough.pk, CompletionOutcome.PARTIAL)
    assert earlier in rows[1]["every_code"].split()
