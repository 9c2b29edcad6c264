"""Experts decide about stories without the votes; then the lists say how that fits the filter."""

from __future__ import annotations

import csv
import io
import re

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from annotation import actions, rules
from annotation.errors import ChangedMeanwhile
from annotation.models import Adjudication, Enrollment, Membership, Story, Study
from annotation.protocols.questions import Choice
from dashboard.quality.pages import decisions, decisions as pages
from dashboard.quality.pages.decisions import Queue, next_to_decide
from dashboard.stories.queries import ListedStory, Search, is_split, listed, story_page
from tests import builders

pytestmark = pytest.mark.django_db

QUEUE = "/studies/main/quality/decisions/next/"


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Study:
    """Three votes on six stories: one all against the first two, one alone against the third and fourth."""
    study = builders.make_study("main", stories=7, votes_per_story=3)
    against = ((0, 1, 2, 3), (0, 1), (0, 1))
    for person, objects in zip(builders.qualified(study, 3), against, strict=True):
        for _ in range(6):
            story = builders.claim(person).story
            builders.vote(person, builders.answers(q2="no") if number(story) in objects else builders.ALL_YES)
    return study


@pytest.fixture
def study(built: Study) -> Study:
    return Study.objects.get(pk=built.pk)


@pytest.fixture
def researcher(client: Client, study: Study) -> Client:
    user = User.objects.create_user("rosa", password=None)
    actions.set_role(study=study, user=user, role=Membership.Role.REVIEWER, by=None, now=timezone.now())
    client.force_login(user)
    return client


def number(story: Story) -> int:
    """Its place in the serving order, which is that of voting."""
    order = Story.objects.filter(study=story.study_id).order_by("order_key").values_list("pk", flat=True)
    return list(order).index(story.pk)


def of(study: Study, *places: int) -> list[str]:
    return sorted(story.story_id for story in study.stories.all() if number(story) in places)


def decide(study: Study, story_id: str, verdict: str) -> None:
    actions.adjudicate(
        story=study.stories.get(story_id=story_id),
        verdict=Adjudication.Verdict(verdict),
        reason="clear",
        by=None,
        now=timezone.now(),
    )


def ids(study: Study, **search: str) -> list[str]:
    return [row.story.story_id for row in story_page(study, Search(**search)).rows]


def votes(*objecting: str, of: int) -> dict[int, list[tuple[Choice, bool]]]:
    """So many votes; each question named is objected to in a vote of its own."""
    given = {vote: [(Choice("q1", "", "yes"), False)] for vote in range(of)}
    for vote, question in enumerate(objecting):
        given[vote].append((Choice(question, "", "no"), True))
    return given


@pytest.mark.parametrize(
    ("given", "wanted", "split"),
    [
        (votes(of=3), 3, False),
        (votes("q2", of=3), 3, True),
        (votes("q2", "q2", of=3), 3, True),
        (votes("q2", "q2", "q2", of=3), 3, False),
        (votes("q2", "q3", "q4", of=3), 3, True),
        (votes("q2", of=2), 3, False),
        (votes("q2", of=1), 1, False),
        (votes("q2", "q2", of=4), 4, True),
        (votes("q2", of=4), 4, False),
    ],
)
def test_one_vote_splits_a_story(
    given: dict[int, list[tuple[Choice, bool]]], wanted: int, split: bool
) -> None:
    assert is_split(given, wanted) is split


def test_the_list_finds_split_stories_and_what_experts_decided(study: Study) -> None:
    (first, second), (third, fourth), (kept, _) = of(study, 0, 1), of(study, 2, 3), of(study, 4, 5)
    assert ids(study, verdict="split") == [third, fourth]
    assert ids(study, expert="valid") == []
    decide(study, first, "invalid")
    decide(study, first, "valid")
    decide(study, second, "invalid")
    decide(study, third, "valid")
    decide(study, kept, "invalid")
    assert ids(study, expert="valid") == sorted([first, third])
    assert ids(study, expert="invalid") == sorted([second, kept])
    assert ids(study, expert="against") == sorted([first, third, kept])
    assert ids(study, expert="against", verdict="kept") == [kept]
    assert ids(study, expert="nobody", verdict="split") == [fourth]
    assert not set(ids(study, expert="nobody")) & {first, second, third, kept}


@pytest.mark.parametrize("judged", [1, pytest.param(100, marks=pytest.mark.torture)])
def test_a_queue_has_each_undecided_story_once(
    study: Study, judged: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "JUDGED", judged)
    study.stories.get(story_id=of(study, 6)[0]).lint_findings.create(code="made_up", message="Look.")
    study.stories.get(story_id=of(study, 2)[0]).lint_findings.all().delete()
    linted = [story.story_id for story in study.stories.order_by("story_id") if story.lint_findings.exists()]
    wanted = {Queue.SPLIT: of(study, 2, 3), Queue.DROPPED: of(study, 0, 1, 2, 3), Queue.LINT: linted}
    for queue, expected in wanted.items():
        assert walk(study, queue) == expected
    decide(study, of(study, 2)[0], "valid")
    assert walk(study, Queue.SPLIT) == of(study, 3)


@pytest.mark.parametrize(
    ("name", "size"), [("LOOKED_AT", 2), pytest.param("AT_MOST", 1, marks=pytest.mark.torture)]
)
def test_a_look_that_came_to_none_is_gone_on_with(
    study: Study, name: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, name, size)
    monkeypatch.setattr(decisions, "JUDGED", 1)
    assert walk(study, Queue.SPLIT) == of(study, 2, 3)


def walk(study: Study, queue: Queue) -> list[str]:
    found, after = [], ""
    while True:
        story, further = next_to_decide(study, queue, after=after)
        if story:
            found.append(story.story_id)
        after = story.story_id if story else further
        if not after:
            return found


def test_the_votes_are_hidden_until_somebody_has_decided(researcher: Client, study: Study) -> None:
    third, fourth = of(study, 2, 3)
    start = researcher.get(QUEUE, {"queue": "split"})
    assert start["Location"] == f"/studies/main/quality/decisions/of/{third}/?queue=split"
    page = researcher.get(start["Location"]).content.decode()
    assert study.stories.get(story_id=third).content["key_information"] in page
    people = [
        rules.pseudonym(study.pseudonym_key, person.annotator_id)
        for person in Enrollment.objects.filter(study=study)
    ]
    for hidden in (*people, "dropped", f'/stories/{third}/"'):
        assert hidden not in page

    form = {"decision": "valid", "reason": "An expert would not notice.", "seen": "0"}
    on = researcher.post(start["Location"], form)
    assert on["Location"] == f"{QUEUE}?queue=split&after={third}"
    assert researcher.get(on["Location"])["Location"].startswith(
        f"/studies/main/quality/decisions/of/{fourth}/"
    )
    assert f'/stories/{third}/"' in researcher.get(start["Location"]).content.decode()
    assert (
        "none left from here" in researcher.get(QUEUE, {"queue": "split", "after": fourth}).content.decode()
    )

    said = re.sub(r"\s+", " ", researcher.get("/studies/main/quality/decisions/").content.decode())
    assert "Experts looked at 1 story that the filter drops and judged 1 valid." in said
    assert "An expert would not notice." in said
    (row,) = csv.DictReader(
        io.StringIO(researcher.get("/studies/main/quality/decisions.csv").content.decode())
    )
    assert {name: row[name] for name in ("story_id", "decision", "filter", "filter_reason", "by")} == {
        "story_id": third,
        "decision": "valid",
        "filter": "dropped",
        "filter_reason": "q2",
        "by": "rosa",
    }
    listed = researcher.get("/studies/main/stories/", {"expert": "against"}).content.decode()
    assert third in listed
    assert fourth not in listed


def test_what_is_not_complete_or_out_of_date_is_not_stored(researcher: Client, study: Study) -> None:
    here = f"/studies/main/quality/decisions/of/{of(study, 2)[0]}/?queue=split"
    whole = {"decision": "valid", "reason": "x", "seen": "0"}
    for changed, said in (
        ({"reason": ""}, "Give a reason"),
        ({"reason": "a\0b"}, "Give a reason"),
        ({"decision": "perhaps"}, "incomplete"),
        ({"seen": ""}, "incomplete"),
        ({"seen": "77"}, "decided about this story in the meantime"),
    ):
        assert said in researcher.post(here, whole | changed, follow=True).content.decode(), changed
    assert not Adjudication.objects.exists()


def test_the_second_of_two_experts_is_told_of_the_first(study: Study) -> None:
    story = study.stories.get(story_id=of(study, 2)[0])
    decide(study, story.story_id, "valid")
    verdict, now = Adjudication.Verdict.INVALID, timezone.now()
    first = story.adjudications.get().pk
    with pytest.raises(ChangedMeanwhile):
        actions.adjudicate(story=story, verdict=verdict, reason="no", by=None, now=now, seen=0)
    actions.adjudicate(story=story, verdict=verdict, reason="no", by=None, now=now, seen=first)
    assert [row.verdict for row in story.adjudications.all()] == ["valid", "invalid"]


def test_what_nobody_votes_on_is_not_decided_about(researcher: Client, study: Study) -> None:
    builders.import_rows(study, [builders.story_row(500)], role=Story.Role.CHECK)
    check = study.stories.get(role=Story.Role.CHECK).story_id
    assert researcher.get(f"/studies/main/quality/decisions/of/{check}/").status_code == 404
    for asked in ({}, {"queue": "nonsense"}, {"queue": "split", "after": "a\0b"}):
        assert researcher.get(QUEUE, asked)["Location"] == "/studies/main/quality/decisions/"


def test_of_many_decisions_the_votes_are_compared_once_for_many_looks(
    researcher: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "MANY", 1)
    monkeypatch.setattr(pages, "SHOWN", 1)
    looked_at: list[int] = []

    def counting(study: Study, found: list[Story]) -> list[ListedStory]:
        looked_at.append(len(found))
        return listed(study, found)

    monkeypatch.setattr(decisions, "listed", counting)
    for story_id in of(study, 0, 1):
        decide(study, story_id, "valid")
    for _ in range(2):
        page = researcher.get("/studies/main/quality/decisions/")
        assert [row[1] for row in page.context["sums"]] == [0, 2, 0]
        assert (len(page.context["rows"]), page.context["more"]) == (1, True)
        assert page.content.decode().count("expert=against") == 1
    assert sorted(looked_at) == [1, 1, 2]
