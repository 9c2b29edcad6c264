"""Your account: its confirmed address, a forgotten password, sessions."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.usersessions.models import UserSession
from django.contrib.auth.tokens import default_token_generator
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from kombu.exceptions import OperationalError

from accounts.models import User
from dashboard.tasks import prepare_alerts
from tomannot import clock
from tomannot.celery import app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

PASSWORD, NEW = "correct horse battery staple", "four more wet otters"
ADDRESS_PAGE, FORGOTTEN = "/your-account/address/", "/forgotten-password/"
ADDRESS = "ada@example.org"


@pytest.fixture(autouse=True)
def workers(monkeypatch: pytest.MonkeyPatch, settings: Any) -> list[tuple[Any, ...]]:
    """A worker that does at once what is queued. Returns what was queued."""
    settings.SENDS_MAIL = True
    queued: list[tuple[Any, ...]] = []

    def work(name: str, args: list[Any]) -> None:
        queued.append((name, *args))
        app.tasks[name](*args)

    monkeypatch.setattr(app, "send_task", work)
    return queued


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", ADDRESS, PASSWORD)


@pytest.fixture
def confirmed(ada: User) -> User:
    EmailAddress.objects.create(user=ada, email=ADDRESS, verified=True, primary=True)
    return ada


def signed_in(**headers: str) -> Client:
    client = Client(headers=headers)
    client.post("/sign-in/", {"username": "ada", "password": PASSWORD})
    return client


def confirm_password(client: Client, page: str = ADDRESS_PAGE) -> None:
    there = reverse("account_reauthenticate") + f"?next={page}"
    assert client.post(there, {"password": PASSWORD})["Location"] == page


def link_in_mail() -> str:
    found = re.search(r"^http://[^/]+(/\S+)$", str(mail.outbox[-1].body), re.MULTILINE)
    assert found
    return found[1]


# An address is confirmed by whoever reads its mail


def test_an_address_counts_once_the_link_in_the_mail_was_opened(ada: User) -> None:
    client = signed_in()
    confirm_password(client)
    page = client.get(ADDRESS_PAGE).content.decode()
    assert f"{ADDRESS} is not confirmed yet" in page
    client.post(ADDRESS_PAGE, {"email": "Ada@new.example", "action_add": "1"})
    assert mail.outbox[-1].to == ["ada@new.example"]
    assert "ada" in str(mail.outbox[-1].body)
    link = link_in_mail()
    anybody = Client()
    assert "the account ada" in anybody.get(link).content.decode()
    assert not EmailAddress.objects.filter(verified=True).exists(), "a GET changes nothing"
    anybody.post(link)
    ada.refresh_from_db()
    assert ada.email == "ada@new.example"
    assert EmailAddress.objects.get(user=ada, verified=True).email == "ada@new.example"
    assert "Confirmed" in client.get(ADDRESS_PAGE).content.decode()
    assert "already used" in anybody.get(link).content.decode()
    assert "_auth_user_id" not in anybody.session, "it signs nobody in"


def test_a_stolen_session_changes_no_address(confirmed: User) -> None:
    client = signed_in()
    for response in (
        client.get(ADDRESS_PAGE),
        client.post(ADDRESS_PAGE, {"email": "eve@example.org", "action_add": "1"}),
    ):
        assert response["Location"].startswith(reverse("account_reauthenticate"))
    assert not mail.outbox


def test_a_replaced_link_confirms_nothing(ada: User) -> None:
    client = signed_in()
    confirm_password(client)
    client.post(ADDRESS_PAGE, {"email": "ada@first.example", "action_add": "1"})
    link = link_in_mail()
    client.post(ADDRESS_PAGE, {"email": "somebody@else.example", "action_add": "1"})
    Client().post(link)
    assert not EmailAddress.objects.filter(verified=True).exists()


def test_one_account_has_an_address_and_a_claim_keeps_nobody_out(confirmed: User) -> None:
    User.objects.create_user("eve", ADDRESS, PASSWORD)
    eve = Client()
    eve.post("/sign-in/", {"username": "eve", "password": PASSWORD})
    confirm_password(eve)
    eve.get(ADDRESS_PAGE)
    eve.post(ADDRESS_PAGE, {"email": ADDRESS, "action_send": "1"})
    link = link_in_mail()
    assert "Another account has confirmed" in Client().get(link).content.decode()
    Client().post(link)
    assert EmailAddress.objects.get(verified=True).user == confirmed


def test_a_mail_that_cannot_be_queued_is_said_so(
    ada: User, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    def refuse(name: str, args: list[Any]) -> None:
        raise OperationalError

    monkeypatch.setattr(app, "send_task", refuse)
    client = signed_in()
    confirm_password(client)
    form = {"email": "ada@new.example", "action_add": "1"}
    assert "couldn’t send the mail" in client.post(ADDRESS_PAGE, form, follow=True).content.decode()
    assert Client().post(FORGOTTEN, {"email": ADDRESS}).status_code == 503
    settings.SENDS_MAIL = False
    form["email"] = "ada@newer.example"
    assert "sends no mail" in client.post(ADDRESS_PAGE, form, follow=True).content.decode()
    assert Client().get(FORGOTTEN).status_code == 404


# A forgotten password


def ask(address: str = ADDRESS) -> str:
    response = Client().post(FORGOTTEN, {"email": address})
    assert response.status_code == 200
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", response.content.decode())


def test_a_new_password_by_mail_works_once_and_ends_every_session(confirmed: User) -> None:
    before = signed_in()
    assert FORGOTTEN in Client().get("/sign-in/").content.decode()
    ask(" Ada@Example.org ")
    (sent,) = mail.outbox
    assert sent.to == [ADDRESS]
    client, link = Client(), link_in_mail()
    form_page = client.get(link)["Location"]
    assert client.get(form_page).status_code == 200
    assert (
        "too short" in client.post(form_page, {"new_password1": "a", "new_password2": "a"}).content.decode()
    )
    done = client.post(form_page, {"new_password1": NEW, "new_password2": NEW}, follow=True)
    assert "Your password is changed" in done.content.decode()
    confirmed.refresh_from_db()
    assert confirmed.check_password(NEW)
    assert before.get("/studies/").status_code == 302
    assert client.get("/studies/").status_code == 302, "the link signs nobody in"
    assert client.post(form_page, {"new_password1": PASSWORD, "new_password2": PASSWORD}).status_code == 404
    for nobodys in (link, "/new-password/MQ:aaaaaa-bbbb/", "/new-password/??:x/"):
        assert Client().get(nobodys).status_code == 404, nobodys


def test_a_link_is_too_old_after_an_hour(confirmed: User, monkeypatch: pytest.MonkeyPatch) -> None:
    ask()
    generator = default_token_generator
    now = generator._now()
    monkeypatch.setattr(generator, "_now", lambda: now + timedelta(minutes=59))
    assert Client().get(link_in_mail()).status_code == 302
    monkeypatch.setattr(generator, "_now", lambda: now + timedelta(minutes=61))
    assert Client().get(link_in_mail()).status_code == 404


def test_nobody_learns_whether_an_address_is_known(confirmed: User, workers: list[tuple[Any, ...]]) -> None:
    claiming = User.objects.create_user("bob", "claimed@example.org", PASSWORD)
    EmailAddress.objects.create(user=claiming, email="claimed@example.org")
    inactive = User.objects.create_user("eve", "eve@example.org", PASSWORD, is_active=False)
    EmailAddress.objects.create(user=inactive, email="eve@example.org", verified=True, primary=True)
    answers = {ask(one) for one in (ADDRESS, "nobody@example.org", "claimed@example.org", "eve@example.org")}
    assert len(answers) == 1
    assert len(workers) == 4, "each takes the same time"
    assert not [one for task in workers for one in task if "@" in str(one)], "the queue holds no address"
    assert [one.to for one in mail.outbox] == [[ADDRESS]]


@pytest.mark.usefixtures("one_moment")
def test_mails_are_limited_per_address_in_silence_and_per_client_aloud(confirmed: User) -> None:
    for _ in range(3):
        Client().post(
            reverse("link:again"), {"email": ADDRESS}
        )  # sends researchers nothing, costs them nothing
    assert len({ask() for _ in range(5)}) == 1
    assert len(mail.outbox) == 3
    asked = [Client().post(FORGOTTEN, {"email": f"{one}@example.org"}).status_code for one in range(26)]
    assert asked[-1] == 429


# Sessions


PHONE = "Mozilla/5.0 (Android 15; Mobile; rv:140.0) Gecko/140.0 Firefox/140.0"
TABLET = "Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 Safari/604.1"
DESK = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/130.0 Safari/537.36 Edg/130.0"


def test_sessions_have_plain_names_and_the_raw_one_as_a_title(ada: User) -> None:
    for agent in (PHONE, TABLET, DESK, "curl/8.5"):
        client = signed_in(**{"User-Agent": agent})
    page = " ".join(client.get("/your-account/sessions/").content.decode().split())
    for agent, name in ((PHONE, "Firefox on Android"), (TABLET, "Safari on iPad"), (DESK, "Edge on Windows")):
        assert f'<span title="{agent}"> {name} </span>' in page
    assert '<span title="curl/8.5"> curl/8.5 </span>' in page
    assert re.search(r'<span>Your account <small class="header__name">ada</small></span>', page)


def test_sessions_are_listed_and_the_others_are_ended(ada: User) -> None:
    laptop = signed_in(**{"User-Agent": "Firefox on a laptop"})
    phone = signed_in(**{"User-Agent": "Safari on a phone"})
    page = laptop.get("/your-account/sessions/").content.decode()
    assert "Safari on a phone" in page
    assert "127.0.0.1" in page
    laptop.post("/your-account/sessions/")
    assert phone.get("/studies/").status_code == 302
    assert laptop.get("/studies/").status_code == 200


def test_nothing_is_kept_of_sessions_that_are_over(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    laptop, phone = signed_in(), signed_in()
    laptop.post("/sign-out/")
    prepare_alerts()
    assert [one.session_key for one in UserSession.objects.all()] == [phone.session.session_key]
    monkeypatch.setattr(clock, "now", lambda: timezone.now() + timedelta(days=15))
    prepare_alerts()
    assert not UserSession.objects.exists()
    assert phone.get("/studies/").status_code == 302
