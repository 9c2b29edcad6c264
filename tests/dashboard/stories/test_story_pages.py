"""The list of stories and the page of one: what they show, and that they cost the same at any size."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from lxml import html
from pytest_django.fixtures import DjangoAssertNumQueries

from accounts.models import User
from annotation import actions, rules
from annotation.models import Adjudication, Assignment, Enrollment, Membership, SpotCheck, Story, Study, Vote
from dashboard.stories import queries
from dashboard.stories.queries import Search, story_page
from tests import builders
from tests.publishing.support import verdict_counts

pytestmark = pytest.mark.django_db

ODD, EVEN = "hidden_body_part_feature", "inside_reuse_labeled_containers"
QUERIES_OF_THE_LIST = 13
QUERIES_OF_A_STORY = 21


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Study:
    """Kept, dropped and incomplete stories."""
    rows = [builders.story_row(n, scenario_name=ODD if n % 2 else EVEN) for n in range(8)]
    study = builders.make_study("main", stories=rows, votes_per_story=2)
    for person, form in zip(
        builders.qualified(study, 2), (builders.ALL_YES, builders.answers(q2="no")), strict=True
    ):
        for number in range(5):
            builders.vote(person, form if number < 3 else builders.ALL_YES)
    return study


@pytest.fixture
def study(built: Study) -> Study:
    """The study as the database has it; what a test does to it is rolled back."""
    return Study.objects.get(pk=built.pk)


@pytest.fixture
def researcher(client: Client, study: Study) -> Client:
    user = User.objects.create_user("rosa", password=None)
    actions.set_role(study=study, user=user, role=Membership.Role.RESEARCHER, by=None, now=timezone.now())
    client.force_login(user)
    return client


def ids(study: Study, **search: str) -> list[str]:
    return [row.story.story_id for row in story_page(study, Search(**search)).rows]


def everything(study: Study, **search: str) -> list[str]:
    """All pages of the list, one after the other."""
    found: list[str] = []
    after = ""
    while True:
        page = story_page(study, Search(**search | {"after": after}), size=queries.PAGE)
        found += [row.story.story_id for row in page.rows]
        if not page.next:
            return found
        after = page.next


def test_the_verdicts_are_those_of_the_filter(study: Study) -> None:
    counts = verdict_counts(study)
    for outcome in ("kept", "dropped", "incomplete"):
        assert len(ids(study, verdict=outcome)) == getattr(counts, outcome) > 0


@pytest.mark.parametrize(
    ("page", "window"),
    [(1, 3), (3, 1), (50, 100)]
    + [
        pytest.param(page, window, marks=pytest.mark.torture)
        for page in (1, 3, 50)
        for window in (1, 3, 8, 100)
    ],
)
def test_every_story_is_on_one_page_whatever_is_looked_for(
    study: Study, page: int, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "PAGE", page)
    monkeypatch.setattr(queries, "LOOKED_AT", window)
    monkeypatch.setattr(queries, "JUDGED", window)
    monkeypatch.setattr(queries, "COUNTED", window)
    known = list(Story.objects.order_by("story_id"))
    assert everything(study) == [story.story_id for story in known]
    assert everything(study, scenario=ODD) == [s.story_id for s in known if s.scenario_name == ODD]
    assert everything(study, start=known[3].story_id) == [story.story_id for story in known[3:]]
    judged = [everything(study, verdict=outcome) for outcome in ("kept", "dropped", "incomplete")]
    assert sorted(story_id for found in judged for story_id in found) == [story.story_id for story in known]


def test_only_stories_that_somebody_answered_against_are_judged_when_dropped_ones_are_looked_for(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a few dropped ones among a million take thousands of pages, nearly all of them empty."""
    monkeypatch.setattr(queries, "JUDGED", 3)
    dropped = ids(study, verdict="dropped")
    last = Story.objects.order_by("story_id").last()
    assert last is not None
    assert len(dropped) == 3
    for search in ({"verdict": "dropped"}, {"verdict": "split"}, {"dropped_by": "q2"}):
        page = story_page(study, Search(**search))
        assert ([row.story.story_id for row in page.rows], page.next) == (dropped, ""), search
    monkeypatch.setattr(queries, "JUDGED", 1)
    page = story_page(study, Search(dropped_by="q2"))
    before = Story.objects.filter(story_id__lte=dropped[0]).count()
    assert ([row.story.story_id for row in page.rows], page.next) == (dropped[:1], dropped[0])
    assert page.looked_through == before, "it says how far it came"
    nobody = story_page(study, Search(dropped_by="q1"))
    assert (nobody.rows, nobody.next) == ([], "")


def test_stories_with_findings_are_found(study: Study) -> None:
    story = Story.objects.order_by("story_id")[2]
    story.lint_findings.all().delete()
    before = ids(study, lint="any")
    story.lint_findings.create(code="made_up", message="Look at this.")
    assert ids(study, lint="made_up") == [story.story_id]
    assert set(ids(study, lint="any")) == {*before, story.story_id}


def test_an_id_leads_to_its_story_and_the_rest_of_one_to_the_place(researcher: Client, study: Study) -> None:
    known = Story.objects.order_by("story_id")[3]
    found = researcher.get("/studies/main/stories/", {"start": known.story_id})
    assert found["Location"] == f"/studies/main/stories/{known.story_id}/"
    page = researcher.get("/studies/main/stories/", {"start": known.story_id[:-5]}).content.decode()
    assert known.story_id in page
    assert researcher.get("/studies/main/stories/", {"verdict": "nonsense", "lint": "x"}).status_code == 200


def test_the_page_of_a_story_shows_everything_about_it(researcher: Client, study: Study) -> None:
    (story_id,) = ids(study, verdict="dropped")[:1]
    story = Story.objects.get(story_id=story_id)
    first, second = Enrollment.objects.filter(assignments__story=story).order_by("pk")
    now = timezone.now()
    vote = story.assignments.get(enrollment=first).votes.get()
    actions.change_vote(
        assignment_id=vote.assignment_id, enrollment=first, submitted=builders.answers(q1="possibly"), now=now
    )
    actions.spot_check(
        vote=vote, decision=SpotCheck.Decision.REJECT, reason="careless words", by=None, now=now
    )
    actions.exclude_annotator(
        enrollment=second, reason="all alike", shown_reason="Thank you.", by=None, now=now
    )
    builders.claim(builders.qualified(study)[0])
    here = f"/studies/main/stories/{story_id}/"
    actions.adjudicate(
        story=story, verdict=Adjudication.Verdict.VALID, reason="Clear to an expert.", by=None, now=now
    )

    page = re.sub(r"\s+", " ", researcher.get(here).content.decode())

    for person in (first, second):
        assert rules.pseudonym(study.pseudonym_key, person.annotator_id) in page
    for said in (
        story.content["key_information"],
        story.story_import.file_name,
        story.content_hash,
        "0 of 2 votes",
        "Revision 1",
        "Revision 2",
        "Answered, excluded",
        "careless words",
        "all alike",
        "Clear to an expert.",
        "Vote submitted",
        "Vote changed",
        "Vote reviewed",
        "Participant’s votes excluded",
        "Story core <small>shared by all versions of one story",
        "Example story <small>that the generator was shown",
    ):
        assert said in page, said


def test_answers_stand_side_by_side_and_those_against_the_story_are_marked(
    researcher: Client, study: Study
) -> None:
    (story_id,) = ids(study, verdict="dropped")[:1]
    page = html.fromstring(researcher.get(f"/studies/main/stories/{story_id}/").content)
    table = page.find(".//table[@class='answered']")
    assert table is not None
    given = Assignment.objects.filter(story__story_id=story_id).select_related("enrollment")
    names = [
        rules.pseudonym(study.pseudonym_key, one.enrollment.annotator_id)
        for one in given.order_by("served_at", "pk")
    ]
    assert [said(cell).split()[0] for cell in table.findall("./thead//th")] == ["Question", *names]
    rows = {
        said(row.findall("./th")[0]): [said(cell) for cell in row.findall("./td")]
        for row in table.findall("./tbody/tr")
    }
    assert rows["Unlikely to be noticed"] == [f"{names[0]} Yes", f"{names[1]} ✗ No · against"]
    assert "against" not in str([cells for title, cells in rows.items() if title != "Unlikely to be noticed"])


def said(element: html.HtmlElement) -> str:
    return " ".join(element.text_content().split())


def test_the_first_page_keeps_the_filters(researcher: Client, study: Study) -> None:
    page = researcher.get("/studies/main/stories/", {"verdict": "dropped", "after": "a"}).content.decode()
    assert '<a href="?verdict=dropped">First page</a>' in page


def test_what_was_looked_for_is_there_as_a_file_over_all_pages(
    researcher: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "LONGEST_PAGE", 1)
    monkeypatch.setattr(queries, "JUDGED", 2)
    known = study.stories.get(story_id=ids(study, verdict="dropped")[0])
    known.lint_findings.all().delete()
    known.lint_findings.create(code="made_up", message="Look at this.")
    page = researcher.get("/studies/main/stories/", {"verdict": "dropped"}).content.decode()
    assert 'href="/studies/main/stories/stories.csv?verdict=dropped"' in page

    rows = file_of(researcher, "/studies/main/stories/stories.csv?verdict=dropped&after=zzz")

    assert [row["story_id"] for row in rows] == everything(study, verdict="dropped")
    assert rows[0] == {
        "story_id": known.story_id,
        "verdict": "dropped",
        "reason": "q2",
        "split_by_one": "true",
        "expert": "",
        "votes": "2",
        "lint": "made_up",
        "scenario_name": known.scenario_name,
        "severity_original": "1",
        "story_generator_model": "human-written",
        "core_id": known.core_id,
        "text": known.content["story"],
    }
    assert len(file_of(researcher, "/studies/main/stories/stories.csv")) == study.stories.count()


def test_every_vote_can_be_downloaded_without_a_token(researcher: Client, study: Study) -> None:
    page = researcher.get("/studies/main/quality/").content.decode()
    for kind in ("csv", "jsonl"):
        assert f'href="/studies/main/stories/votes.{kind}"' in page
    rows = file_of(researcher, "/studies/main/stories/votes.csv")
    assert len(rows) == Vote.objects.of_study(study).count() == 10
    assert {row["q2"] for row in rows} == {"yes", "no"}
    sent: Any = researcher.get("/studies/main/stories/votes.jsonl")
    lines = [json.loads(line) for line in b"".join(sent.streaming_content).splitlines()]
    assert [(line["story_id"], line["annotator"]) for line in lines] == [
        (row["story_id"], row["annotator"]) for row in rows
    ]
    assert researcher.get("/studies/main/stories/votes.xml").status_code == 404


def file_of(client: Client, address: str) -> list[dict[str, str]]:
    """The rows of a CSV that is sent as a stream."""
    response: Any = client.get(address)
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))


def test_the_list_costs_the_same_however_long_it_is(
    researcher: Client, study: Study, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    searches: list[dict[str, str]] = [{}, {"scenario": ODD}, {"lint": "any"}, {"verdict": "kept"}]
    researcher.get("/studies/main/stories/")
    builders.import_rows(study, [builders.story_row(n, scenario_name=ODD) for n in range(20, 90)])
    for search in searches:
        with django_assert_max_num_queries(QUERIES_OF_THE_LIST):
            assert researcher.get("/studies/main/stories/", search).status_code == 200


def test_the_page_of_a_story_costs_the_same_however_many_voted(
    researcher: Client, study: Study, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for story_id in (ids(study, verdict="kept")[0], ids(study, verdict="incomplete")[-1]):
        with django_assert_max_num_queries(QUERIES_OF_A_STORY):
            researcher.get(f"/studies/main/stories/{story_id}/")


@pytest.mark.parametrize("role", Story.Role)
def test_a_story_of_every_role_has_a_page_however_many_answered_it(
    researcher: Client, study: Study, role: Story.Role
) -> None:
    """More people answer a check than a main story may have votes; none of that is a vote on it."""
    if role == Story.Role.CHECK:
        builders.import_rows(study, [builders.story_row(n) for n in range(20, 40)])
        builders.add_checks(study, count=1, every=5)
        for person in builders.qualified(study, 3):
            builders.work_through(person, 5, on_checks=builders.answers(q1="no"))
    elif role == Story.Role.QUALIFICATION:
        builders.make_round(study)
    elif role == Story.Role.QUIZ:
        choices = {"text": ["Yes", "No"], "label": ["A", "B"]}
        row = {"id": "quiz", "question": "Is it paid?", "choices": choices, "answerKey": "A"}
        builders.import_rows(study, [row], role=role)
    story = Story.objects.filter(study=study, role=role).order_by("story_id")[0]

    response = researcher.get(f"/studies/main/stories/{story.story_id}/")

    page = response.content.decode()
    is_main = role == Story.Role.MAIN
    assert response.status_code == 200
    assert bool(response.context["verdicts"]) == ("Verdict so far" in page) == is_main
    assert ("Decide as an expert" in page) == is_main
    assert ("A hidden check:" in page) == (reverse("dashboard:hidden_check", args=["main", story.pk]) in page)
    assert ("A hidden check:" in page) == (role == Story.Role.CHECK)
    if role == Story.Role.CHECK:
        assert story.assignments.filter(state="submitted").count() == 3
        assert not response.context["reasons"]


def test_stories_are_found_by_what_dropped_them_and_by_their_model(researcher: Client, study: Study) -> None:
    dropped = ids(study, verdict="dropped")
    assert ids(study, dropped_by="q2") == dropped != []
    assert ids(study, dropped_by="q1") == []
    (other,) = builders.import_rows(study, [builders.story_row(40, story_generator_model="model-b")])
    assert ids(study, model="model-b") == [other.story_id]
    page = researcher.get("/studies/main/stories/", {"dropped_by": "q2", "model": "human-written"})
    shown = re.sub(r"\s+", " ", page.content.decode())
    assert all(story_id in shown for story_id in dropped)
    assert "dropped: Unlikely to be noticed" in shown
    assert "(q2)" not in shown
    story = re.sub(r"\s+", " ", researcher.get(f"/studies/main/stories/{dropped[0]}/").content.decode())
    assert "<td>Unlikely to be noticed</td>" in story


def test_stories_are_read_and_searched_as_text(researcher: Client, study: Study) -> None:
    wanted, other = Story.objects.order_by("story_id")[3], Story.objects.order_by("story_id")[5]
    assert ids(study, text=f"number {wanted.story_id[6:11].lstrip('0')} gravel") == [wanted.story_id]
    assert ids(study, text='"from the shed" -gravel') == []
    assert ids(study, text="carrying") == everything(study), "any form of a word"
    assert ids(study, text="key_information") == [], "names of fields are no words"
    assert ids(study, text="number", verdict="dropped") == ids(study, verdict="dropped")
    page = researcher.get("/studies/main/stories/", {"text": "shed", "verdict": "kept"})
    row = page.context["rows"][0][0]
    here = f"/studies/main/stories/{row.story.story_id}/?text=shed&amp;verdict=kept"
    assert here in page.content.decode()
    assert page.content.decode().count(row.story.content["story"]) == 1
    (line,) = file_of(researcher, f"/studies/main/stories/stories.csv?start={other.story_id}&text=%225%22")
    assert line["text"] == other.content["story"]


def test_one_story_leads_to_the_next_one_that_matches(researcher: Client, study: Study) -> None:
    for search in ({"scenario": ODD}, {"verdict": "dropped"}):
        matching = everything(study, **search)
        assert len(matching) > 2
        for place in (0, 1, len(matching) - 1):
            context = researcher.get(f"/studies/main/stories/{matching[place]}/", search).context
            nearby = [context["previous"], context["next"]]
            assert nearby == [matching[place - 1] if place else "", *matching[place + 1 : place + 2], ""][:2]


def test_several_stories_are_decided_at_once_or_none(client: Client, study: Study) -> None:
    user = User.objects.create_user("ravi", password=None)
    actions.set_role(study=study, user=user, role=Membership.Role.REVIEWER, by=None, now=timezone.now())
    client.force_login(user)
    page: Any = html.fromstring(client.get("/studies/main/stories/?verdict=kept").content)
    ticked = [box.get("value", "") for box in page.findall(".//input[@name='story']")][:2]
    form = {"story": ticked, "decision": "invalid", "reason": "The car is missing."}

    sent = client.post("/studies/main/stories/decide/?verdict=kept", form)

    assert sent["Location"] == "/studies/main/stories/?verdict=kept"
    made = Adjudication.objects.order_by("pk")
    assert [one.story.story_id for one in made] == [text.partition(":")[2] for text in ticked]
    assert {(one.verdict, one.reason, one.by) for one in made} == {("invalid", form["reason"], user)}
    assert study.events.filter(type="story_adjudicated", actor=user).count() == 2
    again = client.post(
        "/studies/main/stories/decide/", {**form, "story": [ticked[0], "0:" + ids(study)[-1]]}
    )
    assert again.status_code == 422
    assert f'value="{form["reason"]}"' in again.content.decode(), "what was written is kept"
    none = client.post("/studies/main/stories/decide/?verdict=kept", {"reason": "why", "decision": "valid"})
    assert (none.status_code, "Tick at least one story." in none.content.decode()) == (422, True)
    assert "decided." not in none.content.decode()
    assert made.count() == 2, "one of them was decided in the meantime, so none is"
    for broken in ({"decision": ""}, {"reason": ""}, {"story": ["x"]}):
        client.post("/studies/main/stories/decide/", form | broken)
    assert made.count() == 2
