"""The researchers' pages about hidden checks."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import override
from lxml import html

from accounts.actions import ensure_researcher
from annotation import actions, rules
from annotation.hidden_checks import CheckRules
from annotation.models import CheckKey, CheckOption, Event, Story, Study
from dashboard.figures import compute, store
from tests import builders

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

ADDRESS = "/studies/study/quality/hidden-checks/"
WRONG = builders.answers(q1="no")


@pytest.fixture
def study() -> Study:
    return builders.make_study(stories=12, votes_per_story=5)


@pytest.fixture
def boss(study: Study) -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    return client


def parsed(response: Any) -> Any:
    return html.document_fromstring(response.content.decode())


def shown(response: Any) -> str:
    return " ".join(parsed(response).text_content().split())


def row_of(page: Any, story: Story) -> list[str]:
    document = parsed(page)
    (row,) = [row for row in document.xpath("//tbody/tr") if story.story_id in row.text_content()]
    return [" ".join(cell.text_content().split()) for cell in row.xpath("./td")]


def page_of(story: Story) -> str:
    return reverse("dashboard:hidden_check", args=["study", story.pk])


def test_a_check_is_given_known_answers_and_used(boss: Client, study: Study) -> None:
    (check,) = builders.import_rows(study, [builders.story_row(500)], role=Story.Role.CHECK)
    page = boss.get(ADDRESS)
    assert "1 check has no known answers yet and is not used." in shown(page)
    assert row_of(page, check)[0] == "no known answers yet"

    incomplete = boss.post(
        page_of(check), {"do": "key", "q1": ["yes", "possibly"], "q2": ["yes"], "q3": ["yes"]}
    )
    assert incomplete.status_code == 422
    assert not CheckKey.objects.exists()
    ticked = parsed(incomplete).xpath("//input[@checked]/@value")
    assert sorted(ticked) == ["possibly", "yes", "yes", "yes"]
    boss.post(page_of(check), {"do": "key"} | builders.ACCEPTED)
    saved = boss.post(
        ADDRESS, {"every": "10", "minimum": "2", "warn_percent": "", "suspend_percent": "60"}, follow=True
    )

    assert CheckOption.objects.filter(key__story=check).count() == 6
    study.refresh_from_db()
    assert study.check_rules == CheckRules(10, 2, None, 60)
    assert row_of(saved, check)[0] == "in use"
    assert "would meet" not in shown(saved), "as many as anybody meets in this study"
    kinds = [event.type for event in Event.objects.filter(type=Event.Type.CHECKS_CHANGED)]
    assert len(kinds) == 2


def test_rules_that_cannot_be_are_refused_at_their_field(boss: Client, study: Study) -> None:
    refused = boss.post(
        ADDRESS, {"every": "3", "minimum": "3", "warn_percent": "50", "suspend_percent": "40"}
    )

    assert refused.status_code == 422
    links = parsed(refused).xpath("//*[@role='alert']//a/@href")
    assert links == ["#id_every"]
    study.refresh_from_db()
    assert study.check_rules == CheckRules()
    empty = boss.post(ADDRESS, {"every": "20", "minimum": "3"}, follow=True)
    assert "there are none to use" in shown(empty)
    builders.import_rows(study, [builders.story_row(number) for number in range(100, 140)])
    assert "would meet 2 checks, but only 0 can be used" in shown(
        boss.get(reverse("dashboard:settings", args=["study"]))
    )


def test_a_check_that_most_people_fail_is_pointed_out_and_left_out(boss: Client, study: Study) -> None:
    good, bad = builders.add_checks(study, 2)
    for person in builders.qualified(study, 5):
        met: list[Story] = []
        while not {good, bad} <= set(met):
            held = builders.claim(person)
            answers = WRONG if held.story == bad else builders.ALL_YES
            actions.record_vote(
                assignment_id=held.pk, enrollment=person, submitted=answers, now=timezone.now()
            )
            met.append(held.story)

    page = boss.get(ADDRESS)

    first = parsed(page).xpath("//tbody/tr/th")[0].text_content().strip()
    assert first == bad.story_id
    answered = row_of(page, bad)
    assert answered[:3] == ["in use", "5", "5"]
    assert answered[4].startswith("Most participants fail it")
    assert row_of(page, good)[:3] == ["in use", "5", "0"]
    assert row_of(page, good)[4] == "–"
    about = shown(boss.get(page_of(bad)))
    assert "Most participants fail this check." in about
    assert "Participants have been judged by these answers, so they are final." in about
    assert "yes · possibly" in about.lower()
    assert "they can’t change" in shown(
        boss.post(page_of(bad), {"do": "key"} | builders.ACCEPTED, follow=True)
    )
    no_reason = boss.post(page_of(bad), {"do": "leave_out", "reason": ""}, follow=True)
    assert "Give a reason" in shown(no_reason)
    boss.post(page_of(bad), {"do": "leave_out", "reason": "Two answers are right."})
    assert CheckKey.objects.get(story=bad).state == CheckKey.State.LEFT_OUT
    boss.post(page_of(bad), {"do": "take_in"})
    assert CheckKey.objects.get(story=bad).state == CheckKey.State.IN_USE


def test_it_says_how_many_were_warned_and_suspended_in_one_language_for_the_log(
    boss: Client, study: Study
) -> None:
    builders.add_checks(study, 3, minimum=1, warn_percent=20, suspend_percent=50)
    failing, others = builders.qualified(study, 2)
    actions.suspend(enrollment=others, by=None, now=timezone.now(), reason="They asked for it.")
    with override("de"):
        builders.work_through(failing, 5, on_checks=WRONG)

    failing.refresh_from_db()
    assert "stehen die Antworten fest" in failing.suspension_reason
    noted = Event.objects.get(enrollment=failing, type=Event.Type.ENROLLMENT_SUSPENDED).note
    assert noted == "1 of 1 checks failed"
    page = shown(boss.get(ADDRESS))
    assert "0 participants have been warned so far." in page
    assert "1 participant has been suspended for failed checks." in page


@pytest.mark.django_db(transaction=True)
def test_failed_checks_are_among_a_persons_figures_with_the_evidence(boss: Client, study: Study) -> None:
    builders.add_checks(study, 3)
    careful, careless = builders.qualified(study, 2)
    builders.work_through(careful, 15)
    builders.work_through(careless, 15, on_checks=WRONG)
    compute.make(study.pk, now=timezone.now())
    name = rules.pseudonym(study.pseudonym_key, careless.annotator_id)
    figures = store.latest(study)
    assert figures is not None
    assert figures.document is not None
    assert figures.document["checks"] == {"answered": 6, "usable": 3}

    page = shown(boss.get("/studies/study/quality/"))
    assert f"{name} fails checks 12" in page
    packed = page.replace(" ", "")
    assert "3of3(100%)" in packed
    assert "0of3(0%)" in packed
    person = boss.get(f"/studies/study/people/{name}/")
    about = shown(person)
    assert "They failed 3 of 3 hidden checks (100 %)." in about
    assert about.count("hidden check, failed") == 3
    evidence = parsed(person).xpath("//*[@aria-labelledby='failed-checks']//th/a/@href")
    assert sorted(evidence) == sorted(map(page_of, study.stories.filter(role=Story.Role.CHECK)))
    assert boss.get(evidence[0]).status_code == 200
    rows = list(csv.DictReader(io.StringIO(boss.get("/studies/study/quality/people.csv").content.decode())))
    assert {(row["checks_answered"], row["checks_failed"]) for row in rows} == {("3", "0"), ("3", "3")}


def test_the_list_takes_the_same_queries_for_many_checks(boss: Client, study: Study) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert boss.get(ADDRESS).status_code == 200
        return len(queries)

    builders.add_checks(study, 1)
    boss.get(ADDRESS)
    few = cost()
    rows = [builders.story_row(number, prefix="more") for number in range(600, 610)]
    for story in builders.import_rows(study, rows, role=Story.Role.CHECK):
        actions.set_check_key(story=story, accepted=builders.ACCEPTED, by=None, now=timezone.now())

    assert cost() == few


def test_counts_of_many_answers_are_kept_for_a_minute(
    boss: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    (check,) = builders.add_checks(study, 1)
    one, two = builders.qualified(study, 2)
    monkeypatch.setattr("dashboard.quality.hidden_checks.MANY", 0)
    builders.work_through(one, 4)
    assert row_of(boss.get(ADDRESS), check)[1] == "1"
    builders.work_through(two, 4)
    assert row_of(boss.get(ADDRESS), check)[1] == "1"


def test_only_checks_of_this_study_have_such_a_page(boss: Client, study: Study) -> None:
    other = builders.make_study("other")
    (check,) = builders.add_checks(other, 1)
    main = study.stories.main()[0]

    assert boss.get(page_of(check)).status_code == 404
    assert boss.get(page_of(main)).status_code == 404


def test_a_study_that_wants_checks_and_has_none_cannot_open(boss: Client) -> None:
    draft = builders.make_study("draft", opened=False)
    actions.change_check_rules(study=draft, rules=CheckRules(20), by=None, now=timezone.now())

    assert "Hidden checks" in shown(boss.get("/studies/draft/settings/"))
    assert [line for line in actions.blockers(Study.objects.get(slug="draft")) if "hidden check" in line]
    builders.add_checks(draft, 1)
    assert not actions.blockers(Study.objects.get(slug="draft"))
