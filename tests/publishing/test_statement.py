"""What researchers state about their data: its rules, its versions, and the releases that say it."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime, timedelta

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from annotation.models import Event, Study
from publishing import queries
from publishing.actions import releases
from publishing.actions.statements import describe_data
from publishing.data_statement import MOST_CHARACTERS, creators_of, problems
from publishing.errors import InvalidStatement
from publishing.facts import Statement
from publishing.models import DataStatement, Release
from tests import builders
from tests.publishing.test_card import SAID

pytestmark = pytest.mark.django_db


def describe(study: Study, statement: Statement, *, now: datetime | None = None) -> bool:
    return describe_data(study=study, statement=statement, by=None, now=now or timezone.now())


def test_a_good_statement_has_no_problems() -> None:
    assert problems(SAID) == {}
    assert problems(Statement()) == {}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"doi": "https://doi.org/10.5281/zenodo.1"}, "begins with “10.”"),
        ({"url": "example.org"}, "begins with https://"),
        ({"url": "javascript:alert(1)"}, "begins with https://"),
        ({"limits": "x" * (MOST_CHARACTERS + 1)}, "characters long"),
        ({"creators": ("",)}, "not a name on one line"),
        ({"creators": ("Ada\nBabbage",)}, "not a name on one line"),
        ({"creators": ("Ada",) * 201}, "at most"),
    ],
)
def test_what_cannot_be_published_is_named_with_its_item(changes: dict[str, object], words: str) -> None:
    (item,) = changes
    found = problems(dataclasses.replace(SAID, **changes))  # type: ignore[arg-type]
    assert list(found) == [item]
    assert words in found[item]


def test_creators_are_lines() -> None:
    assert creators_of(" Lovelace, Ada \r\n\r\n The  Group\n") == ("Lovelace, Ada", "The Group")


def test_saving_makes_a_version_and_an_event() -> None:
    study = builders.make_study("said", stories=1)
    now = timezone.now()
    assert describe(study, SAID, now=now)
    assert not describe(study, SAID, now=now + timedelta(hours=1)), "nothing has changed"
    changed = dataclasses.replace(SAID, limits="Few votes.")
    assert describe(study, changed, now=now + timedelta(hours=2))
    versions = DataStatement.objects.filter(study=study).order_by("version")
    assert [version.statement for version in versions] == [SAID, changed]
    assert queries.statement_of(study, at=now - timedelta(seconds=1)) == Statement()
    assert queries.statement_of(study, at=now) == SAID
    assert queries.statement_of(study, at=now + timedelta(hours=2)) == changed
    events = Event.objects.filter(study=study, type=Event.Type.DATA_DESCRIBED).order_by("pk")
    assert [event.subject for event in events] == ["statement 1", "statement 2"]


def test_a_study_that_states_nothing_has_no_version() -> None:
    study = builders.make_study("said", stories=1)
    assert not describe(study, Statement())
    assert not DataStatement.objects.exists()


def test_a_wrong_statement_is_refused_whole() -> None:
    study = builders.make_study("said", stories=1)
    with pytest.raises(InvalidStatement, match="doi: ") as refused:
        describe(study, dataclasses.replace(SAID, doi="x", url="y"))
    assert refused.value.problems.keys() == {"doi", "url"}
    assert not DataStatement.objects.exists()


def test_a_version_never_changes() -> None:
    study = builders.make_study("said", stories=1)
    describe(study, SAID)
    with pytest.raises(DatabaseError, match="Cannot update or delete"), transaction.atomic():
        DataStatement.objects.update(limits="none")
    with pytest.raises(DatabaseError, match="Cannot update or delete"), transaction.atomic():
        DataStatement.objects.all().delete()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("releases_root")
def test_a_release_says_what_stood_when_it_was_asked_for(small: Study) -> None:
    describe(small, SAID)
    release = releases.request_release(study=small, by=None, now=timezone.now())
    describe(small, dataclasses.replace(SAID, biases="Later thoughts."))
    releases.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    assert release.state == Release.State.PUBLISHED, release.failure
    card = (release.directory / "README.md").read_text(encoding="utf-8")
    assert SAID.biases in card
    assert "Later thoughts." not in card
    croissant = json.loads((release.directory / "croissant.json").read_bytes())
    assert SAID.biases in json.dumps(croissant)
