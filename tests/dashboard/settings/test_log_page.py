"""The audit log: what it shows of whom, its filters, its pages, its files, and what it costs."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import Q
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import Annotator, PlatformIdentity, User
from annotation import actions, rules
from annotation.models import Enrollment, Event, Membership, Story, Study
from dashboard.settings.pages import log
from dashboard.settings.pages.log import EVERYDAY, events_of, newest, stream_of
from qualification import actions as qualification_actions
from recruitment import actions as recruitment_actions
from tests import builders

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

LONG_AGO = datetime(2020, 2, 29, 23, 59, 59, tzinfo=UTC)


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Study:
    return builders.make_study("main", opened=False)


@pytest.fixture
def study(built: Study) -> Study:
    """The study as the database has it; what a test does to it is rolled back."""
    return Study.objects.get(pk=built.pk)


@pytest.fixture
def auditor(study: Study) -> User:
    return member(study, "auda", Membership.Role.AUDITOR)


@pytest.fixture
def desk(auditor: User) -> Client:
    client = Client()
    client.force_login(auditor)
    return client


def member(study: Study, name: str, role: str) -> User:
    someone = User.objects.create_user(name, password=None)
    actions.set_role(study=study, user=someone, role=role, by=None, now=timezone.now())
    return someone


def remark(study: Study, note: str = "", *, at: datetime | None = None, **said: Any) -> Event:
    kind = said.pop("type", Event.Type.STUDY_PAUSED)
    return actions.record_event(study=study, type=kind, now=at or timezone.now(), note=note, **said)


def shown(client: Client, **asked: Any) -> list[str]:
    """The notes on the page that is asked for."""
    response = client.get(reverse("dashboard:log", args=["main"]), asked)
    assert response.status_code == 200
    return [row["note"] for row in response.context["rows"]]


def file_of(client: Client, ending: str, **asked: Any) -> str:
    response: Any = client.get(reverse("dashboard:log_file", args=["main", ending]), asked)
    assert response.status_code == 200
    assert response["Content-Disposition"] == f'attachment; filename="main-log.{ending}"'
    return b"".join(response.streaming_content).decode()


def pseudonym(person: Enrollment) -> str:
    return rules.pseudonym(person.study.pseudonym_key, person.annotator_id)


def known_person(study: Study) -> Enrollment:
    """Somebody whom a platform knows as 5f3a9c0de1, and who works on the study."""
    link = recruitment_actions.set_join_link(study=study, source="prolific", by=None, now=timezone.now())
    person = recruitment_actions.join(link=link, participant="5f3a9c0de1", now=timezone.now())
    person = builders.consent(person)
    recruitment_actions.arrive_by_link(enrollment=person, now=timezone.now())
    return person


def test_people_who_answer_appear_by_pseudonym_and_never_by_an_id(desk: Client, auditor: User) -> None:
    open_study = builders.make_study("open")
    for number in range(3):  # ids that could be taken for something else are no small numbers
        Annotator.objects.create(pk=700_001 + number, created_at=timezone.now())
    person = known_person(open_study)
    actions.set_role(study=open_study, user=auditor, role="auditor", by=None, now=timezone.now())
    ids = [PlatformIdentity.objects.get(annotator=person.annotator).person, "5f3a9c0de1"]
    address = reverse("dashboard:log", args=["open"])
    page = desk.get(address).content.decode()
    whole = [page]
    for kind in ("csv", "jsonl"):
        response: Any = desk.get(reverse("dashboard:log_file", args=["open", kind]))
        whole.append(b"".join(response.streaming_content).decode())
    for text in whole:
        assert pseudonym(person) in text
        assert not any(one in text for one in ids)
        assert f"annotator {person.annotator_id}" not in text
    told = [json.loads(line) for line in whole[2].splitlines()]
    invited = next(row for row in told if row["kind"] == "annotator_invited")
    assert invited["annotator"] == pseudonym(person)


def test_the_newest_come_first_and_pages_follow_each_other(
    study: Study, desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "PAGE", 10)
    moment = timezone.now() + timedelta(hours=1)
    # Several in one moment: their order is that of their numbers, and no page skips or repeats one.
    for number in range(27):
        remark(study, str(number), at=moment + timedelta(seconds=number // 8))
    seen: list[str] = []
    asked: dict[str, Any] = {"kind": "study_paused"}
    for _page in range(3):
        response = desk.get(reverse("dashboard:log", args=["main"]), asked)
        seen += [row["note"] for row in response.context["rows"]]
        older = response.context["older"]
        if older:
            assert f"kind=study_paused&amp;before={older}" in response.content.decode()
        asked["before"] = older
    assert older is None
    assert seen == [str(number) for number in reversed(range(27))]


def test_filters_choose_events(study: Study, desk: Client) -> None:
    olga = member(study, "olga", Membership.Role.OWNER)
    one, other = actions.invite(study=study, count=2, by=None, now=timezone.now())
    remark(study, "by olga", by=olga)
    remark(study, "of one", type=Event.Type.VISIT_ARRIVED, enrollment=one)
    remark(study, "of other", type=Event.Type.VISIT_ARRIVED, enrollment=other)
    remark(study, "long ago", at=LONG_AGO)
    remark(builders.make_study("other", opened=False), "elsewhere", by=olga)
    assert shown(desk, who="olga") == ["by olga"]
    assert shown(desk, kind="visit_arrived") == ["of other", "of one"]
    assert shown(desk, kind="visit_arrived", person=pseudonym(one)) == ["of one"]
    assert shown(desk, since="2020-02-29", until="2020-02-29") == ["long ago"]
    assert "long ago" not in shown(desk, since="2020-03-01")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"person": "annotator-0000000000000000"}, "Nobody in this study has this pseudonym."),
        ({"kind": "nonsense", "who": "nobody"}, "Select a valid choice"),
        ({"since": "yesterday", "until": "9999-12-31"}, "Ensure this value is less than or equal to"),
        ({"since": "2020-02-02", "until": "2020-02-01"}, "This day is before the first one."),
    ],
)
def test_a_filter_that_cannot_be_used_says_why(desk: Client, asked: dict[str, str], said: str) -> None:
    response = desk.get(reverse("dashboard:log", args=["main"]), asked)
    assert response.status_code == 400
    assert said in response.content.decode()
    assert set(response.context["form"].errors) <= {*asked}


def test_a_page_begins_at_an_event_of_this_study(study: Study, desk: Client) -> None:
    elsewhere = remark(builders.make_study("other", opened=False))
    for asked in (str(elsewhere.pk), "0", "x", "9" * 30):
        assert desk.get(reverse("dashboard:log", args=["main"]), {"before": asked}).status_code == 404


def test_the_files_hold_what_the_filter_chooses_and_no_formula(
    study: Study, desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "AT_ONCE", 3)
    notes = [f"=note {number}, “quoted”\nover two lines" for number in range(10)]
    for note in notes:
        remark(study, note, subject="=HYPERLINK()")
    rows = list(csv.DictReader(io.StringIO(file_of(desk, "csv", kind="study_paused"))))
    assert [row["note"] for row in rows] == [f"'{note}" for note in reversed(notes)]
    assert {row["subject"] for row in rows} == {"'=HYPERLINK()"}
    assert list(rows[0]) == list(log.COLUMNS)
    lines = [json.loads(line) for line in file_of(desk, "jsonl", kind="study_paused").splitlines()]
    assert [line["note"] for line in lines] == notes[::-1]
    assert len(file_of(desk, "jsonl").splitlines()) == Event.objects.filter(study=study).count()
    for ending, asked, status in (("xml", {}, 404), ("csv", {"kind": "nonsense"}, 400)):
        assert desk.get(reverse("dashboard:log_file", args=["main", ending]), asked).status_code == status


def test_a_stream_holds_few_events_however_many_there_are(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "AT_ONCE", 4)
    for number in range(21):
        remark(study, str(number))
    with CaptureQueriesContext(connection) as queries:
        assert len(list(stream_of(study, Q(type="study_paused"), decisions=False))) == 21
    assert len(queries) == 6
    assert all("LIMIT 4" in query["sql"] for query in queries)


def test_a_page_costs_as_many_queries_however_long_the_log_is(study: Study, desk: Client) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            desk.get(reverse("dashboard:log", args=["main"]))
        return len(queries)

    cost()
    few = cost()
    for person in actions.invite(study=study, count=8, by=None, now=timezone.now()):
        remark(study, type=Event.Type.VISIT_ARRIVED, enrollment=person)
    assert cost() == few


def test_answers_are_left_out_until_they_are_asked_for(desk: Client, auditor: User) -> None:
    running = builders.make_study("open", stories=2)
    actions.set_role(study=running, user=auditor, role="auditor", by=None, now=timezone.now())
    (person,) = builders.qualified(running)
    builders.answer_everything([person])
    address = reverse("dashboard:log", args=["open"])

    def page(**asked: str) -> tuple[list[str], str]:
        response = desk.get(address, asked)
        return [row["kind"] for row in response.context["rows"]], response.content.decode()

    (everything, whole), (decisions, usual) = page(show="all"), page()
    assert {"vote_submitted", "consent_given"} < set(everything)
    assert decisions == [kind for kind in everything if kind not in EVERYDAY]
    assert decisions[:2] == ["enrollment_qualified", "annotator_invited"]
    assert page(kind="vote_submitted")[0] == ["vote_submitted"] * 2, "what is asked for is there"
    assert "vote_submitted" in page(person=pseudonym(person))[0]
    story = running.stories.filter(role="main").first()
    assert story is not None
    assert f'href="/studies/open/stories/{story.story_id}/"' in whole
    assert f'href="{address}?show=all">Show all' in usual
    for text, ending in ((usual, "?show=decided"), (whole, "?show=all")):
        assert f'log.csv{ending}"' in text, "what the page shows"
    for ending, count in (("", len(everything)), ("?show=decided", len(decisions))):
        response: Any = desk.get(reverse("dashboard:log_file", args=["open", "jsonl"]) + ending)
        assert len(b"".join(response.streaming_content).decode().splitlines()) == count


def test_who_answers_a_text_blind_is_not_told_who_failed_it_as_a_check(
    study: Study, desk: Client, auditor: User
) -> None:
    running = builders.make_study("open", stories=20)
    builders.add_checks(running, 3)
    (person,) = builders.qualified(running)
    met = builders.work_through(person, 10, on_checks=builders.answers(q1="no"))
    closed, told = (story for story in met if story.role == Story.Role.CHECK)
    text = builders.story_row(int(closed.story_id[6:11]), prefix="test")
    other = builders.make_study("other", opened=False, qualification_required=True)
    round = builders.make_round(other, [text])
    actions.set_role(study=other, user=auditor, role="reviewer", by=None, now=timezone.now())
    (review,) = qualification_actions.ask_experts(round=round, experts=[auditor], by=None, now=timezone.now())
    actions.set_role(study=running, user=auditor, role="auditor", by=None, now=timezone.now())

    def failed() -> list[list[str]]:
        response = desk.get(reverse("dashboard:log", args=["open"]), {"kind": "check_failed"})
        page = [row["note"] for row in response.context["rows"]]
        assert ("are left out here" in response.content.decode()) == (len(page) == 1)
        found = [page]
        for asked in ({}, {"person": pseudonym(person)}):
            file: Any = desk.get(reverse("dashboard:log_file", args=["open", "jsonl"]), asked)
            lines = [json.loads(line) for line in b"".join(file.streaming_content).decode().splitlines()]
            found.append([line["note"] for line in lines if line["kind"] == "check_failed"])
        return found

    assert failed() == [[told.story_id]] * 3
    qualification_actions.dismiss_expert(review=review, by=auditor, now=timezone.now())
    assert failed() == [[told.story_id, closed.story_id]] * 3


def test_pages_of_decisions_follow_each_other_and_look_through_no_votes(study: Study) -> None:
    moment = timezone.now() + timedelta(hours=1)
    kinds = (Event.Type.STUDY_PAUSED, Event.Type.STUDY_OPENED, Event.Type.VOTE_SUBMITTED)
    for number in range(30):
        remark(study, str(number), type=kinds[number % 3], at=moment + timedelta(seconds=number // 8))
    before, seen = None, []
    while batch := newest(study, Q(), 8, decisions=True, before=before):
        seen += [event.note for event in batch]
        before = batch[-1]
    whole = [event.note for event in events_of(study, Q()) if event.type not in EVERYDAY]
    assert seen == whole
    assert len(seen) > 20
    with CaptureQueriesContext(connection) as queries:
        newest(study, Q(), 8, decisions=True)
    assert len(queries) == 2
    assert "vote_submitted" not in queries[0]["sql"]


def test_every_filter_reads_its_index_from_the_end(study: Study, auditor: User) -> None:
    """Among many events no filter sorts or looks through them: the plan is one walk along an index."""
    (person,) = actions.invite(study=study, count=1, by=None, now=timezone.now())
    indexes = {
        "events_of_study": Q(),
        "events_of_type": Q(type="study_paused"),
        "events_of_actor": Q(actor=auditor),
        "events_of_enrollment": Q(enrollment=person),
    }
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO annotation_event (study_id, type, actor_id, enrollment_id, subject, note, at)"
            " SELECT %s, (ARRAY['vote_submitted', 'study_paused', 'visit_arrived'])[1 + n %% 3],"
            " CASE WHEN n %% 5 = 0 THEN %s END, CASE WHEN n %% 5 = 1 THEN %s END,"
            " '', '', timestamptz '2026-01-01' + n * interval '1 second' FROM generate_series(1, 20000) n",
            [study.pk, auditor.pk, person.pk],
        )
        cursor.execute("ANALYZE annotation_event")
    before = Event.objects.filter(study=study).order_by("-at")[100]
    days = Q(at__gte=LONG_AGO, at__lt=timezone.now())
    for index, chosen in (*indexes.items(), ("events_of_study", days)):
        for events in (events_of(study, chosen), events_of(study, chosen, before=before)):
            plan = events.select_related(None)[:50].explain()
            assert index in plan
            assert "Sort" not in plan
            assert "Seq Scan on annotation_event" not in plan
