"""The back office shows every record and changes none but accounts; only staff get in."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.db.models import Model
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.actions import ensure_researcher
from accounts.models import User
from annotation.models import Study
from publishing.models import Release
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


def test_every_record_is_shown_to_staff_with_the_right_to_see_them(
    client: Client, researcher: User, world: World
) -> None:
    User.objects.filter(pk=researcher.pk).update(is_superuser=False)
    client.force_login(researcher)
    for page in (address(Study, "changelist"), address(User, "changelist")):
        assert client.get(page).status_code == 403
    researcher.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    for model in OUR_MODELS:
        assert client.get(address(model, "changelist")).status_code == 200, model
        row = model._default_manager.first()
        if row is not None:
            assert client.get(address(model, "change", row.pk)).status_code == 200, model


def test_nothing_can_be_done_to_a_record() -> None:
    assert {model for model in OUR_MODELS if admin.site._registry[model].actions} <= {User}


def test_no_record_can_be_written(office: Client, researcher: User, world: World) -> None:
    assert office.get(address(Study, "add")).status_code == 403
    assert office.post(address(Study, "change", world.study.pk), {}).status_code == 403
    assert office.post(address(Study, "delete", world.study.pk), {"post": "yes"}).status_code == 403
    assert Study.objects.filter(pk=world.study.pk).exists()
    asking = RequestFactory().get("/")
    asking.user = researcher
    for model in OUR_MODELS:
        if model is User:
            continue
        shown = admin.site._registry[model]
        for one in (shown, *shown.get_inline_instances(asking)):
            permissions: tuple[Any, ...] = (
                one.has_add_permission,
                one.has_change_permission,
                one.has_delete_permission,
            )
            assert not any(may(asking, None) for may in permissions), model


@pytest.mark.parametrize("page", ["studies/", "studies/main/"])
def test_the_researchers_pages_are_for_who_is_signed_in(world: World, page: str) -> None:
    response = Client().get(f"/{page}")
    assert response.status_code == 302
    assert response["Location"].startswith(reverse("accounts:sign_in"))


def test_the_study_page_counts(office: Client, world: World) -> None:
    response = office.get(reverse("dashboard:overview", args=["main"]))
    assert {row.label: row.value for row in response.context["people"]} == {
        "Invited": 12,
        "Opened their link": 2,
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
    stale = strict.post(reverse("dashboard:change_state", args=["main", "pause"]))
    assert stale.status_code == 403
    assert f'href="{reverse("dashboard:change_state", args=["main", "pause"])}"' in stale.content.decode()
    page = office.post(reverse("dashboard:change_state", args=["main", "pause"]), follow=True)
    assert Study.objects.get(slug="main").state == Study.State.PAUSED
    assert page.status_code == 200
    again = office.post(reverse("dashboard:change_state", args=["main", "pause"]), follow=True)
    assert "it can’t become paused" in again.content.decode()
    assert office.post(reverse("dashboard:change_state", args=["main", "burn"])).status_code == 404
    page = office.post(reverse("dashboard:publish", args=["main"]), {"previewed": "1"}, follow=True)
    assert page.redirect_chain[-1][0] == reverse("dashboard:releases", args=["main"])
    assert Release.objects.filter(study=world.study, state="requested").count() == 1


def test_only_the_back_office_loosens_the_content_policy(office: Client, world: World) -> None:
    ours = office.get(reverse("dashboard:overview", args=["main"]))["Content-Security-Policy"]
    assert "unsafe" not in ours
    assert "unsafe-eval" in office.get(reverse("admin:index"))["Content-Security-Policy"]
