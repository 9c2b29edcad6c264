"""Pages of researchers and participants of a study with an adaptive number of votes."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation import actions
from annotation.errors import WrongState
from annotation.models import Adjudication, Assignment, ReviewItem, ReviewSample, Story, Study
from dashboard.figures import compute
from dashboard.settings.configuration import parse_configuration
from dashboard.settings.configuration_export import configuration_of, plan_of
from publishing.queries import has_complete_story
from recruitment.links import personal_link
from tests import builders
from tests.publishing.support import published
from tests.worlds import built_once

Verdict = Adjudication.Verdict

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def boss(static_root: Path) -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="owner", password="quite-long-enough-9"))
    return client


def shown(response: Any) -> str:
    assert response.status_code == 200, response.status_code
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def made(**settings: Any) -> Study:
    return builders.make_study(
        "main", votes_per_story=2, most_votes=5, decided_by="majority", stories=3, **settings
    )


@built_once
def voted_on() -> Study:
    """The first story is decided by three votes, the second wants a third one, the last has none."""
    study = made()
    people = builders.qualified(study, 3)
    for place, person in enumerate(people):
        for _ in range(2 if place < 2 else 1):
            held = builders.claim(person)
            objects = held.story.order_key != study.stories.order_by("order_key")[0].order_key and place == 1
            actions.record_vote(
                assignment_id=held.pk,
                enrollment=person,
                submitted=builders.answers(q3="no") if objects else builders.ALL_YES,
                now=timezone.now(),
            )
    return study


def half_done() -> Study:
    """:func:`voted_on` with its figures."""
    study = voted_on()
    compute.make(study.pk, now=timezone.now())
    return study


def test_progress_is_told_as_at_least(boss: Client) -> None:
    study = half_done()
    told = shown(boss.get("/studies/main/"))
    assert "more than half of them have no answer that counts against it" in told
    assert "Stories that a question drops" in told
    assert "2–5 votes per story" in told
    assert "counted votes of at least 8" in told
    assert "A story that stays undecided gets more votes" in told
    assert "5 of at least 8" in shown(boss.get("/studies/"))
    first, second = study.stories.order_by("order_key")[:2]
    assert "3 of 3 slots are taken" in shown(boss.get(f"/studies/main/stories/{first.story_id}/"))
    of_second = shown(boss.get(f"/studies/main/stories/{second.story_id}/"))
    assert "2 of 3 slots are taken" in of_second
    assert "2 of at most 5 votes" in of_second
    assert "2 of 3 votes count" in shown(boss.get("/studies/main/stories/"))
    assert "When half of all votes are in" not in told, "no orders are compared where it cannot know"


def test_only_the_filter_that_decides_is_shown_offered_and_previewed(boss: Client) -> None:
    half_done()
    compared = shown(boss.get("/studies/main/quality/filters/"))
    assert "Majority on every question" in compared
    assert "The number of votes is adaptive here" in compared
    assert "counts as validated" not in compared
    assert "when all must agree" not in compared
    assert "Dawid and Skene" in compared
    assert "two of three" not in compared
    assert "Kept by each filter" not in compared
    assert boss.get("/studies/main/overview/charts/kept-by-filter.csv").status_code == 302
    offered = shown(boss.get("/studies/main/releases/publish/"))
    assert "until no vote that could still come would change its outcome" in offered
    assert "two of three" not in offered
    agreement = shown(boss.get("/studies/main/quality/"))
    assert "Agreement is over the first 2 votes of each story that has as many, complete or not." in agreement
    for name, status in (("all-agree", 404), ("every-item", 404), ("majority", 200)):
        assert boss.get("/studies/main/releases/preview/", {"filter": name}).status_code == status


def test_pages_follow_the_expert_where_experts_decide_splits(
    boss: Client, tmp_path: Path, settings: Any
) -> None:
    settings.RELEASES_ROOT = tmp_path / "releases"
    study = builders.make_study(
        "main", votes_per_story=2, most_votes=3, decided_by="experts-decide-splits", stories=2,
        license="CC0-1.0",
    )  # fmt: skip
    for place, person in enumerate(builders.qualified(study, 3)):
        while isinstance(
            held := actions.assign_next_story(enrollment=person, now=timezone.now()), Assignment
        ):
            actions.record_vote(
                assignment_id=held.pk, enrollment=person,
                submitted=builders.ALL_YES if place else builders.answers(q3="no"), now=timezone.now(),
            )  # fmt: skip
    story = study.stories.order_by("story_id")[0]
    actions.adjudicate(story=story, verdict=Verdict.VALID, reason="fine", by=None, now=timezone.now())
    actions.close_study(study=study, by=None, now=timezone.now())
    document = compute.make(study.pk, now=timezone.now()).document
    release = published(study)
    assert document
    assert (document["verdicts"]["kept"], document["verdicts"]["dropped"]) == (1, 1)
    assert (release.kept, release.dropped) == (1, 1)
    assert story.story_id in shown(boss.get("/studies/main/stories/?verdict=kept"))
    assert story.story_id not in shown(boss.get("/studies/main/stories/?verdict=dropped"))


def test_objection_is_alone_only_among_the_first_votes() -> None:
    study = builders.make_study("main", votes_per_story=1, most_votes=3, decided_by="all-agree", stories=2)
    person = builders.qualified(study)[0]
    held = builders.claim(person)
    actions.record_vote(
        assignment_id=held.pk, enrollment=person, submitted=builders.answers(q3="no"), now=timezone.now()
    )
    flagged = ReviewSample.Kind.FLAGGED
    draw = partial(actions.draw_sample, kind=flagged, per_person=1, by=None, now=timezone.now())
    with pytest.raises(WrongState, match="No more answers match"):
        draw(study=study, people=1)
    more = builders.make_study("more", votes_per_story=2, most_votes=4, decided_by="all-agree", stories=1)
    people = builders.qualified(more, 3)
    for place, one in enumerate(people):
        if place < 2:
            actions.record_vote(
                assignment_id=builders.claim(one).pk, enrollment=one, now=timezone.now(),
                submitted=builders.ALL_YES if place else builders.answers(q3="no"),
            )  # fmt: skip
    (item,) = draw(study=more, people=3).items.all()
    assert (item.vote.assignment.enrollment, item.flag) == (people[0], ReviewItem.Flag.ALONE)


def test_study_with_a_decided_story_can_be_released() -> None:
    study = half_done()
    Story.objects.filter(study=study).update(extra_votes=3)  # as if people held further slots
    assert has_complete_story(study)


def test_draft_says_what_it_would_open_with_and_participants_read_how_many_judge(boss: Client) -> None:
    study = made(opened=False)
    assert "2–5 votes per story" in shown(boss.get("/studies/main/"))
    assert "6–15" in shown(boss.get("/studies/main/state/open/"))
    actions.open_study(study=study, by=None, now=timezone.now())
    link = personal_link(builders.invite(study)[0]).removeprefix("http://testserver")
    assert "2–5" in shown(Client().get(link, follow=True))


def test_settings_take_it_and_say_what_is_wrong_at_the_field(boss: Client) -> None:
    study = builders.make_study("main", opened=False)
    address = "/studies/main/settings/"
    form = boss.get(address).context["form"]
    sent = {name: "" if form.initial.get(name) is None else form.initial[name] for name in form.fields}
    wrong = boss.post(address, sent | {"most_votes": "3"})
    assert wrong.status_code == 422
    assert list(wrong.context["form"].errors) == ["most_votes"]
    assert "“Votes per story at most” must be more than “Votes per story”" in " ".join(
        re.sub("<.*?>", " ", wrong.content.decode()).split()
    )
    assert boss.post(address, sent | {"most_votes": "5", "decided_by": "majority"}).status_code == 302
    study.refresh_from_db()
    assert (study.most_votes, study.decided_by) == (5, "majority")
    sent |= {"most_votes": "5", "decided_by": "majority", "votes_per_story": "6"}
    assert list(boss.post(address, sent).context["form"].errors) == ["votes_per_story"]


def test_configuration_has_it_only_where_it_is_set() -> None:
    usual = configuration_of(builders.make_study("usual"), now=timezone.now())
    assert not {"most_votes", "decided_by"} & usual.keys()
    study = made()
    plan = plan_of(study, now=timezone.now())
    assert (plan["most_votes"], plan["decided_by"]) == (5, "majority")
    content = (
        b'{"title": "t", "contact": "a@b.org", "consent": "c", "most_votes": 5, "decided_by": "majority"}'
    )
    config = parse_configuration(content, name="x")
    assert (config.settings["most_votes"], config.settings["decided_by"]) == (5, "majority")
