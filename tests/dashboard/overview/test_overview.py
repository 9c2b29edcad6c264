"""The overview of a study: what it counts, that it costs the same whatever the size, and its moving part."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from lxml import html

from accounts.actions import ensure_researcher
from annotation import actions
from annotation.models import Assignment, ReviewSample, Story, Study
from dashboard import queries
from dashboard.figures import compute
from dashboard.overview import queries as overview
from dashboard.people.listing import UNDECIDED, Search, people_page
from tests import builders
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("client")]

ADDRESS = "/studies/main/"
HTMX = {"HX-Request": "true"}


@pytest.fixture
@built_once
def study() -> Study:
    """Two people have answered everything, one of five failed the test, one holds a story."""
    early = timezone.now() - timedelta(hours=5)
    study = builders.make_study("main", stories=3, qualification=1, pay_rate=Decimal("18.00"), now=early)
    *_, failing = builders.invite(study, 2, now=early)
    builders.take_test(builders.consent(failing, now=early), builders.answers(q3="no"), now=early)
    first, second, third = builders.qualified(study, 3, now=early)
    for hours, person in enumerate((first, second)):
        for number in range(3):
            now = early + timedelta(hours=hours, minutes=number)
            assignment = builders.claim(person, now=now)
            actions.record_vote(
                assignment_id=assignment.pk,
                enrollment=person,
                submitted=builders.ALL_YES,
                now=now + timedelta(seconds=20),
            )
    builders.claim(third)
    return study


@pytest.fixture
def boss(study: Study) -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    return client


def words(page: bytes) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page.decode()).split())


def attention(page: bytes) -> list[tuple[str, str]]:
    """What the page says needs attention, each with its address."""
    links: Any = html.fromstring(page).xpath("//section[@aria-labelledby='waiting']//a")
    return [(" ".join(link.text_content().split()), link.get("href")) for link in links]


def test_it_says_how_far_people_come_what_it_costs_and_who_holds_a_story(study: Study, boss: Client) -> None:
    compute.make(study.pk, now=timezone.now())
    shown = words(boss.get(ADDRESS).content)
    assert "3 of 4 participants who handed in the test passed it (75 %)." in shown
    assert "In the published procedure 19 of 100 passed." in shown
    assert "Invited 5 100 %" in shown
    assert "Answered a story 2 40 %" in shown
    assert "counted votes of 9 6" in shown
    assert "votes in the last hour 0" in shown
    assert "The counted votes cost 0.60 USD so far; all votes will cost about 0.90 USD." in shown, (
        "20 s at 18 an hour"
    )
    assert "At this pace the last vote comes in around" in shown
    assert "story_0000" in shown.partition("Active leases")[2]
    assert re.search(r"Started but unfinished stories: \d+\. Order: ", shown)
    assert "stories are unfinished if each participant starts at a random place" not in shown, "past half"


def test_until_half_of_the_votes_are_in_it_compares_the_orders_of_stories(boss: Client) -> None:
    early = builders.make_study("early", stories=3)
    builders.vote(builders.qualified(early, 1)[0])
    compute.make(early.pk, now=timezone.now())
    shown = words(boss.get("/studies/early/").content)
    assert re.search(r"about \d+ stories are unfinished if each participant starts at a random place", shown)


def test_the_checklist_says_that_proxies_are_counted_wrongly(boss: Client, settings: Any) -> None:
    draft = f"/studies/{builders.make_study('draft', stories=1, opened=False).slug}/"
    through_one = {"X-Forwarded-For": "192.0.2.1"}
    told = "PROXIES is 0, but your request came through 1"
    assert told in words(boss.get(draft, headers=through_one).content)
    settings.PROXIES = 1
    assert "PROXIES is" not in words(boss.get(draft, headers=through_one).content)


def test_checks_are_in_what_it_costs_as_long_as_there_are_any(study: Study) -> None:
    builders.add_checks(study, 1, every=5)
    document = {
        "votes": {"counted": 400, "wanted": 1200},
        "checks": {"answered": 100, "usable": 99},
        "everybody": {"people": 10},
        "seconds_per_vote": {"mean": 20.0, "low": 16.0, "high": 24.0},
    }

    cost = overview.cost_of(study, document)
    few = overview.cost_of(study, document | {"checks": {"answered": 100, "usable": 2}})
    none = overview.cost_of(study, document | {"checks": {"answered": 100, "usable": 0}})

    assert cost is not None
    assert few is not None
    assert none is not None
    # 0.10 each: 500 answers so far; of 50 stories a person, ten, two or none are checks
    assert cost["so_far"] == few["so_far"] == Decimal("50.00")
    assert [str(found["whole"]) for found in (cost, few, none)] == ["150.00", "133.30", "130.00"]
    assert (cost["low"], cost["high"]) == (Decimal("120.00"), Decimal("180.00"))


def test_figures_from_before_the_stories_came_are_not_shown(boss: Client) -> None:
    fresh = builders.make_study("fresh", stories=0, opened=False)
    compute.make(fresh.pk, now=timezone.now())
    assert "Figures as of" not in words(boss.get("/studies/fresh/").content), "a draft shows its checklist"
    builders.import_rows(fresh, [builders.story_row(1)])
    actions.open_study(study=fresh, by=None, now=timezone.now())
    page = boss.get("/studies/fresh/").content
    shown = words(page)
    assert "The figures are being computed" in shown
    assert "Every story has all its votes" not in shown
    assert "Nobody has been invited yet" in shown
    assert b"/studies/fresh/people/invite/" in page
    assert "Answered a story" in shown
    for step in ("Passed the test", "Failed questions"):
        assert step not in shown, "the study has no test"


def test_figures_of_two_moments_never_stand_side_by_side(boss: Client) -> None:
    study = builders.make_study("pilot", stories=2, votes_per_story=1)
    compute.make(study.pk, now=timezone.now())
    builders.answer_everything(builders.qualified(study), builders.answers(q2="no"))
    shown = words(boss.get("/studies/pilot/").content)
    assert "counted votes of 2 0" in shown
    assert "votes in the last hour 0" in shown, "of the same moment"
    compute.make(study.pk, now=timezone.now())
    page = boss.get("/studies/pilot/").content
    shown = words(page)
    assert "counted votes of 2 2" in shown
    assert "votes in the last hour 2" in shown
    assert "Counted just now." in shown.partition("Active leases")[2]
    for search in ("verdict=dropped", "dropped_by=q2"):
        assert f'href="/studies/pilot/stories/?{search}"' in page.decode(), "it leads to what it counts"
    assert b"dropped_by=q1" not in page, "no story is there"
    assert "story_00001_sev1" in boss.get("/studies/pilot/stories/?dropped_by=q2").content.decode()
    quality = boss.get("/studies/pilot/quality/").content.decode()
    for search in ("scenario=inside_reuse_labeled_containers", "model=human-written"):
        assert f'href="/studies/pilot/stories/?{search}"' in quality


def test_htmx_gets_the_part_that_moves_and_it_is_that_of_the_page(
    study: Study, boss: Client, one_moment: None
) -> None:
    compute.make(study.pk, now=timezone.now() + timedelta(hours=1))
    page = boss.get(ADDRESS)
    part = boss.get(ADDRESS, headers=HTMX)
    assert "HX-Request" in page["Vary"]

    def plain(text: str) -> str:
        return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", text).strip()

    assert plain(part.content.decode()).startswith('<div id="now"')
    assert plain(part.content.decode()) in plain(page.content.decode())


def test_the_number_of_queries_does_not_grow(study: Study, boss: Client) -> None:
    def asked(**headers: str) -> list[str]:
        with CaptureQueriesContext(connection) as seen:
            boss.get(ADDRESS, headers=headers)
        return [query["sql"] for query in seen.captured_queries]

    compute.make(study.pk, now=timezone.now() + timedelta(hours=1))
    before = len(asked(**HTMX)), len(asked())
    builders.import_rows(study, [builders.story_row(number) for number in range(20, 30)])
    for person in builders.qualified(study, 2):
        builders.vote(person)
        builders.claim(person)
    compute.make(study.pk, now=timezone.now() + timedelta(hours=1))
    part, page = asked(**HTMX), asked()
    assert (len(part), len(page)) == before
    assert len(part) <= 13
    read = [query for query in page if '"annotation_vote"' in query]
    few = ('"submitted_at" > ', 'FROM "annotation_reviewitem"')
    assert [query for query in read if not any(part in query for part in few)] == [], (
        "no page reads votes but those of the last hour and those that were drawn for review"
    )


def test_votes_of_the_last_hour_are_counted_once_and_answers_to_checks_are_none() -> None:
    study, now = builders.make_study("checked", stories=6), timezone.now()
    assert overview.votes_in_the_last_hour(study, now=now) == 0
    person = builders.qualified(study)[0]
    given = builders.vote(person, now=now).vote
    actions.change_vote(
        assignment_id=given.assignment_id, enrollment=person, submitted=builders.answers(q1="no"), now=now
    )
    builders.add_checks(study, 1)
    (person,) = builders.qualified(study)
    assert [story.role for story in builders.work_through(person, 5, now=now)].count("check") == 1
    assert overview.votes_in_the_last_hour(study, now=now + timedelta(minutes=59)) == 1 + 4
    assert overview.votes_in_the_last_hour(study, now=now + timedelta(minutes=61)) == 0


def test_what_waits_for_somebody_is_counted_with_its_page(boss: Client) -> None:
    study, now = builders.make_study("pilot", stories=6, votes_per_story=2), timezone.now()
    compute.make(study.pk, now=now + timedelta(hours=1))
    assert "Needs attention" not in words(boss.get("/studies/pilot/").content)

    waiting, excluded = builders.qualified(study, 2)
    for person in (waiting, excluded):
        builders.vote(person)
        actions.suspend(enrollment=person, by=None, now=now, reason="Thank you.")
    actions.exclude_annotator(enrollment=excluded, reason="x", shown_reason="y", by=None, now=now)
    actions.draw_sample(study=study, kind=ReviewSample.Kind.RANDOM, people=5, per_person=2, by=None, now=now)
    assert attention(boss.get("/studies/pilot/").content) == [
        ("1 suspended participant whose votes still count", "/studies/pilot/people/?state=undecided"),
        ("1 sampled answer waits for review", "/studies/pilot/quality/review/"),
    ]
    listed = people_page(study, Search(state=UNDECIDED))
    assert [row.pk for row in listed.rows] == [waiting.pk], "who is excluded has been decided about"
    assert "1 participant" in words(boss.get("/studies/pilot/people/?state=undecided").content)


def test_what_the_worker_notices_is_said_with_its_number(
    study: Study, boss: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compute.make(study.pk, now=timezone.now()).document["noticed"] == {  # type: ignore[index]
        "flagged": 0, "skipped_often": 0, "doubted_checks": 0, "test_notes": 0,
    }  # fmt: skip
    monkeypatch.setattr("dashboard.figures.flags.FEWEST_VOTES", 1)
    monkeypatch.setattr("dashboard.figures.flags.SAME_MORE", -1)
    monkeypatch.setattr("dashboard.qualification.figures.FEWEST", 1)
    monkeypatch.setattr("dashboard.qualification.figures.HARD", 1.1)
    document = compute.make(study.pk, now=timezone.now()).document
    assert document is not None
    assert document["noticed"] == {"flagged": 2, "skipped_often": 0, "doubted_checks": 0, "test_notes": 4}
    assert attention(boss.get(ADDRESS).content) == [
        ("2 participants have a flag", f"{ADDRESS}people/?flag=any"),
        ("4 signs that the test is too hard, or that its answers have leaked", f"{ADDRESS}qualification/"),
    ]


def test_everything_that_needs_attention_has_its_own_words_and_page(study: Study) -> None:
    noticed = compute.make(study.pk, now=timezone.now()).document["noticed"]  # type: ignore[index]
    kinds = [*noticed, "suspended", "unjudged", "mismatches"]
    context = {"study": study, "waiting": dict.fromkeys(kinds, 1)}
    lines = attention(render_to_string("dashboard/overview/_attention.html", context).encode())
    assert len({*lines}) == len(kinds)
    assert all(text.startswith("1 ") for text, _ in lines)


def test_the_next_step_follows_the_state_and_the_votes(boss: Client) -> None:
    study, now = builders.make_study("pilot", stories=1, votes_per_story=1, opened=False), timezone.now()

    def steps() -> list[str]:
        context = boss.get("/studies/pilot/").context
        return [str(found["label"]) for found in (*context["next_step"], *context["further"])]

    assert steps()[0] == "Open the study"
    study = actions.open_study(study=study, by=None, now=now)
    compute.make(study.pk, now=now + timedelta(hours=1))
    assert steps()[0] == "Invite participants"
    builders.answer_everything(builders.qualified(study))
    compute.make(study.pk, now=now + timedelta(hours=1))
    assert steps()[0] == "Publish a release", "every story has its votes"
    actions.close_study(study=study, by=None, now=now)
    assert steps()[:3] == ["Publish a release", "Reopen", "Import stories"]


def test_many_leases_are_cut_and_a_story_is_released_by_a_button(
    study: Study, boss: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Assignment.objects.get(state="leased")
    monkeypatch.setattr(overview, "LEASES_SHOWN", 1)
    assert not overview.leases_of(study, now=timezone.now())["more"]
    other = builders.claim(builders.qualified(study)[0])
    found = overview.leases_of(study, now=timezone.now())
    assert (len(found["rows"]), found["more"]) == (1, True)

    actions.release_lease(study=study, assignment_id=other.pk, by=None, now=timezone.now())
    address = reverse("dashboard:release_lease", args=["main", held.pk])
    assert f'action="{address}"' in boss.get(ADDRESS).content.decode()
    shown = words(boss.post(address, follow=True).content)
    assert "The story is released to others." in shown
    assert "No active leases." in shown
    assert "This story’s lease has already ended" in words(boss.post(address, follow=True).content)


def test_a_study_of_questions_for_people_has_no_filters(boss: Client) -> None:
    study, address = builders.make_study("questions", stories=1), "/studies/questions/quality/"
    assert f"{address}filters/" in boss.get(address).content.decode()
    Study.objects.filter(pk=study.pk).update(protocol_name="multiple-choice")
    assert f"{address}filters/" not in boss.get(address).content.decode()


def test_the_list_says_how_many_stories_each_study_has() -> None:
    study = builders.make_study("counted", stories=3, qualification=2)
    builders.import_rows(study, [builders.story_row(700)])
    builders.make_study("empty", opened=False, stories=0)
    found: Any = queries.studies(Study.objects.all())
    counts = {one.slug: one.story_count for one in found}
    assert counts == {"counted": Story.objects.main().filter(study=study).count(), "empty": 0}
    assert counts["counted"] == 4


def test_only_questions_with_options_are_reasons_for_dropping() -> None:
    study = Study(slug="s", protocol_name="inspection", protocol_version="1")
    verdicts = {"kept": 2, "dropped": 1, "dropped_by_question": {"open": 1}}
    found = overview.droppers_of(study, verdicts)
    assert [(one.label, one.value) for one in found] == [
        ("Answers stay open", 1), ("Common sense", 0), ("Own words", 0),
    ]  # fmt: skip
