"""Putting people into our groups on a platform: once, and sent again until the platform has answered."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _

from accounts.models import Annotator, PlatformIdentity, User
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event
from recruitment.actions.sending import FOR_BETTER_TIMES, next_try
from recruitment.errors import CannotGrant
from recruitment.marketplace import Marketplace, MarketplaceError, Unreachable
from recruitment.models import Campaign, Grant, Submission
from recruitment.queueing import soon
from recruitment.reconciliation.membership import over

SEND_TASK = "recruitment.tasks.send_due"
"""Sends everything of a campaign that is due."""
State = Grant.State
Kind = Grant.Kind
WAITING, OUT = (State.REQUESTED, State.LEAVING), (State.LEAVING, State.LEFT)


@transaction.atomic
def grant(*, campaign: Campaign, annotator: Annotator, kind: Grant.Kind, now: datetime) -> Grant | None:
    """Have the person put into the study's group of this kind; None where the campaign has no such group.

    Asked again, gives the grant that there is; one that was taken back is given anew, unless a researcher
    took it or the person has no more stories to come.
    """
    if not _group(campaign, kind):
        return None
    known, made = _wanted(campaign, annotator, kind, now=now)
    back = Grant.objects.filter(pk=known.pk, state__in=OUT, by_hand=False)
    if kind == Kind.QUALIFIED and known.state in OUT:
        back = back.exclude(annotator__in=over(campaign.study).values("annotator"))
    again = back.update(campaign=campaign, **_anew(State.REQUESTED, now=now))
    if made or again:
        known.refresh_from_db()
        soon(SEND_TASK, known.campaign_id)
    return known


@transaction.atomic
def take_back(*, wanted: Grant, now: datetime) -> bool:
    """Have the person taken out of the group again. Whether that is to be done."""
    standing = Grant.objects.filter(pk=wanted.pk).exclude(state__in=OUT)
    taken = standing.update(**_anew(State.LEAVING, now=now))
    if taken:
        soon(SEND_TASK, wanted.campaign_id)
    return bool(taken)


@transaction.atomic
def set_membership(
    *,
    campaign: Campaign,
    annotator: Annotator,
    kind: Grant.Kind,
    is_member: bool,
    by: User | None,
    now: datetime,
) -> Grant:
    """Put a person into the study's group of this kind, or take them out, on a researcher's word.

    No comparison does otherwise after that. Raises :class:`CannotGrant` where the campaign has no such group.
    """
    if not _group(campaign, kind):
        raise CannotGrant(_("This campaign has no such group on its platform."))
    wanted, _made = _wanted(campaign, annotator, kind, now=now)
    state = State.REQUESTED if is_member else State.LEAVING
    Grant.objects.filter(pk=wanted.pk).update(by_hand=True, **_anew(state, now=now))
    annotation_actions.record_event(
        study=campaign.study,
        type=Event.Type.PLATFORM_SYNCED,
        by=by,
        enrollment=Enrollment.objects.filter(study=campaign.study, annotator=annotator).first(),
        now=now,
        subject=f"group {kind.value}",
        note="put in" if is_member else "taken out",
    )
    soon(SEND_TASK, campaign.pk)
    wanted.refresh_from_db()
    return wanted


@transaction.atomic
def leave_group(*, submission: Submission, by: User | None, now: datetime) -> None:
    """Have whoever did this test leave the group of those who passed, if they are in it, on a researcher's
    word.

    To be called at the time of the decision about the test, by which :func:`let_back` knows it.
    """
    campaign = submission.campaign
    given = grants_of(campaign, submission.annotator_id, Kind.QUALIFIED).exclude(state__in=OUT).first()
    if given:
        set_membership(
            campaign=given.campaign,
            annotator=submission.annotator,
            kind=Kind.QUALIFIED,
            is_member=False,
            by=by,
            now=now,
        )


@transaction.atomic
def let_back(*, submission: Submission, since: datetime, now: datetime) -> None:
    """Undo a :func:`leave_group` of this time: the person is back in the group if they still belong there."""
    left = grants_of(submission.campaign, submission.annotator_id, Kind.QUALIFIED)
    undone = left.filter(state__in=OUT, by_hand=True, requested_at=since)
    if undone.update(by_hand=False):
        grant(campaign=submission.campaign, annotator=submission.annotator, kind=Kind.QUALIFIED, now=now)


def send_grant(*, grant_id: int, marketplace: Marketplace, now: datetime) -> Grant | None:
    """Put the person into the group there, or take them out; None when that is done. Twice does it once.

    Raises ``Unreachable`` when the platform did not answer; it is then sent again later, as it is, less and
    less often, while the account's credentials are not accepted.
    """
    waiting = _due(now).filter(pk=grant_id)
    waiting.update(tries=F("tries") + 1)
    wanted = waiting.select_related("campaign").first()
    if wanted is None:
        return None
    identity = PlatformIdentity.objects.filter(
        annotator=wanted.annotator_id, platform=wanted.platform, environment=wanted.environment
    ).first()
    if identity is None:
        return _settle(wanted, State.FAILED, "The person has been forgotten, as they asked.", now=now)
    leaves = wanted.state == State.LEAVING
    carry_out = marketplace.remove_from_group if leaves else marketplace.add_to_group
    try:
        carry_out(_group(wanted.campaign, Kind(wanted.kind)), identity.person)
    except Unreachable:
        raise
    except FOR_BETTER_TIMES as error:
        return _put_off(wanted, error, now=now)
    except MarketplaceError as error:
        return _settle(wanted, State.FAILED, str(error), now=now)
    return _settle(wanted, State.LEFT if leaves else State.DONE, "", now=now)


def due_grants(*, now: datetime) -> QuerySet[Grant, int]:
    """The ids of grants that are to be sent, what was tried least first, of the others the oldest."""
    return _due(now).order_by("tries", "pk").values_list("pk", flat=True)


@transaction.atomic
def ask_again(*, campaign: Campaign, now: datetime) -> int:
    """Send what waits for better times, and what was refused to those who passed; returns how many."""
    waiting = Grant.objects.filter(campaign=campaign, state__in=WAITING, waits_since__isnull=False)
    refused = Grant.objects.filter(campaign=campaign, state=State.FAILED, kind=Kind.QUALIFIED)
    found = [*waiting.values_list("pk", flat=True), *refused.values_list("pk", flat=True)]
    waiting.update(next_try_at=None, waits_since=None)
    refused.update(**_anew(State.REQUESTED, now=now))
    if found:
        soon(SEND_TASK, campaign.pk)
    return len(found)


def grants_of(campaign: Campaign, annotator_id: int, kind: Grant.Kind) -> QuerySet[Grant]:
    """The grant of a person to the study's group of this kind, made by whichever campaign of the platform."""
    return Grant.objects.filter(**_only(campaign, annotator_id, kind))


def _only(campaign: Campaign, annotator_id: int, kind: Grant.Kind) -> dict[str, Any]:
    """What there is one grant for."""
    return {
        "study": campaign.study,
        "platform": campaign.platform,
        "environment": campaign.environment,
        "annotator_id": annotator_id,
        "kind": kind,
    }


def _wanted(
    campaign: Campaign, annotator: Annotator, kind: Grant.Kind, *, now: datetime
) -> tuple[Grant, bool]:
    """The grant, and whether it has just been made."""
    new = {"campaign": campaign, "requested_at": now}
    return Grant.objects.get_or_create(**_only(campaign, annotator.pk, kind), defaults=new)


def _anew(state: Grant.State, *, now: datetime) -> dict[str, Any]:
    """The fields of a grant that is wanted from now on: to be sent at once, whatever was tried before."""
    fresh = {"problem": "", "settled_at": None, "next_try_at": None, "waits_since": None}
    return fresh | {"state": state, "requested_at": now}


def _due(now: datetime) -> QuerySet[Grant]:
    its_time = Q(next_try_at=None) | Q(next_try_at__lte=now)
    return Grant.objects.filter(its_time, state__in=WAITING)


def _put_off(wanted: Grant, error: MarketplaceError, *, now: datetime) -> Grant:
    later = next_try(wanted.waits_since, now=now)
    Grant.objects.filter(pk=wanted.pk, state=wanted.state).update(
        problem=str(error), next_try_at=later, waits_since=wanted.waits_since or now
    )
    wanted.refresh_from_db()
    return wanted


@transaction.atomic
def _settle(wanted: Grant, state: Grant.State, problem: str, *, now: datetime) -> Grant:
    # Not if somebody has asked for the opposite meanwhile: then that is sent.
    Grant.objects.filter(pk=wanted.pk, state=wanted.state).update(
        state=state, problem=problem, settled_at=now, next_try_at=None
    )
    wanted.refresh_from_db()
    return wanted


def _group(campaign: Campaign, kind: Grant.Kind) -> str:
    return campaign.qualified_group if kind == Kind.QUALIFIED else campaign.incomplete_group
