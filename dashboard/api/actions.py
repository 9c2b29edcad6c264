"""Writes that only programs ask for in this form."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Max

from accounts.models import User
from annotation.errors import WrongState
from annotation.models import Study
from publishing.actions import request_release
from publishing.errors import NumberTaken
from publishing.models import Release


@transaction.atomic
def publish_once(
    *, study: Study, filter_name: str, number: int | None, by: User | None, now: datetime
) -> tuple[Release, bool]:
    """Ask for a release, and whether it is new. One with this ``number`` and rule is returned as it is.

    So a program that never got its answer can ask again: there is one release of each number. A failed
    one is asked for anew. Raises like :func:`publishing.actions.request_release`;
    :class:`NumberTaken` where the number stands for something else than was asked
    for, and :class:`WrongState` where it is not the next.
    """
    # Two who ask at once take turns here; request_release would lock the same row.
    study = Study.objects.select_for_update(of=("self",), no_key=True).get(pk=study.pk)
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
            raise WrongState(f"The next release of “{study.slug}” has the number {following}, not {number}.")
    return request_release(study=study, filter_name=filter_name, by=by, now=now), True


def _check_same(release: Release, filter_name: str) -> None:
    if release.filter_name != filter_name:
        raise NumberTaken(
            f"Release {release.number} is made with the filter “{release.filter_name}”, not with "
            f"“{filter_name}”. Ask without a number for another release."
        )
    if release.withdrawn:
        raise NumberTaken(
            f"Release {release.number} was withdrawn: {release.withdrawn.reason} "
            "Ask without a number for another release."
        )
