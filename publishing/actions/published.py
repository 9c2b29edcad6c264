"""Depositing and withdrawing published releases, and recording both.

The upload runs between two transactions, in the process that holds the credentials. If that process is
killed, the row stays "being uploaded"; running the deposit again completes both.
"""

import time
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User, locked
from annotation.models import Event
from annotation.reasons import LONGEST_STATEMENT, check_reason
from publishing import errors
from publishing.actions.releases import record_release
from publishing.destinations.base import Destination, Log, Package
from publishing.models import Deposit, Release, Withdrawal

_NO_LONGER_THERE = (errors.Damaged, errors.PlaceOccupied, errors.WrongVisibility)
"""Errors about the place itself: a completed deposit no longer counts."""
_EVENTS = {
    Deposit.State.UPLOADING: Event.Type.DEPOSIT_REQUESTED,
    Deposit.State.DONE: Event.Type.DEPOSIT_DONE,
    Deposit.State.FAILED: Event.Type.DEPOSIT_FAILED,
}


def deposit_release(
    *, release: Release, destination: Destination, package: Package, by: User | None, now: datetime, log: Log
) -> Deposit:
    """Upload a published release to a destination, or complete its upload, and record the result.

    ``package`` is the checked directory of the release. A destination that already has the release is
    compared again. Raise :class:`~publishing.errors.UnusableRelease`, and pass on
    :class:`~publishing.errors.DestinationError` and ``OSError`` after recording the failure.
    """
    begun = time.monotonic()
    asked = request_deposit(release=release, destination=destination, by=by, now=now)
    try:
        url = destination.deposit(package, log)
    except (errors.DestinationError, OSError) as error:
        unreadable = f"The release's own files cannot be read ({type(error).__name__})."
        fault = errors.DestinationError(unreadable) if isinstance(error, OSError) else error
        fail_deposit(deposit_id=asked.pk, error=fault, by=by, now=_later(now, begun))
        raise
    return finish_deposit(
        deposit_id=asked.pk, url=url, public=destination.public, by=by, now=_later(now, begun)
    )


def _later(now: datetime, begun: float) -> datetime:
    """Return ``now`` plus the time since ``begun``. A withdrawal may come during a long upload."""
    return now + timedelta(seconds=time.monotonic() - begun)


def check_depositable(release: Release) -> None:
    """Raise :class:`~publishing.errors.UnusableRelease` unless it is published and was not withdrawn."""
    if release.state != Release.State.PUBLISHED:
        raise errors.UnusableRelease(
            f"Release {release.number} of {release.study.slug} is {release.get_state_display()}. Only a "
            "published release can be deposited."
        )
    if withdrawal := release.withdrawn:
        where = {"number": release.number, "study": release.study.slug, "reason": withdrawal.reason}
        text = _("Release %(number)s of “%(study)s” was withdrawn on %(day)s: %(reason)s")
        told = text % {**where, "day": f"{withdrawal.withdrawn_at:%Y-%m-%d}"}
        raise errors.UnusableRelease(
            f"{told} A withdrawn release is not deposited. Where it has been deposited already, say there "
            "that it was withdrawn."
        )


@transaction.atomic(durable=True)
def request_deposit(*, release: Release, destination: Destination, by: User | None, now: datetime) -> Deposit:
    """Create or restart the deposit of this release at this place. A completed one stays as it is.

    Raise as :func:`check_depositable` does. Both this and a withdrawal lock the release's row, so one of them
    always sees the other.
    """
    release = Release.objects.locked().get(pk=release.pk)
    check_depositable(release)
    deposit, _new = Deposit.objects.select_for_update(of=("self",), no_key=True).get_or_create(
        release=release,
        kind=destination.kind,
        place=destination.place,
        defaults={"public": destination.public, "requested_by": by, "requested_at": now},
    )
    if deposit.state == Deposit.State.DONE:
        return deposit
    deposit.public, deposit.requested_by, deposit.requested_at = destination.public, by, now
    return _move(deposit, Deposit.State.UPLOADING, by=by, now=now)


@transaction.atomic(durable=True)
def finish_deposit(*, deposit_id: int, url: str, public: bool, by: User | None, now: datetime) -> Deposit:
    """Record a completed upload. Change nothing if the same completion is already recorded.

    If the release was withdrawn during the upload, the event says so, because the withdrawal did not list
    this copy.
    """
    deposit = locked(Deposit(pk=deposit_id), "release__study")
    if deposit.state == Deposit.State.DONE and (deposit.url, deposit.public) == (url, public):
        return deposit
    deposit.public = public
    meanwhile = " (the release was withdrawn during the upload)" if deposit.release.withdrawn else ""
    note = f"{url}{meanwhile}"
    return _move(deposit, Deposit.State.DONE, note, by=by, now=now, done_at=now, url=url)


@transaction.atomic(durable=True)
def fail_deposit(*, deposit_id: int, error: errors.DestinationError, by: User | None, now: datetime) -> None:
    """Record why a deposit failed.

    A completed deposit stays so unless the error is about the place itself: a network failure says nothing
    about what is stored there.
    """
    deposit = locked(Deposit(pk=deposit_id), "release__study")
    if deposit.state == Deposit.State.DONE and not isinstance(error, _NO_LONGER_THERE):
        return
    _move(deposit, Deposit.State.FAILED, str(error), by=by, now=now, failure=str(error))


def _move(
    deposit: Deposit, state: Deposit.State, note: str = "", *, by: User | None, now: datetime, **values: Any
) -> Deposit:
    of_other_states = {"failure": "", "done_at": None, "url": ""}
    for name, value in (of_other_states | values | {"state": state}).items():
        setattr(deposit, name, value)
    deposit.save()
    note = f"{deposit.kind} {deposit.place} {note}".strip()
    record_release(release=deposit.release, type=_EVENTS[state], by=by, now=now, note=note)
    return deposit


@transaction.atomic
def withdraw_release(*, release: Release, reason: str, by: User | None, now: datetime) -> Withdrawal:
    """Withdraw a published release permanently, with a public reason.

    Its files stay unchanged and available, because whoever used them must be able to find out what was wrong.
    Raise ``ReasonMissing``, and :class:`~publishing.errors.UnusableRelease` for an unpublished release and
    for one already withdrawn.
    """
    told = _("Give the reason in 1 to %(most)s characters. It is public.")
    reason = check_reason(reason, most=LONGEST_STATEMENT, message=told)
    release = Release.objects.locked().get(pk=release.pk)
    if release.state != Release.State.PUBLISHED:
        raise errors.UnusableRelease(
            _("Release %(number)s is not published, so there is nothing to withdraw."), number=release.number
        )
    if release.withdrawn:
        raise errors.UnusableRelease(
            _("Release %(number)s was already withdrawn on %(day)s: %(reason)s"),
            number=release.number,
            day=f"{release.withdrawn.withdrawn_at:%Y-%m-%d}",
            reason=release.withdrawn.reason,
        )
    withdrawal = Withdrawal.objects.create(release=release, reason=reason, withdrawn_at=now, withdrawn_by=by)
    record_release(release=release, type=Event.Type.RELEASE_WITHDRAWN, by=by, now=now, note=reason)
    return withdrawal
