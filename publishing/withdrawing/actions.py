"""Writes about withdrawals."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.actions.events import record_event
from annotation.models import Event
from publishing.errors import NotWithdrawable
from publishing.models import Release, Withdrawal

LONGEST_REASON = 1000
"""Characters of the reason that everybody reads."""


@transaction.atomic
def withdraw_release(*, release: Release, reason: str, by: User | None, now: datetime) -> Withdrawal:
    """Mark a published release as withdrawn, with a reason that everybody reads. For good.

    Its files stay, unchanged and to be had: who has used them must be able to find out what was wrong
    with what. Raises :class:`~publishing.errors.NotWithdrawable` without a reason, for a release that is
    not published, and for one that is withdrawn already.
    """
    reason = _checked(reason)
    release = (
        Release.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study")
        .get(pk=release.pk)
    )
    if release.state != Release.State.PUBLISHED:
        raise NotWithdrawable(
            _("Release %(number)s is not published, so there is nothing to withdraw.")
            % {"number": release.number}
        )
    if release.withdrawn:
        raise NotWithdrawable(
            _("Release %(number)s was withdrawn on %(day)s already: %(reason)s")
            % {
                "number": release.number,
                "day": f"{release.withdrawn.withdrawn_at:%Y-%m-%d}",
                "reason": release.withdrawn.reason,
            }
        )
    withdrawal = Withdrawal.objects.create(release=release, reason=reason, withdrawn_at=now, withdrawn_by=by)
    record_event(
        study=release.study,
        type=Event.Type.RELEASE_WITHDRAWN,
        by=by,
        now=now,
        subject=f"release {release.number}",
        note=reason,
    )
    return withdrawal


def _checked(reason: str) -> str:
    reason = reason.strip()
    if "\0" in reason or not 1 <= len(reason) <= LONGEST_REASON:
        raise NotWithdrawable(
            _("Give the reason in 1 to %(most)s characters. Everybody who opens the release reads it.")
            % {"most": LONGEST_REASON}
        )
    return reason
