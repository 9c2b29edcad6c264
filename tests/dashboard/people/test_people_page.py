"""The list of everybody in a study, and inviting people, sending their link again and renewing it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from kombu.exceptions import OperationalError
from lxml import html

from accounts.models import User
from annotation import actions, rules
from annotation.models import Enrollment, Event, Membership, Study
from dashboard.figures import store
from dashboard.overview import queries as overview
from dashboard.people import listing
from dashboard.people.listing import STEPS, Search, people_page
from dashboard.people.pages import people
from dashboard.queries import get_enrollment
from recruitment.links import personal_link
from tests import builders
from tests.worlds import built_once
from tomannot.celery import app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

HERE = "/studies/main/people/"
INVITE = f"{HERE}invite/"
Role = Membership.Role
Now = Callable[[], Any]


@pytest.fixture
@built_once
def study() -> Study:
    """Everybody who can be met: per state somebody, two of them with answers."""
    study = builders.make_study("main", stories=4, qualification=1)
    builders.invite(study, 2)
    now = timezone.now()
    actions.decline_consent(enrollment=builders.invite(study)[0], now=now)
    consented, left = (builders.consent(person) for person in builders.invite(study, 2))
    actions.withdraw(enrollment=left, now=now)
    builders.take_test(builders.consent(builders.invite(study)[0]), builders.answers(q1="no", q2="no"))
    working, excluded = builders.qualified(study, 2)
    for person in (working, excluded):
        builders.vote(person)
    actions.exclude_annotator(enrollment=excluded, reason="x", shown_reason="y", by=None, now=now)
    actions.suspend(enrollment=consented, reason="please write", by=None, now=now)
    return study


@pytest.fixture
def researcher(client: Client, study: Study) -> Client:
    """Somebody who is no administrator."""
    user = User.objects.create_user("rosa", password=None)
    actions.set_role(study=study, user=user, role=Role.RESEARCHER, by=None, now=timezone.now())
    client.force_login(user)
    return client


def parsed(text: str) -> Any:
    """A page, with the types of lxml left aside."""
    return html.document_fromstring(text)


def name_of(person: Enrollment) -> str:
    return rules.pseudonym(person.study.pseudonym_key, person.annotator_id)


def names(client: Client, **asked: str) -> list[str]:
    page = parsed(client.get(HERE, asked).content.decode())
    return [cell.text_content().strip() for cell in page.xpath("//tbody/tr/th")]


def everybody(study: Study, **search: Any) -> list[int]:
    """The ids of who fits, over all pages."""
    found: list[int] = []
    before = 0
    while True:
        page = people_page(study, Search(**search, before=before))
        found += [row.pk for row in page.rows]
        if not page.next:
            assert len(found) == page.found
            return found
        before = page.next


@pytest.mark.parametrize("size", [3, 50])
def test_everybody_is_on_one_page_whatever_is_looked_for(
    study: Study, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing.people_page, "__kwdefaults__", {"size": size})
    known = {person.pk: person for person in Enrollment.objects.order_by("-pk")}
    assert everybody(study) == list(known)
    for state in Enrollment.State.values:
        assert everybody(study, state=state) == [pk for pk in known if known[pk].state == state]
    (excluded,) = everybody(study, state="excluded")
    assert known[excluded].stories_submitted == 1
    part = name_of(known[excluded])[12:16]
    assert everybody(study, name=part) == [pk for pk in known if part in name_of(known[pk])]
    assert everybody(study, name="annotator-", state="invited") == everybody(study, state="invited")


def test_a_step_of_the_funnel_lists_as_many_as_it_counts(study: Study) -> None:
    counts = overview.people_counts(study)
    assert len(everybody(study)) == counts["invited"]
    for step in STEPS:
        assert len(everybody(study, step=step)) == counts[step], step
    assert counts["passed_test"] == 2
    for row in overview.people_of(study):
        assert row.url.startswith(HERE)


def test_a_line_says_how_somebody_fares(researcher: Client, study: Study) -> None:
    page = parsed(researcher.get(HERE).content.decode())
    said = {
        row.xpath("./th")[0].text_content().strip(): [
            " ".join(cell.text_content().split()) for cell in row.xpath("./td")
        ]
        for row in page.xpath("//tbody/tr")
    }
    (excluded,) = Enrollment.objects.filter(pk__in=everybody(study, state="excluded"))
    assert said[name_of(excluded)][:3] == ["suspended excluded", "passed", "1"]
    failed = Enrollment.objects.get(state="failed")
    assert said[name_of(failed)][:3] == ["not qualified", "not passed", "0"]
    invited = Enrollment.objects.filter(state="invited")[0]
    assert said[name_of(invited)] == ["invited", "–", "0", "–", "–"]
    assert said[name_of(failed)][3] != "–", "they were seen when they agreed"


def test_a_pseudonym_is_looked_up_in_its_index(
    study: Study, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    person = builders.invite(study, 60)[0]
    monkeypatch.delattr(rules, "pseudonym")  # nothing is computed
    with django_assert_num_queries(1) as asked:
        assert get_enrollment(study, person.pseudonym) == person
    looked_up = asked.captured_queries[0]["sql"]
    with CaptureQueriesContext(connection) as asked:
        assert everybody(study, name=person.pseudonym[:18]) == [person.pk]
    (listed,) = [
        query["sql"]
        for query in asked.captured_queries
        if "LIKE" in query["sql"] and "count" not in query["sql"].lower()
    ]
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE annotation_enrollment")
        cursor.execute("SET LOCAL enable_seqscan = off")  # as it would be with more than sixty people
        for query in (looked_up, listed):
            cursor.execute(f"EXPLAIN {query}")
            plan = "\n".join(line for (line,) in cursor.fetchall())
            assert "one_enrollment_per_pseudonym_and_study" in plan
            assert re.search(r"Index Cond: .*pseudonym", plan)


def test_a_pseudonym_leads_to_its_person(researcher: Client, study: Study) -> None:
    person = Enrollment.objects.order_by("pk")[0]
    found = researcher.get(HERE, {"name": f" {name_of(person).upper()} "})
    assert found["Location"] == reverse("dashboard:person", args=["main", name_of(person)])
    assert name_of(person) in names(researcher, name=name_of(person)[:14])
    assert names(researcher, name="nobody") == []
    assert (
        researcher.get(HERE, {"state": "nonsense", "before": "x", "step": "a", "flag": "?"}).status_code
        == 200
    )


def test_people_with_a_flag_are_found(researcher: Client, study: Study) -> None:
    careless, *others = Enrollment.objects.filter(study=study)
    row = {"votes": 1, "flags": []}
    figures = [row | {"pseudonym": name_of(careless), "flags": ["fails_checks"]}]
    figures += [row | {"pseudonym": name_of(other)} for other in others]
    store.keep(study, store.Figures(timezone.now(), timedelta(), {}), figures)
    assert names(researcher, flag="fails_checks") == [name_of(careless)]
    assert everybody(study, flag="any") == [careless.pk]
    assert everybody(study, flag="too_fast") == []
    assert everybody(study, flag="any", state="excluded") == []


def test_the_list_costs_the_same_however_many_there_are(researcher: Client, study: Study) -> None:
    def cost(asked: dict[str, str]) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert researcher.get(HERE, asked).status_code == 200
        return len(queries)

    filters: list[dict[str, str]] = [{"state": "invited", "name": "a"}, {"step": "invited"}]
    few = [cost(asked) for asked in filters]
    builders.invite(study, 30)
    assert [cost(asked) for asked in filters] == few
    assert max(few) <= 13


def test_links_are_made_shown_and_given_as_a_file(researcher: Client, study: Study) -> None:
    before = set(Enrollment.objects.values_list("pk", flat=True))
    page = researcher.post(INVITE, {"do": "links", "count": "3"}, follow=True)
    invited = list(Enrollment.objects.exclude(pk__in=before).order_by("pk"))
    links = [personal_link(person) for person in invited]
    assert len(links) == 3
    shown = parsed(page.content.decode()).get_element_by_id("new-links").text_content()
    assert shown.split() == links
    assert "no-store" in page["Cache-Control"]
    (address,) = [where for where, _ in page.redirect_chain]
    rows = list(csv.DictReader(io.StringIO(researcher.get(f"{address}?csv").content.decode())))
    assert rows == [
        {"pseudonym": name_of(person), "link": link} for person, link in zip(invited, links, strict=True)
    ]
    told = Event.objects.filter(type=Event.Type.ANNOTATOR_INVITED, enrollment__in=invited)
    assert {event.actor.username for event in told if event.actor} == {"rosa"}


def test_new_links_are_shown_for_a_while_and_to_who_may_invite(
    researcher: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = researcher.post(INVITE, {"do": "links", "count": "1"})["Location"]
    assert INVITE in researcher.get(HERE).content.decode()
    reviewer, rosa = Client(), User.objects.get(username="rosa")
    user = User.objects.create_user("rea", password=None)
    actions.set_role(study=study, user=user, role=Role.REVIEWER, by=None, now=timezone.now())
    reviewer.force_login(user)
    assert reviewer.get(address).status_code == 403
    for page in (HERE, "/studies/main/"):
        assert INVITE not in reviewer.get(page).content.decode(), "what may not be done is not offered"
    other = builders.make_study("other")
    actions.set_role(study=other, user=rosa, role=Role.OWNER, by=None, now=timezone.now())
    elsewhere = address.replace("/main/", "/other/")
    assert researcher.get(elsewhere)["Location"] == "/studies/other/people/"
    monkeypatch.setattr(people, "SHOWN_FOR", -1)
    assert researcher.get(address)["Location"] == HERE


def test_a_number_of_links_that_makes_no_sense_invites_nobody(researcher: Client, study: Study) -> None:
    known = Enrollment.objects.count()
    for count in ("", "0", "501", "many"):
        assert researcher.post(INVITE, {"do": "links", "count": count}).status_code == 422
    assert Enrollment.objects.count() == known


def test_people_are_invited_by_mail(researcher: Client, study: Study, settings: Any) -> None:
    settings.SENDS_MAIL = True
    known = Enrollment.objects.count()
    wrong = researcher.post(
        INVITE, {"do": "mail", "addresses": "ada@example.org\nno address", "language": "de"}
    )
    assert wrong.status_code == 422
    assert "“no” is not an e-mail address." in wrong.content.decode()
    assert "“address” is not an e-mail address.</a>" in wrong.content.decode()
    assert Enrollment.objects.count() == known

    form = {"do": "mail", "addresses": "ada@example.org\nben@example.org", "language": "de"}
    assert researcher.post(INVITE, form)["Location"] == HERE

    assert Enrollment.objects.count() == known + 2


@pytest.mark.django_db(transaction=True)  # mails are queued after the commit
def test_invitations_that_no_worker_takes_are_said_to_stand(
    researcher: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SENDS_MAIL = True

    def refuse(*_: Any, **__: Any) -> None:
        raise OperationalError

    monkeypatch.setattr(app, "send_task", refuse)
    known = Enrollment.objects.count()
    form = {"do": "mail", "addresses": "ada@example.org", "language": "de"}
    page = researcher.post(INVITE, form, follow=True)
    assert page.redirect_chain[-1][0] == HERE
    assert "notice--bad" in page.content.decode()
    assert Enrollment.objects.count() == known + 1


def test_where_no_mail_is_sent_the_page_says_so(researcher: Client, study: Study, settings: Any) -> None:
    settings.SENDS_MAIL = False
    posted = researcher.post(INVITE, {"do": "mail", "addresses": "ada@example.org", "language": "en"})
    assert posted.status_code == 422
    assert "This site sends no mail" in posted.content.decode()


def test_who_is_qualified_elsewhere_is_invited_with_both_links(researcher: Client, study: Study) -> None:
    second = builders.make_study("second", opened=False, qualification_required=False)
    actions.set_role(
        study=second, user=User.objects.get(username="rosa"), role=Role.OWNER, by=None, now=timezone.now()
    )
    actions.admit_through(study=second, source=study, by=None, now=timezone.now())
    there = Enrollment.objects.get(study=study, state="qualified")
    address = researcher.post("/studies/second/people/invite/", {"do": "qualified"})["Location"]
    (row,) = csv.DictReader(io.StringIO(researcher.get(f"{address}?csv").content.decode()))
    here = Enrollment.objects.get(study=second)
    assert (row["link_before"], row["link"]) == (personal_link(there), personal_link(here))
    again = researcher.post("/studies/second/people/invite/", {"do": "qualified"}, follow=True)
    assert "are already invited" in again.content.decode()


@pytest.mark.parametrize("role_there", [None, Role.REVIEWER])
def test_who_may_not_change_the_other_study_gets_no_link_of_it(
    researcher: Client, study: Study, role_there: str | None
) -> None:
    """A personal link lets who has it answer in that name."""
    second = builders.make_study("second", opened=False, qualification_required=False)
    bea = User.objects.create_user("bea", password=None)
    actions.set_role(study=second, user=bea, role=Role.OWNER, by=None, now=timezone.now())
    if role_there:
        actions.set_role(study=study, user=bea, role=role_there, by=None, now=timezone.now())
    actions.admit_through(study=second, source=study, by=None, now=timezone.now())
    there = Enrollment.objects.get(study=study, state="qualified")
    desk = Client()
    desk.force_login(bea)
    here = "/studies/second/people/invite/"
    assert "the one they have had there" not in desk.get(here).content.decode()
    address = desk.post(here, {"do": "qualified"})["Location"]
    file = desk.get(f"{address}?csv").content.decode()
    (row,) = csv.DictReader(io.StringIO(file))
    assert row == {"pseudonym": row["pseudonym"], "link": personal_link(Enrollment.objects.get(study=second))}
    assert personal_link(there) not in file
    assert "two links" not in desk.get(address).content.decode()


@pytest.mark.parametrize("do", ["qualified", pytest.param("links", marks=pytest.mark.torture)])
def test_a_second_press_invites_nobody_more_and_leads_to_the_same_links(
    researcher: Client, study: Study, monkeypatch: pytest.MonkeyPatch, do: str
) -> None:
    monkeypatch.setattr(people, "MOST_AT_ONCE", 1)
    builders.qualified(study)  # somebody more than one press invites
    second = builders.make_study("second", opened=False, qualification_required=False)
    rosa = User.objects.get(username="rosa")
    actions.set_role(study=second, user=rosa, role=Role.OWNER, by=None, now=timezone.now())
    actions.admit_through(study=second, source=study, by=None, now=timezone.now())
    here = "/studies/second/people/invite/"

    def press(token: str) -> str:
        page = researcher.post(here, {"do": do, "count": "1", "token": token}, follow=True)
        return str(parsed(page.content.decode()).get_element_by_id("new-links").text_content())

    (first, _same), (other, _) = (
        parsed(researcher.get(here).content.decode()).xpath("//input[@name='token']/@value") for _ in range(2)
    )
    assert press(first) == press(first)
    assert Enrollment.objects.filter(study=second).count() == 1
    assert press(other) != press(first)
    assert Enrollment.objects.filter(study=second).count() == 2


@pytest.mark.django_db(transaction=True)  # mails are queued after the commit
def test_a_link_is_sent_again_and_renewed(
    client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SENDS_MAIL = True
    app.loader.import_default_modules()  # the tasks, by their names
    monkeypatch.setattr(app, "send_task", lambda name, args: app.tasks[name](*args))
    study = builders.make_study("main")
    user = User.objects.create_user("rosa", password=None)
    actions.set_role(study=study, user=user, role=Role.RESEARCHER, by=None, now=timezone.now())
    client.force_login(user)
    client.post(INVITE, {"do": "mail", "addresses": "ada@example.org", "language": "en"})
    person = Enrollment.objects.get()
    page = client.get(reverse("dashboard:person", args=["main", name_of(person)])).content.decode()
    assert "Send the link again" in page
    here = reverse("dashboard:persons_link", args=["main", name_of(person)])
    mail.outbox.clear()
    old = personal_link(person)

    client.post(here, {"do": "send"})
    assert [old in str(message.body) for message in mail.outbox] == [True]
    sent = Event.objects.filter(type=Event.Type.LINK_MAILED).latest("pk")
    assert sent.actor == user

    shown = client.post(here, {"do": "renew"}).content.decode()
    person.refresh_from_db()
    assert personal_link(person) != old
    assert personal_link(person) in re.sub(r"\s+", " ", shown)
    assert Event.objects.get(type=Event.Type.LINK_REVOKED).actor == user
    assert client.get(old, follow=True).status_code != 200


def test_without_an_address_a_link_is_renewed_only(researcher: Client, study: Study, settings: Any) -> None:
    settings.SENDS_MAIL = True
    person = Enrollment.objects.order_by("pk")[0]
    page = researcher.get(reverse("dashboard:person", args=["main", name_of(person)])).content.decode()
    assert "Send the link again" not in page
    assert "Make a new link" in page
    here = reverse("dashboard:persons_link", args=["main", name_of(person)])
    assert "notice--bad" in researcher.post(here, {"do": "send"}, follow=True).content.decode()
