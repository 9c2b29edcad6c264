"""The address that somebody may leave so that their link can be sent to them again."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from accounts.actions import (
    AddressTaken,
    AskedToBeForgotten,
    Erased,
    confirm_email,
    erase_identities,
    recognise,
    set_email,
)
from accounts.models import Annotator, Environment, PlatformIdentity
from annotation.models import Enrollment, Event
from publishing.actions import releases as publishing_actions
from publishing.models import Release
from tests import builders

pytestmark = pytest.mark.django_db

NOW = timezone.now()
ADDRESS = "unmistakable.person@example.org"


def somebody() -> Annotator:
    return Annotator.objects.create(created_at=NOW)


def give(annotator: Annotator, address: str, environment: str = Environment.LIVE) -> PlatformIdentity | None:
    return set_email(annotator=annotator, environment=environment, address=address, now=NOW)


def confirm(identity: PlatformIdentity | None) -> PlatformIdentity:
    assert identity is not None
    return confirm_email(identity_id=identity.pk, now=NOW)


def addresses(annotator: Annotator) -> set[tuple[str, str]]:
    mine = PlatformIdentity.objects.filter(annotator=annotator, platform=PlatformIdentity.Platform.EMAIL)
    return set(mine.values_list("environment", "person"))


def test_an_address_is_kept_in_one_spelling() -> None:
    person = somebody()

    give(person, "  Ada.Lovelace@Example.ORG ")

    assert addresses(person) == {("live", "ada.lovelace@example.org")}


def test_a_new_address_replaces_the_old_one() -> None:
    person = somebody()
    give(person, "old@example.org")

    give(person, "new@example.org")

    assert addresses(person) == {("live", "new@example.org")}
    give(somebody(), "old@example.org")


def test_giving_the_same_address_again_is_harmless() -> None:
    person = somebody()
    confirm(give(person, ADDRESS))

    again = give(person, ADDRESS.upper())

    assert addresses(person) == {("live", ADDRESS)}
    assert again is not None
    assert again.confirmed_at == NOW


def test_an_empty_address_forgets_it_and_nothing_else() -> None:
    person = somebody()
    give(person, ADDRESS)
    PlatformIdentity.objects.create(
        annotator=person, platform="prolific", environment="live", person="5f3a9c0de1", created_at=NOW
    )

    give(person, "   ")

    assert addresses(person) == set()
    assert person.identities.get().person == "5f3a9c0de1"


def test_a_rehearsal_keeps_addresses_of_its_own() -> None:
    person, other = somebody(), somebody()
    give(person, ADDRESS)

    give(person, "test@example.org", Environment.REHEARSAL)
    give(other, ADDRESS, Environment.REHEARSAL)
    give(person, "", Environment.REHEARSAL)

    assert addresses(person) == {("live", ADDRESS)}
    assert addresses(other) == {("rehearsal", ADDRESS)}


def test_whoever_only_types_an_address_keeps_its_owner_out_of_nothing() -> None:
    typist, owner = somebody(), somebody()
    give(typist, ADDRESS)

    confirmed = confirm(give(owner, ADDRESS.upper()))

    assert (confirmed.annotator, confirmed.confirmed_at) == (owner, NOW)
    assert addresses(typist) == {("live", ADDRESS)}


def test_an_address_is_confirmed_for_one_person_only() -> None:
    owner, other = somebody(), somebody()
    confirm(give(owner, ADDRESS))
    claim = give(other, ADDRESS)

    with pytest.raises(AddressTaken) as error:
        confirm(claim)

    assert not other.identities.filter(confirmed_at__isnull=False).exists()
    assert str(owner.pk) not in str(error.value)
    assert ADDRESS not in str(error.value)


def test_confirming_twice_keeps_the_first_time() -> None:
    identity = confirm(give(somebody(), ADDRESS))

    again = confirm_email(identity_id=identity.pk, now=NOW + timedelta(days=1))

    assert again.confirmed_at == NOW


def test_an_address_that_was_replaced_cannot_be_confirmed_any_more() -> None:
    person = somebody()
    old = give(person, "old@example.org")
    give(person, ADDRESS)

    with pytest.raises(PlatformIdentity.DoesNotExist):
        confirm(old)


def test_nothing_is_remembered_of_somebody_who_was_forgotten() -> None:
    person = somebody()
    give(person, ADDRESS)
    erase_identities(annotator=person, now=NOW)

    for address in (ADDRESS, ""):
        with pytest.raises(Erased):
            give(person, address)

    assert not person.identities.exists()
    give(somebody(), ADDRESS)


def test_an_address_that_was_only_claimed_does_not_keep_its_owner_out() -> None:
    claiming, owner = somebody(), "owner@example.org"
    give(claiming, owner)
    proved = somebody()
    confirm(give(proved, ADDRESS))
    for person in (claiming, proved):
        erase_identities(annotator=person, now=NOW)

    recognise(platform=PlatformIdentity.Platform.EMAIL, environment="live", person=owner, now=NOW)
    with pytest.raises(AskedToBeForgotten):
        recognise(platform=PlatformIdentity.Platform.EMAIL, environment="live", person=ADDRESS, now=NOW)


def test_erasing_twice_keeps_the_first_date() -> None:
    person = somebody()
    erase_identities(annotator=person, now=NOW)
    erase_identities(annotator=person, now=NOW + timedelta(days=1))

    person.refresh_from_db()
    assert person.erased_at == NOW


@pytest.mark.django_db(transaction=True)
def test_an_address_is_in_no_release_event_or_log(
    settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings.RELEASES_ROOT = tmp_path
    study = builders.make_study(stories=1, votes_per_story=1)
    (person,) = builders.qualified(study)
    caplog.set_level(logging.DEBUG, logger="django.request")
    caplog.set_level(logging.INFO)

    give(Enrollment.objects.get(pk=person.pk).annotator, ADDRESS)
    confirm(PlatformIdentity.objects.get())
    with pytest.raises(AddressTaken):
        confirm(give(somebody(), ADDRESS))
    builders.vote(person)
    release = publishing_actions.request_release(study=study, by=None, now=timezone.now())
    publishing_actions.build_release(release_id=release.pk, now=timezone.now())

    assert Release.objects.get().state == Release.State.PUBLISHED
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if b"annotator-" in path.read_bytes()]
    assert not [path for path in files if ADDRESS.encode() in path.read_bytes()]
    assert not [event for event in Event.objects.all() if ADDRESS in f"{event.subject} {event.note}"]
    assert ADDRESS not in caplog.text
