"""Every address of the site outside the researchers' pages and the back office, as everybody there is.

The researchers' pages are walked in test_roles, the API in api.test_rights. What is left is public, opens by
a signed token whoever is signed in, is for platforms, or belongs to whoever has an account; a role in a study
opens none of it, nor the back office.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.test.utils import override_script_prefix
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from accounts.models import User
from annotation import actions
from annotation.models import Membership
from tests import builders
from tests.dashboard.baselines import released_study

Address = tuple[str, frozenset[str]]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

Role = Membership.Role
WALKED_ELSEWHERE = {"admin", "dashboard", "api", "operations"}
PUBLIC: dict[str, tuple[Any, ...]] = {
    "healthz": (),
    "readyz": (),
    "publishing:releases": (),
    "publishing:feed": (),
    "publishing:release": ("pilot", 1),
    "publishing:archive": ("pilot", 1, "zip"),
    "publishing:file": ("pilot", 1, "README.md"),
    "link:again": (),
    "recruitment:join": ("pilot",),
    "recruitment:campaign": ("pilot", 1),
}
"""Addresses that anybody may open, with their arguments."""
OF_PLATFORMS = {"link:hook"}
"""Where platforms post what has changed."""
OF_ACCOUNTS = {"accounts:sign_in", "accounts:sign_out", "accounts:password"}
OF_ONE_ACCOUNT = {
    "account_reauthenticate",
    "account_email",
    "usersessions_list",
    "mfa_index",
    "mfa_reauthenticate",
    "mfa_activate_totp",
    "mfa_deactivate_totp",
    "mfa_view_recovery_codes",
    "mfa_generate_recovery_codes",
}
"""Pages of whoever is signed in; test_second_factor and test_own_account use them."""
AT_THE_DOOR = {"account_login", "openid", "mfa_authenticate", "account_confirm_email"}
VALUES = {"token": "1-1.not-ours", "position": 1, "assignment_id": 1, "uidb64": "MQ"}
"""What stands in an address that opens by a token; nobody made this one."""


def addresses(
    resolver: URLResolver, namespace: str = "", of: frozenset[str] = frozenset()
) -> Iterator[Address]:
    """Every address by name, with the names of its arguments."""
    of |= set(resolver.pattern.converters)
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLPattern):
            yield f"{namespace}:{pattern.name}".removeprefix(":"), of | set(pattern.pattern.converters)
        elif pattern.namespace not in WALKED_ELSEWHERE:
            yield from addresses(pattern, pattern.namespace or namespace, of)


ADDRESSES = dict(addresses(get_resolver()))
BY_TOKEN = {name: arguments for name, arguments in ADDRESSES.items() if "token" in arguments}
BY_TOKEN["dashboard:invited"] = frozenset({"token"})


@pytest.fixture
def everybody() -> dict[str, Client]:
    """A client of nobody, one signed in as each role of a study, and one of an administrator."""
    study = builders.make_study("watched", opened=False)
    clients = {"nobody": Client()}
    for role in Role:
        user = User.objects.create_user(role.value, password=None)
        actions.set_role(study=study, user=user, role=role, by=None, now=timezone.now())
        clients[role.value] = Client()
        clients[role.value].force_login(user)
    clients["administrator"] = Client()
    clients["administrator"].force_login(ensure_researcher(username="ada", password="seven wet otters"))
    return clients


def test_every_address_is_walked_somewhere() -> None:
    assert (
        set(ADDRESSES) - set(BY_TOKEN)
        == set(PUBLIC) | OF_ACCOUNTS | OF_ONE_ACCOUNT | AT_THE_DOOR | OF_PLATFORMS
    )


def test_the_pages_of_an_account_are_for_who_is_signed_in() -> None:
    for name in OF_ONE_ACCOUNT:
        for response in (Client().get(reverse(name)), Client().post(reverse(name))):
            assert response.status_code == 302, name
            assert response["Location"].startswith("/sign-in/"), name


def test_a_token_that_nobody_made_opens_nothing_whoever_brings_it(everybody: dict[str, Client]) -> None:
    for name, arguments in BY_TOKEN.items():
        address = reverse(name, kwargs={key: VALUES[key] for key in arguments})
        for who in ("nobody", "administrator"):
            for response in (everybody[who].get(address), everybody[who].post(address)):
                # 405: the page has no such method; 429: too many wrong ones, as each of these is
                assert response.status_code in (404, 405, 429), f"{name} as {who}"


@pytest.mark.django_db(transaction=True)  # a release is built in a transaction of its own
def test_what_is_public_is_the_same_for_everybody(
    everybody: dict[str, Client], settings: Any, tmp_path: Path
) -> None:
    settings.RELEASES_ROOT = tmp_path
    released_study("pilot")
    for name, arguments in PUBLIC.items():
        address = reverse(name, args=arguments)
        # The study has no join link and no campaign.
        expected = 404 if name in ("recruitment:join", "recruitment:campaign") else 200
        for who in ("nobody", "administrator"):
            response = everybody[who].get(address)
            response.close()  # a file is open until then
            assert response.status_code == expected, f"{name} as {who}"
        posted = everybody["nobody"].post(address).status_code
        assert posted == (422 if name == "link:again" else 405), name  # 422: an empty form


def test_what_platforms_post_is_taken_from_nobody_else(everybody: dict[str, Client]) -> None:
    (name,) = OF_PLATFORMS
    for platform in ("mturk", "prolific", "nobody"):
        for environment in ("live", "rehearsal", "nowhere"):
            address = reverse(name, args=[platform, environment])
            for who in ("nobody", "administrator"):
                assert everybody[who].get(address).status_code == 405
                posted = everybody[who].post(address, b"{}", content_type="application/json").status_code
                assert posted in (401, 403, 404), f"{platform} as {who}"


def test_the_address_of_a_form_leads_to_the_page_that_it_is_on(everybody: dict[str, Client]) -> None:
    study = "/studies/watched"
    for address, page in {
        "settings/consent/": "settings/",
        "settings/alerts/webhooks/3/remove/": "settings/alerts/",
        "settings/members/invitations/3/revoke/": "settings/members/",
        "overview/leases/3/release/": "",
        "recruitment/join-link/paid/": "recruitment/join-link/",
        "people/red-fox/standing/": "people/red-fox/",
        "stories/decide/?verdict=kept": "stories/?verdict=kept",
    }.items():
        response = everybody[Role.OWNER].get(f"{study}/{address}", follow=True)
        assert (response.redirect_chain or [("", 0)])[-1][0] == f"{study}/{page}", address
    with override_script_prefix("/lab/"):
        below = everybody[Role.OWNER].get(f"{study}/settings/consent/")["Location"]
    assert below == f"/lab{study}/settings/"
    signing_in = Client().post(f"{study}/settings/consent/")["Location"]
    assert signing_in == f"/sign-in/?next={study}/settings/consent/"
    assert everybody["nobody"].get("/api-tokens/revoke-all/")["Location"] == "/api-tokens/"
    assert everybody[Role.OWNER].delete(f"{study}/settings/consent/").status_code == 405


def test_a_password_is_changed_by_who_is_signed_in(everybody: dict[str, Client]) -> None:
    for who in ("nobody", Role.AUDITOR):
        response = everybody[who].get(reverse("accounts:password"))
        assert response.status_code == (302 if who == "nobody" else 200)
        assert everybody[who].get(reverse("accounts:sign_out")).status_code == 405


def test_no_role_opens_the_back_office(everybody: dict[str, Client]) -> None:
    for page in ("admin:index", "admin:annotation_study_changelist", "admin:accounts_user_add"):
        for who, client in everybody.items():
            for response in (client.get(reverse(page)), client.post(reverse(page))):
                assert (response.status_code == 302) == (who != "administrator"), f"{page} as {who}"
