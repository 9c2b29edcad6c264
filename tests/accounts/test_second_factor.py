"""The second factor: set up, asked for, guessed at, used once, lost, required of everybody."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value
from django.core.cache import caches
from django.test import Client
from django.urls import reverse

from accounts.actions import ensure_researcher
from accounts.models import User

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

PASSWORD = "correct horse battery staple"
CODE_PAGE = "/your-account/second-factor/authenticate/"
SET_UP_PAGE = "/your-account/second-factor/totp/activate/"


@pytest.fixture
def ada(settings: Any) -> User:
    settings.MFA_TOTP_TOLERANCE = 1  # half a minute may end in the middle of a test
    return User.objects.create_user("ada", password=PASSWORD)


def code_of(secret: str) -> str:
    """The code that an app shows now."""
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))


def sign_in(client: Client, next_page: str = "") -> str:
    form = {"username": "ada", "password": PASSWORD, "next": next_page}
    return str(client.post("/sign-in/", form)["Location"])


def confirm(client: Client) -> None:
    client.post(reverse("account_reauthenticate") + "?next=/studies/", {"password": PASSWORD})


def set_up(client: Client) -> tuple[str, list[str]]:
    """Set up a second factor as a person does. Return its key and the recovery codes."""
    assert client.get(SET_UP_PAGE)["Location"].startswith(reverse("account_reauthenticate"))
    confirm(client)
    page = client.get(SET_UP_PAGE).content.decode()
    found = re.search(r'<code class="secret">(\w+)</code>', page)
    assert found
    assert 'src="data:image/svg+xml;base64,' in page
    assert client.post(SET_UP_PAGE, {"code": "000000"}).status_code == 200
    assert not Authenticator.objects.exists()
    shown = client.post(SET_UP_PAGE, {"code": code_of(found[1])}, follow=True).content.decode()
    codes = re.findall(r"<code>(\d{8})</code>", shown)
    assert len(codes) == 10
    assert 'data-copy="recovery-codes"' in shown
    assert 'id="recovery-codes"' in shown
    assert "tomannot/copy" in shown
    return found[1], codes


@pytest.fixture
def secret(ada: User) -> str:
    """The key of a second factor that ada has set up, with recovery codes beside it."""
    key = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    TOTP.activate(ada, key)
    RecoveryCodes.activate(ada)
    return key


def test_recovery_codes_are_shown_once(ada: User) -> None:
    client = Client()
    client.force_login(ada)
    _, codes = set_up(client)
    again = client.get(reverse("mfa_view_recovery_codes")).content.decode()
    assert not re.findall(r"<code>\d", again)
    assert "data-copy" not in again
    made = client.post(reverse("mfa_generate_recovery_codes"), follow=True).content.decode()
    assert set(re.findall(r"<code>(\d{8})</code>", made)).isdisjoint(codes), "new ones replace the old ones"


def test_the_password_alone_opens_nothing_and_the_code_leads_where_it_was_wanted(secret: str) -> None:
    client = Client()
    assert sign_in(client, "/password/") == CODE_PAGE
    assert client.get("/studies/").status_code == 302
    assert client.get("/password/").status_code == 302
    assert client.get(CODE_PAGE).status_code == 200
    assert client.post(CODE_PAGE, {"code": "12345"}).status_code == 200
    assert client.get("/studies/").status_code == 302
    assert client.post(CODE_PAGE, {"code": code_of(secret)})["Location"] == "/password/"
    assert client.get("/studies/").status_code == 200


def test_the_code_page_is_for_those_whose_password_was_right(secret: str) -> None:
    client = Client()
    client.post("/sign-in/", {"username": "ada", "password": "guess"})
    assert client.post(CODE_PAGE, {"code": code_of(secret)})["Location"] == "/sign-in/"


def test_a_recovery_code_works_once(ada: User, secret: str) -> None:
    code = RecoveryCodes.activate(ada).get_unused_codes()[3]
    for expected in (302, 200):
        client = Client()
        sign_in(client)
        assert client.post(CODE_PAGE, {"code": code}).status_code == expected


def test_a_code_works_once_whichever_process_is_asked(secret: str) -> None:
    for expected in (302, 200):
        client = Client()
        sign_in(client)
        assert client.post(CODE_PAGE, {"code": code_of(secret)}).status_code == expected
    assert client.get("/studies/").status_code == 302


def test_guesses_are_limited_over_all_clients_and_processes(secret: str) -> None:
    for _ in range(2):
        client = Client()
        sign_in(client)
        for _guess in range(5):
            assert "Incorrect code" in client.post(CODE_PAGE, {"code": "000000"}).content.decode()
    client = Client()
    sign_in(client)
    assert "Too many" in client.post(CODE_PAGE, {"code": code_of(secret)}).content.decode()
    assert client.get("/studies/").status_code == 302
    redis = caches["default"]._cache.get_client()  # type: ignore[attr-defined]
    counted = list(redis.scan_iter(f"{caches['default'].key_prefix}*"))
    assert any(b"login_failed" in one for one in counted), "in Redis, where all processes see it"


def test_it_is_removed_only_with_the_password_or_a_code(ada: User, secret: str) -> None:
    client = Client()
    sign_in(client)
    client.post(CODE_PAGE, {"code": code_of(secret)})
    page = reverse("mfa_deactivate_totp")
    assert client.post(page)["Location"].startswith(reverse("account_reauthenticate"))
    assert Authenticator.objects.filter(user=ada).count() == 2
    confirm(client)
    assert client.post(page)["Location"] == reverse("mfa_index")
    assert not Authenticator.objects.exists()
    assert sign_in(Client()) == "/studies/"


def test_an_administrator_removes_a_lost_factor_and_never_sees_its_secret(ada: User, secret: str) -> None:
    office = Client()
    office.force_login(ensure_researcher(username="root", password="seven wet otters"))
    factor = Authenticator.objects.get(user=ada, type=Authenticator.Type.TOTP)
    change = office.get(reverse("admin:mfa_authenticator_change", args=[factor.pk])).content.decode()
    assert "ada" in change
    assert secret not in change
    office.post(reverse("admin:mfa_authenticator_delete", args=[factor.pk]), {"post": "yes"})
    assert sign_in(Client()) == "/studies/"


def test_an_installation_may_require_it_of_everybody(ada: User, settings: Any) -> None:
    settings.SECOND_FACTOR_REQUIRED = True
    client = Client()
    assert sign_in(client) == "/studies/"
    for page in ("/studies/", "/api-tokens/", "/admin/"):
        assert client.get(page)["Location"] == SET_UP_PAGE, page
    assert client.get("/sign-in/").status_code == 302
    assert client.get("/password/").status_code == 200, "the pages of the account stay open"
    assert client.get("/releases/").status_code == 200, "and what is public"
    set_up(client)
    assert client.get("/studies/").status_code == 200
