"""The page of a study's people, and the page behind an invitation's link."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from kombu.exceptions import OperationalError

from accounts.models import User
from accounts.rate_limits import WRONG_LINKS
from annotation import actions
from annotation.models import Event, Invitation, Membership, Study
from annotation.rights import RIGHTS, Right, rights_in
from dashboard import tasks
from dashboard.settings.forms import RIGHTS_IN_WORDS
from dashboard.settings.mails import invitation_link
from tests import builders
from tomannot import clock
from tomannot.celery import app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

Role = Membership.Role
PASSWORD = "seven wet otters"
ADDRESS = "bob@example.org"


@pytest.fixture
def study() -> Study:
    return builders.make_study("main", title="Stories & more", opened=False)


@pytest.fixture
def owner(study: Study) -> User:
    return member(study, "olga", Role.OWNER)


@pytest.fixture
def desk(owner: User) -> Client:
    return signed_in(owner)


@pytest.fixture
def mailing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is queued is done at once."""
    monkeypatch.setattr(app, "send_task", lambda name, args: app.tasks[name](*args))
    monkeypatch.setattr(transaction, "on_commit", lambda call, robust=False: call())


@pytest.fixture
def no_mail(settings: Any) -> None:
    settings.SENDS_MAIL = False


def member(study: Study, name: str, role: str) -> User:
    someone = User.objects.create_user(name, f"{name}@example.org", None)
    actions.set_role(study=study, user=someone, role=role, by=None, now=timezone.now())
    return someone


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def address(page: str = "members", *args: object) -> str:
    return reverse(f"dashboard:{page}", args=["main", *args])


def offer(study: Study, owner: User, role: str = Role.REVIEWER, to: str = ADDRESS) -> str:
    """The path of an invitation's link."""
    made = actions.invite_member(study=study, address=to, role=role, by=owner, now=timezone.now())
    return urlsplit(invitation_link(made)).path


def newcomer(**said: str) -> dict[str, str]:
    return {"username": "bob", "password1": PASSWORD, "password2": PASSWORD} | said


# -- the page of the people


def test_the_page_lists_people_and_what_each_role_may(study: Study, owner: User, desk: Client) -> None:
    rita = member(study, "rita", Role.RESEARCHER)
    offer(study, owner)
    response = desk.get(address())
    page = response.content.decode()
    assert [one.user.username for one in response.context["members"]] == ["olga", "rita"]
    assert "Role of rita" in page
    assert "Remove rita" in page
    assert ADDRESS in page
    rows = {str(row["words"]): row["has"] for row in response.context["rights"]}
    assert rows[str(RIGHTS_IN_WORDS[Right.PUBLISH])] == [True, True, False, False]
    assert rows[str(RIGHTS_IN_WORDS[Right.AUDIT])] == [True, True, False, True]
    seen_by_rita = signed_in(rita).get(address()).content.decode()
    assert "olga" in seen_by_rita
    assert ADDRESS not in seen_by_rita, "who may only look sees no invitation"
    assert "<select" not in seen_by_rita


def test_every_right_has_words() -> None:
    assert set(RIGHTS_IN_WORDS) == set(Right)


def test_a_role_is_changed_and_taken(study: Study, owner: User, desk: Client) -> None:
    rita = member(study, "rita", Role.REVIEWER)
    response = desk.post(address("member", rita.pk), {"role": "auditor"}, follow=True)
    assert "rita is now auditor." in response.content.decode()
    assert rights_in(rita, study) == RIGHTS[Role.AUDITOR]
    response = desk.post(address("member", rita.pk), {"remove": "yes"}, follow=True)
    assert "rita is no longer a member. Their work stays." in response.content.decode()
    assert rights_in(rita, study) == frozenset()
    assert Event.objects.get(type="role_taken").actor == owner
    response = desk.post(address("member", rita.pk), {"role": "owner"}, follow=True)
    assert "is no longer a member of the study" in response.content.decode()
    assert rights_in(rita, study) == frozenset()


def test_the_only_owner_stays_and_who_leaves_comes_to_their_other_studies(
    study: Study, owner: User, desk: Client
) -> None:
    page = desk.get(address()).content.decode()
    assert "Make another member an owner" in page
    assert "Role of olga" not in page
    response = desk.post(address("member", owner.pk), {"role": "auditor"}, follow=True)
    assert "olga is the only owner of this study." in response.content.decode()
    assert rights_in(owner, study) == RIGHTS[Role.OWNER]
    member(study, "rita", Role.OWNER)
    response = desk.post(address("member", owner.pk), {"remove": "yes"}, follow=True)
    assert response.redirect_chain[-1][0] == reverse("dashboard:studies")
    assert response.status_code == 200


# -- inviting


@pytest.mark.usefixtures("mailing")
def test_an_invitation_is_mailed_and_lets_its_reader_in(study: Study, desk: Client) -> None:
    response = desk.post(address(), {"address": ADDRESS, "role": "reviewer"}, follow=True)
    page = response.content.decode()
    assert "A link is on its way to bob@example.org." in page
    assert "mail sent" in page
    (sent,) = mail.outbox
    assert (sent.to, sent.subject) == ([ADDRESS], "You are invited to work on a study: Stories & more")
    (path,) = re.findall(r"http://testserver(/\S+)", str(sent.body))
    assert path not in page, "where mail is sent, the page does not repeat the link"
    visitor = Client()
    visitor.post(path, newcomer())
    bob = User.objects.get(username="bob")
    assert rights_in(bob, study) == RIGHTS[Role.REVIEWER]
    assert visitor.get(address()).status_code == 200
    assert mail.outbox == [sent], "whoever invites with an address of their own must not confirm it for bob"


@pytest.mark.django_db(transaction=True)
def test_a_mail_that_could_not_be_queued_is_said_and_the_link_shown(
    study: Study, desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str, args: list[Any]) -> None:
        raise OperationalError("Connection refused")

    monkeypatch.setattr(app, "send_task", refuse)
    response = desk.post(address(), {"address": ADDRESS, "role": "reviewer"}, follow=True)
    page = response.content.decode()
    assert "no mail could be queued" in page
    assert "is on its way" not in page
    assert invitation_link(Invitation.objects.get()) in page


@pytest.mark.usefixtures("mailing")
def test_an_offer_is_mailed_in_the_language_of_who_invites_and_only_while_it_stands(
    study: Study, owner: User
) -> None:
    def invited(address: str) -> Invitation:
        return actions.invite_member(study=study, address=address, role="owner", by=owner, now=timezone.now())

    tasks.mail_member_invitation(invited("ada@example.org").pk, "de")
    assert "lädt Sie ein" in str(mail.outbox[0].body)
    assert mail.outbox[0].reply_to == [study.contact]
    mail.outbox.clear()

    revoked, switched_off = invited(ADDRESS), invited("carl@example.org")
    actions.revoke_invitation(invitation=revoked, by=owner, now=timezone.now())
    tasks.mail_member_invitation(revoked.pk, "en")
    owner.is_active = False
    owner.save()
    tasks.mail_member_invitation(switched_off.pk, "")
    assert not mail.outbox
    assert Client().get(urlsplit(invitation_link(switched_off)).path).status_code == 410


@pytest.mark.usefixtures("no_mail")
def test_without_mail_the_link_is_shown_once(study: Study, desk: Client) -> None:
    response = desk.post(address(), {"address": ADDRESS, "role": "reviewer"}, follow=True)
    link = invitation_link(Invitation.objects.get())
    assert link in response.content.decode()
    assert "send this link to bob@example.org yourself" in response.content.decode()
    assert link not in desk.get(address()).content.decode()
    assert not mail.outbox
    assert Client().get(urlsplit(link).path).status_code == 200


def test_what_cannot_be_invited_is_said_at_the_field(study: Study, desk: Client) -> None:
    for given, said in (("bob at home", "valid email address"), ("olga@example.org", "olga is already")):
        response = desk.post(address(), {"address": given, "role": "reviewer"})
        assert response.status_code == 422
        assert said in response.content.decode()
    assert desk.post(address(), {"address": ADDRESS, "role": "king"}).status_code == 422
    assert not Invitation.objects.exists()


def test_an_invitation_is_taken_back_on_the_page_of_its_study_alone(
    study: Study, owner: User, desk: Client
) -> None:
    path = offer(study, owner)
    made = Invitation.objects.get()
    stranger = signed_in(member(builders.make_study("other", opened=False), "oscar", Role.OWNER))
    stranger.post(reverse("dashboard:revoke_invitation", args=["other", made.pk]))
    assert ADDRESS in desk.get(address()).content.decode()
    for _again in range(2):
        assert desk.post(address("revoke_invitation", made.pk)).status_code == 302
    assert ADDRESS not in desk.get(address()).content.decode()
    assert Event.objects.filter(type="invitation_revoked").count() == 1
    response = Client().get(path)
    assert response.status_code == 410
    assert "This invitation was revoked" in response.content.decode()


# -- the page behind the link


def test_looking_changes_nothing_and_says_what_is_offered(study: Study, owner: User) -> None:
    path = offer(study, owner)
    page = Client().get(path).content.decode()
    assert "olga invites you to work on the study “Stories &amp; more”, as reviewer." in page
    assert str(RIGHTS_IN_WORDS[Right.REVIEW]) in page
    assert str(RIGHTS_IN_WORDS[Right.CHANGE]) not in page
    assert f"{reverse('accounts:sign_in')}?next={path}" in page
    assert Invitation.objects.open().count() == 1


def test_what_is_wrong_with_an_account_is_said(study: Study, owner: User) -> None:
    path = offer(study, owner)
    for said, complaint in (
        ({"password1": "short", "password2": "short"}, "at least 12 characters"),
        ({"password1": "bob@example.org", "password2": "bob@example.org"}, "too similar to the email"),
        ({"username": "OLGA"}, "already exists"),
    ):
        response = Client().post(path, newcomer(**said))
        assert response.status_code == 422
        assert complaint in response.content.decode()
    assert User.objects.count() == 1
    assert Invitation.objects.open().count() == 1


def test_who_is_signed_in_accepts_with_one_press_and_a_member_keeps_their_role(
    study: Study, owner: User, desk: Client
) -> None:
    path, bob = offer(study, owner), User.objects.create_user("bob", password=None)
    assert "You are already a member of this study" in desk.get(path).content.decode()
    assert desk.post(path).status_code == 409
    assert rights_in(owner, study) == RIGHTS[Role.OWNER]
    client = signed_in(bob)
    page = client.get(path).content.decode()
    assert "Accept as bob" in page
    assert "password" not in page.split("<main")[1]
    assert client.post(path)["Location"] == reverse("dashboard:overview", args=["main"])
    assert rights_in(bob, study) == RIGHTS[Role.REVIEWER]


def test_a_link_that_was_used_or_is_too_old_says_so(
    study: Study, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = offer(study, owner)
    Client().post(path, newcomer())
    for ask in (Client().get, Client().post):
        response: Any = ask(path)
        assert response.status_code == 410
        assert "This invitation was already used" in response.content.decode()
    path = offer(study, owner, to="carl@example.org")
    later = timezone.now() + timedelta(days=15)
    monkeypatch.setattr(clock, "now", lambda: later)
    response = Client().post(path, newcomer(username="carl"))
    assert response.status_code == 410
    assert "This invitation has expired" in response.content.decode()
    assert not User.objects.filter(username="carl").exists()


@pytest.mark.usefixtures("one_moment")
def test_garbled_links_open_nothing_and_are_counted(study: Study, owner: User) -> None:
    path = offer(study, owner)
    Invitation.objects.update(nonce="another")  # no action does this: a link of a row that is not this one
    wrong = [path, path[:-2] + "/", "/invited/1-0.abc/", "/invited/x/"]
    for address in wrong:
        response = Client().get(address)
        assert response.status_code == 404
        assert "This link does not work" in response.content.decode()
    for _try in range(WRONG_LINKS.most - len(wrong)):
        assert Client().get("/invited/1-0.abc/").status_code == 404
    response = Client().get("/invited/1-0.abc/")
    assert response.status_code == 429
    assert int(response["Retry-After"]) > 0


def test_a_study_made_by_command_gets_its_owner() -> None:
    ada = User.objects.create_user("ada", password=None)
    call_command("create_study", "mine", owner="ada", contact="ada@example.org")
    assert rights_in(ada, Study.objects.get(slug="mine")) == frozenset(Right)
    with pytest.raises(CommandError, match="There is no account “eve”"):
        call_command("create_study", "other", owner="eve", contact="ada@example.org")
    assert not Study.objects.filter(slug="other").exists()
