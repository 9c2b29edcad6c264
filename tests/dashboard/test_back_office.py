"""The back office shows every record and changes none, except through actions; only staff get in."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib import admin
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from accounts.actions import ensure_researcher
from accounts.models import User
from annotation.models import Enrollment, Event, StoryImport, Study
from publishing.models import Release
from tests import builders
from tests.dashboard.worlds import World, build_world

OUR_MODELS: list[type[Model]] = [
    model
    for model in admin.site._registry
    if model._meta.app_label in ("accounts", "annotation", "qualification", "recruitment", "publishing")
]


@pytest.fixture(scope="module")
def world(module_transaction: None) -> World:
    return build_world()


@pytest.fixture
def researcher(db: None) -> User:
    return ensure_researcher(username="ada", password="a long enough password")


@pytest.fixture
def office(client: Client, researcher: User) -> Client:
    client.force_login(researcher)
    return client


def address(model: type[Model], page: str, *args: object) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def test_every_record_can_be_looked_at(office: Client, world: World) -> None:
    for model in OUR_MODELS:
        assert office.get(address(model, "changelist")).status_code == 200, model
        row = model._default_manager.first()
        if row is not None:
            assert office.get(address(model, "change", row.pk)).status_code == 200, model


def test_no_record_can_be_written(office: Client, world: World) -> None:
    for model in OUR_MODELS:
        if model is User:
            continue
        assert office.get(address(model, "add")).status_code == 403, model
        row = model._default_manager.first()
        if row is not None:
            assert office.post(address(model, "change", row.pk), {}).status_code == 403, model
            assert office.post(address(model, "delete", row.pk), {"post": "yes"}).status_code == 403, model
            assert model._default_manager.filter(pk=row.pk).exists(), model


def act(office: Client, model: str, action: str, pk: int, **said: str) -> str:
    response = office.post(
        reverse(f"admin:annotation_{model}_changelist"),
        {"action": action, "_selected_action": [pk], **said},
        follow=True,
    )
    return response.content.decode()


def test_a_study_is_moved_through_its_states(office: Client, researcher: User, world: World) -> None:
    for action, state in (
        ("pause_selected", Study.State.PAUSED),
        ("open_selected", Study.State.OPEN),
        ("close_selected", Study.State.CLOSED),
    ):
        act(office, "study", action, world.study.pk)
        assert Study.objects.get(pk=world.study.pk).state == state
    events = Event.objects.filter(study=world.study, actor=researcher).order_by("pk")
    assert [event.type for event in events] == ["study_paused", "study_opened", "study_closed"]


def test_a_move_that_cannot_be_made_says_why(office: Client, world: World) -> None:
    draft = builders.make_study("draft", stories=0, opened=False)
    page = act(office, "study", "open_selected", draft.pk)
    assert "It has no stories" in page
    assert Study.objects.get(pk=draft.pk).state == Study.State.DRAFT


def test_a_person_is_suspended_and_reinstated(office: Client, world: World) -> None:
    page = act(office, "enrollment", "suspend_selected", world.holder.pk)
    assert "Somebody who is suspended reads it on their page." in page
    assert Enrollment.objects.get(pk=world.holder.pk).state == Enrollment.State.QUALIFIED
    act(office, "enrollment", "suspend_selected", world.holder.pk, reason="Too fast, we think.")
    suspended = Enrollment.objects.get(pk=world.holder.pk)
    assert (suspended.state, suspended.suspension_reason) == ("suspended", "Too fast, we think.")
    act(office, "enrollment", "reinstate_selected", world.holder.pk, reason="We were wrong.")
    assert Enrollment.objects.get(pk=world.holder.pk).state == Enrollment.State.QUALIFIED


def test_publishing_from_the_back_office(office: Client, researcher: User, world: World) -> None:
    page = act(office, "study", "publish_selected", world.study.pk)
    assert "is being built" in page
    assert Release.objects.get(study=world.study).requested_by == researcher
    nothing = builders.make_study("nothing", stories=1)
    assert "nothing to release" in act(office, "study", "publish_selected", nothing.pk)


def test_a_file_is_imported(office: Client, researcher: User, world: World, tmp_path: Path) -> None:
    path = builders.write_rows(tmp_path / "new.jsonl", [builders.story_row(70)])
    address = reverse("admin:annotation_study_import_file", args=[world.study.pk])
    assert office.get(address).status_code == 200
    response = office.post(
        address, {"file": SimpleUploadedFile("new.jsonl", path.read_bytes()), "role": "main", "dry_run": ""}
    )
    job = StoryImport.objects.filter(study=world.study).latest("pk")
    assert response["Location"] == reverse("admin:annotation_storyimport_change", args=[job.pk])
    assert (job.state, job.requested_by, job.file_name) == ("queued", researcher, "new.jsonl")
    assert Path(job.file.path).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("page", ["studies/", "studies/main/"])
def test_the_researchers_pages_are_for_who_is_signed_in(world: World, page: str) -> None:
    response = Client().get(f"/{page}")
    assert response.status_code == 302
    assert response["Location"].startswith(reverse("accounts:sign_in"))


def test_the_study_page_counts(office: Client, world: World) -> None:
    response = office.get(reverse("dashboard:study", args=["main"]))
    assert {row.label: row.value for row in response.context["people"]} == {
        "Invited": 12,
        "Came by their link": 2,
        "Agreed to take part": 8,
        "Began the test": 8,
        "Handed the test in": 7,
        "Passed the test": 6,
        "Answered a story": 4,
    }
    assert "main" in office.get(reverse("dashboard:studies")).content.decode()


def test_the_study_page_moves_the_study_and_publishes(office: Client, world: World) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = office.cookies
    assert strict.post(reverse("dashboard:change_state", args=["main", "pause"])).status_code == 403
    page = office.post(reverse("dashboard:change_state", args=["main", "pause"]), follow=True)
    assert Study.objects.get(slug="main").state == Study.State.PAUSED
    assert page.status_code == 200
    again = office.post(reverse("dashboard:change_state", args=["main", "pause"]), follow=True)
    assert "it cannot become paused" in again.content.decode()
    assert office.post(reverse("dashboard:change_state", args=["main", "burn"])).status_code == 404
    page = office.post(reverse("dashboard:publish", args=["main"]), follow=True)
    assert page.redirect_chain[-1][0] == reverse("dashboard:releases", args=["main"])
    assert Release.objects.filter(study=world.study, state="requested").count() == 1


def test_only_the_back_office_loosens_the_content_policy(office: Client, world: World) -> None:
    ours = office.get(reverse("dashboard:study", args=["main"]))["Content-Security-Policy"]
    assert "unsafe" not in ours
    assert "unsafe-eval" in office.get(reverse("admin:index"))["Content-Security-Policy"]
    assert "unsafe-eval" in Client().get(reverse("admin:login"))["Content-Security-Policy"]
