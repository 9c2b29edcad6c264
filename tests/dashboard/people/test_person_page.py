"""The page of a person: what speaks for and against them, and suspending them and letting them go on."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from lxml import html

from accounts.models import User
from annotation import actions, rules
from annotation.models import Enrollment, Event, Membership, Story, Study
from dashboard.figures import compute
from qualification import actions as qualification_actions
from tests import builders
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

Role = Membership.Role
WRONG = builders.answers(q1="no")


@built_once
def build_study() -> Study:
    """Twenty stories for three votes each, and one check in five that accepts yes or possibly."""
    study = builders.make_study("main", stories=20)
    builders.add_checks(study, 3)
    return study


@built_once
def build_careless() -> Enrollment:
    """Somebody of :func:`build_study` who failed each of the three checks they met."""
    (person,) = builders.qualified(build_study())
    builders.work_through(person, 15, on_checks=WRONG)
    return person


@pytest.fixture
def careless() -> Enrollment:
    return Enrollment.objects.select_related("study").get(pk=build_careless().pk)


@pytest.fixture
def study(careless: Enrollment) -> Study:
    return careless.study


def as_role(study: Study, role: str = Role.RESEARCHER) -> tuple[User, Client]:
    user = User.objects.create_user(f"the-{role}", password=None)
    actions.set_role(study=study, user=user, role=role, by=None, now=timezone.now())
    client = Client()
    client.force_login(user)
    return user, client


def page_of(person: Enrollment, name: str = "person") -> str:
    pseudonym = rules.pseudonym(person.study.pseudonym_key, person.annotator_id)
    return reverse(f"dashboard:{name}", args=[person.study.slug, pseudonym])


def parsed(text: str) -> Any:
    """A page, with the types of lxml left aside."""
    return html.document_fromstring(text)


def rows(client: Client, person: Enrollment, heading: str) -> list[list[str]]:
    """The cells of a table of the person's page, in words; none where it has no such table."""
    page = parsed(client.get(page_of(person)).content.decode())
    return [
        [" ".join(cell.text_content().split()) for cell in row.xpath("./th|./td")]
        for row in page.xpath(f"//*[@aria-labelledby='{heading}']//tbody/tr")
    ]


def test_a_failed_check_stands_beside_what_is_accepted(study: Study, careless: Enrollment) -> None:
    _, researcher = as_role(study)
    (thorough,) = builders.qualified(study)
    builders.work_through(thorough, 5)

    found = rows(researcher, careless, "failed-checks")

    assert [row[0] for row in found] == checks_met_by(careless)[::-1], "the newest first"
    title = str(study.protocol.questions[0].title)
    assert {tuple(row[1:4]) for row in found} == {(title, "No", "Possibly, Yes")}
    assert rows(researcher, thorough, "failed-checks") == []


def checks_met_by(person: Enrollment) -> list[str]:
    met = person.assignments.filter(story__role=Story.Role.CHECK).order_by("served_at", "pk")
    return list(met.values_list("story__story_id", flat=True))


def closed_to(user: User, *story_ids: str) -> None:
    """Ask the user as an expert about a round of the texts of these stories, in another study."""
    other = builders.make_study("other", opened=False, qualification_required=True)
    texts = [builders.story_row(int(story_id[6:11]), prefix="test") for story_id in story_ids]
    actions.set_role(study=other, user=user, role=Role.REVIEWER, by=None, now=timezone.now())
    round = builders.make_round(other, texts)
    qualification_actions.ask_experts(round=round, experts=[user], by=None, now=timezone.now())


@pytest.mark.django_db(transaction=True)  # the figures are of one moment
def test_who_answers_the_same_text_blind_is_not_told(study: Study, careless: Enrollment) -> None:
    """Two of the three checks have the texts of a round about which an expert is asked."""
    as_role(study, Role.OWNER)
    ada, reader = as_role(study, Role.REVIEWER)
    first, second, third = checks_met_by(careless)
    closed_to(ada, first, second)
    actions.set_role(study=study, user=ada, role=Role.OWNER, by=None, now=timezone.now())
    compute.make(study.pk, now=timezone.now())

    assert [row[0] for row in rows(reader, careless, "failed-checks")] == [third]

    actions.set_role(study=study, user=ada, role=Role.REVIEWER, by=None, now=timezone.now())
    page = parsed(reader.get(page_of(careless)).content.decode())
    flagged = " ".join(page.xpath("//*[contains(@class, 'notice--warn')]")[0].text_content().split())
    assert third in flagged
    assert first not in flagged


def test_somebody_is_suspended_and_let_go_on_by_who_is_no_administrator(
    study: Study, careless: Enrollment
) -> None:
    (user, researcher), person = as_role(study), careless
    here = page_of(person, "set_standing")

    refused = researcher.post(here, {"do": "suspend", "reason": " ", "shown_reason": "Please write to us."})
    assert refused.status_code == 422
    for kept in ("Please write to us.</textarea>", "<details open>", "autofocus", "Nothing was saved"):
        assert kept in refused.content.decode()
    researcher.post(
        here, {"do": "suspend", "reason": "See the checks.", "shown_reason": "Please write to us."}
    )

    person.refresh_from_db()
    assert (person.state, person.suspension_reason) == ("suspended", "Please write to us.")
    event = Event.objects.get(enrollment=person, type=Event.Type.ENROLLMENT_SUSPENDED)
    assert (event.actor, event.note) == (user, "See the checks.")
    page = researcher.get(page_of(person)).content.decode()
    assert "See the checks." in page
    assert "Please write to us." in page
    assert len(rows(researcher, person, "failed-checks")) == 3

    researcher.post(here, {"do": "let_go_on", "reason": " "})
    person.refresh_from_db()
    assert person.state == "suspended", "a reason is asked for"

    researcher.post(here, {"do": "let_go_on", "reason": "We talked."})

    person.refresh_from_db()
    assert person.state == "qualified"
    event = Event.objects.get(enrollment=person, type=Event.Type.ENROLLMENT_REINSTATED)
    assert (event.actor, event.note) == (user, "We talked.")
    assert builders.claim(person)
    past = [row[0] for row in rows(researcher, person, "failed-checks")]
    assert len(past) == 3
    assert all(name.endswith("no longer counts against them") for name in past)


def test_what_cannot_be_decided_about_somebody_is_refused_in_words(study: Study) -> None:
    _, researcher = as_role(study)
    invited, excluded = builders.invite(study)[0], builders.qualified(study)[0]
    actions.exclude_annotator(enrollment=excluded, reason="x", shown_reason="y", by=None, now=timezone.now())
    for person in (invited, excluded):
        form = {"do": "let_go_on", "reason": "because", "shown_reason": "because"}
        answered = researcher.post(page_of(person, "set_standing"), form, follow=True)
        assert b"notice--bad" in answered.content
        state = person.state
        person.refresh_from_db()
        assert person.state in (state, "suspended")
    assert b'value="let_go_on"' not in answered.content
    assert b"Readmit them" in answered.content


def test_answers_stand_beside_those_of_others(study: Study, careless: Enrollment) -> None:
    """One objects to what two others find likely; nobody stands beside an answer to a check."""
    user, researcher = as_role(study)
    single = builders.make_study("single", stories=1)
    actions.set_role(study=single, user=user, role=Role.AUDITOR, by=None, now=timezone.now())
    first, second, third = builders.qualified(single, 3)
    for person in (first, second):
        builders.vote(person)
    builders.vote(third, builders.answers(q1="no"))

    (row,) = rows(researcher, third, "answers")

    assert row[3] == "≠ No nobody else 2 × Yes"
    assert row[4] == "Yes 2 × Yes"
    assert rows(researcher, first, "answers")[0][3] == "Yes 1 × No, 1 × Yes"
    (other,) = builders.qualified(study)
    builders.work_through(other, 5)
    checks = [row for row in rows(researcher, careless, "answers") if "hidden check" in row[0]]
    assert len(checks) == 3
    assert "×" not in "".join(cell for row in checks for cell in row[3:])


@pytest.mark.django_db(transaction=True)  # the figures are of one moment
def test_shares_stand_beside_everybodys(client: Client) -> None:
    study = builders.make_study("shares")
    _, researcher = as_role(study)
    first, second = builders.qualified(study, 2)
    builders.vote(first, builders.answers(q1="no"))
    builders.vote(second)
    compute.make(study.pk, now=timezone.now())
    found = {(row[0], row[1]): row[2:4] for row in rows(researcher, first, "options")}
    title = str(study.protocol.questions[0].title)
    assert found[title, "No"] == ["100 %", "50 %"]
    assert found[title, "Yes"] == ["0 %", "50 %"]


@pytest.mark.django_db(transaction=True)  # the figures are of one moment
def test_the_page_costs_the_same_however_much_was_answered(study: Study, careless: Enrollment) -> None:
    _, researcher = as_role(study)
    (few,) = builders.qualified(study)
    builders.work_through(few, 5, on_checks=WRONG)
    compute.make(study.pk, now=timezone.now())
    researcher.get(page_of(few))
    asked = []
    for person in (few, careless):
        with CaptureQueriesContext(connection) as queries:
            researcher.get(page_of(person))
        asked.append(len(queries))
    assert asked[0] == asked[1] <= 29


def test_attempts_at_the_test_are_there_with_what_was_missed(client: Client) -> None:
    study = builders.make_study("tested", stories=1, qualification=2)
    (person,) = builders.invite(study)
    builders.take_test(builders.consent(person), builders.answers(q3="no"))
    _, researcher = as_role(study)
    page = parsed(researcher.get(page_of(person)).content.decode())
    said = " ".join(page.text_content().split())
    title = str(study.protocol.question("q3").title)
    assert f"not passed Not acceptable: story 1, “{title}” ; story 2, “{title}”" in said.replace("”;", "” ;")
    assert "Round 1" in said
    _, reviewer = as_role(study, Role.REVIEWER)
    assert "Not acceptable" not in reviewer.get(page_of(person)).content.decode(), "it tells the key"


def test_answers_are_narrowed_to_those_nobody_shares_and_to_checks(
    study: Study, careless: Enrollment
) -> None:
    _, researcher = as_role(study)
    (second,) = builders.qualified(study)
    met = [one.story for one in careless.assignments.select_related("story")]
    both = {story.pk for story in met} & {story.pk for story in builders.work_through(second, 4)}
    alone = next(story for story in met if story.role == Story.Role.MAIN and story.pk in both)
    actions.change_vote(
        assignment_id=alone.assignments.get(enrollment=careless).pk,
        enrollment=careless,
        submitted=builders.answers(q3="no"),
        now=timezone.now(),
    )
    checks = checks_met_by(careless)

    def shown(**asked: str) -> list[str]:
        page = parsed(researcher.get(page_of(careless), asked).content.decode())
        return list(page.xpath("//*[@aria-labelledby='answers']//tbody/tr/th/a/text()"))

    assert shown(only="alone", page="9" * 18) == [alone.story_id], "no list has such a page"
    assert shown(only="checks") == checks[::-1]

    blind = User.objects.create_user("blind", password=None)
    closed_to(blind, checks[0])
    actions.set_role(study=study, user=blind, role=Role.RESEARCHER, by=None, now=timezone.now())
    researcher.force_login(blind)
    assert shown(only="checks") == checks[:0:-1], "which story is a check tells who answers its text blind"
    assert set(shown(only="nonsense")) == {story.story_id for story in met} - {checks[0]}


def test_which_answers_pass_a_check_is_for_who_may_change_the_study(
    study: Study, careless: Enrollment
) -> None:
    """What passed is accepted, option by option; whoever reads it could not be asked blind any more."""
    _, reader = as_role(study, Role.REVIEWER)
    asked = parsed(reader.get(page_of(careless), {"only": "checks"}).content.decode())
    assert "hidden check" not in asked.text_content()
    assert not asked.xpath("//*[@aria-labelledby='failed-checks']")
    assert len(asked.xpath("//*[@aria-labelledby='answers']//tbody/tr")) == 12, "not narrowed, and no check"
    assert asked.xpath("//select[@id='only']/option/@value") == ["", "alone"]
    _, researcher = as_role(study)
    assert sum("hidden check" in row[0] for row in rows(researcher, careless, "answers")) == 3
