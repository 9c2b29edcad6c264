"""Put people into our groups on a platform and take them out, repeating requests until it answers."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils.translation import gettext as _

from accounts.models import Annotator, User
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event, Study
from recruitment.errors import CannotRecruit
from recruitment.marketplace import ACCOUNT_PROBLEMS, Group, Marketplace, MarketplaceError, Unreachable
from recruitment.models import Campaign, Grant, Submission, Visit
from recruitment.queries import platform_id_of
from recruitment.queue import SEND_TASK, next_try, queue_soon
from recruitment.reconciliation.queries import done_with_stories, to_join
from recruitment.visit_endings import unproven_visits

State = Grant.State
OUT = (State.LEAVING, State.LEFT)


@transaction.atomic
def grant(*, campaign: Campaign, annotator: Annotator, kind: Group, now: datetime) -> Grant | None:
    """Request a person's membership in the study's group; return None if the campaign has no such group.

    Asked again, return the existing grant. A membership that ended is renewed, unless a researcher ended it
    or the person gets no more stories.
    """
    if not _group(campaign, kind):
        return None
    new = {"campaign": campaign, "requested_at": now}
    known, made = Grant.objects.get_or_create(**_key(campaign, annotator.pk, kind), defaults=new)
    back = Grant.objects.filter(pk=known.pk, state__in=OUT, set_manually=False)
    if kind == Group.QUALIFIED and known.state in OUT:
        back = back.exclude(annotator__in=done_with_stories(campaign.study).values("annotator"))
    again = back.update(campaign=campaign, **_reset_to(State.REQUESTED, now=now))
    if made or again:
        known.refresh_from_db()
        queue_soon(SEND_TASK, known.campaign_id)
    return known


@transaction.atomic
def leave(*, membership: Grant, now: datetime) -> bool:
    """Have a person taken out of the group. Return True if that changed anything."""
    standing = Grant.objects.filter(pk=membership.pk).exclude(state__in=OUT)
    taken = standing.update(**_reset_to(State.LEAVING, now=now))
    if taken:
        queue_soon(SEND_TASK, membership.campaign_id)
    return bool(taken)


@transaction.atomic
def set_membership(
    *, campaign: Campaign, annotator: Annotator, kind: Group, is_member: bool, by: User | None, now: datetime
) -> Grant:
    """Put a person into the study's group of this kind, or take them out, by a researcher's decision.

    No comparison does otherwise after that. Raise :class:`CannotRecruit` if the campaign has no such group.
    """
    if not _group(campaign, kind):
        raise CannotRecruit(_("This campaign has no such group on its platform."))
    new = {"campaign": campaign, "requested_at": now}
    membership, _made = Grant.objects.get_or_create(**_key(campaign, annotator.pk, kind), defaults=new)
    state = State.REQUESTED if is_member else State.LEAVING
    Grant.objects.filter(pk=membership.pk).update(set_manually=True, **_reset_to(state, now=now))
    annotation_actions.record_event(
        study=campaign.study,
        type=Event.Type.PLATFORM_SYNCED,
        by=by,
        enrollment=Enrollment.objects.filter(study=campaign.study, annotator=annotator).first(),
        now=now,
        subject=f"group {kind.value}",
        note="put in" if is_member else "taken out",
    )
    queue_soon(SEND_TASK, campaign.pk)
    membership.refresh_from_db()
    return membership


@transaction.atomic
def leave_group(*, submission: Submission, by: User | None, now: datetime) -> None:
    """End a person's membership in the group of people who passed, on a researcher's decision.

    Call it at the time of the decision about the test, by which :func:`rejoin_group` finds it.
    """
    campaign = submission.campaign
    given = grants_of(campaign, submission.annotator_id, Group.QUALIFIED).exclude(state__in=OUT).first()
    if given:
        set_membership(
            campaign=given.campaign,
            annotator=submission.annotator,
            kind=Group.QUALIFIED,
            is_member=False,
            by=by,
            now=now,
        )


@transaction.atomic
def rejoin_group(*, submission: Submission, since: datetime, now: datetime) -> None:
    """Undo a :func:`leave_group` of this time: the person rejoins the group if they still belong there."""
    left = grants_of(submission.campaign, submission.annotator_id, Group.QUALIFIED)
    undone = left.filter(state__in=OUT, set_manually=True, requested_at=since)
    if undone.update(set_manually=False):
        grant(campaign=submission.campaign, annotator=submission.annotator, kind=Group.QUALIFIED, now=now)


@transaction.atomic
def reset_for_retake(
    *, enrollment: Enrollment, gives_up_unproven: bool, reason: str, by: User | None, now: datetime
) -> None:
    """Take a person who may retake the test out of the group. Call it with the person's row locked.

    ``gives_up_unproven``: work in visits that nobody has proven was not theirs. It does not count, and no
    comparison says otherwise.
    """
    if gives_up_unproven:
        for visit in unproven_visits(enrollment).select_related("session"):
            assert visit.session is not None  # a visit without one has nothing to prove
            annotation_actions.doubt_session(session=visit.session, reason=reason, by=by, now=now)
            Visit.objects.filter(pk=visit.pk).update(decided_manually=True)
        annotation_actions.forget_tests(enrollment=enrollment)
    theirs = Grant.objects.filter(
        study=enrollment.study_id, annotator=enrollment.annotator_id, kind=Group.QUALIFIED
    )
    theirs.update(set_manually=False)  # who passes again belongs to it again, whatever was decided before
    for membership in theirs:
        leave(membership=membership, now=now)


def update_groups(*, now: datetime) -> int:
    """End memberships of people who get no more stories, and renew them when there are some.

    People who passed a test that had been settled before join it, too. Return how many requests are to be
    sent.
    """
    grouped = Campaign.objects.exclude(qualified_group="").values("study")
    on_offer = Campaign.objects.exclude(state__in=[Campaign.State.DRAFT, Campaign.State.ENDED])
    studies = Study.objects.filter(pk__in=grouped).filter(pk__in=on_offer.values("study")).order_by("pk")
    return sum(_update_group(study, now=now) for study in studies)


@transaction.atomic
def _update_group(study: Study, *, now: datetime) -> int:
    by_rule = Grant.objects.filter(study=study, kind=Group.QUALIFIED, set_manually=False).order_by("pk")
    by_rule = by_rule.select_related("campaign", "annotator")
    done = done_with_stories(study).values("annotator")
    leaving = list(by_rule.filter(state__in=[State.REQUESTED, State.DONE], annotator__in=done))
    coming, joining = list(by_rule.filter(state__in=OUT).exclude(annotator__in=done)), list(to_join(study))
    for membership in leaving:
        leave(membership=membership, now=now)
    for membership in coming:
        grant(
            campaign=membership.campaign, annotator=membership.annotator, kind=Group(membership.kind), now=now
        )
    for visit in joining:
        assert visit.campaign is not None  # a test is taken in a visit for a campaign
        annotator = visit.enrollment.annotator
        grant(campaign=visit.campaign, annotator=annotator, kind=Group.QUALIFIED, now=now)
    return len(leaving) + len(coming) + len(joining)


def send_grant(*, grant_id: int, marketplace: Marketplace, now: datetime) -> Grant | None:
    """Send a membership change to the platform. Return None if there is nothing to send. Safe to repeat.

    Raise ``Unreachable`` when the platform did not answer; it is then sent again later, as it is, less and
    less often, while the account's credentials are not accepted.
    """
    waiting = Grant.objects.due(now=now).filter(pk=grant_id)
    waiting.update(tries=F("tries") + 1)
    membership = waiting.select_related("campaign").first()
    if membership is None:
        return None
    person = platform_id_of(membership)
    if not person:
        return _settle(membership, State.FAILED, "This participant had their personal data deleted.", now=now)
    leaves = membership.state == State.LEAVING
    carry_out = marketplace.remove_from_group if leaves else marketplace.add_to_group
    try:
        carry_out(_group(membership.campaign, Group(membership.kind)), person)
    except Unreachable:
        raise
    except ACCOUNT_PROBLEMS as error:
        since = membership.waits_since
        later = next_try(since, now=now)
        return _store(membership, problem=str(error), next_try_at=later, waits_since=since or now)
    except MarketplaceError as error:
        return _settle(membership, State.FAILED, str(error), now=now)
    return _settle(membership, State.LEFT if leaves else State.DONE, "", now=now)


@transaction.atomic
def retry_grants(*, campaign: Campaign, now: datetime) -> int:
    """Retry memberships that wait for the account, and refused ones of people who passed; return how many."""
    number = campaign.grants.stop_waiting()
    number += campaign.grants.refused().update(**_reset_to(State.REQUESTED, now=now))
    if number:
        queue_soon(SEND_TASK, campaign.pk)
    return number


def grants_of(campaign: Campaign, annotator_id: int, kind: Group) -> QuerySet[Grant]:
    """Return a person's grant to the study's group of this kind, whichever campaign made it."""
    return Grant.objects.filter(**_key(campaign, annotator_id, kind))


def _key(campaign: Campaign, annotator_id: int, kind: Group) -> dict[str, Any]:
    return {
        "study": campaign.study,
        "platform": campaign.platform,
        "environment": campaign.environment,
        "annotator_id": annotator_id,
        "kind": kind,
    }


def _reset_to(state: Grant.State, *, now: datetime) -> dict[str, Any]:
    """Return the fields of a grant wanted from now on: to be sent at once, whatever was tried before."""
    fresh = {"problem": "", "settled_at": None, "next_try_at": None, "waits_since": None}
    return fresh | {"state": state, "requested_at": now}


def _settle(membership: Grant, state: Grant.State, problem: str, *, now: datetime) -> Grant:
    return _store(membership, state=state, problem=problem, settled_at=now, next_try_at=None)


@transaction.atomic
def _store(membership: Grant, **changes: Any) -> Grant:
    """Store the platform's answer, unless the opposite was requested meanwhile: then that is sent."""
    Grant.objects.filter(pk=membership.pk, state=membership.state).update(**changes)
    membership.refresh_from_db()
    return membership


def _group(campaign: Campaign, kind: Group) -> str:
    return campaign.qualified_group if kind == Group.QUALIFIED else campaign.incomplete_group
