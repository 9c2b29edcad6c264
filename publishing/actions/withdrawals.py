"""Withdrawing releases."""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.models import Event
from publishing.actions.events import record_release
from publishing.errors import NotWithdrawable
from publishing.models import Release, Withdrawal

LONGEST_REASON = 1000
"""In characters."""


@transaction.atomic
def withdraw_release(*, release: Release, reason: str, by: User | None, now: datetime) -> Withdrawal:
    """Withdraw a published release permanently, with a public reason.

    Its files stay unchanged and available, because whoever used them must be able to find out what was wrong.
    Raise :class:`~publishing.errors.NotWithdrawable` without a reason, for an unpublished release, and for
    one already withdrawn.
    """
    reason = reason.strip()
    if "\0" in reason or not 1 <= len(reason) <= LONGEST_REASON:
        raise NotWithdrawable(
            _("Give the reason in 1 to %(most)s characters. It is public."), most=LONGEST_REASON
        )
    release = Release.objects.locked().get(pk=release.pk)
    if release.state != Release.State.PUBLISHED:
        raise NotWithdrawable(
            _("Release %(number)s is not published, so there is nothing to withdraw."), number=release.number
        )
    if release.withdrawn:
        raise NotWithdrawable(
            _("Release %(number)s was already withdrawn on %(day)s: %(reason)s"),
            number=release.number,
            day=f"{release.withdrawn.withdrawn_at:%Y-%m-%d}",
            reason=release.withdrawn.reason,
        )
    withdrawal = Withdrawal.objects.create(release=release, reason=reason, withdrawn_at=now, withdrawn_by=by)
    record_release(release=release, type=Event.Type.RELEASE_WITHDRAWN, by=by, now=now, note=reason)
    return withdrawal
