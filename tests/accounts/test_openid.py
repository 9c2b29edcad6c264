"""Signing in with an OpenID Connect provider: who is let in, and which tokens are believed."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.test import Client
from django.urls import reverse

from accounts import openid, views
from accounts.actions import ensure_researcher
from accounts.models import User
from accounts.rate_limits import Limit
from tests.accounts.test_second_factor import CODE_PAGE, code_of
from tests.doubles.openid import CLIENT, SECRET, OpenIdProvider, running
from tomannot.embedded import PROJECT

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

GO = "/sign-in/provider/go/"


@pytest.fixture(scope="module")
def one_provider() -> Iterator[OpenIdProvider]:
    with running() as provider:
        yield provider


@pytest.fixture(autouse=True)
def provider(one_provider: OpenIdProvider, settings: Any, monkeypatch: pytest.MonkeyPatch) -> OpenIdProvider:
    apps = copy.deepcopy(settings.SOCIALACCOUNT_PROVIDERS)
    apps["openid_connect"]["APPS"][0] |= {
        "provider_id": "double",
        "name": "the institute",
        "client_id": CLIENT,
        "secret": SECRET,
        "settings": {"server_url": one_provider.issuer},
    }
    settings.SOCIALACCOUNT_PROVIDERS, settings.OPENID_ISSUER = apps, one_provider.issuer
    monkeypatch.setattr(one_provider, "person", dict(one_provider.person))
    monkeypatch.setattr(one_provider, "lies", {})
    monkeypatch.setattr(one_provider, "signs_with", ("published", "RS256"))
    return one_provider


@pytest.fixture
def ada() -> User:
    ada = User.objects.create_user("ada", "ada@example.org")
    EmailAddress.objects.create(user=ada, email="ada@example.org", verified=True, primary=True)
    return ada


def try_it(provider: OpenIdProvider, client: Client | None = None, **changed: str) -> Any:
    """Sign in by the button, and return the answer to whoever comes back."""
    client = client or Client()
    return client.get(provider.visit(client.get(GO)["Location"], **changed))


def is_in(client: Client) -> bool:
    return client.get("/studies/").status_code == 200


def test_the_button_leads_to_the_page_that_was_wanted(ada: User, provider: OpenIdProvider) -> None:
    client = Client()
    page = client.get("/sign-in/?next=/password/").content.decode()
    assert "Sign in with the institute" in page
    assert f'href="{GO}?next=/password/"' in page
    there = client.get(f"{GO}?next=/password/")["Location"]
    assert there.startswith(f"{provider.issuer}/authorize?")
    assert client.get(provider.visit(there))["Location"] == "/password/"
    assert is_in(client)
    assert SocialAccount.objects.get(user=ada).extra_data == {}


def test_a_connected_account_is_known_by_its_number_and_not_by_its_address(
    ada: User, provider: OpenIdProvider
) -> None:
    try_it(provider)
    provider.person |= {"email": "ada@married.example", "email_verified": False}
    client = Client()
    assert try_it(provider, client)["Location"] == "/studies/"
    assert is_in(client)
    provider.person |= {"sub": "249"}
    assert try_it(provider).status_code == 403


@pytest.mark.parametrize(
    "person",
    [
        {"email": "nobody@example.org"},
        {"email": "claimed@example.org"},
        {"email_verified": False},
        {"email_verified": "true"},
        {"email_verified": None},
        {"email": None},
        {"email": ["ada@example.org"]},
    ],
    ids=str,
)
def test_nobody_else_is_let_in_or_gets_an_account(
    ada: User, provider: OpenIdProvider, person: dict[str, Any]
) -> None:
    User.objects.create_user("bob", "claimed@example.org", "a long enough password")
    provider.person |= person
    client = Client()
    answer = try_it(provider, client)
    assert answer.status_code == 403
    assert "ask the owners of your study for an invitation" in answer.content.decode()
    assert not is_in(client)
    assert User.objects.count() == 2
    assert not SocialAccount.objects.exists()


def test_an_administrator_disconnects_an_account(ada: User, provider: OpenIdProvider) -> None:
    try_it(provider)
    EmailAddress.objects.all().delete()
    office = Client()
    office.force_login(ensure_researcher(username="root", password="seven wet otters"))
    number = SocialAccount.objects.get().pk
    assert office.get(reverse("admin:socialaccount_socialaccount_changelist")).status_code == 200
    assert office.get(reverse("admin:account_emailaddress_changelist")).status_code == 200
    office.post(reverse("admin:socialaccount_socialaccount_delete", args=[number]), {"post": "yes"})
    assert try_it(provider).status_code == 403


def test_a_deactivated_account_stays_out(ada: User, provider: OpenIdProvider) -> None:
    try_it(provider)
    User.objects.update(is_active=False)
    client = Client()
    assert try_it(provider, client)["Location"] == "/sign-in/"
    assert not is_in(client)


@pytest.mark.parametrize(
    "lies",
    [
        {"iss": "https://elsewhere.example"},
        {"issuer": "https://elsewhere.example"},
        {"aud": "another-client"},
        {"nonce": "of-another-sign-in"},
        {"nonce": None},
        {"exp": 1},
        {"exp": None},
        {"sub": None},
    ],
    ids=str,
)
def test_a_token_that_is_not_for_this_sign_in_is_refused(
    ada: User, provider: OpenIdProvider, lies: dict[str, Any]
) -> None:
    provider.lies = lies
    client = Client()
    assert try_it(provider, client).status_code == 401
    assert not is_in(client)


@pytest.mark.parametrize(
    "key", [("another", "RS256"), ("published", "none"), ("published", "HS256")], ids=str
)
def test_a_token_that_the_provider_did_not_sign_is_refused(
    ada: User, provider: OpenIdProvider, key: tuple[str, str]
) -> None:
    provider.signs_with = key
    client = Client()
    assert try_it(provider, client).status_code == 401
    assert not is_in(client)


def test_a_way_back_that_another_browser_began_is_refused(ada: User, provider: OpenIdProvider) -> None:
    back = provider.visit(Client().get(GO)["Location"])
    victim = Client()
    assert victim.get(back).status_code == 401
    victim.get(GO)
    assert victim.get(back).status_code == 401
    assert not is_in(victim)
    assert try_it(provider, code_challenge="of-another").status_code == 401


def test_who_turns_back_or_comes_twice_is_not_signed_in(ada: User, provider: OpenIdProvider) -> None:
    client = Client()
    back = provider.visit(client.get(GO)["Location"])
    assert client.get(back.replace("code=", "error=access_denied&no=")).status_code == 401
    again = Client()
    back = provider.visit(again.get(GO)["Location"])
    assert again.get(back).status_code == 302
    again.post("/sign-out/")
    assert again.get(back).status_code == 401


def test_the_address_cannot_ask_for_more(ada: User, provider: OpenIdProvider) -> None:
    there = Client().get(f"{GO}?process=connect&scope=admin&auth_params=nonce%3Dmine%26prompt%3Dnone")
    assert "admin" not in there["Location"]
    assert "prompt" not in there["Location"]
    assert "mine" not in there["Location"]


def test_the_second_factor_is_asked_for_here_too(ada: User, provider: OpenIdProvider) -> None:
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    Authenticator.objects.create(user=ada, type=Authenticator.Type.TOTP, data={"secret": secret})
    client = Client()
    assert try_it(provider, client)["Location"] == CODE_PAGE
    assert not is_in(client)
    assert client.post(CODE_PAGE, {"code": code_of(secret)}).status_code == 302
    assert is_in(client)


def test_a_provider_that_is_away_costs_nobody_the_password(
    ada: User, provider: OpenIdProvider, settings: Any
) -> None:
    client = Client()
    back = provider.visit(client.get(GO)["Location"])
    app = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"][0]
    for address in ("http://127.0.0.1:1", f"{provider.issuer}/nowhere"):
        app["settings"]["server_url"] = address
        assert Client().get(GO).status_code == 503
        assert client.get(back).status_code in (401, 503)
    assert Client().get("/sign-in/").status_code == 200


@pytest.mark.usefixtures("one_moment")
def test_nobody_makes_us_ask_the_provider_without_end(
    provider: OpenIdProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "SIGN_INS", Limit("few", 2, timedelta(minutes=10)))
    assert [Client().get(GO).status_code for _ in range(3)] == [302, 302, 429]


def test_without_an_issuer_nobody_is_led_anywhere(settings: Any) -> None:
    settings.OPENID_ISSUER = ""
    assert Client().get(GO).status_code == 404


@pytest.mark.torture
def test_without_an_issuer_nothing_is_loaded() -> None:
    looked = "import django, sys; django.setup(); import tomannot.urls; "
    looked += "print([one for one in ('accounts.openid', 'oauthlib', 'fido2') if one in sys.modules])"
    shown = subprocess.run(
        [sys.executable, "-c", looked], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert shown.stdout == "[]\n"
    assert openid.VIEWS
