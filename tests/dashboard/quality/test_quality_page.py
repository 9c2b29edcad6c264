"""The quality page, its files and the page of a person: what they say, reached through actions."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.http import Http404
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.actions import ensure_researcher
from annotation import actions, rules
from annotation.models import Assignment, Enrollment, Study, Vote
from crowd.browser import loopback_origin
from dashboard.figures import compute, flags, store, tables
from dashboard.http import guarded
from dashboard.queries import get_enrollment
from dashboard.recruitment.queries import Earned
from tests import builders
from tests.builders import ALL_YES, answers
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("client")]

STORIES = 24
SCENARIOS = ("inside_reuse_labeled_containers", "locked_devices_accounts")


def work_through(person: Enrollment, forms: Any, *, seconds: int) -> None:
    """The person answers every story, each after so many seconds; ``forms`` maps its number to the form."""
    now = timezone.now() - timedelta(hours=3)
    while isinstance(outcome := actions.assign_next_story(enrollment=person, now=now), Assignment):
        number = int(outcome.story.story_id[6:11])
        now += timedelta(seconds=seconds)
        actions.record_vote(assignment_id=outcome.pk, enrollment=person, submitted=forms(number), now=now)


def looked_at() -> Study:
    """:func:`answered` with its figures."""
    study = answered()
    compute.make(study.pk, now=timezone.now())
    return study


@built_once
def answered() -> Study:
    """Two thorough people and one who is fast and objects alone to every third story."""
    rows = [
        builders.story_row(
            number,
            scenario_name=SCENARIOS[number % 2],
            story_generator_model="=model-a" if number < 6 else "model-b",
        )
        for number in range(STORIES)
    ]
    early = timezone.now() - timedelta(hours=4)
    study = builders.make_study("looked-at", stories=rows, pay_rate=Decimal("15.00"), now=early)
    first, second, fast = builders.qualified(study, 3, now=early)
    for thorough in (first, second):
        work_through(thorough, lambda number: answers(q1="possibly") if number % 2 else ALL_YES, seconds=40)
    work_through(fast, lambda number: answers(q3="no") if number % 3 == 0 else ALL_YES, seconds=5)
    return study


@pytest.fixture
def study() -> Study:
    return looked_at()


@pytest.fixture
def boss(study: Study) -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    return client


def fast_one(study: Study) -> str:
    number = (
        Vote.objects.filter(answers__option="no").values_list("assignment__enrollment__annotator").first()
    )
    assert number is not None
    return rules.pseudonym(study.pseudonym_key, number[0])


def words(client: Client, address: str) -> str:
    text = re.sub(r"<[^>]+>", " ", client.get(address).content.decode())
    return " ".join(text.split())


def table(client: Client, name: str) -> list[dict[str, str]]:
    response = client.get(f"/studies/looked-at/quality/{name}.csv")
    assert response["Content-Disposition"] == f'attachment; filename="looked-at-{name}.csv"'
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def test_the_page_shows_agreement_retention_and_people(study: Study, boss: Client) -> None:
    shown_words = words(boss, "/studies/looked-at/quality/")
    assert "=model-a 6 6 4 67 %" in shown_words
    assert f"{SCENARIOS[0]} 12 12 8 67 %" in shown_words
    assert "Every vote chose the same category" in shown_words, "undefined says why"
    name = fast_one(study)
    # 40 seconds is the median pace, which earns 15 an hour; five seconds earn eight times that.
    assert f"{name} too fast always alone 24 5.0 120.00" in shown_words
    assert shown_words.count("annotator-") == 3 * 3, "a line, a dot, and a row of the table behind the chart"
    assert shown_words.index("annotator-") == shown_words.index(name), "who is flagged comes first"


def test_the_files_hold_the_same_and_no_formula(study: Study, boss: Client) -> None:
    people = table(boss, "people")
    by_name = {row["pseudonym"]: row for row in people}
    fast = by_name[fast_one(study)]
    assert (fast["votes"], fast["median_seconds"], fast["pace_as_pay"]) == ("24", "5.0", "120.00")
    assert fast["flags"] == f"{flags.TOO_FAST} {flags.ALWAYS_ALONE}"
    assert float(fast["q3_no"]) == pytest.approx(8 / 24)
    assert float(fast["alone_share"]) == pytest.approx(8 / 24)
    retention = {(row["by"], row["name"]): row for row in table(boss, "retention")}
    assert retention["generator_model", "'=model-a"]["kept"] == "4"
    assert retention["generator_model", "model-b"]["kept"] == "12"
    agreement = {row["question"]: row for row in table(boss, "agreement")}
    assert list(agreement) == ["q1", "q2", "q3", "q4", "validity"]
    assert float(agreement["q3"]["percent"]) == pytest.approx(1 - 8 / 24 * 2 / 3)
    assert agreement["q4"]["fleiss_kappa"] == ""
    assert "Every vote chose the same category" in agreement["q4"]["undefined"]
    assert boss.get("/studies/looked-at/quality/nothing.csv").status_code == 404


def test_texts_that_a_spreadsheet_would_run_are_guarded_and_others_left_alone() -> None:
    for text in ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"):
        assert guarded(text) == f"'{text}"
    assert [guarded(value) for value in ("a=b", -1.5, None, "")] == ["a=b", -1.5, None, ""]


def test_a_persons_page_explains_the_flags_and_shows_the_evidence(study: Study, boss: Client) -> None:
    name = fast_one(study)
    shown_words = words(boss, f"/studies/looked-at/people/{name}/")
    assert "Half of their votes took less than 5.0 seconds; over all votes the median is 40.0." in shown_words
    assert "They alone objected to 8 of 24 complete stories they answered (33 %)" in shown_words
    assert "story_00003_sev1" in shown_words
    assert shown_words.count("answered, counted") == STORIES
    assert boss.get("/studies/looked-at/people/annotator-0000000000000000/").status_code == 404
    other = builders.make_study("another", stories=1)
    with pytest.raises(Http404):
        get_enrollment(other, name)


def test_older_answers_are_a_page_further(
    study: Study, boss: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.queries.RECENT", 10)
    address = f"/studies/looked-at/people/{fast_one(study)}/"
    assert "Older answers" in words(boss, address)
    last = words(boss, f"{address}?page=3")
    assert "Newer answers" in last
    assert "Older answers" not in last
    assert boss.get(f"{address}?page=nonsense").status_code == 200


def test_the_page_asks_the_same_few_questions_whatever_the_size(
    boss: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    address = "/studies/looked-at/quality/"
    boss.get(address)
    with django_assert_num_queries(4):  # session, user, study, newest event
        boss.get(address)


def test_before_the_first_figures_the_page_waits_for_them(boss: Client) -> None:
    fresh = builders.make_study("fresh", stories=2)
    page = boss.get("/studies/fresh/quality/").content.decode()
    assert "The figures are being computed" in page
    assert 'hx-select="#figures"' in page
    assert boss.get("/studies/fresh/quality/people.csv")["Location"] == "/studies/fresh/quality/"
    person = builders.qualified(fresh)[0]
    builders.vote(person)
    name = rules.pseudonym(fresh.pseudonym_key, person.annotator_id)
    assert "story_0000" in words(boss, f"/studies/fresh/people/{name}/")
    store.keep(fresh, compute.make(fresh.pk, now=timezone.now() + timedelta(hours=1)), [])
    assert "None of their votes counted" in words(boss, f"/studies/fresh/people/{name}/")


def test_pay_per_hour_by_hand() -> None:
    assert tables.hourly_pay(Decimal("15.00"), 40.0, 60.0) == Decimal("10.00")
    assert tables.hourly_pay(Decimal("15.00"), 40.0, 30.0) == Decimal("20.00")
    assert tables.hourly_pay(None, 40.0, 30.0) is None
    assert tables.hourly_pay(Decimal("15.00"), None, 30.0) is None
    assert tables.hourly_pay(Decimal("15.00"), 40.0, 0.0) is None


def test_before_a_story_is_complete_a_sentence_stands_for_the_figures(boss: Client) -> None:
    fresh = builders.make_study("fresh", stories=2, pay_rate=Decimal("15.00"))
    compute.make(fresh.pk, now=timezone.now() + timedelta(hours=1))
    for page in ("quality", "quality/filters"):
        said = words(boss, f"/studies/fresh/{page}/")
        assert "So far there are 0 of 6 votes." in said
        assert "Agreement (CSV)" not in said
        assert "Vega-Lite" not in said
        assert "%" not in said
        assert "It had not converged" not in said
        assert ("how far participants agree on each question" in said) is (page == "quality")
        assert "manage.py simulate" not in said, "a real study is never filled with simulated votes"
    overview = words(boss, "/studies/fresh/")
    assert "Invited 0 –" in overview
    assert "Unlikely to be noticed 0 –" in overview
    for person in builders.qualified(fresh, 6):
        builders.vote(person)
    compute.make(fresh.pk, now=timezone.now() + timedelta(hours=1))
    assert "Agreement (CSV)" in words(boss, "/studies/fresh/quality/")
    assert "complete stories with 6 votes" in words(boss, "/studies/fresh/quality/filters/")


def test_an_empty_test_run_says_how_simulated_participants_fill_it(boss: Client) -> None:
    trial = builders.make_study("trial", stories=1, votes_per_story=1)
    trial = actions.make_rehearsal(study=trial, by=None, now=timezone.now())
    compute.make(trial.pk, now=timezone.now())
    command = "manage.py simulate trial --base-url {} --annotators 25 --seed 1"
    assert command.format("http://127.0.0.1:8000") in words(boss, "/studies/trial/quality/")
    here = boss.get("/studies/trial/quality/", headers={"Host": "127.0.0.1:8123"}).content.decode()
    assert command.format(loopback_origin("http://127.0.0.1:8123")) in here
    builders.answer_everything(builders.qualified(trial))
    compute.make(trial.pk, now=timezone.now())
    assert "manage.py simulate" not in words(boss, "/studies/trial/quality/")


def test_what_was_really_paid_is_beside_the_target(
    study: Study, boss: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "/studies/looked-at/quality/"
    assert "Pace, as pay" in words(boss, page)
    assert "Paid per hour" not in words(boss, page)
    name = fast_one(study)
    paid = {name: Earned(Decimal("2.00"), "USD", timedelta(minutes=10))}
    monkeypatch.setattr(compute, "earned_by_everybody", lambda study: paid)
    compute.make(study.pk, now=timezone.now())
    said = words(boss, page)
    assert "Of 1 participant who was paid, 1 got less than the target of 15.00 USD." in said
    assert f"{name} too fast always alone 24 5.0 12.00" in said
    assert "Pace, as pay" not in said
    rows = {row["pseudonym"]: row for row in table(boss, "people")}
    assert rows.pop(name)["paid_per_hour"] == "12.00"
    assert {row["paid_per_hour"] for row in rows.values()} == {""}


def test_people_are_kept_in_pages(study: Study, boss: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PEOPLE_AT_ONCE", 2)
    compute.make(study.pk, now=timezone.now())
    everybody = [person["pseudonym"] for person in store.people(study)]
    assert (len(everybody), store.people_count(study)) == (3, 3)
    assert everybody[0] == fast_one(study)
    last = store.person(study, everybody[2])
    assert last is not None
    assert last["pseudonym"] == everybody[2]
    assert store.person(study, "annotator-0") is None
    first_page, second_page = (
        boss.get(f"/studies/looked-at/quality/?page={page}").content.decode().rpartition("</figure>")[2]
        for page in (1, 2)
    )
    assert everybody[2] not in first_page
    assert "Next page" in first_page
    assert everybody[2] in second_page
