"""The human baseline, from a built release to the accuracy of those who answered."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation import actions
from annotation.errors import StudyExists
from annotation.models import ConsentText, Enrollment, Event, Story, Study
from dashboard.releases.human_baseline import Viewers, Who
from integrity.catalogue import CHECKS, run
from publishing.actions.published import withdraw_release
from publishing.errors import UnusableRelease
from publishing.human_baseline.drawing import draw
from publishing.human_baseline.study_results import results
from publishing.models import BaselineSample, Release
from publishing.verification import check_release
from tests import builders
from tests.annotation.pages import Browser, arrive
from tests.dashboard.baselines import (
    answer,
    drawn,
    invited,
    keys,
    opened,
    other,
    question_rows,
    released_study,
)
from tests.publishing.support import build, published, request
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("client", "releases_root")]

SAVE = "Save and continue"


@pytest.fixture
def release(releases_root: Path) -> Release:
    return released_study()


def test_whole_stories_are_drawn_as_the_release_has_them_and_their_origin_is_recorded(
    release: Release,
) -> None:
    study, _ = drawn(release)
    rows = question_rows(release)
    stories = Story.objects.filter(study=study)
    assert (study.state, study.protocol_name) == ("draft", "multiple-choice")
    assert (study.environment, study.votes_per_story) == ("live", 3)
    assert stories.count() == 2 * 2 * 3
    assert set(Counter(story.core_id for story in stories).values()) == {3}
    assert set(Counter(story.scenario_name for story in stories).values()) == {6}
    for story in stories:
        row = rows[story.story_id]
        assert story.content == {
            name: row[name] for name in ("config", "story", "question", "choices", "answerKey")
        }
        assert (story.severity_original, story.story_generator_model) == (1, "human-written")
    assert BaselineSample.objects.get(study=study).provenance() == {
        "release": {"study": "pilot", "number": 1},
        "manifest_sha256": release.manifest_sha256,
        "per_scenario": 2,
        "seed": 7,
        "stories": 4,
        "questions": 12,
        "short": {},
        "repeated_cores": 0,
    }
    assert Event.objects.filter(study=study, type=Event.Type.BASELINE_DRAWN).count() == 1
    assert ConsentText.objects.get(study=study).text == ConsentText.objects.get(study=release.study).text


def test_the_seed_decides_which_stories_are_drawn(release: Release) -> None:
    first, again, other = (
        keys(drawn(release, slug=slug, seed=seed)[0]) for slug, seed in (("a", 7), ("b", 7), ("c", 8))
    )
    assert first == again != other


def test_a_scenario_with_too_few_gives_all_it_has(release: Release) -> None:
    study, _ = drawn(release, per_scenario=5)
    assert study.baseline_sample.short == dict.fromkeys(
        ["inside_reuse_labeled_containers", "unobserved_unethical_actions"], 4
    )
    assert Story.objects.filter(study=study).count() == 24


def test_those_who_have_not_seen_the_stories_answer_and_the_others_are_told(release: Release) -> None:
    study, admission = drawn(release)
    assert (len(admission.viewers), len(admission.excluded), admission.remaining) == (2, 2, 3)
    study = opened(study)
    seen = Enrollment.objects.filter(study=release.study, stories_submitted__gt=0)
    viewer = actions.enroll(study=study, annotator=seen[0].annotator, now=timezone.now())
    assert arrive(viewer).heading == "You know these stories already"
    stranger = builders.invite(study)[0]
    assert arrive(stranger).heading == "This study is for people from an earlier one"
    assert [person.state for person in invited(study)] == ["qualified"] * 3


def test_who_has_seen_the_stories_is_excluded_if_enough_remain(release: Release) -> None:
    decided: list[tuple[dict[str, Any], int, int]] = [
        ({"votes_per_question": 4}, 0, 5),  # with them excluded, three were left
        ({"votes_per_question": 4, "viewers": Viewers.EXCLUDE}, 2, 3),
        ({"viewers": Viewers.ADMIT}, 0, 5),
        ({"votes_per_question": 4, "who": Who.ANYONE}, 2, 3),
    ]
    for number, (decisions, excluded, remaining) in enumerate(decided):
        study, admission = drawn(release, slug=f"questions-{number}", **decisions)
        assert (len(admission.excluded), admission.remaining) == (excluded, remaining), decisions
        assert study.exclusions.count() == excluded


def test_anyone_may_answer_if_so_decided(release: Release) -> None:
    study, _ = drawn(release, who=Who.ANYONE)
    assert study.qualified_through is None
    assert builders.consent(builders.invite(opened(study))[0]).state == "qualified"


def test_a_rehearsal_gives_a_rehearsal(releases_root: Path) -> None:
    study, _ = drawn(released_study("trial", rehearsal=True))
    assert study.environment == "rehearsal"
    assert all(person.environment == "rehearsal" for person in invited(opened(study)))


def test_what_cannot_be_drawn_from_is_refused_and_leaves_nothing(release: Release) -> None:
    study, _ = drawn(release)
    with pytest.raises(StudyExists):
        drawn(release)
    path = release.directory / "behavior-qa" / "test.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"answerKey":"A"', b'"answerKey":"B"', 1).replace(
        b'"answerKey": "A"', b'"answerKey": "B"', 1))  # fmt: skip
    with pytest.raises(UnusableRelease, match="is not the published file"):
        drawn(release, slug="changed")
    path.unlink()
    with pytest.raises(UnusableRelease, match="cannot be read"):
        drawn(release, slug="gone")
    assert set(Study.objects.values_list("slug", flat=True)) == {"pilot", study.slug}


def test_a_page_leaves_big_releases_to_the_command(
    release: Release, boss: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("publishing.human_baseline.drawing.MOST_FOR_A_PAGE", release.kept)
    url = reverse("dashboard:draw_human_baseline", args=["pilot", 1])
    given = {
        "slug": "small-enough", "title": "Questions", "per_scenario": 2, "seed": 7, "votes_per_question": 3,
        "who": "anyone", "viewers": "admit", "contact": "a@example.org", "consent": "Agreed?",
    }  # fmt: skip
    assert boss.post(url, given).status_code == 302
    monkeypatch.setattr("publishing.human_baseline.drawing.MOST_FOR_A_PAGE", (release.kept or 0) - 1)
    refused = boss.post(url, given | {"slug": "too-big"})
    assert refused.status_code == 422
    assert "manage.py draw_baseline pilot 1" in refused.content.decode()
    assert set(Study.objects.values_list("slug", flat=True)) == {"pilot", "small-enough"}
    call_command("draw_baseline", "pilot", "1", "--study", "too-big", stdout=io.StringIO())
    assert Study.objects.filter(slug="too-big").exists()


def test_the_files_are_read_outside_the_transaction(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[bool] = []

    def reading(*args: Any, **kwargs: Any) -> Any:
        read.append(connection.in_atomic_block)
        return draw(*args, **kwargs)

    monkeypatch.setattr("dashboard.actions.draw", reading)
    drawn(release)
    assert read == [False]


def test_from_the_release_to_the_accuracy_over_http(release: Release, boss: Client) -> None:
    study = opened(drawn(release, per_scenario=1)[0])
    people = actions.invite_qualified(study=study, by=None, now=timezone.now())
    right = keys(study)
    shown_as = {
        (story.content["story"], story.content["question"]): story.story_id
        for story in Story.objects.filter(study=study)
    }
    for place, person in enumerate(people):
        browser = arrive(person)
        browser.press("I agree")
        (forward,) = browser.document.xpath("//a[normalize-space()='Continue']/@href")
        browser.open(forward)
        for number in range(1, 7):
            assert browser.heading == f"Question {number}"
            story, asked = (
                " ".join(part.text_content().split()) for part in browser.document.xpath("//form//dd")
            )
            question = shown_as[(story, asked)]
            wrong = place == 0 or (place == 1 and question.endswith("_judge"))
            browser.press(SAVE, answer=other(right[question]) if wrong else right[question])
        assert browser.heading == "There are no stories left for you"

    found = results(study)
    assert {name: line["accuracy"] for name, line in found["configs"].items()} == {
        "mental-state-qa": pytest.approx(2 / 3),
        "behavior-qa": pytest.approx(2 / 3),
        "judgment-qa": pytest.approx(1 / 3),
    }
    judgment = found["configs"]["judgment-qa"]["majority"]
    assert (judgment["right"], judgment["ties"], judgment["accuracy"]) == (0, 0, 0.0)
    assert (found["all"]["complete"], found["all"]["votes"], found["all"]["right"]) == (6, 18, 10)
    assert [str(outcome.check.name) for outcome in run(CHECKS) if not outcome.holds] == []

    page = boss.get(reverse("dashboard:human_baseline", args=[study.slug])).content.decode()
    cells = re.sub(r"<[^>]+>|\s+", " ", page)
    assert re.search(r"Judgment +2 / 6 +33 %", cells)
    assert re.search(r"All questions +10 / 18 +56 %", cells)
    rows = list(csv.DictReader(io.StringIO(_file(boss, study, "csv"))))
    assert [(row["config"], row["right"], row["votes"]) for row in rows] == [
        ("behavior-qa", "4", "6"),
        ("judgment-qa", "2", "6"),
        ("mental-state-qa", "4", "6"),
        ("all", "10", "18"),
    ]
    assert json.loads(_file(boss, study, "json")) == json.loads(json.dumps(results(study)))


def _file(client: Client, study: Study, kind: str) -> str:
    return client.get(reverse("dashboard:human_baseline_file", args=[study.slug, kind])).content.decode()


PASSING = re.compile(
    r"/work/[^/\"]+|/join/[^/\"]+|name=\"(?:assignment|held)\" value=\"\d+\"|(?:skip|change)\.\d+"
    r"|/answers/\d+/|receipt=\d+"
    r"|<time[^>]*>[^<]*</time>|<dd>[^<]*(?:seconds?|consent text)[^<]*</dd>|\d+ seconds? a story"
)
"""What differs between two visits to the same study."""


def walked(study: Study) -> list[str]:
    """Every page that a person meets in the study, without what differs from visit to visit."""
    browser: Browser = arrive(builders.invite(study)[0])
    browser.press("I agree")
    (forward,) = browser.document.xpath("//a[normalize-space()='Continue']/@href")
    browser.open(forward)
    work = forward.removesuffix("stories/") if forward.endswith("stories/") else forward
    for number in range(3):
        browser.press(SAVE, **({} if number == 1 else {"answer": "a"}))
    for page in ("instructions/", "done/", "answers/", "you/", "withdraw/"):
        browser.open(work + page)
    browser.open(work + "answers/")
    (change, *_) = browser.document.xpath("//main//a[contains(@href, '/answers/')]/@href")
    browser.open(change)
    return [PASSING.sub("…", page.content.decode()) for page in browser.pages]


def test_nothing_that_an_annotator_is_sent_depends_on_the_right_answers(release: Release) -> None:
    """Two studies that differ in their right answers alone give the same pages, to the last byte."""
    rows = list(question_rows(release).values())[:5]
    studies = [
        builders.make_study(slug, stories=[], opened=False, protocol="multiple-choice", votes_per_story=1)
        for slug in ("one", "two")
    ]
    for study, key in zip(studies, "AB", strict=True):
        renamed = [row | {"id": f"q{place}", "answerKey": key} for place, row in enumerate(rows)]
        _import(study, renamed)
    first, second = (walked(opened(study)) for study in studies)
    assert len(first) > 10
    assert first == second
    assert not [page for page in first if "answerKey" in page or "right_key" in page]


def _import(study: Study, rows: list[dict[str, Any]]) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as place:
        path = builders.write_rows(Path(place) / "questions.jsonl", rows)
        actions.import_stories(study=study, path=path, by=None, now=timezone.now())


@built_once
def answered() -> tuple[Release, Release]:
    """A release, and that of the study in which three people answered its questions; one was always wrong."""
    release = released_study()
    study = opened(drawn(release, per_scenario=1)[0])
    for place, person in enumerate(invited(study)):
        assert answer(person, right=place > 0) == 6
    return release, published(study)


def test_its_own_release_holds_the_questions_and_the_answers(releases_root: Path) -> None:
    _, made = answered()
    lines = (made.directory / "annotations/votes.jsonl").read_text(encoding="utf-8").splitlines()
    votes = [json.loads(line) for line in lines]
    right = keys(made.study)
    assert Counter(vote["answer"] == right[vote["story_id"]] for vote in votes) == {True: 12, False: 6}


def test_the_next_release_holds_the_answers_until_they_are_withdrawn(releases_root: Path) -> None:
    first, made = answered()
    assert not (first.directory / "baseline").exists()
    now = published(first.study)
    votes = Path("baseline/votes.jsonl")
    assert (now.directory / votes).read_bytes() == (made.directory / "annotations/votes.jsonl").read_bytes()
    found = json.loads((now.directory / "baseline/accuracy.json").read_bytes())
    assert found["all"]["accuracy"] == pytest.approx(2 / 3)
    assert found["source"]["drawn"] == made.study.baseline_sample.provenance()
    assert found["source"]["manifest_sha256"] == made.manifest_sha256
    assert "## How well people answer" in (now.directory / "README.md").read_text(encoding="utf-8")
    assert check_release(now.directory, with_machine_validation=False).shown == []
    withdraw_release(release=made, reason="Somebody saw the key.", by=None, now=timezone.now())
    assert not (published(first.study).directory / "baseline").exists()


def test_changed_answers_of_people_stop_the_next_release(releases_root: Path) -> None:
    first, made = answered()
    votes = made.directory / "annotations/votes.jsonl"
    votes.write_bytes(votes.read_bytes().replace(b'"answer":"a"', b'"answer":"b"', 1))
    asked = build(request(first.study))
    assert asked.state == Release.State.FAILED
    assert "annotations/votes.jsonl is not as it was published" in asked.failure


def test_the_page_draws_after_a_form(release: Release, boss: Client) -> None:
    address = reverse("dashboard:draw_human_baseline", args=["pilot", 1])
    assert address in boss.get(reverse("dashboard:overview", args=["pilot"])).content.decode()
    form = boss.get(address).context["form"]
    given = {name: form[name].value() for name in form.fields} | {"per_scenario": 2, "seed": 7}
    assert boss.post(address, given | {"slug": "not a slug"}).status_code == 422
    taken = boss.post(address, given | {"slug": "pilot"})
    assert taken.status_code == 422
    assert "already" in taken.content.decode()
    done = boss.post(address, given, follow=True)
    study = Study.objects.get(slug="pilot-1-baseline")
    assert done.redirect_chain[-1][0] == reverse("dashboard:overview", args=[study.slug])
    assert "12 questions about 4 stories, drawn with seed 7" in done.content.decode()
    assert study.qualified_through == release.study


def test_what_is_not_there_has_no_page(release: Release, boss: Client) -> None:
    """The roles that may open other pages are in test_human_baseline_roles."""
    study, _ = drawn(release)
    for page, arguments in (
        ("human_baseline", ["pilot"]),
        ("human_baseline_file", [study.slug, "xml"]),
        ("draw_human_baseline", ["pilot", 2]),
    ):
        assert boss.get(reverse(f"dashboard:{page}", args=arguments)).status_code == 404
