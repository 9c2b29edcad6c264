"""The releases of a study: the list, a build that moves or has stalled, two side by side, withdrawing one."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import IntegrityError, ProgrammingError, transaction
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from annotation import actions as annotation_actions, locks
from annotation.models import Event, Membership, Study
from publishing import previews, progress, tasks
from publishing.actions import releases
from publishing.actions.statements import describe_data
from publishing.facts import Statement
from publishing.models import Release, Withdrawal
from publishing.progress import Reporter
from publishing.steps import Stage
from tests import builders
from tests.dashboard.releases.conftest import FORMS, WHY, withdrawn, words
from tests.dashboard.test_roles import client_of, user
from tests.publishing.support import judged_study, published

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("client")]


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
    assert "no list or feed names them" not in page, "its releases are listed"
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


def test_the_list_of_a_test_run_says_that_no_public_list_names_its_releases(boss: Client) -> None:
    builders.make_study("trial", opened=False)
    trial = Study.objects.get(slug="trial")
    annotation_actions.make_rehearsal(study=trial, by=None, now=timezone.now())
    assert "no list or feed names them" in words(boss, "/studies/trial/releases/")


def test_a_release_is_shown_before_it_is_published_and_to_nobody_else(release: Release, boss: Client) -> None:
    first, study = release, release.study
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
    release: Release, boss: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(12) as context:
        boss.get("/studies/pilot/releases/")
    before = len(context)
    withdrawn(published(release.study))
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


def test_the_first_release_of_a_closed_study_warns_before_it_deletes_answers(
    releases_root: Path, boss: Client
) -> None:
    study = judged_study("pilot", FORMS, intake_questions=["age"])
    page, warning = "/studies/pilot/releases/publish/", "deletes the answers"
    assert warning not in words(boss, page), "an open study keeps them"
    annotation_actions.close_study(study=study, by=None, now=timezone.now())
    assert warning in words(boss, page)
    releases.request_release(study=study, by=None, now=timezone.now())
    assert warning not in words(boss, page), "they are deleted"


def test_nobody_without_the_right_to_publish_withdraws(release: Release) -> None:
    study = release.study
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


def test_the_database_keeps_a_withdrawal_as_it_is(release: Release) -> None:
    with pytest.raises(IntegrityError, match="withdrawal_says_why"), transaction.atomic():
        Withdrawal.objects.create(release=release, reason="", withdrawn_at=timezone.now())
    made = withdrawn(release)
    for change in (
        lambda: Withdrawal.objects.filter(pk=made.pk).update(reason="nothing"),
        lambda: Withdrawal.objects.filter(pk=made.pk).delete(),
    ):
        with pytest.raises(ProgrammingError, match="Cannot update or delete"), transaction.atomic():
            change()
    asked = releases.request_release(study=release.study, by=None, now=timezone.now())
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
