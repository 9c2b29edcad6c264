"""The page of a design, and the design in the configuration file."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation import actions
from annotation.actions import design_of
from annotation.models import Membership, Study
from dashboard.overview.checklist import checklist
from dashboard.settings.configuration import InvalidConfiguration, parse_configuration
from dashboard.settings.configuration_export import configuration_of
from tests import builders
from tests.annotation.serving import NOW, ask
from tests.annotation.test_design import LOAD, NEW, OPEN, SEALED, complete, designed

pytestmark = pytest.mark.django_db
DESIGN = {"by": "scenario_name", "load": LOAD}


def page_of(client: Client, study: Study, user: Any) -> str:
    actions.set_role(study=study, user=user, role=Membership.Role.OWNER, by=None, now=NOW)
    client.force_login(user)
    return client.get(f"/studies/{study.slug}/settings/design/").content.decode()


def test_it_shows_what_is_short_and_who(client: Client, django_user_model: Any) -> None:
    study = designed()
    done, gone = builders.qualified(study, 2)
    complete(done)
    held = ask(gone)
    assert held
    actions.withdraw(enrollment=gone, now=NOW)
    text = page_of(client, study, django_user_model.objects.create_user("owner"))
    assert "2 / 12" in text
    assert "1 / 6" in text
    assert gone.pseudonym in text
    assert done.pseudonym not in text
    assert "3 of 3 missing" in text
    assert "Save the design" not in text


def test_a_draft_is_given_a_design(client: Client, django_user_model: Any) -> None:
    study = designed(opened=False)
    page_of(client, study, django_user_model.objects.create_user("owner"))
    address = f"/studies/{study.slug}/settings/design/"
    sent = {"by_column": "scenario_name", "load": f"{SEALED}: 3\r\n{OPEN}: 2"}
    assert client.post(address, sent).status_code == 302
    study.refresh_from_db()
    assert design_of(study) == {"by": "scenario_name", "load": {SEALED: 3, OPEN: 2}}
    for wrong in ("ten of them", "x: " + 5000 * "9", "x: 1000", ": 3"):
        assert client.post(address, sent | {"load": wrong}).status_code == 422
    assert client.post(address, sent | {"load": ""}).status_code == 302
    study.refresh_from_db()
    assert design_of(study) is None


def test_it_tells_a_design_that_does_not_come_out(client: Client, django_user_model: Any) -> None:
    owner = django_user_model.objects.create_user("owner")
    study = designed(load={SEALED: 1, OPEN: 1}, items={SEALED: 9, OPEN: 1}, opened=False)
    builders.import_rows(study, [builders.story_row(47, scenario_name=NEW)])
    text = page_of(client, study, owner)
    assert "does not divide evenly" in text
    assert re.findall(r'data-label="Participants">([\d.]+)<', text) == ["2", "18"]
    assert f"0 items of “{NEW}” per participant; it has 1. Add a load" in text
    (step,) = [step for step in checklist(study) if step.code == "design"]
    assert (f"{SEALED}: 18" in step.text, step.done, step.blocks) == (True, False, False)
    even = designed(opened=False, slug="even")
    assert "does not divide evenly" not in page_of(client, even, owner)
    assert not [step for step in checklist(even) if step.code == "design"]


def test_the_file_of_a_study_holds_its_design() -> None:
    study = designed(opened=False)
    document = json.loads(json.dumps(configuration_of(study, now=timezone.now())))
    assert document["design"] == DESIGN
    again = parse_configuration(json.dumps(document).encode(), name="study.json")
    assert again.design == {"by_column": "scenario_name", "load": LOAD}


@pytest.mark.parametrize("wrong", [{"by": "x"}, {"by": "x", "load": {"a": "many"}}, {"load": {"a": 1}}, []])
def test_a_design_without_its_parts_is_refused(wrong: object) -> None:
    given = {"title": "T", "contact": "a@example.org", "consent": "C", "design": wrong}
    with pytest.raises(InvalidConfiguration, match="design"):
        parse_configuration(json.dumps(given).encode(), name="study.json")
