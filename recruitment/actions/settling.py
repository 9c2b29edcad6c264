"""Doing what follows for one piece of work from what both sides say now, with its rows locked.

The person comes first, as everywhere: a researcher's decision locks the person and then the piece of work,
so whoever has the person reads what was decided as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.sql import lock_person
from recruitment.actions.grants import grant, grants_of, take_back
from recruitment.actions.payments import approve, note_paid_there
from recruitment.actions.sending import lock_submission
from recruitment.marketplace import Status
from recruitment.models import Campaign, Difference, Grant, Submission, Visit
from recruitment.reconciliation import queries
from recruitment.reconciliation.decisions import decision_of
from recruitment.reconciliation.plan import Rules, Step, There, plan

FLAGS = {
    Step.FLAG_NO_DATA: Difference.Kind.NO_DATA,
    Step.FLAG_WRONG_RECEIPT: Difference.Kind.WRONG_RECEIPT,
    Step.FLAG_NOT_HANDED_IN: Difference.Kind.NOT_HANDED_IN,
    Step.FLAG_DECIDED_THERE: Difference.Kind.DECIDED_THERE,
    Step.FLAG_DOUBTED_BUT_THERE: Difference.Kind.DOUBTED_BUT_THERE,
    Step.FLAG_PARTIAL: Difference.Kind.PARTIAL,
    Step.FLAG_PAID_OTHERWISE: Difference.Kind.PAID_OTHERWISE,
}
NOT_HANDED_IN = "The platform does not list this work as handed in."
REJECTED = "The platform lists this work as rejected."


@transaction.atomic
def settle_visit(
    *, visit_id: int, returns_receipt: bool, polls: Iterable[datetime], now: datetime
) -> list[Step]:
    """Do what follows for a visit from what both sides say now; returns the steps that changed anything.

    ``polls``: when the platform was asked, this time and the time before.
    """
    visit, submission = lock_visit(visit_id)
    session, campaign = visit.session, visit.campaign
    assert session is not None
    assert campaign is not None
    rules = Rules(
        returns_receipt=returns_receipt,
        approves_by_itself=campaign.approves_by_itself,
        polls_since_expiry=sum(moment > session.expires_at for moment in polls),
    )
    decision = decision_of(submission) if submission else None
    steps = plan(queries.here(visit), _there(submission), rules, decision=decision, now=now)
    return [step for step in steps if take_step(step, visit, submission, campaign, now=now)]


@transaction.atomic
def settle_stranger(*, submission_id: int, returns_receipt: bool, now: datetime) -> list[Step]:
    """The same for work that was handed in there and of which nothing is here."""
    submission = lock_submission(Submission.objects.get(pk=submission_id))
    campaign = submission.campaign
    rules = Rules(
        returns_receipt=returns_receipt,
        approves_by_itself=campaign.approves_by_itself,
        polls_since_expiry=0,
    )
    steps = plan(None, _there(submission), rules, decision=decision_of(submission), now=now)
    return [step for step in steps if take_step(step, None, submission, campaign, now=now)]


def lock_visit(visit_id: int) -> tuple[Visit, Submission | None]:
    """A visit and its piece of work as they stand now that nobody else decides about them."""
    lock_person(Visit.objects.values_list("enrollment", flat=True).get(pk=visit_id))
    visit = (
        Visit.objects.select_for_update(of=("self",), no_key=True)
        .select_related("session__enrollment__study", "campaign__study", "enrollment")
        .get(pk=visit_id)
    )
    work = Submission.objects.filter(visit=visit).first()
    return visit, lock_submission(work) if work else None


def take_step(
    step: Step,
    visit: Visit | None,
    submission: Submission | None,
    campaign: Campaign,
    *,
    by: User | None = None,
    now: datetime,
) -> bool:
    """Take one step. Whether it changed anything."""
    if step in FLAGS:
        return _flag(FLAGS[step], visit, submission, campaign, now=now)
    if step == Step.APPROVE:
        assert submission is not None
        approve(submission=submission, by=by, now=now)
        return True
    if step == Step.NOTE_PAID_THERE:
        assert submission is not None
        note_paid_there(submission=submission, now=now)
        return True
    assert visit is not None
    assert visit.session is not None
    session, person = visit.session, visit.enrollment
    if step == Step.CONFIRM:
        if submission and submission.status in queries.HANDED_IN:  # the platform names the person
            annotation_actions.know_person(session=session)
        return annotation_actions.confirm_session(session=session, by=by, now=now)
    if step == Step.DOUBT:
        is_rejected = submission is not None and submission.status == Submission.Status.REJECTED
        reason = REJECTED if is_rejected else NOT_HANDED_IN
        return annotation_actions.doubt_session(session=session, reason=reason, by=by, now=now)
    if step == Step.REVOKE_INCOMPLETE:
        given = grants_of(campaign, person.annotator_id, Grant.Kind.INCOMPLETE).filter(by_hand=False).first()
        return given is not None and take_back(wanted=given, now=now)
    kind = Grant.Kind.QUALIFIED if step == Step.GRANT_QUALIFIED else Grant.Kind.INCOMPLETE
    had = grants_of(campaign, person.annotator_id, kind).exists()
    wanted = grant(campaign=campaign, annotator=person.annotator, kind=kind, now=now)
    return wanted is not None and not had


def _flag(
    kind: Difference.Kind,
    visit: Visit | None,
    submission: Submission | None,
    campaign: Campaign,
    *,
    now: datetime,
) -> bool:
    """Show a difference once, whether it was first seen with the platform's work or without it."""
    about = Q(submission=submission) if submission else Q(pk__in=[])
    about |= Q(visit=visit) if visit else Q(pk__in=[])
    known = Difference.objects.filter(about, kind=kind).first()
    if known is None:
        Difference.objects.create(
            kind=kind, campaign=campaign, visit=visit, submission=submission, noticed_at=now
        )
        return True
    if known.submission_id is None and submission:
        Difference.objects.filter(pk=known.pk).update(submission=submission)
    return False


def _there(submission: Submission | None) -> There | None:
    return There(Status(submission.status), submission.receipt) if submission else None
