"""Releases with revised stories: what their files say, how they are checked, and imported again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation import actions
from annotation.models import Enrollment, Story, StoryRevision, Study, Vote
from annotation.rules import Refusal
from dashboard.actions import move_study
from dashboard.figures import compute, store
from publishing.actions import releases as publishing_actions
from publishing.card import CARD_PATH
from publishing.comparison.changes import CHANGES_PATH
from publishing.models import Release
from publishing.verification import check_release
from tests import builders
from tests.annotation.test_revisions import FINE, TEXT, first, inspected, revise
from tests.crowd.test_label_tables import rows, tampered
from tests.publishing.support import published
from tests.publishing.test_croissant import OLD_RDFLIB_NAME, problems
from tests.publishing.test_reimport import broken_promises, imported
from tests.worlds import built_once

pytestmark = pytest.mark.django_db(transaction=True)

KEPT, DROPPED = "story-data/test.jsonl", "annotations/dropped-stories.jsonl"
REVISIONS, VOTES = "annotations/revisions.jsonl", "annotations/votes.jsonl"
GAPS = ("consent_edited", "pay", "mail", "no_test")
REASON = "“Otto needs the stand” gave it away; ask rosa@example.org."


@pytest.fixture(autouse=True)
def releases_root(settings: Any, tmp_path: Path) -> None:
    settings.RELEASES_ROOT = tmp_path / "releases"


def answers(person: Enrollment, given: dict[str, str] = FINE, language: str = "en", most: int = 99) -> int:
    """The person answers what they get; returns how much that was."""
    for number in range(most):
        held = actions.assign_next_story(enrollment=person, now=timezone.now())
        if isinstance(held, Refusal):
            return number
        told = {name: given[name] for name in given if not name.endswith("-change") or given[name]}
        actions.record_vote(
            assignment_id=held.pk, enrollment=person, submitted=told, now=timezone.now(), language=language
        )
    return most


def revised_study() -> Study:
    """Two votes on both drafts, in German and under instructions that changed; then one draft is revised."""
    study = inspected()
    page = actions.set_instructions  # the first form stands under instructions of the study's own
    page(study=study, page="# Read\n\nRead slowly.", examples={}, by=None, now=timezone.now())
    for person in builders.qualified(study, 2):
        answers(person, FINE | {"open": "no", "open-change": "Leave it out."}, language="de")
    page(study=study, page="# Read\n\nRead twice.", examples={}, by=None, now=timezone.now())
    revise(first(study), reason=REASON)
    for person in builders.qualified(study, 2):
        answers(person)
    return study


@built_once
def revised_release() -> Release:
    return published(revised_study())


def statistics(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((place / "statistics.json").read_bytes())
    return found


def test_a_revision_after_the_answers_were_frozen_is_in_the_next_release() -> None:
    study = inspected()
    for person in builders.qualified(study, 2):
        answers(person)
    release = publishing_actions.request_release(study=study, by=None, now=timezone.now())
    publishing_actions._start(release.pk, now=timezone.now())
    revise(first(study))
    publishing_actions.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    place = release.directory
    report = check_release(place, with_machine_validation=False)
    assert report.is_sound, report.shown
    assert [row["story_id"] for row in rows(place, KEPT)] == ["narrative-1", "narrative-2"]
    assert not (place / REVISIONS).exists()
    assert "revised" not in json.loads((place / "release.json").read_bytes())["counts"]

    for person in builders.qualified(study, 2):
        answers(person)
    place = published(study).directory
    report = check_release(place, with_machine_validation=False)
    assert report.is_sound, report.shown
    assert (place / REVISIONS).exists()
    changes = {row["story_id"]: row for row in rows(place, CHANGES_PATH)}
    old, new = changes["narrative-1"], changes["narrative-1.r2"]
    assert (old["before"], old["now"], old["reason_now"]) == ("kept", "dropped", "revised")
    assert (old["because"], new["because"]) == (["revision"], ["new-story", "votes"])


def test_a_revision_is_a_deviation_from_the_plan_and_no_row_of_the_imported_file() -> None:
    study = inspected(opened=False, contact="team@lab.test")
    move_study(study=study, move="open", campaigns=None, accepted=GAPS, by=None, now=timezone.now())
    study.refresh_from_db()
    for person in builders.qualified(study, 2):
        answers(person)
    release = publishing_actions.request_release(study=study, by=None, now=timezone.now())
    revise(first(study))  # before the build begins, which fixes what is in it
    for person in builders.qualified(study, 2):
        answers(person)
    publishing_actions.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    place = release.directory
    described = json.loads((place / "release.json").read_bytes())
    assert "story revised: narrative-1.r2" in [one["what"] for one in described["plan"]["deviations"]]
    assert "Nothing was changed since then" not in (place / CARD_PATH).read_text(encoding="utf-8")
    assert [one["stories"] for one in described["sources"]] == [2]


@OLD_RDFLIB_NAME
def test_a_release_has_both_versions_and_says_why(client: Client) -> None:
    release = revised_release()
    study, place = release.study, release.directory
    assert "&quot;revisions&quot;" in client.get(f"/releases/{study.slug}/1/").content.decode()
    report = check_release(place, with_machine_validation=False)
    assert report.is_sound, report.shown
    assert [row["story_id"] for row in rows(place, KEPT)] == ["narrative-1.r2"]
    reasons = {row["story_id"]: row["reason"] for row in rows(place, DROPPED)}
    assert reasons == {"narrative-1": "revised", "narrative-2": "open"}
    old = first(study)
    (line,) = rows(place, REVISIONS)
    assert line["story_id"] == "narrative-1.r2"
    assert (line["revised_from"], line["changed"]) == ("narrative-1", ["narrative"])
    assert (line["before"], line["after"]) == ([old.content["narrative"]], [TEXT])
    assert line["reason"].startswith("“Otto needs the stand” gave it away")
    assert "rosa@" not in json.dumps(line)
    described = json.loads((place / "release.json").read_bytes())["counts"]
    fared = statistics(place)["stories"]
    assert {name: described[name] for name in ("kept", "dropped", "incomplete")} == {
        name: fared[name] for name in ("kept", "dropped", "incomplete")
    }
    assert (described["stories"], fared["generated"], described["votes"]) == (2, 2, len(rows(place, VOTES)))
    assert (described["revised"], fared["revised"], fared["retention"]) == (1, 1, 0.5)
    assert statistics(place)["agreement"]["open"]["stories"] == 3
    assert described["dropped_by_reason"] == {"open": 1, "revised": 1}
    card = (place / CARD_PATH).read_text(encoding="utf-8")
    assert "1 of 2 (50.0 %) drafts was revised" in " ".join(card.split())
    assert "config_name: revisions" in card
    assert "config_name: revisions" in card.partition("dataset_info")[2]
    for place_of in ("croissant.json", "MANIFEST"):
        told = (place / place_of).read_text(encoding="utf-8")
        assert REVISIONS in told
        assert "parquet/annotations/revisions.parquet" in told
    assert problems(place) == []
    forms = json.loads((place / "instrument/instrument.json").read_bytes())["forms"]
    assert {(form["version"], form["language"]) for form in forms} == {(1, "de"), (2, "en")}


def test_figures_of_the_study_agree_with_its_release() -> None:
    release = revised_release()
    study, place = release.study, release.directory
    compute.make(study.pk, now=timezone.now())
    figures = store.latest(study)
    assert figures
    assert figures.document
    document = figures.document
    assert document["statistics"]["stories"] == statistics(place)["stories"]
    assert [document["verdicts"][name] for name in ("stories", "kept", "dropped")] == [2, 1, 1]
    assert document["verdicts"]["dropped_by_question"] == {"open": 1}
    votes = document["votes"]
    assert (votes["counted"], votes["wanted"], document["started"]) == (6, 6, 0)
    by_default = document["filters"]["filters"][0]
    assert (document["filters"]["stories"], by_default["kept"], by_default["dropped"]) == (2, 1, 1)


def test_a_draft_that_was_revised_early_is_settled() -> None:
    study = inspected()
    one, other, third = builders.qualified(study, 3)
    answers(one)
    revise(first(study))
    assert [answers(person) for person in (one, other)] == [1, 2]
    assert answers(third) == 0
    compute.make(study.pk, now=timezone.now())
    figures = store.latest(study)
    assert figures
    assert figures.document
    votes = figures.document["votes"]
    assert (votes["counted"], votes["wanted"]) == (5, 5)
    assert (figures.document["started"], figures.document["verdicts"]["incomplete"]) == (0, 0)
    place = published(study).directory
    report = check_release(place, with_machine_validation=False)
    assert report.is_sound, report.shown
    assert {row["story_id"]: row["reason"] for row in rows(place, DROPPED)} == {"narrative-1": "revised"}
    assert statistics(place)["agreement"]["open"]["stories"] == 2
    card = " ".join((place / CARD_PATH).read_text(encoding="utf-8").split())
    assert "| stories with 2 votes | 2 |" in card
    assert "in the agreement if there were all of them" in card
    assert len(rows(place, VOTES)) == 5


def test_a_release_is_imported_with_its_revisions() -> None:
    study = revised_study()
    revise(Story.objects.get(study=study, story_id="narrative-1.r2"), TEXT + " It rains.")
    for person in builders.qualified(study, 2):
        answers(person)
    place = published(study).directory
    assert check_release(place, with_machine_validation=False).is_sound
    assert "1 of 2 (50.0 %) drafts" in " ".join((place / CARD_PATH).read_text(encoding="utf-8").split())

    copy, _ = imported(place, "copy", "--with-votes")
    again = published(copy).directory
    for path in (REVISIONS, "statistics.json", KEPT, DROPPED):
        assert (again / path).read_bytes() == (place / path).read_bytes(), path
    assert check_release(again, with_machine_validation=False).is_sound
    assert Vote.objects.of_study(copy).count() == Vote.objects.of_study(study).count()

    draft, _ = imported(place, "draft")
    offered = draft.stories.filter(has_free_slot=True).values_list("story_id", flat=True)
    assert sorted(offered) == ["narrative-1.r3", "narrative-2"]
    assert draft.stories.count() == 2
    assert not StoryRevision.objects.filter(after__study=draft).exists()
    assert broken_promises() == []


def test_what_somebody_changed_by_hand_is_found() -> None:
    place = revised_release().directory
    whole = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    at = rows(place, REVISIONS)[0]["revised_at"].encode()
    for path, was, now, told in (
        (
            REVISIONS,
            b"Lina leaves her umbrella in",
            b"Lina puts her umbrella in",
            "do not differ in its texts alone",
        ),
        (REVISIONS, b'from":"narrative-1"', b'from":"narrative-2"', "by its revision it is dropped"),
        (REVISIONS, b'from":"narrative-1"', b'from":"narrative-3"', "in no file of stories"),
        (REVISIONS, b'from":"narrative-1"', b'from":"narrative-1.r2"', "in a circle"),
        (REVISIONS, b'"changed":["narrative"]', b'"changed":[]', "do not differ in its texts alone"),
        (REVISIONS, b'"' + at, b'"yesterday', "revised_at"),
        (REVISIONS, whole[place / REVISIONS], b"", "There are no revisions"),
        (REVISIONS, whole[place / REVISIONS], 2 * whole[place / REVISIONS], "in two revisions"),
        (REVISIONS, b"gave it away", b"said rosa@example.org", "looks like an e-mail address"),
        ("release.json", b'"revised": 1,', b'"revised": 2,', "counts.revised is 2; recomputed it is 1"),
        (DROPPED, b'"reason":"revised"', b'"reason":"open"', "by its revision it is dropped (revised)"),
        (KEPT, b"Where will Lina turn", b"Where does Lina turn", "do not differ in its texts alone"),
    ):
        problems = tampered(place, path, was, now)
        assert any(told in one for one in problems), (told, problems)
        for file, data in whole.items():
            file.write_bytes(data)
    assert tampered(
        place, REVISIONS, b"gave it away", b"was too long"
    )  # the Parquet copy has the reason, too


def test_a_file_of_revisions_that_is_missing_or_unexpected_is_found() -> None:
    place = revised_release().directory
    line_of = {line.split("  ")[1]: line for line in (place / "MANIFEST").read_text().splitlines()}
    gone = [REVISIONS, "parquet/annotations/revisions.parquet"]
    for path in gone:
        (place / path).unlink()
    kept = [line for path, line in line_of.items() if path not in gone]
    (place / "MANIFEST").write_text("".join(f"{line}\n" for line in kept))
    told = [str(finding) for finding in check_release(place, with_machine_validation=False).shown]
    assert any("dropped (revised); by its votes it is" in one for one in told), told
