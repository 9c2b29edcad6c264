"""Carry out the plan for one submission, with its rows locked: confirm or doubt, pay, note mismatches.

The participant's row is locked before the submission's, as by every decision of a researcher. So decisions
cannot change while a plan is made.
"""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from accounts.models import User, locked
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event
from annotation.sql import lock_person
from recruitment.actions.grants import grant, grants_of, leave
from recruitment.actions.payments import approve, lock_submission, record_platform_payment
from recruitment.marketplace import HANDED_IN, Group, MismatchKind, Status
from recruitment.models import Campaign, Mismatch, Submission, Visit
from recruitment.platforms import platform_of
from recruitment.reconciliation import queries
from recruitment.reconciliation.plan import ListedWork, Rules, Step, Steps, accepted, plan
from recruitment.reconciliation.queries import decision_of

NOT_HANDED_IN = "The platform does not list this work as handed in."
REJECTED = "The platform lists this work as rejected."


@transaction.atomic
def settle_visit(*, visit_id: int, polls: Iterable[datetime], now: datetime) -> Steps:
    """Settle a visit by what both sides say now; return the steps that changed anything.

    ``polls``: when the platform was asked, this time and the time before.
    """
    visit, submission = lock_visit(visit_id)
    assert visit.session is not None
    assert visit.campaign is not None
    polls_since_expiry = sum(moment > visit.session.expires_at for moment in polls)
    return _settle(visit, submission, visit.campaign, polls_since_expiry, now=now)


@transaction.atomic
def settle_without_visit(*, submission_id: int, now: datetime) -> Steps:
    """Settle a submission on the platform that has no visit here; return the steps that changed anything."""
    submission = lock_submission(Submission.objects.get(pk=submission_id))
    return _settle(None, submission, submission.campaign, 0, now=now)


def _settle(
    visit: Visit | None, submission: Submission | None, campaign: Campaign, polls: int, *, now: datetime
) -> Steps:
    rules = Rules(
        platform_of(campaign).returns_receipt,
        campaign.auto_approves,
        polls_since_expiry=polls,
        screens_out=campaign.screen_out_reward is not None,
    )
    decision = decision_of(submission) if submission else None
    there = ListedWork(Status(submission.status), submission.receipt) if submission else None
    steps = plan(queries.local_visit(visit) if visit else None, there, rules, decision=decision, now=now)
    return [
        step
        for step in steps
        if take_step(step=step, visit=visit, submission=submission, campaign=campaign, now=now)
    ]


def accept_visit(*, visit: Visit, submission: Submission | None, by: User | None, now: datetime) -> None:
    """Count the votes of a locked visit on a researcher's decision, which no comparison reverses."""
    assert visit.campaign is not None  # only visits for campaigns are judged
    for step in accepted(queries.local_visit(visit)):
        take_step(step=step, visit=visit, submission=submission, campaign=visit.campaign, by=by, now=now)
    Visit.objects.filter(pk=visit.pk).update(decided_manually=True)


def lock_visit(visit_id: int) -> tuple[Visit, Submission | None]:
    """Lock the person, the visit and its submission, in this order; return the latter two."""
    found = Visit.objects.get(pk=visit_id)
    lock_person(found.enrollment_id)
    visit = locked(found, "session__enrollment__study", "campaign__study", "enrollment")
    work = Submission.objects.filter(visit=visit).first()
    return visit, lock_submission(work) if work else None


def take_step(
    *,
    step: Step | MismatchKind,
    visit: Visit | None,
    submission: Submission | None,
    campaign: Campaign,
    by: User | None = None,
    now: datetime,
) -> bool:
    """Take one step. Return True if it changed anything."""
    if isinstance(step, MismatchKind):
        return _flag(step, visit, submission, campaign, now=now)
    if step == Step.APPROVE:
        assert submission is not None
        approve(submission=submission, by=by, now=now)
        return True
    if step == Step.RECORD_PLATFORM_PAYMENT:
        assert submission is not None
        record_platform_payment(submission=submission, now=now)
        return True
    assert visit is not None
    assert visit.session is not None
    session, person = visit.session, visit.enrollment
    if step == Step.CONFIRM:
        if submission and submission.status in HANDED_IN:  # the platform names the person
            annotation_actions.confirm_identity(session=session)
        unfinished = grants_of(campaign, person.annotator_id, Group.INCOMPLETE).filter(set_manually=False)
        for membership in unfinished:
            leave(membership=membership, now=now)
        if not queries.local_visit(visit).is_partial:
            Visit.objects.filter(pk=visit.pk).update(ended_by="")
        return annotation_actions.confirm_session(session=session, by=by, now=now)
    if step == Step.DOUBT:
        is_rejected = submission is not None and submission.status == Submission.Status.REJECTED
        reason = REJECTED if is_rejected else NOT_HANDED_IN
        return annotation_actions.doubt_session(session=session, reason=reason, by=by, now=now)
    if step == Step.NOTE_UNFINISHED:
        return _record_unfinished(visit, submission, campaign, now=now)
    is_qualified = person.state == Enrollment.State.QUALIFIED  # not suspended or gone since they passed
    return is_qualified and _grant(campaign, person, Group.QUALIFIED, now=now)


def _record_unfinished(
    visit: Visit, submission: Submission | None, campaign: Campaign, *, now: datetime
) -> bool:
    """Note that begun work was not handed in. Put its person into the group once the study has had enough."""
    left = visit.return_reported_at or (submission and submission.status == Submission.Status.RETURNED)
    Visit.objects.filter(pk=visit.pk).update(ended_by=Visit.End.LEFT if left else Visit.End.TIME)
    most = campaign.study.incomplete_after
    if most and queries.unfinished_since_confirmed(visit).count() >= most:
        _grant(campaign, visit.enrollment, Group.INCOMPLETE, now=now)
    return True


def _grant(campaign: Campaign, person: Enrollment, kind: Group, *, now: datetime) -> bool:
    had = grants_of(campaign, person.annotator_id, kind).exists()
    membership = grant(campaign=campaign, annotator=person.annotator, kind=kind, now=now)
    return membership is not None and not had


def _flag(
    kind: MismatchKind,
    visit: Visit | None,
    submission: Submission | None,
    campaign: Campaign,
    *,
    now: datetime,
) -> bool:
    """Show a mismatch once, whether it was first seen with the platform's work or without it."""
    about = Q(submission=submission) if submission else Q(pk__in=[])
    about |= Q(visit=visit) if visit else Q(pk__in=[])
    known = Mismatch.objects.filter(about, kind=kind).first()
    if known is None:
        noticed = Mismatch.objects.create(
            kind=kind, campaign=campaign, visit=visit, submission=submission, noticed_at=now
        )
        annotation_actions.record_event(
            study=campaign.study, type=Event.Type.MISMATCH_NOTICED, now=now, subject=f"{kind} {noticed.pk}"
        )
        return True
    if submission:
        Mismatch.objects.filter(pk=known.pk, submission=None).update(submission=submission)
    return False
