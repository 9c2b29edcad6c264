"""The researchers' door: who gets in, who is locked out, and where it leads."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from axes.models import AccessLog
from django.test import Client

from accounts import rate_limits, views
from accounts.back_office import show
from accounts.models import User
from accounts.rate_limits import Limit

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

PASSWORD = "correct horse battery staple"


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", password=PASSWORD)


def sign_in(client: Client, password: str = PASSWORD, **more: str) -> int:
    return client.post("/sign-in/", {"username": "ada", "password": password, **more}).status_code


def test_passwords_are_kept_as_argon2(settings: Any) -> None:
    settings.PASSWORD_HASHERS = import_module(settings.SETTINGS_MODULE).PASSWORD_HASHERS
    ada = User.objects.create_user("ada", password=PASSWORD)
    assert ada.password.startswith("argon2$argon2id$")
    assert sign_in(Client()) == 302


def test_the_page_asked_for_comes_next_and_never_another_site(ada: User) -> None:
    assert not ada.is_staff
    for wanted, led in (
        ("", "/studies/"),
        ("/password/", "/password/"),
        ("https://evil.example/", "/studies/"),
    ):
        client = Client()
        response = client.post("/sign-in/", {"username": "ada", "password": PASSWORD, "next": wanted})
        assert response["Location"] == led
    assert client.get("/studies/").status_code == 200


def test_guessing_locks_the_name_even_for_the_right_password(ada: User) -> None:
    client = Client()
    page = client.post("/sign-in/", {"username": "ada", "password": "guess"}).content.decode()
    assert 'role="alert"' in page
    assert 'value="ada"' in page, "a wrong password says so and keeps the name"
    tries = [sign_in(client, f"guess {number}") for number in range(8)]
    assert tries[-1] == 429
    refused = client.post("/sign-in/", {"username": "ada", "password": PASSWORD})
    assert refused.status_code == 429
    assert "Too many wrong passwords" in refused.content.decode()


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


@pytest.mark.usefixtures("one_moment")
def test_a_stolen_session_does_not_guess_the_old_password_without_end(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "SIGN_INS", Limit("few-passwords", 2, timedelta(minutes=10)))
    client = Client()
    client.force_login(ada)
    form = {"old_password": "wrong", "new_password1": "a", "new_password2": "a"}
    assert [client.post("/password/", form).status_code for _ in range(3)] == [200, 200, 429]


@pytest.mark.usefixtures("one_moment")
def test_a_client_that_tries_too_often_waits_before_anything_is_hashed(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "SIGN_INS", Limit("few-sign-ins", 2, timedelta(minutes=10)))
    assert [sign_in(Client(), "guess"), sign_in(Client(), "another")] == [200, 200]
    monkeypatch.setattr(User, "check_password", lambda *_: pytest.fail("hashed"))
    refused = Client().post("/sign-in/", {"username": "ada", "password": PASSWORD})
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= 600


def test_no_list_of_network_addresses_is_kept(ada: User) -> None:
    assert sign_in(Client()) == 302
    assert not AccessLog.objects.exists()


def test_the_back_office_has_no_door_of_its_own(ada: User) -> None:
    client = Client()
    assert client.get("/admin/login/?next=/admin/")["Location"] == "/sign-in/?next=/admin/"
    assert client.get("/admin/")["Location"].startswith("/admin/login/")
    client.force_login(ada)
    assert client.get("/admin/login/?next=/admin/").status_code == 403


def test_nobody_keeps_what_a_signed_in_person_saw(ada: User) -> None:
    client = Client()
    assert "Cache-Control" not in client.get("/").headers
    client.force_login(ada)
    page = client.get("/studies/")
    assert "no-store" in page["Cache-Control"]
    assert "camera=()" in page["Permissions-Policy"]


def test_a_proxy_that_names_no_client_is_told_of_once(
    ada: User, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    rate_limits._warn_once.cache_clear()
    settings.PROXIES = 2
    for _ in range(2):
        Client(headers={"X-Forwarded-For": "203.0.113.7"}).post(
            "/sign-in/", {"username": "x", "password": "y"}
        )
    assert caplog.text.count("PROXIES is 2, but a request came with 1 addresses") == 1


def test_the_back_office_takes_no_option_that_it_would_ignore() -> None:
    with pytest.raises(TypeError, match="no filters"):
        show(User, "username", filters=("username",))
