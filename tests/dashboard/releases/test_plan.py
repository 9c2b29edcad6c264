"""The plan that opening a study fixes, and how a release tells what was done otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import DatabaseError, transaction
from django.urls import reverse
from django.utils import timezone
from lxml import html as lxml_html

from annotation import actions
from annotation.importing.rows import hash_of
from annotation.models import Event, Study
from dashboard.actions import move_study
from publishing.errors import UnknownFilter
from publishing.files import jsonl
from publishing.models import Release, StudyPlan
from publishing.verification import check_release
from qualification.actions import set_answer_key
from tests import builders
from tests.dashboard.test_roles import Role, client_of, member
from tests.publishing.support import published
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("client", "releases_root")]
GAPS = ("consent_edited", "pay", "mail")


def opened(**options: Any) -> Study:
    study = builders.make_study(opened=False, qualification=2, contact="team@lab.test")
    move_study(
        study=study, move="open", campaigns=None, accepted=GAPS, by=None, now=timezone.now(), **options
    )
    study.refresh_from_db()
    return study


def judged(study: Study) -> Study:
    builders.answer_everything(builders.qualified(study, study.votes_per_story))
    return study


def description(release: Release) -> Any:
    return json.loads((release.directory / "release.json").read_bytes())


def findings(release: Release) -> list[str]:
    return [found.problem for found in check_release(release.directory, with_machine_validation=False).shown]


def test_opening_fixes_a_plan_once_and_for_all() -> None:
    study = opened(planned_filter="majority")
    plan = StudyPlan.objects.get(study=study)
    document = json.loads(plan.document)

    assert plan.sha256 == sha256(plan.document.encode()).hexdigest()
    assert (document["filter"], document["votes_per_story"], document["stories"]) == ("majority", 3, 3)
    assert [round["stories"] for round in document["qualification"]] == [2]
    assert "key" not in document["qualification"][0]
    assert not document.keys() & {"contact", "title", "description"}

    for move in ("pause", "open"):
        move_study(study=study, move=move, campaigns=None, by=None, now=timezone.now())
    assert StudyPlan.objects.get(study=study) == plan
    with pytest.raises(DatabaseError), transaction.atomic():
        StudyPlan.objects.filter(study=study).update(sha256="0" * 64)


def test_the_plan_has_the_pass_mark_without_saying_which_stories_must_be_right() -> None:
    study = builders.make_study(opened=False, qualification=2, contact="team@lab.test")
    round = study.rounds.get()
    names = list(round.round_stories.values_list("story__story_id", flat=True))
    set_answer_key(
        round=round,
        acceptable=dict.fromkeys(names, builders.ACCEPTED),
        enough=6,
        must_pass=names[:1],
        by=None,
        now=timezone.now(),
    )
    move_study(study=study, move="open", campaigns=None, accepted=GAPS, by=None, now=timezone.now())
    plan = StudyPlan.objects.get(study=study).document
    (planned,) = json.loads(plan)["qualification"]
    assert (planned["stories"], planned["enough"], planned["must_pass"]) == (2, 6, 1)
    assert not [name for name in names if name in plan]


def test_a_release_as_planned_says_that_nothing_was_changed() -> None:
    release = published(judged(opened()))
    plan = StudyPlan.objects.get(study=release.study)
    told = description(release)["plan"]

    assert told["document"] == json.loads(plan.document)
    assert told["sha256"] == plan.sha256 == hash_of(told["document"])
    assert told["deviations"] == []
    card = (release.directory / "README.md").read_text(encoding="utf-8")
    assert "## Plan and deviations" in card
    assert plan.sha256 in card
    assert "Nothing has been changed since then" in card
    assert findings(release) == []


def test_a_release_lists_what_was_changed_after_the_opening() -> None:
    release = changed_after_the_opening()

    told = [one["what"] for one in description(release)["plan"]["deviations"]]
    assert told == [
        "study’s settings changed: story_cap: 500 → 400",
        "qualification round changed: round 1",
        "consent text added: consent 2",
        "another filter: all-agree → majority",
    ]
    card = (release.directory / "README.md").read_text(encoding="utf-8")
    assert "story\\_cap: 500 → 400" in card
    assert "Nothing has been changed since then" not in card
    assert findings(release) == []


@built_once
def changed_after_the_opening() -> Release:
    study = opened()
    study = actions.change_study(
        study=study, changes={"story_cap": 400, "contact": "new@example.org"}, by=None, now=timezone.now()
    )
    study = actions.change_study(study=study, changes={"title": "Renamed"}, by=None, now=timezone.now())
    actions.record_event(
        study=study, type=Event.Type.ROUND_CHANGED, now=timezone.now(), note="an expert’s note"
    )
    for note, subject in (("retired", "round 1"), ("x.jsonl: 0 added as main, 3 there already", "import 9")):
        kind = Event.Type.ROUND_CHANGED if subject == "round 1" else Event.Type.STORIES_IMPORTED
        actions.record_event(study=study, type=kind, now=timezone.now(), subject=subject, note=note)
    actions.add_consent_text(study=study, text="Another text.", by=None, now=timezone.now())
    study.refresh_from_db()
    return published(judged(study), filter_name="majority")


FORGERIES: dict[str, Callable[[Any], object]] = {
    "does not have the SHA-256": lambda plan: plan["document"].update(votes_per_story=1),
    "state wrongly whether the filter": lambda plan: plan.update(deviations=[]),
    "null or an object with sha256": lambda plan: plan.pop("fixed_at"),
}


def test_a_forged_plan_is_found() -> None:
    release = changed_after_the_opening()
    path = release.directory / "release.json"
    sound = path.read_bytes()
    for words, forge in FORGERIES.items():
        document = description(release)
        forge(document["plan"])
        path.write_bytes(jsonl.document(document))
        assert any(words in problem for problem in findings(release)), findings(release)
        path.write_bytes(sound)


def test_the_planned_filter_is_the_one_that_is_offered(tmp_path: Path) -> None:
    study = judged(opened(planned_filter="majority"))
    page = client_of(member(study, Role.OWNER)).get(reverse("dashboard:publish", args=[study.slug]))
    checked = lxml_html.fromstring(page.content.decode()).xpath("//input[@name='filter'][@checked]/@value")
    assert checked == ["majority"]
    assert published(study).filter_name == "majority"
    assert description(Release.objects.get())["plan"]["deviations"] == []


def test_no_filter_is_planned_that_the_protocol_cannot_use() -> None:
    study = builders.make_study("rated", protocol="harm-ratings", opened=False, contact="team@lab.test")
    for name, error in (("majority", UnknownFilter), ("", None)):
        with pytest.raises(error) if error else nullcontext():
            move_study(
                study=study,
                move="open",
                campaigns=None,
                accepted=GAPS,
                by=None,
                now=timezone.now(),
                planned_filter=name,
            )
    assert json.loads(StudyPlan.objects.get().document)["filter"] == "every-item"


def test_the_page_and_the_command_ask_for_the_planned_filter() -> None:
    study = builders.make_study(opened=False, contact="team@lab.test")
    client = client_of(member(study, Role.RESEARCHER))
    address = reverse("dashboard:change_state", args=[study.slug, "open"])
    assert 'name="filter"' in client.get(address).content.decode()

    client.post(address, {"asked": "1", "accepted": GAPS, "filter": "no such filter"})
    assert not StudyPlan.objects.exists()
    client.post(address, {"asked": "1", "accepted": GAPS, "filter": "two-of-three"})
    assert json.loads(StudyPlan.objects.get(study=study).document)["filter"] == "two-of-three"

    other = builders.make_study("other", opened=False, contact="team@lab.test")
    call_command("open_study", "other", "--accept", *GAPS, "--filter", "majority")
    assert json.loads(StudyPlan.objects.get(study=other).document)["filter"] == "majority"
