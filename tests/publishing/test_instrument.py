"""``instrument/``: what annotators were shown, as it stood when they voted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation.actions import add_consent_text, record_vote, set_instructions
from annotation.models import Enrollment, Story, Study
from publishing.actions import releases
from publishing.models import Release
from publishing.verification import check_release
from tests import builders
from tests.builders import ALL_YES
from tests.publishing.support import published
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("releases_root")]

PAGE = "# Read *this*\n\nAll of it.\n\nThen ask ann@example.org."
EXAMPLES = {"q1": "Story: A cat barks.\nAnswer: yes\nWhy: Cats do not."}


def write(study: Study, page: str, examples: dict[str, str]) -> None:
    set_instructions(study=study, page=page, examples=examples, thanks="Bye.", by=None, now=timezone.now())


def vote(person: Enrollment, language: str) -> None:
    held = builders.claim(person)
    record_vote(
        assignment_id=held.pk, enrollment=person, submitted=ALL_YES, language=language, now=timezone.now()
    )


@built_once
def judged() -> Study:
    """Votes beside the protocol's instructions, and beside two versions of the study's own."""
    study = builders.make_study("shown", stories=4, votes_per_story=1, pay_rate=12)
    person = builders.qualified(study)[0]
    vote(person, "en")
    vote(person, "de")
    write(study, PAGE, EXAMPLES)
    vote(person, "en")
    write(study, "Only this.", {})
    write(study, "Nobody saw this.", {})
    vote(person, "en")
    return study


def instrument(release: Release) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((release.directory / "instrument/instrument.json").read_bytes())
    return found


def page(release: Release, name: str) -> str:
    return (release.directory / "instrument" / name).read_text(encoding="utf-8")


def test_every_version_and_language_that_votes_name_is_there_word_for_word() -> None:
    study = judged()
    add_consent_text(study=study, text="Nobody read this.", by=None, now=timezone.now())
    release = published(study)
    found = instrument(release)
    forms = {(form["version"], form["language"]): form for form in found["forms"]}
    assert {place: form["votes"] for place, form in forms.items()} == {
        (0, "de"): 1, (0, "en"): 1, (1, "en"): 1, (3, "en"): 1,
    }  # fmt: skip
    lines = (release.directory / "annotations/votes.jsonl").read_text().splitlines()
    assert {(row["instructions"], row["language"]) for row in map(json.loads, lines)} == set(forms)
    question = study.protocol.questions[0]
    assert forms[0, "en"]["questions"][0]["text"] == str(question.text)
    assert forms[0, "de"]["questions"][0]["text"] != str(question.text)
    assert forms[0, "en"]["examples"]["q1"][0]["why"]
    assert forms[1, "en"]["page"] == PAGE
    assert forms[1, "en"]["thanks"] == "Bye."
    assert forms[1, "en"]["examples"]["q1"][0]["parts"] == [["Story", "A cat barks."]]
    assert [consent["version"] for consent in found["consent"]] == [1]
    assert found["pay"] == {"rate": "12.00", "currency": "USD", "before": []}
    assert found["test"] is None
    shown = page(release, "form-1-en.md")
    for said in ("## Read \\*this\\*", "All of it.", "**Why**: Cats do not.", str(question.options[0].hint)):
        assert said in shown
    assert "12.00 USD per hour." in page(release, "consent-1.md")
    report = check_release(release.directory, with_machine_validation=False)
    assert report.shown == []
    assert any(one.startswith("instrument/form-1-en.md") for one in report.unchecked), "an address"


def test_it_comes_back_with_the_votes() -> None:
    first = published(judged())
    call_command("import_release", str(first.directory), "--study", "again", "--with-votes")
    again = published(Study.objects.get(slug="again"))
    assert instrument(again)["forms"] == instrument(first)["forms"]
    assert instrument(again)["pay"] is None
    assert check_release(again.directory, with_machine_validation=False).shown == []


def test_the_test_and_its_key_are_published_only_if_somebody_says_so(client: Client) -> None:
    study = builders.make_study("tested", stories=[builders.story_row(7)], qualification=2, votes_per_story=1)
    builders.vote(builders.qualified(study)[0])
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    client.post("/studies/tested/releases/publish/", {"filter": "all-agree", "previewed": "1"})
    first = built()
    assert instrument(first)["test"] is None
    assert not list(Path(first.directory).glob("instrument/qualification*"))
    secret = Story.objects.filter(study=study, role=Story.Role.QUALIFICATION).first()
    assert secret
    for path in first.directory.rglob("*"):
        assert path.is_dir() or secret.content["story"].encode() not in path.read_bytes()
    client.post(
        "/studies/tested/releases/publish/", {"filter": "all-agree", "previewed": "1", "publish_test": "on"}
    )
    second = built()
    (published_round,) = instrument(second)["test"]
    assert {row["story_id"] for row in published_round["stories"]} == set(published_round["key"]["stories"])
    assert published_round["stories"][0]["story"] in page(second, "qualification-test.md")
    assert check_release(second.directory, with_machine_validation=False).shown == []


def built() -> Release:
    release = Release.objects.latest("pk")
    releases.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    assert release.state == Release.State.PUBLISHED, release.failure
    return release


def test_source_licences_are_on_the_card(tmp_path: Path) -> None:
    study = builders.make_study("sourced", stories=1, votes_per_story=1)
    rows = [builders.story_row(7), builders.story_row(8)]
    (tmp_path / "theirs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    call_command("import_stories", "sourced", str(tmp_path / "theirs.jsonl"), "--license", "CC-BY-SA-4.0")
    builders.vote(builders.qualified(study)[0])
    release = published(study)
    said = json.loads((release.directory / "release.json").read_bytes())["sources"]
    assert [(one["file"], one["license"], one["stories"]) for one in said][1:] == [
        ("theirs.jsonl", "CC-BY-SA-4.0", 2)
    ]
    card = (release.directory / "README.md").read_text(encoding="utf-8")
    assert "- `theirs.jsonl` (2 of the stories): CC-BY-SA-4.0" in card
    assert check_release(release.directory, with_machine_validation=False).shown == []
