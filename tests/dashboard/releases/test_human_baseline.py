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
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts.actions import ensure_researcher
from accounts.models import User
from annotation import actions
from annotation.errors import StudyExists
from annotation.models import ConsentText, Enrollment, Event, Story, Study
from dashboard.releases.human_baseline import Viewers, Who
from integrity.catalogue import CHECKS, run
from publishing.actions.published import withdraw_release
from publishing.actions.releases import build_release, request_release
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
from tests.publishing.loading import load_all
from tests.publishing.support import published

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("client", "releases_root")]

SAVE = "Save and continue"


@pytest.fixture
def releases_root(tmp_path: Path, settings: Any) -> Path:
    settings.RELEASES_ROOT = tmp_path / "releases"
    return tmp_path / "releases"


@pytest.fixture
def release(releases_root: Path) -> Release:
    return released_study()


@pytest.fixture
def boss() -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    return client


def test_whole_stories_are_drawn_as_the_release_has_them(release: Release) -> None:
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


def test_where_it_comes_from_is_recorded(release: Release) -> None:
    study, _ = drawn(release)
    sample = BaselineSample.objects.get(study=study)
    assert sample.provenance() == {
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
    again, _ = drawn(release, slug="again")
    assert keys(again) == keys(study)
    assert keys(drawn(release, slug="third", seed=8)[0]) != keys(study)


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
    study = opened(drawn(release)[0])
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
        for number in range(1, 13):
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
    assert (found["all"]["complete"], found["all"]["votes"], found["all"]["right"]) == (12, 36, 20)
    assert [str(outcome.check.name) for outcome in run(CHECKS) if not outcome.holds] == []

    page = boss.get(reverse("dashboard:human_baseline", args=[study.slug])).content.decode()
    cells = re.sub(r"<[^>]+>|\s+", " ", page)
    assert re.search(r"Judgment +4 / 12 +33 %", cells)
    assert re.search(r"All questions +20 / 36 +56 %", cells)
    rows = list(csv.DictReader(io.StringIO(_file(boss, study, "csv"))))
    assert [(row["config"], row["right"], row["votes"]) for row in rows] == [
        ("behavior-qa", "8", "12"),
        ("judgment-qa", "4", "12"),
        ("mental-state-qa", "8", "12"),
        ("all", "20", "36"),
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


def test_its_own_release_holds_the_questions_and_the_answers(release: Release, tmp_path: Path) -> None:
    study = opened(drawn(release)[0])
    for place, person in enumerate(invited(study)):
        assert answer(person, right=place > 0) == 12
    made = published(study)
    lines = (made.directory / "annotations/votes.jsonl").read_text(encoding="utf-8").splitlines()
    votes = [json.loads(line) for line in lines]
    assert Counter(vote["answer"] == keys(study)[vote["story_id"]] for vote in votes) == {True: 24, False: 12}
    (loaded,) = load_all(tmp_path / "cache", (made.directory, ("story-data",)))
    assert {row["item"]["answerKey"] for row in loaded["story-data"]["rows"]} == {"A", "B"}


def test_the_next_release_holds_the_answers_until_they_are_withdrawn(release: Release) -> None:
    study = opened(drawn(release)[0])
    for place, person in enumerate(invited(study)):
        answer(person, right=place > 0)
    assert not (published(release.study).directory / "baseline").exists()
    made = published(study)
    now = published(release.study)
    votes = Path("baseline/votes.jsonl")
    assert (now.directory / votes).read_bytes() == (made.directory / "annotations/votes.jsonl").read_bytes()
    found = json.loads((now.directory / "baseline/accuracy.json").read_bytes())
    assert found["all"]["accuracy"] == pytest.approx(2 / 3)
    assert found["source"]["drawn"] == study.baseline_sample.provenance()
    assert found["source"]["manifest_sha256"] == made.manifest_sha256
    assert "## How well people answer" in (now.directory / "README.md").read_text(encoding="utf-8")
    assert check_release(now.directory).shown == []
    withdraw_release(release=made, reason="Somebody saw the key.", by=None, now=timezone.now())
    assert not (published(release.study).directory / "baseline").exists()


def test_changed_answers_of_people_stop_the_next_release(release: Release) -> None:
    study = opened(drawn(release)[0])
    for person in invited(study):
        answer(person, right=True)
    votes = published(study).directory / "annotations/votes.jsonl"
    votes.write_bytes(votes.read_bytes().replace(b'"answer":"a"', b'"answer":"b"', 1))
    asked = request_release(study=release.study, by=None, now=timezone.now())
    build_release(release_id=asked.pk, now=timezone.now())
    asked.refresh_from_db()
    assert asked.state == Release.State.FAILED
    assert "annotations/votes.jsonl is not as it was published" in asked.failure


def test_the_command_draws_and_writes_the_truth(release: Release, tmp_path: Path) -> None:
    out = io.StringIO()
    call_command(
        "draw_baseline", "pilot", "1", "--seed", "7", "--per-scenario", "2", "--truth",
        str(tmp_path / "truth.json"), "--json", stdout=out,
    )  # fmt: skip
    said = json.loads(out.getvalue())
    study = Study.objects.get(slug="pilot-1-baseline")
    assert (said["study"], said["seed"], said["questions"]) == (study.slug, 7, 12)
    assert (said["viewers"], said["excluded"], said["qualified_remaining"]) == (2, 2, 3)
    truth = json.loads((tmp_path / "truth.json").read_text())
    assert {name: row["answer"] for name, row in truth.items()} == keys(study)


def test_the_command_says_what_came_of_it_and_what_is_next(release: Release) -> None:
    out = io.StringIO()
    call_command("draw_baseline", "pilot", "1", "--per-scenario", "5", "--votes", "4", stdout=out)
    said = out.getvalue()
    assert "24 questions about 8 stories" in said
    assert "inside_reuse_labeled_containers has 4 stories, fewer than 5: all are taken." in said
    assert "2 people were shown some of these stories; they may take part." in said
    assert "invite pilot-1-baseline --qualified" in said


REFUSED = [
    (["pilot", "2"], 1, "has no release 2"),
    (["nothing", "1"], 1, "no study"),
    (["pilot", "1", "--per-scenario", "0"], 2, "--per-scenario: give at least 1"),
    (["pilot", "1", "--who", "round"], 2, "--round: give it with --who round"),
    (["pilot", "1", "--study", "pilot"], 1, "already"),
    (["pilot", "1", "--consent", "/nowhere"], 2, "--consent"),
]


def test_the_command_refuses(release: Release) -> None:
    for arguments, code, says in REFUSED:
        with pytest.raises(CommandError, match=says) as refused:
            call_command("draw_baseline", *arguments)
        assert refused.value.returncode == code
    assert Study.objects.count() == 1


def test_a_round_of_its_own(release: Release, tmp_path: Path) -> None:
    rows = [row | {"id": f"test-{place}"} for place, row in enumerate(question_rows(release).values())][:2]
    builders.write_rows(tmp_path / "test.jsonl", rows)
    key = {"stories": {row["id"]: {"answer": [row["answerKey"].lower()]} for row in rows}}
    (tmp_path / "key.json").write_text(json.dumps(key), encoding="utf-8")
    (tmp_path / "round.json").write_text(json.dumps({"stories": "test.jsonl", "key": "key.json"}))
    call_command(
        "draw_baseline", "pilot", "1", "--who", "round", "--round", str(tmp_path / "round.json"),
        stdout=io.StringIO(),
    )  # fmt: skip
    study = opened(Study.objects.get(slug="pilot-1-baseline"))
    person = builders.consent(builders.invite(study)[0])
    assert person.state == "consented"
    wrong = {"answer": other(rows[0]["answerKey"].lower())}
    assert builders.take_test(person, wrong).state == "failed"


def test_inviting_the_qualified_prints_their_old_and_new_links(release: Release) -> None:
    study = opened(drawn(release)[0])
    out = io.StringIO()
    call_command("invite", study.slug, "--qualified", stdout=out)
    lines = [line.split("\t") for line in out.getvalue().splitlines()]
    assert len(lines) == 3
    for before, link in lines:
        assert before != link
        browser = Browser()
        browser.open(link)
        assert study.title in browser.page.content.decode()
    with pytest.raises(CommandError, match="invited already"):
        call_command("invite", study.slug, "--qualified")
    with pytest.raises(CommandError, match="doesn’t take"):
        call_command("invite", "pilot", "--qualified")


def test_the_simulated_crowd_answers_it(releases_root: Path, live_server: LiveServer, tmp_path: Path) -> None:
    release = released_study("trial", rehearsal=True)
    study = opened(drawn(release)[0])
    truth = tmp_path / "truth.json"
    truth.write_text(json.dumps({name: {"answer": key} for name, key in keys(study).items()}))
    crowd = ("simulate", study.slug, "--base-url", live_server.url, "--seed", "1", "--truth", str(truth))
    with pytest.raises(CommandError, match="at most --annotators 3"):
        call_command(*crowd, "--annotators", "4")
    assert not Enrollment.objects.filter(study=study).exists()
    usual = ("--careful", "1", "--declines", "0", "--leaves", "0", "--comes-late", "0")
    call_command(*crowd, *usual, "--annotators", "3", stdout=io.StringIO())
    found = results(study)["all"]
    assert (found["complete"], found["votes"]) == (12, 36)
    assert found["accuracy"] > 0.85


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


def test_the_pages_are_for_researchers(release: Release, boss: Client) -> None:
    study, _ = drawn(release)
    stranger, onlooker = Client(), Client()
    for client, rights in ((stranger, []), (onlooker, Permission.objects.filter(codename="view_study"))):
        user = User.objects.create_user(f"user-{len(rights)}", password="a long enough password")
        user.user_permissions.set(rights)
        client.force_login(user)
    for name, arguments in (
        ("human_baseline", [study.slug]),
        ("human_baseline_file", [study.slug, "json"]),
        ("draw_human_baseline", ["pilot", 1]),
    ):
        address = reverse(f"dashboard:{name}", args=arguments)
        assert Client().get(address).status_code == 302
        assert stranger.get(address).status_code == 404
        assert stranger.post(address).status_code in (404, 405)
        may_change = name == "draw_human_baseline"
        assert onlooker.get(address).status_code == (403 if may_change else 200)
        assert onlooker.post(address).status_code == (403 if may_change else 405)
        assert boss.get(address).status_code == 200
    assert boss.get(reverse("dashboard:human_baseline", args=["pilot"])).status_code == 404
    assert boss.get(reverse("dashboard:human_baseline_file", args=[study.slug, "xml"])).status_code == 404
    assert boss.get(reverse("dashboard:draw_human_baseline", args=["pilot", 2])).status_code == 404
