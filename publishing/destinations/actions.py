"""Depositing a published release, and recording it.

The upload runs between two transactions, in the process that was given the secret. If that process is
killed, the row stays "being uploaded" and running it again completes both the place and the row.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from django.db import transaction

from accounts.models import User
from annotation.actions.events import record_event
from annotation.models import Event
from publishing.destinations.base import (
    Damaged,
    Deposited,
    Destination,
    DestinationError,
    PlaceOccupied,
    Say,
    WrongVisibility,
)
from publishing.destinations.package import Package
from publishing.errors import Withdrawn
from publishing.models import Deposit, Release

_NO_LONGER_THERE = (Damaged, PlaceOccupied, WrongVisibility)
"""Faults that say something about the place itself: a deposit that was done does not count any more."""


def deposit_release(
    *, release: Release, destination: Destination, package: Package, by: User | None, now: datetime, say: Say
) -> Deposit:
    """Bring a published release to a place, or complete it there, and record what came of it.

    ``package`` is the release's directory, checked. Raises
    :class:`~publishing.errors.Withdrawn`, and :class:`~publishing.destinations.base.DestinationError` and
    ``OSError`` as they come; the first of these two is
    recorded with its remedy. A place where the release is already is compared again.
    """
    begun = time.monotonic()
    asked = request_deposit(release=release, destination=destination, by=by, now=now)
    try:
        deposited = destination.deposit(package, say)
    except DestinationError as error:
        fail_deposit(deposit_id=asked.pk, error=error, by=by, now=_later(now, begun))
        raise
    except OSError as error:
        fault = DestinationError(f"The release's own files cannot be read ({type(error).__name__}).")
        fail_deposit(deposit_id=asked.pk, error=fault, by=by, now=_later(now, begun))
        raise
    return finish_deposit(
        deposit_id=asked.pk, deposited=deposited, public=destination.public, by=by, now=_later(now, begun)
    )


def _later(now: datetime, begun: float) -> datetime:
    """``now`` as it has become: an upload takes minutes, in which the release may be withdrawn."""
    return now + timedelta(seconds=time.monotonic() - begun)


@transaction.atomic(durable=True)
def request_deposit(*, release: Release, destination: Destination, by: User | None, now: datetime) -> Deposit:
    """The deposit of this release at this place, as being uploaded; one that is done stays done.

    Raises ``ValueError`` for a release that is not published, and
    :class:`~publishing.errors.Withdrawn` for one that was withdrawn. A withdrawal waits for this and sees
    the deposit, or is seen here: both hold the release's row.
    """
    release = (
        Release.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study")
        .get(pk=release.pk)
    )
    if release.state != Release.State.PUBLISHED:
        raise ValueError(f"{release} is not published.")
    if release.withdrawn:
        raise Withdrawn(release)
    deposit, _ = Deposit.objects.select_for_update(of=("self",), no_key=True).get_or_create(
        release=release,
        kind=destination.kind,
        place=destination.place,
        defaults={"public": destination.public, "requested_by": by, "requested_at": now},
    )
    if deposit.state == Deposit.State.DONE:
        return deposit
    deposit.state = Deposit.State.UPLOADING
    deposit.failure = ""
    deposit.public = destination.public
    deposit.requested_by = by
    deposit.requested_at = now
    deposit.save()
    _record(deposit, Event.Type.DEPOSIT_REQUESTED, by=by, now=now)
    return deposit


@transaction.atomic(durable=True)
def finish_deposit(
    *, deposit_id: int, deposited: Deposited, public: bool, by: User | None, now: datetime
) -> Deposit:
    """Record that the whole release stands at the place. One that is recorded so already stays as it is.

    Where the release was withdrawn during the upload, the log says so: nobody was told of this copy.
    """
    deposit = _locked(deposit_id)
    if deposit.state == Deposit.State.DONE and (deposit.url, deposit.public) == (deposited.url, public):
        return deposit
    deposit.state = Deposit.State.DONE
    deposit.failure = ""
    deposit.public = public
    deposit.done_at = now
    deposit.url = deposited.url
    deposit.manifest_sha256 = deposit.release.manifest_sha256
    deposit.save()
    meanwhile = " (the release was withdrawn during the upload)" if deposit.release.withdrawn else ""
    _record(deposit, Event.Type.DEPOSIT_DONE, by=by, now=now, note=f"{deposit.url}{meanwhile}")
    return deposit


@transaction.atomic(durable=True)
def fail_deposit(*, deposit_id: int, error: DestinationError, by: User | None, now: datetime) -> None:
    """Record why it did not come to the place.

    A deposit that is done stays so unless the place itself was found to be otherwise: a network that is
    down says nothing about what stands there.
    """
    deposit = _locked(deposit_id)
    if deposit.state == Deposit.State.DONE and not isinstance(error, _NO_LONGER_THERE):
        return
    deposit.state = Deposit.State.FAILED
    deposit.failure = str(error)
    deposit.done_at = None
    deposit.url = ""
    deposit.manifest_sha256 = ""
    deposit.save()
    _record(deposit, Event.Type.DEPOSIT_FAILED, by=by, now=now, note=deposit.failure)


def _locked(deposit_id: int) -> Deposit:
    found: Deposit = (
        Deposit.objects.select_for_update(of=("self",), no_key=True)
        .select_related("release__study")
        .get(pk=deposit_id)
    )
    return found


def _record(deposit: Deposit, type: Event.Type, *, by: User | None, now: datetime, note: str = "") -> None:
    release = deposit.release
    record_event(
        study=release.study,
        type=type,
        by=by,
        now=now,
        subject=f"release {release.number}",
        note=f"{deposit.kind} {deposit.place} {note}".strip(),
    )
