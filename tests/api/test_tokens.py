"""API tokens: what is stored of them, who is told, and the page and the command that make and revoke them."""

from __future__ import annotations

import functools
import re
import string
import zlib
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from accounts.models import User
from annotation import actions, api_secrets
from annotation.errors import InvalidInput
from annotation.models import ApiToken, Event, Membership
from annotation.rights import Right, token_rights, tokens_of
from tests import builders
from tests.api.client import Program, member, problem
from tomannot import clock
from tomannot.log_masking import mask_tokens

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

PAGE = "dashboard:api_tokens"


def test_a_secret_is_known_by_its_form_and_its_checksum() -> None:
    secrets = {api_secrets.new_secret() for _ in range(200)}
    assert len(secrets) == 200
    for secret in secrets:
        assert re.fullmatch(r"tmn_[0-9A-Za-z]{49}", secret)
        assert api_secrets.is_well_formed(secret)
        other = "1" if secret[10] == "0" else "0"
        for wrong in (secret[:-1], secret[:10] + other + secret[11:], secret.swapcase(), ""):
            assert not api_secrets.is_well_formed(wrong)
    # What others can compute: CRC-32 of the 43 places, in base 62 with the digits 0-9A-Za-z.
    digits = string.digits + string.ascii_uppercase + string.ascii_lowercase
    checksum = functools.reduce(lambda sum, digit: 62 * sum + digits.index(digit), secret[-6:], 0)
    assert checksum == zlib.crc32(secret[4:-6].encode())


def test_only_a_hash_is_stored_and_only_use_and_revocation_change() -> None:
    program = Program(member(None))
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_jsonb(t)::text FROM annotation_apitoken t")
        (stored,) = cursor.fetchone()
    assert program.secret not in stored
    assert api_secrets.digest(program.secret) in stored
    token = ApiToken.objects.filter(pk=program.token.pk)
    for change in ({"scopes": ["votes:read"]}, {"expires_at": timezone.now() + timedelta(days=900)}):
        with pytest.raises(DatabaseError), transaction.atomic():
            token.update(**change)
    with pytest.raises(DatabaseError), transaction.atomic():
        token.delete()
    actions.revoke_api_token(token=program.token, by=None, now=timezone.now())
    with pytest.raises(DatabaseError), transaction.atomic():
        token.update(revoked_at=None)
    wrong: list[dict[str, Any]] = [{"scopes": []}, {"scopes": ["everything"]}, {"name": ""}, {"digest": "x"}]
    for broken in wrong:
        usual: dict[str, Any] = {
            "owner": program.token.owner,
            "name": "x",
            "scopes": ["votes:read"],
            "digest": "0" * 64,
            "made_at": timezone.now(),
            "expires_at": timezone.now() + timedelta(days=1),
        }
        with pytest.raises(IntegrityError), transaction.atomic():
            ApiToken.objects.create(**usual | broken)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": " "},
        {"name": "x" * 101},
        {"scopes": []},
        {"scopes": ["votes:read", "all"]},
        {"days": 0},
        {"days": 400},
    ],
)
def test_a_token_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    given: dict[str, Any] = {"name": "x", "scopes": ["votes:read"], "days": 1} | wrong
    now = timezone.now()
    with pytest.raises(InvalidInput):
        actions.make_api_token(
            owner=member(None), name=given["name"], scopes=given["scopes"], study=None, by=None, now=now,
            expires_at=now + timedelta(days=given["days"]),
        )  # fmt: skip
    assert not ApiToken.objects.exists()


def test_making_and_revoking_is_logged_where_it_concerns_without_the_secret() -> None:
    mine, alike, foreign = (builders.make_study(slug, opened=False) for slug in ("mine", "alike", "foreign"))
    owner = member(mine)
    actions.set_role(study=alike, user=owner, role=Membership.Role.AUDITOR, by=None, now=timezone.now())
    for study, concerned in ((mine, {mine}), (None, {mine, alike})):
        program = Program(owner, study=study)
        actions.revoke_api_token(token=program.token, by=owner, now=timezone.now())
        actions.revoke_api_token(token=program.token, by=owner, now=timezone.now())
        told = Event.objects.filter(subject=f"API token {program.token.pk}").order_by("pk")
        assert [(event.type, event.actor) for event in told] == [
            (kind, owner) for kind in ("api_token_made", "api_token_revoked") for _ in concerned
        ]
        assert {event.study for event in told} == concerned
        assert not any(program.secret in event.note for event in told)
    assert not foreign.events.filter(type=Event.Type.API_TOKEN_MADE).exists()


def test_owners_see_the_tokens_that_open_their_study_and_cut_them_off() -> None:
    mine, other = (builders.make_study(slug, opened=False) for slug in ("mine", "other"))
    owner, boss = member(mine), ensure_researcher(username="boss", password="a long enough password")
    sight = member(None, name="sight")
    sight.user_permissions.add(Permission.objects.get(codename="view_study"))
    gone = member(mine, name="gone")
    made = [Program(who, study=study) for who in (owner, boss, sight, gone) for study in (None, mine, other)]
    User.objects.filter(pk=gone.pk).update(is_active=False)
    revoked = Program(boss)
    actions.revoke_api_token(token=revoked.token, by=boss, now=timezone.now())
    for study in (mine, other):
        open_it = {
            token.pk
            for token in ApiToken.objects.select_related("owner")
            if token.revoked_at is None and Right.LOOK in token_rights(token, study)
        }
        assert set(tokens_of(study, now=timezone.now()).values_list("pk", flat=True)) == open_it
        assert not tokens_of(study, now=timezone.now() + timedelta(days=2)).exists()
    strongest = made[3].token
    assert strongest.owner == boss
    logged = Event.objects.filter(type="api_token_made", subject=f"API token {strongest.pk}")
    assert {event.study for event in logged} == {mine, other}, "an administrator's opens every study"
    client = Client()
    client.force_login(owner)
    members = reverse("dashboard:members", args=["mine"])
    assert client.get(members).content.decode().count("Revoke script") == 3, "those for this alone"
    revoke = reverse("dashboard:revoke_members_token", args=["mine", strongest.pk])
    assert "only its owner can revoke it" in client.post(revoke, follow=True).content.decode()
    assert made[3].get("studies/other/").status_code == 200, "an owner of one study ends nothing in another"
    bound = made[4].token
    revoke = reverse("dashboard:revoke_members_token", args=["mine", bound.pk])
    assert "It no longer works" in client.post(revoke, follow=True).content.decode()
    bound.refresh_from_db()
    assert bound.revoked_by == owner
    elsewhere = reverse("dashboard:revoke_members_token", args=["mine", made[5].token.pk])
    assert "no longer opens the study" in client.post(elsewhere, follow=True).content.decode()
    problem(made[4].get("studies/mine/"), 401)
    assert made[5].get("studies/other/").status_code == 200


def test_a_token_that_its_owner_lost_the_right_for_is_told_to_be_revoked_where_it_was_made() -> None:
    study = builders.make_study("main", opened=False)
    program, keeper = Program(member(study)), member(study)
    actions.remove_member(study=study, user=program.token.owner, by=keeper, now=timezone.now())
    actions.revoke_api_token(token=program.token, by=None, now=timezone.now())
    assert study.events.filter(type=Event.Type.API_TOKEN_REVOKED).count() == 1


def test_who_changes_the_password_is_told_of_tokens_and_can_revoke_all() -> None:
    owner = member(builders.make_study("main", opened=False))
    foreign = Program(member(None))
    client = Client()
    client.force_login(owner)
    assert "Revoke all my tokens" not in client.get(reverse(PAGE)).content.decode()
    tokens = [Program(owner).token for _ in range(2)]
    assert f'href="{reverse(PAGE)}">API tokens' in client.get(reverse("accounts:password")).content.decode()
    assert "Revoke all my tokens" in client.get(reverse(PAGE)).content.decode()
    done = client.post(reverse("dashboard:revoke_all_api_tokens"), follow=True)
    assert "2 tokens are revoked" in done.content.decode()
    for token in tokens:
        token.refresh_from_db()
        assert token.revoked_by == owner
    assert foreign.get("token/").status_code == 200


def test_the_use_is_noted_once_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    program, start = Program(member(None)), timezone.now()
    seen = []
    for minutes in (0, 59, 60, 119):
        now = start + timedelta(minutes=minutes)
        monkeypatch.setattr(clock, "now", lambda now=now: now)
        assert program.get("token/").status_code == 200
        program.token.refresh_from_db()
        used = program.token.last_used_at
        assert used is not None
        seen.append((used - start).total_seconds() / 60)
    assert seen == [0, 0, 60, 60]


def test_no_log_has_a_secret() -> None:
    secret = api_secrets.new_secret()
    assert mask_tokens(f"sent Bearer {secret}") == "sent Bearer tmn_***"


def test_the_page_makes_a_token_shows_its_secret_once_and_revokes_it() -> None:
    study = builders.make_study("main", opened=False)
    builders.make_study("other", opened=False)
    owner, somebody = member(study), member(study)
    owner.set_password("a long enough password")
    owner.save()
    client = Client()
    client.force_login(owner)
    said = {"name": "my script", "study": "main", "scopes": ["votes:read", "studies:read"], "days": "30"}
    asked_again = client.post(reverse(PAGE), said)["Location"]
    assert asked_again.startswith(reverse("account_reauthenticate"))
    guesses = [client.post(asked_again, {"password": f"guess {n}"}).status_code for n in range(2)]
    assert guesses == [200, 200]
    assert not ApiToken.objects.exists()
    made = client.post(asked_again, {"password": "a long enough password"})  # makes what was asked for
    empty = client.post(reverse(PAGE), {})
    assert empty.status_code == 422
    assert 'value="other"' not in empty.content.decode(), "no study that they may not look at"
    assert client.post(reverse(PAGE), said | {"study": "other"}).status_code == 422
    assert made.status_code == 201
    assert "no-store" in made["Cache-Control"]
    (secret,) = set(re.findall(r"tmn_\w+", made.content.decode()))
    again = client.get(reverse(PAGE)).content.decode()
    assert "my script" in again
    assert "tmn_" not in again
    asked = Client(headers={"Authorization": f"Bearer {secret}"}).get("/api/v1/token/").json()
    token = ApiToken.objects.get()
    assert (asked["study"], asked["scopes"]) == ("main", ["studies:read", "votes:read"])
    assert token.expires_at - token.made_at == timedelta(days=30)
    foreign = Client()
    foreign.force_login(somebody)
    revoke = reverse("dashboard:revoke_api_token", args=[token.pk])
    assert "my script" not in foreign.get(reverse(PAGE)).content.decode()
    assert foreign.post(revoke).status_code == 404
    for ask in (Client().get(reverse(PAGE)), Client().post(revoke)):
        assert ask.status_code == 302, "who is not signed in is asked to"
    assert "is revoked" in client.post(revoke, follow=True).content.decode()
    token.refresh_from_db()
    assert token.revoked_by == owner
    thief = Client()
    thief.force_login(owner)
    guesses = [thief.post(asked_again, {"password": f"guess {n}"}).status_code for n in range(8)]
    assert guesses[-1] == 429, "as at the door"
    assert thief.post(asked_again, {"password": "a long enough password"}).status_code == 429
    assert thief.post(reverse(PAGE), said).status_code == 302


def test_the_command_makes_lists_and_revokes() -> None:
    owner = member(builders.make_study("main", opened=False), name="ada")
    secret = StringIO()
    made = {"name": "nightly", "scope": ["votes:read"], "study": "main", "days": 7}
    call_command("api_token", "ada", stdout=secret, stderr=StringIO(), **made)
    token = ApiToken.objects.get(owner=owner)
    assert token.digest == api_secrets.digest(secret.getvalue().strip())
    listed = StringIO()
    call_command("api_token", "ada", list=True, stdout=listed)
    assert listed.getvalue().startswith(f"{token.pk}\tnightly\tvalid\tmain\tvotes:read\tuntil ")
    call_command("api_token", "ada", revoke=token.pk, stdout=StringIO())
    token.refresh_from_db()
    assert token.revoked_at is not None
    wrong: list[dict[str, Any]] = [{"revoke": 10**6}, made | {"scope": []}, made | {"days": 10**9}]
    for options in wrong:
        with pytest.raises(CommandError):
            call_command("api_token", "ada", **options)
    with pytest.raises(CommandError, match="no account"):
        call_command("api_token", "nobody", list=True)
