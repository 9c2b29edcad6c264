"""A new SECRET_KEY with the former one as fallback: nothing that was sent or stored is lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import (
    AskedToBeForgotten,
    ensure_researcher,
    erase_identities,
    is_forgotten,
    recognise,
)  # fmt: skip
from accounts.models import ForgottenIdentity, PlatformIdentity
from annotation import tokens
from annotation.models import Webhook
from annotation.tokens import InvalidToken, VisitClaim
from dashboard.alerts.webhooks import secret_of, signed_headers
from operations import doctor
from recruitment.links import confirming_link, personal_path
from tests import builders
from tests.doubles.webhooks import is_signed

PERSON: dict[str, Any] = {"platform": "link", "environment": "live", "person": "5f3c0d9e"}

Rotate = Callable[..., None]


@pytest.fixture
def rotate(settings: Any) -> Rotate:
    """Replace the key, and keep the former ones unless told otherwise."""

    def replace(*, keep: bool = True) -> None:
        former = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
        settings.SECRET_KEY = f"key-{len(former)}-" + "y" * 50
        settings.SECRET_KEY_FALLBACKS = former if keep else []

    return replace


def test_tokens_work_while_their_key_is_kept(rotate: Rotate) -> None:
    link, visit, invitation = (7, "2x3fa"), VisitClaim(7, 11, "2x3fa"), (3, "nonce")
    signed = tokens.personal_token(*link), tokens.visit_token(visit), tokens.invitation_token(*invitation)
    for _ in range(2):
        rotate()
        assert tokens.read_personal_token(signed[0]) == link
        assert tokens.read_visit_token(signed[1]) == visit
        assert tokens.read_invitation_token(signed[2]) == invitation
        assert tokens.personal_token(*link) != signed[0], "the new key signs"
    rotate(keep=False)
    readers: tuple[Callable[[str], object], ...] = (
        tokens.read_personal_token,
        tokens.read_visit_token,
        tokens.read_invitation_token,
    )
    for read, token in zip(readers, signed, strict=True):
        with pytest.raises(InvalidToken):
            read(token)


@pytest.mark.django_db
def test_people_and_researchers_go_on(rotate: Rotate, client: Client) -> None:
    (person,) = builders.invite(builders.make_study(stories=1))
    link = personal_path(person)
    researcher = ensure_researcher(username="ada", password="a-long-password-1")
    client.force_login(researcher)
    rotate()
    assert client.get(link).status_code == 200
    assert client.get(reverse("dashboard:studies")).status_code == 200
    client.session.flush()
    rotate(keep=False)
    assert client.get(link).status_code == 404
    client.force_login(researcher)
    rotate(keep=False)
    assert client.get(reverse("dashboard:studies")).status_code == 302


@pytest.mark.django_db
def test_an_address_is_confirmed_by_a_link_from_before(rotate: Rotate, client: Client) -> None:
    (person,) = builders.invite(builders.make_study(stories=1))
    identity = PlatformIdentity.objects.create(
        annotator=person.annotator, platform="email", environment=person.environment,
        person="ada@example.org", created_at=timezone.now(),
    )  # fmt: skip
    link = confirming_link(identity)
    rotate()
    client.post(link)
    identity.refresh_from_db()
    assert identity.confirmed_at is not None


@pytest.mark.django_db
def test_somebody_forgotten_is_recognised_as_long_as_the_key_is_kept(rotate: Rotate) -> None:
    erase_identities(annotator=recognise(**PERSON, now=timezone.now()), now=timezone.now())
    rotate()
    assert is_forgotten(**PERSON)
    with pytest.raises(AskedToBeForgotten):
        recognise(**PERSON, now=timezone.now())
    other = PERSON | {"person": "another"}
    erase_identities(annotator=recognise(**other, now=timezone.now()), now=timezone.now())
    assert [finding.level for finding in doctor.CHECKS["keys"]()] == ["ok"]
    rotate(keep=False)
    assert not is_forgotten(**PERSON)
    (finding,) = doctor.CHECKS["keys"]()
    assert finding.level == "PROBLEM"
    assert finding.text.startswith("2 people who had their data deleted would not be recognised")
    assert ForgottenIdentity.objects.count() == 2


def test_receivers_of_webhooks_verify_with_the_secret_they_were_shown(rotate: Rotate) -> None:
    webhook = Webhook(nonce="a-nonce")
    now, body = datetime(2026, 11, 23, tzinfo=UTC), b"{}"

    def accepts(secret: str) -> bool:
        return is_signed(secret, signed_headers(webhook, message_id="alert_1", body=body, now=now), body)

    before = secret_of(webhook)
    rotate()
    after = secret_of(webhook)
    assert before != after
    assert accepts(before)
    assert accepts(after)
    rotate(keep=False)
    assert not accepts(before)
