"""The page for the data statement, and the statement in a configuration file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.actions import ensure_researcher
from accounts.models import User
from annotation.actions.members import set_role
from annotation.models import Event, Membership, Study
from dashboard.actions import create_study, default_configuration, load_sample_study
from dashboard.settings.configuration import InvalidConfiguration, read_configuration
from publishing.facts import Statement
from publishing.models import DataStatement
from publishing.queries import statement_of
from tests import builders
from tests.publishing.test_card import SAID

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
ADDRESS = "/studies/said/releases/data-statement/"
POSTED = {
    "creators": "Lovelace, Ada\r\nThe Boxes Group\r\n",
    "motivation": "Tests need stories that hold up.",
    "platform": "People came from a list of volunteers.",
    "demographics": "Adults in two countries.",
    "ethics": "The board of boxes, number 7.",
    "sensitive_information": "Some stories mention theft.",
    "biases": "English names only.",
    "limits": "Three votes are few.",
    "intended_use": "Evaluation.",
    "social_impact": "It could help.",
    "url": "https://example.org/boxes",
    "doi": "10.5281/zenodo.1234",
}


@pytest.fixture
def study() -> Study:
    return builders.make_study("said", stories=1)


@pytest.fixture
def boss(study: Study) -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    return client


def stated(study: Study) -> Statement:
    return statement_of(study, at=timezone.now())


def test_what_is_written_is_saved_with_its_author(study: Study, boss: Client) -> None:
    assert boss.post(ADDRESS, POSTED).status_code == 302
    assert stated(study) == SAID
    assert DataStatement.objects.get(study=study).written_by == User.objects.get(username="boss")
    assert Event.objects.get(study=study, type=Event.Type.DATA_DESCRIBED).actor is not None
    page = boss.get(ADDRESS).content.decode()
    assert "Lovelace, Ada\nThe Boxes Group</textarea>" in page
    assert "Saved." in page
    assert "Version 1" in page


def test_a_mistake_is_shown_at_its_field_and_nothing_is_lost(study: Study, boss: Client) -> None:
    response = boss.post(ADDRESS, POSTED | {"doi": "doi:10"})
    page = response.content.decode()
    assert response.status_code == 422
    assert "This is not a DOI." in page
    assert 'value="doi:10"' in page
    assert "English names only." in page
    assert not DataStatement.objects.exists()


def test_who_may_only_look_cannot_write(study: Study) -> None:
    user = User.objects.create_user("onlooker")
    set_role(study=study, user=user, role=Membership.Role.AUDITOR, by=None, now=timezone.now())
    client = Client()
    client.force_login(user)
    page = client.get(ADDRESS).content.decode()
    assert page.count(" disabled") == len(POSTED)
    assert "You can read this, but not change it." in page
    assert client.post(ADDRESS, POSTED).status_code == 403


def test_whoever_publishes_without_a_statement_is_told(study: Study, boss: Client) -> None:
    told = "You have not written a data statement"
    assert told in boss.get("/studies/said/releases/publish/").content.decode()
    boss.post(ADDRESS, POSTED)
    assert told not in boss.get("/studies/said/releases/publish/").content.decode()


def configuration(tmp_path: Path, statement: Any) -> Path:
    path = tmp_path / "study.json"
    content = {"title": "T", "contact": "a@example.org", "consent": "Yes?", "statement": statement}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_configuration_file_may_state_it(tmp_path: Path) -> None:
    said = {name: value for name, value in POSTED.items() if name != "creators"}
    config = read_configuration(configuration(tmp_path, said | {"creators": list(SAID.creators)}))
    assert config.statement == SAID
    study = create_study(slug="configured", config=config, by=None, now=timezone.now())
    assert stated(study) == SAID


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ({"doi": "x"}, "statement.doi: This is not a DOI."),
        ({"creators": "Ada"}, "statement.creators: must be a list of names."),
        ({"limits": 3}, "statement.limits: must be text, not int."),
        ({"limit": "x"}, "statement.limit: is not a setting. Did you mean “limits”?"),
        ([], "statement: must be an object."),
    ],
)
def test_every_mistake_in_it_is_named(tmp_path: Path, statement: Any, problem: str) -> None:
    with pytest.raises(InvalidConfiguration) as refused:
        read_configuration(configuration(tmp_path, statement))
    assert any(found.startswith(problem) for found in refused.value.problems)


def test_the_sample_study_states_something_and_a_new_study_nothing() -> None:
    said = stated(load_sample_study(now=timezone.now()))
    assert said.creators
    assert all((said.motivation, said.platform, said.sensitive_information, said.biases, said.intended_use))
    assert default_configuration(title="T", contact="a@example.org").statement == Statement()


@pytest.mark.parametrize("before", ["https://doi.org/", "http://dx.doi.org/", "doi:", "DOI: "])
def test_a_doi_is_taken_as_people_copy_it(boss: Client, before: str) -> None:
    boss.post(ADDRESS, POSTED | {"doi": f"{before}10.5281/zenodo.1234"})
    assert DataStatement.objects.get().doi == "10.5281/zenodo.1234"
