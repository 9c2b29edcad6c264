"""Putting people into our groups on a platform: once, and sent again until the platform has answered."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import F

from accounts.models import Annotator, PlatformIdentity
from recruitment.marketplace import Marketplace, MarketplaceError, Unreachable
from recruitment.models import Campaign, Grant
from recruitment.queueing import soon

SEND_TASK = "recruitment.tasks.send_grant"
State = Grant.State
Kind = Grant.Kind


@transaction.atomic
def grant(*, campaign: Campaign, annotator: Annotator, kind: Grant.Kind, now: datetime) -> Grant | None:
    """Have the person put into the study's group of this kind; None where the campaign has no such group.

    Asked again, gives the grant that there is.
    """
    if not _group(campaign, kind):
        return None
    known, made = Grant.objects.get_or_create(
        study=campaign.study,
        platform=campaign.platform,
        environment=campaign.environment,
        annotator=annotator,
        kind=kind,
        defaults={"campaign": campaign, "requested_at": now},
    )
    if made:
        soon(SEND_TASK, known.pk)
    return known


def send_grant(*, grant_id: int, marketplace: Marketplace, now: datetime) -> Grant | None:
    """Put the person into the group there; None when that is done. Adding somebody twice adds them once.

    Raises ``Unreachable`` when the platform did not answer; it is then sent again later.
    """
    waiting = Grant.objects.filter(pk=grant_id, state=State.REQUESTED)
    waiting.update(tries=F("tries") + 1)
    wanted = waiting.select_related("campaign").first()
    if wanted is None:
        return None
    identity = PlatformIdentity.objects.filter(
        annotator=wanted.annotator_id, platform=wanted.platform, environment=wanted.environment
    ).first()
    if identity is None:
        return _settle(wanted, State.FAILED, "The person has been forgotten, as they asked.", now=now)
    try:
        marketplace.add_to_group(_group(wanted.campaign, Kind(wanted.kind)), identity.person)
    except Unreachable:
        raise
    except MarketplaceError as error:
        return _settle(wanted, State.FAILED, str(error), now=now)
    return _settle(wanted, State.DONE, "", now=now)


def due_grants() -> list[int]:
    """The grants that the platform has not answered yet, the oldest first."""
    return list(Grant.objects.filter(state=State.REQUESTED).order_by("pk").values_list("pk", flat=True))


@transaction.atomic
def _settle(wanted: Grant, state: Grant.State, problem: str, *, now: datetime) -> Grant:
    Grant.objects.filter(pk=wanted.pk, state=State.REQUESTED).update(
        state=state, problem=problem, settled_at=now
    )
    wanted.refresh_from_db()
    return wanted


def _group(campaign: Campaign, kind: Grant.Kind) -> str:
    return campaign.qualified_group if kind == Kind.QUALIFIED else campaign.incomplete_group
