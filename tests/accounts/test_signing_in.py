"""The researchers' door: who gets in, who is locked out, and where it leads."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

PASSWORD = "correct horse battery staple"


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", password=PASSWORD)


def sign_in(client: Client, password: str = PASSWORD, **more: str) -> int:
    return client.post("/sign-in/", {"username": "ada", "password": password, **more}).status_code


def test_the_right_password_opens_the_studies(ada: User) -> None:
    client = Client()
    response = client.post("/sign-in/", {"username": "ada", "password": PASSWORD})
    assert response["Location"] == reverse("dashboard:studies")
    assert client.get("/studies/").status_code == 200


def test_passwords_are_kept_as_argon2(settings: Any) -> None:
    settings.PASSWORD_HASHERS = import_module(settings.SETTINGS_MODULE).PASSWORD_HASHERS
    ada = User.objects.create_user("ada", password=PASSWORD)
    assert ada.password.startswith("argon2$argon2id$")
    assert sign_in(Client()) == 302


def test_somebody_without_a_place_in_the_back_office_signs_in_too(ada: User) -> None:
    assert not ada.is_staff
    assert sign_in(Client()) == 302


def test_the_page_asked_for_comes_next_and_never_another_site(ada: User) -> None:
    for wanted, led in (("/password/", "/password/"), ("https://evil.example/", "/studies/")):
        response = Client().post("/sign-in/", {"username": "ada", "password": PASSWORD, "next": wanted})
        assert response["Location"] == led


def test_a_wrong_password_says_so_and_keeps_the_name(ada: User) -> None:
    response = Client().post("/sign-in/", {"username": "ada", "password": "guess"})
    assert response.status_code == 200
    page = response.content.decode()
    assert 'role="alert"' in page
    assert 'value="ada"' in page


def test_guessing_locks_the_name_even_for_the_right_password(ada: User) -> None:
    client = Client()
    tries = [sign_in(client, f"guess {number}") for number in range(9)]
    assert tries[-1] == 429
    assert sign_in(client) == 429
    assert (
        "Too many wrong passwords"
        in client.post("/sign-in/", {"username": "ada", "password": PASSWORD}).content.decode()
    )


def test_somebody_elses_guesses_behind_the_same_proxy_lock_nobody_out(ada: User, settings: Any) -> None:
    settings.PROXIES = 1

    def tries(client: str, password: str) -> int:
        form = {"username": "ada", "password": password}
        return Client().post("/sign-in/", form, headers={"X-Forwarded-For": client}).status_code

    assert [tries("203.0.113.1", f"guess {number}") for number in range(9)][-1] == 429
    assert tries("203.0.113.1", PASSWORD) == 429
    assert tries("203.0.113.2", PASSWORD) == 302
    assert [tries("2001:db8::1", f"guess {number}") for number in range(9)][-1] == 429
    assert tries("2001:db8::ffff", PASSWORD) == 429, "one client has a whole network"


def test_signing_out_takes_a_post_and_ends_the_session(ada: User) -> None:
    client = Client()
    client.force_login(ada)
    assert client.get("/sign-out/").status_code == 405
    assert client.post("/sign-out/").status_code == 302
    assert client.get("/studies/").status_code == 302


def test_a_new_password_needs_the_old_one(ada: User) -> None:
    client = Client()
    client.force_login(ada)
    new = "another long enough one"
    form = {"old_password": "wrong", "new_password1": new, "new_password2": new}
    assert client.post("/password/", form).status_code == 200
    assert client.post("/password/", {**form, "old_password": PASSWORD}).status_code == 302
    ada.refresh_from_db()
    assert ada.check_password(new)
    assert "Your password is changed" in client.get("/studies/").content.decode()
