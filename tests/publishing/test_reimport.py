"""A release as a study again: its stories alone, or with the votes, and what a release of that says."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import PlatformIdentity
from annotation import actions
from annotation.models import Enrollment, Event, Story, Study, Vote
from integrity.catalogue import CHECKS, run
from publishing.actions.statements import describe_data
from publishing.files.jsonl import timestamp
from publishing.models import Release
from publishing.queries import imported_votes, statement_of
from publishing.verification import check_release
from tests.builders import ALL_YES, make_study, qualified, vote, write_rows
from tests.publishing.support import judged_study, published, random_forms
from tests.publishing.test_builder import INSTRUMENT
from tests.publishing.test_card import SAID
from tests.publishing.verification.support import edit_rows, items_release, seal, sound_release
from tests.worlds import built_once

KEPT, DROPPED, VOTES = "story-data/test.jsonl", "annotations/dropped-stories.jsonl", "annotations/votes.jsonl"
QUESTIONS = ("mental-state-qa", "behavior-qa", "judgment-qa")
INCOMPLETE = "annotations/incomplete-stories.jsonl"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def release(releases_root: Path) -> Release:
    return _release()


@built_once
def _release() -> Release:
    """A study of 12 stories: some kept, some dropped, some with too few votes or none."""
    study = judged_study("first", random_forms(5, 12), license="CC0-1.0")
    actions.close_study(study=study, by=None, now=timezone.now())
    return published(study)


@built_once
def _copied() -> Copied:
    release = _release()
    study, facts = imported(release.directory, "copy", "--with-votes")
    return Copied(release, study, facts, published(study))


@pytest.fixture
def copied(releases_root: Path) -> Copied:
    return _copied()


@dataclass(frozen=True)
class Copied:
    """A release, its import with the votes, what was said of that, and the release of the import."""

    release: Release
    study: Study
    facts: dict[str, Any]
    second: Release


def rows(release: Release, path: str) -> list[dict[str, Any]]:
    text = (release.directory / path).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def document(release: Release, path: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((release.directory / path).read_bytes())
    return read


def imported(directory: Path, slug: str, *options: str) -> tuple[Study, dict[str, Any]]:
    out = StringIO()
    call_command("import_release", str(directory), "--study", slug, "--json", *options, stdout=out)
    return Study.objects.get(slug=slug), json.loads(out.getvalue())


def broken_promises() -> list[str]:
    return [outcome.check.name for outcome in run(CHECKS) if not outcome.holds]


def test_its_stories_import_as_they_are(release: Release) -> None:
    other = make_study("other", stories=[], opened=False)
    for path in (KEPT, DROPPED):
        actions.import_stories(study=other, path=release.directory / path, by=None, now=timezone.now())
    told = {row["story_id"] for path in (KEPT, DROPPED) for row in rows(release, path)}
    first = dict(Story.objects.filter(study=release.study).main().values_list("story_id", "content_hash"))
    again = dict(Story.objects.filter(study=other).main().values_list("story_id", "content_hash"))
    assert again == {story_id: first[story_id] for story_id in told}


def test_without_votes_it_is_a_draft_to_be_judged_anew(release: Release) -> None:
    study, facts = imported(release.directory, "again")
    counts = document(release, "release.json")["counts"]
    assert (study.state, facts["stories"], facts["votes"]) == ("draft", counts["stories"], 0)
    assert study.gate == Study.Gate.MISSING
    assert not Enrollment.objects.filter(study=study).exists()
    assert Story.objects.filter(study=study, has_free_slot=True).count() == facts["stories"]
    assert broken_promises() == []
    assert study.license == release.license == "CC0-1.0"
    assert Event.objects.filter(study=study, type=Event.Type.RELEASE_IMPORTED).exists()
    assert imported_votes(study) is None, "its card will be one of its own"


def test_with_votes_a_release_of_it_says_the_same(copied: Copied) -> None:
    release, study, facts, second = copied.release, copied.study, copied.facts, copied.second
    assert (study.state, study.change_hours, study.votes_per_story) == ("closed", 0, 3)
    assert broken_promises() == []
    assert not PlatformIdentity.objects.filter(annotator__enrollments__study=study).exists()
    assert check_release(second.directory).shown == []

    def verdicts(of: Release) -> dict[str, str]:
        kept = {row["story_id"]: "kept" for row in rows(of, KEPT)}
        return kept | {row["story_id"]: row["reason"] for row in [*rows(of, DROPPED), *rows(of, INCOMPLETE)]}

    assert verdicts(second) == verdicts(release)
    assert rows(second, KEPT) == rows(release, KEPT)
    assert rows(second, DROPPED) == rows(release, DROPPED)
    for config in QUESTIONS:
        assert rows(second, f"{config}/test.jsonl") == rows(release, f"{config}/test.jsonl")
    first_votes, people = comparable(release, set(verdicts(release)))
    assert comparable(second, set(verdicts(release))) == (first_votes, people)
    said, again = document(release, "statistics.json"), document(second, "statistics.json")
    assert again == said
    assert said["stories"]["incomplete"] > 0
    assert rows(second, INCOMPLETE) == rows(release, INCOMPLETE)
    assert facts["votes"] == len(rows(release, VOTES)) == len(rows(second, VOTES))
    assert document(second, "release.json")["counts"] == document(release, "release.json")["counts"]


def comparable(release: Release, story_ids: set[str]) -> tuple[list[Any], list[list[str]]]:
    """The votes on these stories without the pseudonyms; and for each person, what they voted on and when."""
    votes = [row for row in rows(release, VOTES) if row["story_id"] in story_ids]
    people: dict[str, list[str]] = {}
    for row in votes:
        people.setdefault(row.pop("annotator"), []).append(f"{row['story_id']} {row['submitted_at']}")
    return sorted(votes, key=str), sorted(people.values())


def test_what_the_researchers_said_comes_back_but_the_doi_names_one_release_only(releases_root: Path) -> None:
    study = judged_study("told", {"a": (ALL_YES,)}, votes_per_story=1, description="One.\n\nTwo.")
    describe_data(study=study, statement=SAID, by=None, now=timezone.now())
    first, later = published(study), published(study)
    assert document(first, "release.json")["statement"]["doi"] == SAID.doi
    assert document(later, "release.json")["statement"]["doi"] == ""
    assert SAID.doi not in (later.directory / "README.md").read_text(encoding="utf-8")
    again, _ = imported(first.directory, "told-again")
    assert again.description.startswith("One.\n\nTwo.\n\nImported from release told 1, MANIFEST")
    assert statement_of(again, at=timezone.now()) == dataclasses.replace(SAID, doi="")


def test_where_it_came_from_is_recorded(copied: Copied) -> None:
    release, study, facts = copied.release, copied.study, copied.facts
    note = f"imported from release first 1, MANIFEST {release.manifest_sha256}"
    events = Event.objects.filter(study=study)
    told = events.get(type=Event.Type.RELEASE_IMPORTED)
    assert (told.subject, told.note) == ("release 1 of first", note)
    assert release.manifest_sha256 in study.description
    for kind, number in (
        (Event.Type.VOTE_SUBMITTED, facts["votes"]),
        (Event.Type.CONSENT_GIVEN, facts["annotators"]),
        (Event.Type.ENROLLMENT_QUALIFIED, facts["annotators"]),
    ):
        assert list(events.filter(type=kind).values_list("note", flat=True)) == [note] * number


def test_the_card_of_a_study_with_imported_votes_says_nothing_that_did_not_happen(copied: Copied) -> None:
    release, facts, second = copied.release, copied.facts, copied.second
    card = (second.directory / "README.md").read_text(encoding="utf-8")
    source = f"release first 1, MANIFEST {release.manifest_sha256}"
    assert f"{facts['annotators']} people voted in another study, and the votes were imported" in card
    assert f"({source})" in card
    assert "Annotators read the form in English (" in card
    for untrue in (
        "had no qualification test", "after reading", "instructions at hand",
        "was given another story", "No vote was too late", "pay rate",
    ):  # fmt: skip
        assert untrue not in card, untrue
    collected = document(second, "croissant.json")["rai:dataCollection"]
    assert collected.endswith(f"imported from its release: {source}.")


def moments_of(votes: Iterable[Vote]) -> set[str]:
    return {timestamp(vote.submitted_at) for vote in votes}


def test_people_are_new_and_keep_their_places(copied: Copied) -> None:
    release = copied.release
    before = set(Enrollment.objects.filter(study=release.study).values_list("annotator", flat=True))
    people = Enrollment.objects.filter(study=copied.study)
    assert len(people) == copied.facts["annotators"] == 3
    assert not before & set(people.values_list("annotator", flat=True))
    for person in people:
        votes = Vote.objects.filter(assignment__enrollment=person).order_by("served_at")
        told = [row["position"] for row in rows(release, VOTES) if row["submitted_at"] in moments_of(votes)]
        assert sorted(vote.order_position for vote in votes) == sorted(told)
        assert person.last_submitted_at == max(vote.submitted_at for vote in votes)
        assert person.consented_at == votes[0].served_at


def test_a_rehearsal_stays_a_rehearsal(releases_root: Path) -> None:
    study = make_study("trial", stories=1, votes_per_story=1, opened=False)
    actions.make_rehearsal(study=study, by=None, now=timezone.now())
    actions.open_study(study=study, by=None, now=timezone.now())
    (person,) = qualified(Study.objects.get(pk=study.pk))
    vote(person)
    again, _ = imported(published(study).directory, "trial-again", "--with-votes")
    assert again.environment == "rehearsal"
    assert document(published(again), "release.json")["environment"] == "rehearsal"


def test_multiple_choice_items_come_back(release: Release) -> None:
    questions = [row for config in QUESTIONS for row in rows(release, f"{config}/test.jsonl")[:1]]
    study = make_study("people", stories=[], protocol="multiple-choice", votes_per_story=2, opened=False)
    with NamedTemporaryFile("w", suffix=".jsonl") as file:
        write_rows(Path(file.name), questions)
        actions.import_stories(study=study, path=Path(file.name), by=None, now=timezone.now())
    actions.open_study(study=study, by=None, now=timezone.now())
    for person in qualified(Study.objects.get(pk=study.pk), 2):
        for _ in questions:
            vote(person, {"answer": "a"})
    first = published(study)
    again, facts = imported(first.directory, "people-again", "--with-votes")
    assert facts["votes"] == 2 * len(questions)
    second = published(again)
    assert rows(second, KEPT) == rows(first, KEPT)
    assert document(second, "statistics.json") == document(first, "statistics.json")


def test_what_is_not_sound_is_refused_and_nothing_is_created(release: Release, tmp_path: Path) -> None:
    place = Path(shutil.copytree(release.directory, tmp_path / "broken"))
    edit_rows(KEPT, lambda found: found.pop())(place)
    seal(place)
    with pytest.raises(CommandError, match="not sound") as refused:
        imported(place, "copy", "--with-votes")
    assert refused.value.returncode == 1
    with pytest.raises(CommandError, match="There is a study “first” already"):
        imported(release.directory, "first")
    with pytest.raises(CommandError, match="is not a directory") as missing:
        imported(tmp_path / "nowhere", "copy")
    assert missing.value.returncode == 2
    assert not Study.objects.filter(slug="copy").exists()


def test_stories_that_cannot_be_here_are_refused(tmp_path: Path) -> None:
    later = INSTRUMENT | {"protocol": {"name": "validity", "version": "99"}}
    with pytest.raises(CommandError, match="installed in version 1, not 99"):
        imported(sound_release(tmp_path / "1", protocol_version="99", instrument=later), "copy")
    with pytest.raises(CommandError, match="There is no field “odd”"):
        imported(items_release(tmp_path / "2"), "copy")
    with pytest.raises(CommandError, match="“scenario 1” is not known"):
        imported(sound_release(tmp_path / "3"), "copy")
    assert not Study.objects.filter(slug="copy").exists()
