"""The releases of a study: the list, a build that moves or has stalled, two side by side, withdrawing one."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.db import IntegrityError, ProgrammingError, transaction
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.actions import ensure_researcher
from annotation import actions as annotation_actions, locks, rules
from annotation.models import Assignment, Enrollment, Event, Membership, Study
from publishing import previews, progress, tasks
from publishing.actions import releases
from publishing.actions.published import withdraw_release
from publishing.actions.statements import describe_data
from publishing.comparison import store
from publishing.comparison.changes import Kind
from publishing.facts import Statement
from publishing.models import Release, Withdrawal
from publishing.progress import Reporter
from publishing.steps import Stage
from tests import builders
from tests.builders import ALL_YES, answers
from tests.dashboard.test_roles import client_of, user
from tests.publishing.support import judged_study, published
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("client")]

FORMS = {
    "both": (ALL_YES, ALL_YES, ALL_YES),
    "lost": (ALL_YES, ALL_YES, ALL_YES),
    "two-yes": (ALL_YES, ALL_YES, answers(q3="no")),
    "never": (answers(q1="no"), answers(q1="no"), answers(q1="no")),
}
FILE = "/studies/pilot/releases/compare.csv?first=1&second=2"
WHY = "The key information of one scenario is wrong."


@pytest.fixture
def study(settings: Any, tmp_path: Path) -> Study:
    settings.RELEASES_ROOT = tmp_path / "releases"
    return judged_study("pilot", FORMS)


@pytest.fixture
def two(settings: Any, tmp_path: Path) -> tuple[Release, Release]:
    settings.RELEASES_ROOT = tmp_path / "releases"
    return two_releases()


@pytest.fixture
def boss() -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    return client


def words(client: Client, address: str) -> str:
    text = re.sub(r"<[^>]+>", " ", client.get(address).content.decode())
    return " ".join(text.split())


@built_once
def two_releases() -> tuple[Release, Release]:
    """The same votes by two rules."""
    study = judged_study("pilot", FORMS)
    first = published(study)
    asked = releases.request_release(study=study, by=None, now=timezone.now(), filter_name="two-of-three")
    releases.build_release(release_id=asked.pk, now=timezone.now())
    return first, Release.objects.select_related("study").get(pk=asked.pk)


def replaced(study: Study) -> tuple[str, str]:
    """Excludes the third person and has somebody else judge in their place; both pseudonyms."""
    gone = Enrollment.objects.filter(study=study).order_by("pk")[2]
    annotation_actions.exclude_annotator(
        enrollment=gone, reason="test", told="test", by=None, now=timezone.now()
    )
    new = builders.qualified(study)[0]
    while isinstance(
        given := annotation_actions.assign_next_story(enrollment=new, now=timezone.now()), Assignment
    ):
        says_no = given.story.story_id in ("lost", "never")
        annotation_actions.record_vote(
            assignment_id=given.pk,
            enrollment=new,
            submitted=answers(q3="no") if says_no else ALL_YES,
            now=timezone.now(),
        )
    key = study.pseudonym_key
    return rules.pseudonym(key, gone.annotator_id), rules.pseudonym(key, new.annotator_id)


def withdrawn(release: Release) -> Withdrawal:
    return withdraw_release(release=release, reason=WHY, by=None, now=timezone.now())


def test_the_list_tells_everything_and_how_to_go_on(two: tuple[Release, Release], boss: Client) -> None:
    first, second = two
    study = first.study
    shown = words(boss, "/studies/pilot/releases/")
    for release in (first, second):
        assert release.manifest_sha256 in shown
    assert "Two of three · not validated by all" in shown
    assert "2 kept · 2 dropped · 0 incomplete" in shown
    page = boss.get("/studies/pilot/releases/").content.decode()
    assert page.index("Download release 2 (tar)") < page.index("Download release 1 (tar)")
    assert "hx-trigger" not in page, "nothing is underway"
    releases.request_release(study=study, by=None, now=timezone.now())
    releases.fail_release(
        release_id=Release.objects.get(number=3).pk, reason="The disk is full.", now=timezone.now()
    )
    assert "The disk is full." in words(boss, "/studies/pilot/releases/")
    assert "Retry release 3" in words(boss, "/studies/pilot/releases/")
    unseen = boss.post("/studies/pilot/releases/publish/", {"filter": "all-agree"})
    assert unseen["Location"] == "/studies/pilot/releases/preview/?filter=all-agree", "nothing goes unseen"
    assert unseen["Location"] in boss.get("/studies/pilot/releases/").content.decode()
    assert Release.objects.get(number=3).state == Release.State.FAILED
    boss.post("/studies/pilot/releases/publish/", {"filter": "all-agree", "previewed": "1"})
    assert Release.objects.get(number=3).state == Release.State.REQUESTED


def test_a_release_is_shown_before_it_is_published_and_to_nobody_else(study: Study, boss: Client) -> None:
    first = published(study)
    here = "/studies/pilot/releases/preview/?filter=two-of-three"
    assert "being built as it would be now" in words(boss, here)
    tasks.preview_release(study.pk, "two-of-three")
    shown = words(boss, here)
    assert "Release 2 with the filter “two of three”" in shown
    assert "Not validated by all" in shown
    assert "stories kept 3 dropped 1" in shown
    assert "Known biases not stated" in shown
    assert "Creators not stated" in shown
    assert "In numbers" in shown, "the card"
    charts = re.findall(r'src="(/studies/pilot/releases/preview/[^"]+)"', boss.get(here).content.decode())
    assert charts
    assert boss.get(charts[0])["Content-Type"] == "image/svg+xml"
    assert Client().get(charts[0]).status_code == 302
    assert list(Release.objects.all()) == [first], "nothing is published"
    assert 'name="filter" value="two-of-three"' in " ".join(boss.get(here).content.decode().split())
    assert [place.name for place in first.directory.parent.parent.iterdir()] == ["pilot"]
    assert Study.objects.get(pk=study.pk).answers_frozen_at == first.answers_until, "nothing is fixed"

    describe_data(study=study, statement=Statement(biases="Few."), by=None, now=timezone.now())
    assert "being built as it would be now" in words(boss, here), "the statement has changed"
    tasks.preview_release(study.pk, "two-of-three")
    assert "Known biases Few." in words(boss, here)
    made = published(study, filter_name="two-of-three")
    previewed = previews.latest(study, "two-of-three")
    assert previewed is not None
    counts = json.loads((made.directory / "release.json").read_text())["counts"]
    assert previewed.counts == counts, "the release is as it was shown"
    assert boss.get("/studies/pilot/releases/preview/?filter=nonsense").status_code == 404


def test_a_preview_that_keeps_one_of_each_text_is_shown_with_its_charts(study: Study, boss: Client) -> None:
    here = "/studies/pilot/releases/preview/?filter=all-agree&one_of_each=on"
    assert "being built as it would be now" in words(boss, here)
    tasks.preview_release(study.pk, "all-agree+one-of-each")
    charts = re.findall(r'src="(/studies/pilot/releases/preview/[^"]+)"', boss.get(here).content.decode())
    assert charts
    assert boss.get(charts[0])["Content-Type"] == "image/svg+xml"


def test_the_list_costs_the_same_however_long_it_is(
    study: Study, boss: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    published(study)
    with django_assert_max_num_queries(12) as context:
        boss.get("/studies/pilot/releases/")
    before = len(context)
    withdrawn(published(study))
    with django_assert_max_num_queries(before):
        boss.get("/studies/pilot/releases/")


def test_a_build_moves_and_one_that_was_left_says_so(study: Study, boss: Client) -> None:
    release = releases.request_release(study=study, by=None, now=timezone.now())
    address = "/studies/pilot/releases/"
    assert "Waiting for a worker" in words(boss, address)
    with locks.alone(locks.RELEASE, release.pk):
        releases._start(release.pk, now=timezone.now())
        Reporter(release)(Stage.STORIES, 3, 4)
        page = boss.get(address).content.decode()
        assert 'hx-trigger="every 2s"' in page
        shown = words(boss, address)
        assert "Step 1 of 5: Reading stories and votes" in shown
        assert "3 of 4 stories" in shown
        assert "Last report from the worker" in shown
    Release.objects.update(
        requested_at=release.requested_at - timedelta(hours=1),
        started_at=release.requested_at - timedelta(minutes=30),
    )
    shown = words(boss, address)
    assert "The build has stopped" in shown
    assert f"{release.requested_at - timedelta(minutes=30):%Y-%m-%d %H:%M:%S} UTC" in shown
    assert "manage.py publish_release pilot --filter all-agree" in shown
    releases.build_release(release_id=release.pk, now=timezone.now())
    ended = boss.get(address, headers={"HX-Request": "true"})
    assert ended["HX-Refresh"] == "true", "the whole page is loaded when there is nothing left to follow"


def test_what_differs_is_told_with_the_votes(study: Study, boss: Client) -> None:
    first = published(study)
    gone, new = replaced(study)
    second = published(study)
    address = "/studies/pilot/releases/compare/?first=2&second=1"
    assert "A worker is comparing" in words(boss, address)
    assert "hx-trigger" in boss.get(address).content.decode()
    tasks.compare_releases(first.pk, second.pk)
    assert "hx-trigger" not in boss.get(address).content.decode()
    shown = words(boss, address)
    assert "Release 1 and release 2" in shown, "the older one first, however they are chosen"
    assert "kept in both 1 Kept only in release 1 1 Kept only in release 2 1" in shown
    assert "1 more story has other votes and the same verdict" in shown
    assert "two-yes " not in shown, "only the stories kept only in the first"
    assert words(boss, f"{address}&page={'9' * 18}") == shown, "no list has such a page"
    shown = words(boss, f"{address}&kind=kept-now")
    title = str(study.protocol.question("q3").title)
    assert f"dropped {title} kept" in shown
    assert f"{title}: no" in shown
    assert f"{gone} : gone" in shown
    assert f"{new} : new" in shown
    assert "Pairs that agree" in shown
    rows = list(csv.DictReader(io.StringIO(boss.get(FILE).getvalue().decode())))
    assert [(row["difference"], row["story_id"], row["before"], row["now"]) for row in rows] == [
        ("kept-before", "lost", "kept", "dropped"),
        ("kept-now", "two-yes", "dropped", "kept"),
        ("otherwise", "never", "dropped", "dropped"),
    ]
    assert rows[1]["reason_before"] == "q3"
    assert rows[1]["votes_that_differ"].count(" | ") == 1
    assert f"{gone} q1: yes → -; q2: yes → -; q3: no → -; q4: yes → -" in rows[1]["votes_that_differ"]
    withdrawn(first)
    assert "Release 1 was withdrawn on" in words(boss, address)


def test_another_rule_over_the_same_votes_is_told_as_that(two: tuple[Release, Release], boss: Client) -> None:
    first, second = two
    tasks.compare_releases(first.pk, second.pk)
    shown = words(boss, "/studies/pilot/releases/compare/?first=1&second=2")
    assert "two-yes" in shown
    assert "None; the filter differs." in shown
    assert "Filter all agree two of three differs" in shown
    found = store.load(first, second)
    assert found is not None
    made_at = (found.place / store.SUMMARY).stat().st_mtime_ns
    tasks.compare_releases(first.pk, second.pk)
    assert (found.place / store.SUMMARY).stat().st_mtime_ns == made_at, "worked out once, for good"


def test_two_releases_of_the_same_votes_differ_in_no_stories(study: Study, boss: Client) -> None:
    first, second = published(study), published(study)
    tasks.compare_releases(first.pk, second.pk)
    assert "No such stories." in words(boss, "/studies/pilot/releases/compare/?first=1&second=2")


def test_a_long_list_has_pages_that_are_found_at_once(
    study: Study, boss: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PER_PAGE", 2)
    many = judged_study(
        "many",
        {f"s{number}": (answers(q1="no"), ALL_YES, answers(q2="no")) for number in range(5)}
        | {"k": (ALL_YES,) * 3},
    )
    first = published(many)
    replaced(many)
    second = published(many)
    tasks.compare_releases(first.pk, second.pk)
    found = store.load(first, second)
    assert found is not None
    ids = [[row["story_id"] for row in found.page(Kind.OTHERWISE, page)] for page in (0, 1, 2, 3, 4)]
    assert ids == [[], ["s0", "s1"], ["s2", "s3"], ["s4"], []]
    shown = words(boss, f"/studies/many/releases/compare/?first=1&second=2&kind={Kind.OTHERWISE}&page=2")
    assert "s3" in shown
    assert "Page 2 of 3" in shown


def test_a_comparison_needs_the_files_as_they_were_published(
    two: tuple[Release, Release], boss: Client
) -> None:
    first, second = two
    votes = first.directory / "annotations" / "votes.jsonl"
    votes.write_bytes(votes.read_bytes().replace(b"yes", b"no ", 1))
    address = "/studies/pilot/releases/compare/?first=1&second=2"
    boss.get(address)
    tasks.compare_releases(first.pk, second.pk)
    assert "annotations/votes.jsonl of release 1 is missing or has changed" in words(boss, address)
    assert store.load(first, second) is None


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (SoftTimeLimitExceeded(), "Comparing took longer than 25 minutes"),
        (
            ValueError("votes.jsonl: “a” comes after “b”"),
            "A fault in the comparison: votes.jsonl: “a” comes after “b”",
        ),
    ],
)
def test_a_comparison_that_cannot_be_made_ends_with_a_reason(
    two: tuple[Release, Release], boss: Client, monkeypatch: pytest.MonkeyPatch, fault: Exception, told: str
) -> None:
    first, second = two
    address = "/studies/pilot/releases/compare/?first=1&second=2"
    assert "A worker is comparing" in words(boss, address)

    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr("publishing.comparison.store.compare", fail)
    monkeypatch.setattr(store, "REFUSED_FOR", timedelta(0))
    tasks.compare_releases(first.pk, second.pk)
    assert told in words(boss, address), "for longer than a refusal that is mended by hand"
    assert "hx-trigger" not in boss.get(address).content.decode()


def test_nonsense_is_no_comparison(study: Study, boss: Client) -> None:
    published(study)
    assert "not two published releases" in words(boss, "/studies/pilot/releases/compare/")
    for query in ("first=1&second=1", "first=1&second=99", "first=x&second=-1", f"first={10**40}&second=1"):
        assert boss.get(f"/studies/pilot/releases/compare/?{query}").status_code == 200
        assert boss.get(f"/studies/pilot/releases/compare.csv?{query}").status_code == 302


def test_a_release_is_withdrawn_for_good_with_a_reason(two: tuple[Release, Release], boss: Client) -> None:
    first, second = two
    study = first.study
    before = {path: path.read_bytes() for path in first.directory.rglob("*") if path.is_file()}
    address = "/studies/pilot/releases/1/withdraw/"
    assert "You cannot undo this" in words(boss, address)
    refused = boss.post(address, {"reason": "  "})
    assert refused.status_code == 422
    assert not Withdrawal.objects.exists()
    boss.post(address, {"reason": WHY})
    event = Event.objects.get(type=Event.Type.RELEASE_WITHDRAWN)
    assert (event.subject, event.note, str(event.actor)) == ("release 1", WHY, "boss")
    again = boss.post(address, {"reason": "again"})
    assert "was already withdrawn on" in again.content.decode()
    assert Withdrawal.objects.get().reason == WHY
    assert {path: path.read_bytes() for path in before} == before, "the files stay as they are"

    for page in ("/releases/pilot/1/", "/studies/pilot/releases/", "/releases/feed/"):
        assert WHY in boss.get(page).content.decode()
    public = words(Client(), "/releases/pilot/1/")
    assert "Do not use it" in public
    assert "Use release 2 instead" not in public, "it keeps stories by another rule"
    assert "Release 2 is newer, but not validated by all." in public
    asked = releases.request_release(study=study, by=None, now=timezone.now())
    releases.build_release(release_id=asked.pk, now=timezone.now())
    assert "Use release 3 instead" in words(Client(), "/releases/pilot/1/")
    for page in ("/", "/releases/", "/studies/pilot/"):
        assert "Withdrawn" in words(boss, page)
    assert "Withdrawn" not in words(Client(), "/releases/pilot/2/")
    download = Client().get("/releases/pilot/1/archive.tar")
    assert download.status_code == 200
    assert "pilot-1-withdrawn.tar" in download["Content-Disposition"]
    assert {*Release.objects.not_withdrawn()} == {second, asked}


def test_nobody_without_the_right_to_publish_withdraws(study: Study) -> None:
    published(study)
    address = "/studies/pilot/releases/1/withdraw/"
    assert f"next={address}" in Client().post(address, {"reason": WHY})["Location"]
    stranger = client_of(user("stranger"))
    for ask in (stranger.get, stranger.post):
        assert ask(address).status_code == 404
    for role in (Membership.Role.REVIEWER, Membership.Role.AUDITOR):
        someone = user(f"{role}")
        annotation_actions.set_role(study=study, user=someone, role=role, by=None, now=timezone.now())
        client = client_of(someone)
        assert "Withdraw release" not in words(client, "/studies/pilot/releases/")
        assert client.get(address).status_code == 403
        assert client.post(address, {"reason": WHY}).status_code == 403
    assert not Withdrawal.objects.exists()


def test_the_database_keeps_a_withdrawal_as_it_is(study: Study) -> None:
    release = published(study)
    with pytest.raises(IntegrityError, match="withdrawal_says_why"), transaction.atomic():
        Withdrawal.objects.create(release=release, reason="", withdrawn_at=timezone.now())
    made = withdrawn(release)
    for change in (
        lambda: Withdrawal.objects.filter(pk=made.pk).update(reason="nothing"),
        lambda: Withdrawal.objects.filter(pk=made.pk).delete(),
    ):
        with pytest.raises(ProgrammingError, match="Cannot update or delete"), transaction.atomic():
            change()
    asked = releases.request_release(study=study, by=None, now=timezone.now())
    with pytest.raises(ProgrammingError, match="only a published release"), transaction.atomic():
        Withdrawal.objects.create(release=asked, reason=WHY, withdrawn_at=timezone.now())


def test_the_time_that_is_left_is_a_range_or_nothing() -> None:
    remaining = progress.remaining_seconds
    assert remaining((0.0, 0), [(5.0, 100)], 1000) is None, "too early"
    assert remaining((0.0, 0), [(20.0, 0), (30.0, 0)], 1000) is None, "nothing has moved"
    assert remaining((0.0, 0), [(10.0, 100), (20.0, 300)], 1000) == (35.0, 700 / 15)
    assert remaining((0.0, 0), [(10.0, 1), (20.0, 101)], 1000) == pytest.approx((89.9, 899 / 5.05))
    assert remaining((0.0, 0), [(19.0, 1), (20.0, 101)], 1000) is None, "too uneven to say"
    assert remaining((0.0, 0), [(20.0, 300)], None) is None
