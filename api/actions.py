"""Writes that only the API needs."""

from datetime import datetime

from django.db import transaction
from django.db.models import Max

from accounts.models import User, locked
from annotation.errors import WrongState
from annotation.models import Study
from dashboard.releases.recruited import recruited
from publishing.actions.releases import request_release
from publishing.errors import NumberTaken
from publishing.models import Release


@transaction.atomic
def publish_once(
    *, study: Study, filter_name: str, number: int | None, by: User | None, now: datetime
) -> tuple[Release, bool]:
    """Request a release. Return it, and whether it is new.

    A release with this ``number`` and rule that did not fail is returned unchanged, so that a program that
    lost the response can retry. Raise as :func:`publishing.actions.releases.request_release` does,
    :class:`NumberTaken` if the number belongs to a different or withdrawn release, and :class:`WrongState`
    if it is not the next one.
    """
    # Concurrent requests take turns here; request_release would lock the same row.
    study = locked(study)
    if number is not None:
        found = Release.objects.filter(study=study, number=number)
        there = found.select_related("study", "withdrawal").first()
        if there and there.state != Release.State.FAILED:
            _check_same(there, filter_name)
            return there, False
        failed = Release.objects.filter(study=study, state=Release.State.FAILED).first()
        last = Release.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0
        following = failed.number if failed else last + 1
        if number != following:
            raise WrongState(f"The next release of “{study.slug}” is number {following}, not {number}.")
    known = recruited(study)
    return request_release(study=study, filter_name=filter_name, by=by, now=now, recruited=known), True


def _check_same(release: Release, filter_name: str) -> None:
    if release.filter_name != filter_name:
        raise NumberTaken(
            f"Release {release.number} uses the filter “{release.filter_name}”, not “{filter_name}”. "
            "Leave the number out to request another release."
        )
    if release.withdrawn:
        raise NumberTaken(
            f"Release {release.number} was withdrawn: {release.withdrawn.reason} "
            "Leave the number out to request another release."
        )
