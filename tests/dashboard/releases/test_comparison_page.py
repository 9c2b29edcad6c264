"""Two releases of a study side by side: what differs, with the votes, and when that cannot be told."""

from __future__ import annotations

import csv
import io
from datetime import timedelta

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.test import Client
from django.utils import timezone

from annotation import actions as annotation_actions, rules
from annotation.models import Assignment, Enrollment, Study
from publishing import tasks
from publishing.comparison import store
from publishing.comparison.changes import Difference
from publishing.models import Release
from tests import builders
from tests.builders import ALL_YES, answers
from tests.dashboard.releases.conftest import withdrawn, words
from tests.publishing.support import judged_study, published

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("client")]

FILE = "/studies/pilot/releases/compare.csv?first=1&second=2"


def replaced(study: Study) -> tuple[str, str]:
    """Excludes the third person and has somebody else judge in their place; both pseudonyms."""
    gone = Enrollment.objects.filter(study=study).order_by("pk")[2]
    annotation_actions.exclude_annotator(
        enrollment=gone, reason="test", shown_reason="test", by=None, now=timezone.now()
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


def test_what_differs_is_told_with_the_votes(release: Release, boss: Client) -> None:
    first, study = release, release.study
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


def test_a_long_list_has_pages_that_are_found_at_once(
    study: Study, boss: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "PER_PAGE", 1)
    many = judged_study(
        "many",
        {f"s{number}": (answers(q1="no"), ALL_YES, answers(q2="no")) for number in range(3)}
        | {"k": (ALL_YES,) * 3},
    )
    first = published(many)
    replaced(many)
    second = published(many)
    tasks.compare_releases(first.pk, second.pk)
    found = store.load(first, second)
    assert found is not None
    ids = [[row["story_id"] for row in found.page(Difference.OTHERWISE, page)] for page in (0, 1, 2, 3, 4)]
    assert ids == [[], ["s0"], ["s1"], ["s2"], []]
    shown = words(
        boss, f"/studies/many/releases/compare/?first=1&second=2&kind={Difference.OTHERWISE}&page=2"
    )
    assert "s1" in shown
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


def test_a_comparison_that_cannot_be_made_ends_with_a_reason(
    two: tuple[Release, Release], boss: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = two
    address = "/studies/pilot/releases/compare/?first=1&second=2"
    assert "A worker is comparing" in words(boss, address)

    def fail(*_: object) -> None:
        raise SoftTimeLimitExceeded

    monkeypatch.setattr("publishing.comparison.store.compare", fail)
    monkeypatch.setattr(store, "REFUSED_FOR", timedelta(0))
    tasks.compare_releases(first.pk, second.pk)
    told = "Comparing took longer than 25 minutes"
    assert told in words(boss, address), "for longer than a refusal that is mended by hand"
    assert "hx-trigger" not in boss.get(address).content.decode()


def test_nonsense_is_no_comparison(release: Release, boss: Client) -> None:
    assert "You need two published releases" in words(boss, "/studies/pilot/releases/compare/")
    for query in ("first=1&second=1", "first=1&second=99", "first=x&second=-1", f"first={10**40}&second=1"):
        assert boss.get(f"/studies/pilot/releases/compare/?{query}").status_code == 200
        assert boss.get(f"/studies/pilot/releases/compare.csv?{query}").status_code == 302
