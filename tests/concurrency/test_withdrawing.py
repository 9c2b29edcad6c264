"""Races of a withdrawal with a deposit: whoever withdraws is told of every copy, or there is none."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation.models import Event
from publishing.actions import published as actions
from publishing.actions.published import withdraw_release
from publishing.models import Deposit, Release
from tests.builders import ALL_YES
from tests.concurrency.racing import Overtaking, errors, race, without_locks
from tests.publishing.support import judged_study, published
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("client")]

PLACE = "s3://ours/small"


@built_once
def published_once() -> Release:
    return published(judged_study("small", {"kept": (ALL_YES,) * 3}))


@pytest.fixture
def release(settings: Any, tmp_path: Path) -> Release:
    settings.RELEASES_ROOT = tmp_path
    return published_once()


def withdraw(release: Release) -> list[str]:
    """Withdraws; the places that whoever does it is told of."""
    withdraw_release(release=release, reason="A mistake.", by=None, now=timezone.now())
    return [deposit.place for deposit in Deposit.objects.started_or_done().filter(release=release)]


@pytest.mark.parametrize("locked", [True, False])
def test_a_withdrawal_meets_a_deposit_that_begins(
    release: Release, monkeypatch: pytest.MonkeyPatch, locked: bool
) -> None:
    if not locked:
        without_locks(monkeypatch)
    overtaking = Overtaking()
    moved = actions._move

    def slowly(*given: Any, **named: Any) -> Deposit:
        deposit = moved(*given, **named)
        overtaking.wait_inside(0.5)
        return deposit

    monkeypatch.setattr(actions, "_move", slowly)
    place: Any = SimpleNamespace(kind="s3", place=PLACE, public=True)
    outcomes = race(
        lambda: actions.request_deposit(release=release, destination=place, by=None, now=timezone.now()),
        overtaking.overtake(lambda: withdraw(release)),
    )
    assert not errors(outcomes)
    assert outcomes[1] == ([PLACE] if locked else []), "without the lock nobody hears of the copy"


def test_a_release_that_is_withdrawn_during_its_upload_is_marked_where_it_stands(release: Release) -> None:
    told: list[str] = []

    def deposit(package: object, say: object) -> str:
        told.extend(withdraw(release))
        return "https://ours.example/small"

    place: Any = SimpleNamespace(kind="s3", place=PLACE, public=True, deposit=deposit)
    package: Any = None
    done = actions.deposit_release(
        release=release, destination=place, package=package, by=None, now=timezone.now(), log=told.append
    )
    assert told == [PLACE], "it is being uploaded"
    assert done.outlived_withdrawal
    assert "withdrawn during the upload" in Event.objects.get(type=Event.Type.DEPOSIT_DONE).note
    boss = Client()
    boss.force_login(ensure_researcher(username="boss", password="a long enough password"))
    page = boss.get("/studies/small/releases/").content.decode()
    assert "The copy was uploaded after the release was withdrawn" in page
