"""Alerts: choose them, notice what raises them, and hand the outbox to workers under a lease."""

import secrets
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max, Q
from django.utils.translation import gettext as _

from accounts.models import User, locked
from annotation.actions.events import record_event
from annotation.alert_kinds import EVENT_KINDS, AlertKind
from annotation.errors import WrongState
from annotation.models import HELD, Alert, Assignment, Enrollment, Event, Membership, Story, Study, Webhook

Type = Event.Type
LEASE = timedelta(minutes=10)
"""The time a worker has to send what it claimed; then another one may send it."""
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=30), timedelta(hours=6)
MOST_TRIES = 12
"""Tries within about a day, each after twice the pause before."""
KEPT_FOR = timedelta(days=30)
DIGEST_HOUR = 6
"""UTC hour at which the 24 hours of a digest end."""


# -- choices


@transaction.atomic
def choose_alerts(
    *, membership: Membership, kinds: Collection[str], email: str, language: str, now: datetime
) -> None:
    """Set what a member is mailed about in a study, the address of their account, and the mails' language."""
    membership.alerts = [kind.value for kind in AlertKind if kind in kinds]
    membership.language = language
    membership.save(update_fields=["alerts", "language"])
    User.objects.filter(pk=membership.user_id).update(email=email)
    note = f"{membership.user.get_username()}: {' '.join(membership.alerts) or 'none'}"
    _record(membership.study, by=membership.user, now=now, subject="mails", note=note)


@transaction.atomic
def set_stall_hours(*, study: Study, hours: int, by: User | None, now: datetime) -> None:
    """Set after how many hours without a vote an open study is stalled; 0: never."""
    study = locked(study)
    note = f"{study.stall_hours} → {hours}"
    study.stall_hours = hours
    study.save(update_fields=["stall_hours"])
    _record(study, by=by, now=now, subject="hours without votes", note=note)


@transaction.atomic
def add_webhook(*, study: Study, url: str, kinds: Collection[str], by: User | None, now: datetime) -> Webhook:
    """Send a study's alerts to an address, too. The caller has checked the address."""
    chosen = [kind.value for kind in EVENT_KINDS if kind in kinds]
    hook = Webhook.objects.create(
        study=study, url=url, kinds=chosen, nonce=secrets.token_hex(16), made_by=by, made_at=now
    )
    _record(study, by=by, now=now, subject=f"webhook {hook.pk}", note=f"added: {' '.join(chosen)}")
    return hook


@transaction.atomic
def remove_webhook(*, webhook: Webhook, by: User | None, now: datetime) -> None:
    """Send nothing more to a webhook, also nothing that waits."""
    if Webhook.objects.filter(pk=webhook.pk, removed_at=None).update(removed_at=now):
        Alert.objects.filter(webhook=webhook, sent_at=None, given_up_at=None).update(
            given_up_at=now, failure="The webhook was removed."
        )
        _record(webhook.study, by=by, now=now, subject=f"webhook {webhook.pk}", note="removed")


@transaction.atomic
def send_test_alert(*, study: Study, to_webhooks: bool, by: User, now: datetime) -> None:
    """Queue an alert to a researcher, and to all webhooks of the study, so that they see what arrives.

    Raise :class:`WrongState` if there is neither an address nor a webhook to send it to.
    """
    hooks = Webhook.objects.filter(study=study, removed_at=None) if to_webhooks else []
    recipients: list[dict[str, Any]] = [{"webhook": hook} for hook in hooks]
    is_member = Membership.objects.filter(study=study, user=by).exists()
    recipients += [{"user": by}] if is_member and settings.SENDS_MAIL and by.email else []
    if not recipients:
        raise WrongState(_("Nothing was sent: save an e-mail address above, or add a webhook."))
    event = record_event(study=study, type=Event.Type.ALERTS_TESTED, by=by, now=now)
    Alert.objects.bulk_create(
        Alert(study=study, kind=AlertKind.TEST, event=event, due_at=now, **one) for one in recipients
    )


# -- causes that no single action has


def is_wanted(study: Study, kind: AlertKind) -> bool:
    """Return True if anybody gets alerts of this kind."""
    hooks = Webhook.objects.filter(study=study, kinds__contains=[kind], removed_at=None)
    return hooks.exists() or Membership.objects.filter(study=study, alerts__contains=[kind]).exists()


@transaction.atomic
def note_progress(*, study: Study, now: datetime) -> Event | None:
    """Record that a study is complete or has stalled: once, until votes come in or it is opened again."""
    study = locked(study)
    if study.state not in (Study.State.OPEN, Study.State.PAUSED):
        return None
    kinds = (Type.VOTE_SUBMITTED, Type.STUDY_OPENED, Type.STUDY_COMPLETED, Type.STUDY_STALLED)
    voted, opened, completed, stalled = (  # when each was last: one step in an index
        Event.objects.filter(study=study, type=kind).aggregate(at=Max("at"))["at"] for kind in kinds
    )
    active = max(filter(None, (voted, opened)), default=now)
    if _is_complete(study):
        if voted is None or (completed and completed >= voted):
            return None
        return record_event(study=study, type=Type.STUDY_COMPLETED, now=now)
    is_quiet = study.stall_hours and now >= active + timedelta(hours=study.stall_hours)
    if study.state != Study.State.OPEN or not is_quiet or (stalled and stalled >= active):
        return None
    note = f"since {active:%Y-%m-%d %H:%M} UTC"
    return record_event(study=study, type=Type.STUDY_STALLED, now=now, note=note)


@transaction.atomic
def note_flags(*, study: Study, flags: Mapping[str, Iterable[str]], now: datetime) -> int:
    """Record the flags of participants (by pseudonym) that are new. Return how many are."""
    locked(study)
    flagged = Enrollment.objects.filter(study=study, pseudonym__in=list(flags))
    noted = Event.objects.filter(study=study, type=Type.ANNOTATOR_FLAGGED)
    known = set(noted.values_list("enrollment", "subject"))
    new = [(one, flag) for one in flagged for flag in flags[one.pseudonym] if (one.pk, flag) not in known]
    for one, flag in new:
        record_event(study=study, type=Type.ANNOTATOR_FLAGGED, enrollment=one, now=now, subject=flag)
    return len(new)


def queue_digests(*, now: datetime) -> int:
    """Queue the day's digest of each study in which something happened. Return how many."""
    since, until = digest_window((now - timedelta(hours=DIGEST_HOUR)).date())
    wanted = Membership.objects.filter(alerts__contains=[AlertKind.DIGEST], user__is_active=True)
    happened = Event.objects.filter(at__gte=since, at__lt=until)
    rows = [
        Alert(study_id=study, user_id=user, kind=AlertKind.DIGEST, day=until.date(), due_at=now)
        for study, user in wanted.exclude(user__email="").values_list("study", "user")
        if happened.filter(study=study).exists()
    ]
    return len(Alert.objects.bulk_create(rows, ignore_conflicts=True))


def digest_window(day: date) -> tuple[datetime, datetime]:
    """Return the 24 hours that the digest of a day covers."""
    until = datetime.combine(day, time(DIGEST_HOUR), UTC)
    return until - timedelta(days=1), until


# -- the outbox


@transaction.atomic
def claim_alerts(
    *, study_id: int, user_id: int | None, webhook_id: int | None, most: int, now: datetime
) -> list[Alert]:
    """Lease the due alerts of one recipient to the caller, the oldest first.

    Nobody else gets them before the lease ends; rows that another worker is just claiming are skipped.
    """
    due = Alert.objects.due(now).filter(study=study_id, user=user_id, webhook=webhook_id).order_by("pk")
    rows = list(due.select_for_update(of=("self",), no_key=True, skip_locked=True)[:most])
    for alert in rows:
        alert.leased_until, alert.tries = now + LEASE, alert.tries + 1
        alert.save(update_fields=["leased_until", "tries"])
    return rows


@transaction.atomic
def settle_alerts(
    *, alerts: Iterable[Alert], now: datetime, failure: str = "", for_good: bool = False
) -> None:
    """Record that claimed alerts were sent, or why not. A worker that lost its lease changes nothing."""
    for alert in alerts:
        mine = Alert.objects.filter(pk=alert.pk, tries=alert.tries, sent_at=None, given_up_at=None)
        if not failure:
            mine.update(sent_at=now, failure="")
        elif for_good or alert.tries >= MOST_TRIES:
            mine.update(given_up_at=now, failure=failure)
        else:
            pause = min(FIRST_PAUSE * 2**alert.tries, LONGEST_PAUSE)
            mine.update(due_at=now + pause, leased_until=None, failure=failure)


def forget_old_alerts(*, now: datetime) -> int:
    """Delete alerts that were delivered long ago; their causes stay in the log. Return how many."""
    return Alert.objects.filter(sent_at__lt=now - KEPT_FOR).delete()[0]


def _is_complete(study: Study) -> bool:
    """Return True if no story has a free slot and nobody holds one; those of old versions do not matter."""
    held = Q(state__in=HELD, slot__isnull=False, story__is_old_version=False)
    return (
        not Story.objects.filter(study=study, role=Story.Role.MAIN, has_free_slot=True).exists()
        and not Assignment.objects.filter(held, story__study=study).exists()
    )


def _record(study: Study, *, by: User | None, now: datetime, subject: str, note: str) -> None:
    record_event(study=study, type=Event.Type.ALERTS_CHANGED, by=by, now=now, subject=subject, note=note)
