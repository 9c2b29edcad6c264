"""Who may do what in the back office: every action. ``test_roles`` walks the pages."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from accounts.models import User
from annotation import actions
from annotation.models import Enrollment, Event, StoryImport, Study
from publishing.models import Release
from tests import builders

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

ADMIN_ACTIONS: set[tuple[type[Model], str]] = {
    (Study, "open_selected"),
    (Study, "pause_selected"),
    (Study, "close_selected"),
    (Study, "publish_selected"),
    (Enrollment, "suspend_selected"),
    (Enrollment, "reinstate_selected"),
    (Enrollment, "send_link_selected"),
    (Enrollment, "revoke_link_selected"),
}

WRITTEN: tuple[type[Model], ...] = (Study, Enrollment, Release, StoryImport, Event)
PASSWORD = "a long enough password"


@pytest.fixture
def world() -> Study:
    """A study with something to do for every action: a complete story, people in and out of work."""
    study = builders.make_study("main", votes_per_story=1)
    working, suspended = builders.qualified(study, 2)
    builders.vote(working)
    actions.suspend(enrollment=suspended, by=None, now=timezone.now(), reason="test")
    return study


def staff(name: str) -> User:
    """Somebody on the staff who has been given no right at all."""
    user = ensure_researcher(username=name, password=PASSWORD)
    User.objects.filter(pk=user.pk).update(is_superuser=False)
    return User.objects.get(pk=user.pk)


@pytest.fixture
def newcomer(world: Study) -> Client:
    return signed_in(staff("newcomer"))


@pytest.fixture
def onlooker(world: Study) -> Client:
    """May look at everything there is."""
    user = staff("onlooker")
    user.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    return signed_in(user)


@pytest.fixture
def boss(world: Study) -> Client:
    return signed_in(ensure_researcher(username="boss", password=PASSWORD))


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def dashboard(name: str, arguments: tuple[str, ...] = ()) -> str:
    return reverse(f"dashboard:{name}", args=arguments)


def import_address(world: Study) -> str:
    return reverse("admin:annotation_study_import_file", args=[world.pk])


def import_something(client: Client, world: Study) -> Any:
    file = SimpleUploadedFile("new.jsonl", b"{}\n")
    return client.post(import_address(world), {"file": file, "role": "main"})


def run_action(client: Client, model: type[Model], action: str) -> Any:
    return client.post(
        reverse(f"admin:annotation_{model._meta.model_name}_changelist"),
        {
            "action": action,
            "_selected_action": list(model._default_manager.values_list("pk", flat=True)),
            "reason": "test",
        },
    )


def written() -> list[object]:
    return [list(model._default_manager.order_by("pk").values()) for model in WRITTEN]


def is_sent_to_sign_in(response: Any) -> bool:
    doors = (reverse("admin:login"), reverse("accounts:sign_in"))
    return bool(response.status_code == 302 and response["Location"].startswith(doors))


def test_the_table_above_names_every_action() -> None:
    found = {
        (model, action)
        for model, shown in admin.site._registry.items()
        if model._meta.app_label in ("annotation", "qualification", "recruitment", "publishing")
        for action in (*(shown.actions or ()), *getattr(shown, "actions_detail", ()))
    }
    assert found == ADMIN_ACTIONS | {(Study, "show_counts"), (Study, "import_file")}


@pytest.mark.parametrize(("model", "action"), sorted(ADMIN_ACTIONS, key=str))
def test_the_actions_of_the_back_office_need_the_right_to_change(
    world: Study, newcomer: Client, onlooker: Client, boss: Client, model: type[Model], action: str
) -> None:
    if action == "open_selected":
        boss.post(dashboard("change_state", ("main", "pause")))
    before = written()
    assert is_sent_to_sign_in(run_action(Client(), model, action))
    assert run_action(newcomer, model, action).status_code == 403
    assert run_action(onlooker, model, action).status_code == 403
    assert written() == before
    assert run_action(boss, model, action).status_code == 302
    if action != "send_link_selected":  # a worker writes down what it sends
        assert written() != before


def test_importing_needs_the_right_to_change(
    world: Study, newcomer: Client, onlooker: Client, boss: Client
) -> None:
    before = written()
    assert is_sent_to_sign_in(import_something(Client(), world))
    for client in (newcomer, onlooker):
        assert client.get(import_address(world)).status_code == 403
        assert import_something(client, world).status_code == 403
    assert written() == before
    assert boss.get(import_address(world)).status_code == 200
    assert import_something(boss, world).status_code == 302
    assert StoryImport.objects.latest("pk").file_name == "new.jsonl"


def test_the_counts_are_reached_from_the_back_office_by_whoever_may_look(
    world: Study, onlooker: Client
) -> None:
    address = reverse("admin:annotation_study_show_counts", args=[world.pk])
    assert is_sent_to_sign_in(Client().get(address))
    assert onlooker.get(address, follow=True).status_code == 200


def test_the_front_page_is_for_everybody() -> None:
    assert Client().get(dashboard("home")).status_code == 200
