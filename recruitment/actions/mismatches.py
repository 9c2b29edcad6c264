"""Researchers' decisions about mismatches with a platform. No comparison changes them afterwards.

Each of these locks the person, the piece of work and the mismatch before it looks at any of them, so that
two researchers on stale pages, or one and a comparison, take turns.
"""

from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.errors import ReasonMissing, WrongState
from annotation.models import Event, Study, WorkSession
from recruitment.actions import payments
from recruitment.actions.settlement import accept_visit, lock_visit
from recruitment.errors import CannotPay
from recruitment.marketplace import NEVER_APPROVED
from recruitment.models import Mismatch, Payment, Submission, Visit
from recruitment.queue import queue_once
from recruitment.reconciliation import remedies
from recruitment.reconciliation.plan import Decision
from recruitment.reconciliation.queries import decision_of

Locked = tuple[Mismatch, Visit | None, Submission | None]
NOTED_AT_ONCE = 500
"""Most mismatches settled by one request: more would keep the researcher waiting."""
UNPROVEN = (Mismatch.Kind.WRONG_RECEIPT, Mismatch.Kind.NO_DATA)
"""Mismatches about work that is not confirmed unless a researcher says so."""


@transaction.atomic
def settle_mismatch(*, mismatch: Mismatch, how: str, by: User | None, now: datetime) -> Mismatch:
    """Settle a mismatch with a note. Raise :class:`ReasonMissing` without one.

    Votes of work that could not be proven do not count after that: their slots go to others. A second
    request changes nothing.
    """
    mismatch, visit, _work = _lock(mismatch)
    if mismatch.settled_at:
        return mismatch
    session = visit.session if visit else None
    settled = close_mismatch(mismatch=mismatch, how=how, by=by, now=now)
    if mismatch.kind in UNPROVEN and visit and session and session.state == WorkSession.State.OPEN:
        # Nothing else would ever let go of its slots.
        annotation_actions.doubt_session(session=session, reason=how.strip(), by=by, now=now)
        Visit.objects.filter(pk=visit.pk).update(decided_manually=True)
    return settled


@queue_once()
def settle_similar(
    *,
    study: Study,
    kind: str,
    campaign_number: int | None = None,
    newest: int,
    how: str,
    by: User | None,
    now: datetime,
) -> int:
    """Settle open mismatches of a kind with one note, the oldest first. Return how many.

    At most :data:`NOTED_AT_ONCE`, each as by :func:`settle_mismatch`. Those noticed after ``newest`` stay
    open, because the researcher has not seen them. Raise :class:`ReasonMissing` if the note is empty.
    """
    found = Mismatch.objects.filter(campaign__study=study, kind=kind, settled_at=None, pk__lte=newest)
    if campaign_number is not None:
        found = found.filter(campaign__number=campaign_number)
    needed = ("campaign__study", "submission__visit", "visit")
    alike = list(found.select_related(*needed).order_by("pk")[:NOTED_AT_ONCE])
    for mismatch in alike:
        settle_mismatch(mismatch=mismatch, how=how, by=by, now=now)
    return len(alike)


@transaction.atomic
def confirm_manually(*, mismatch: Mismatch, how: str, by: User | None, now: datetime) -> Mismatch:
    """Count the votes of a visit on a researcher's decision, and settle its mismatch.

    The consequences are those of a confirmation by comparison: in a campaign that approves confirmed work,
    an undecided submission is approved. Raise :class:`WrongState` for work of which
    nothing is here or that was rejected, and when somebody else has dealt with it.
    """
    mismatch, visit, work = _lock_open(mismatch)
    if visit is None or (mismatch.kind == Mismatch.Kind.NO_DATA and not remedies.has_answers(visit)):
        raise WrongState(_("This site has no answers for this submission, so there are no votes to count."))
    _accept(visit=visit, work=work, by=by, now=now)
    waits = work is not None and work.status == Submission.Status.SUBMITTED and decision_of(work) is None
    if work and waits and mismatch.campaign.auto_approves:
        payments.approve(submission=work, by=by, now=now)
    return close_mismatch(mismatch=mismatch, how=how, by=by, now=now)


@transaction.atomic
def decide_mismatch(
    *, mismatch: Mismatch, remedy: remedies.Remedy, how: str, by: User | None, now: datetime, **rejection: Any
) -> Mismatch:
    """Approve, reject or overturn the submission that a mismatch is about, and settle it; both or neither.

    Raise :class:`CannotPay` as those actions do and for work that the platform does not list, and
    :class:`WrongState` when somebody else has dealt with it.
    """
    mismatch, _visit, work = _lock_open(mismatch)
    if work is None:
        raise CannotPay(_("The platform does not list this submission, so you cannot decide it there."))
    if remedy == remedies.Remedy.OVERTURN:
        payments.overturn_rejection(submission=work, votes_count=True, by=by, now=now)
        return close_mismatch(mismatch=mismatch, how=how, by=by, now=now)
    if remedy == remedies.Remedy.APPROVE:
        payments.approve(submission=work, by=by, now=now)
    else:
        payments.reject(submission=work, by=by, now=now, **rejection)
    return settle_mismatch(mismatch=mismatch, how=how, by=by, now=now)


@transaction.atomic
def pay_for_mismatch(
    *,
    mismatch: Mismatch,
    remedy: remedies.Remedy,
    amount: Decimal,
    reason: str,
    votes_count: bool,
    by: User,
    now: datetime,
) -> Payment:
    """Pay for work that cannot be approved by one of its remedies, and settle the mismatch.

    ``votes_count``: its votes count from now on, too. Raise :class:`CannotPay` for a remedy that is not open
    and for an impossible amount, and ``WrongState`` when somebody else has dealt with it; then nothing is
    changed.
    """
    mismatch, visit, work = _lock_open(mismatch)
    if visit is None or remedy not in remedies.remedies_of(remedies.cases_of([mismatch])[mismatch.pk]):
        raise CannotPay(_("This submission cannot be paid that way. Nothing was changed."))
    if votes_count:
        _accept(visit=visit, work=work, by=by, now=now)
    work = work or _not_listed(visit, now=now)
    if remedy == remedies.Remedy.OUTSIDE:
        payment = payments.record_outside(work, amount, reason, by=by, now=now)
    else:
        # Work that the platform does not list is paid with other work of the person.
        is_listed = work.status in NEVER_APPROVED
        carrier, instead = (
            (work, None) if is_listed else (remedies.approved_beside([mismatch]).order_by("pk").last(), work)
        )
        assert carrier is not None  # or the way would not be open
        payment = payments.give_bonus(
            submission=carrier, amount=amount, reason=reason, pays_for=instead, by=by, now=now
        )
    close_mismatch(mismatch=mismatch, how=reason, by=by, now=now)
    return payment


@transaction.atomic
def _accept(*, visit: Visit, work: Submission | None, by: User | None, now: datetime) -> None:
    """Count the votes of a visit by a researcher's decision, which no comparison reverts.

    Its rows must be locked. Raise :class:`WrongState` for work that was rejected.
    """
    is_rejected = work is not None and (
        work.status == Submission.Status.REJECTED or decision_of(work) == Decision.REJECTED
    )
    if is_rejected:
        raise WrongState(_("This submission was rejected. Votes of unpaid submissions do not count."))
    accept_visit(visit=visit, submission=work, by=by, now=now)


def _lock_open(mismatch: Mismatch) -> Locked:
    """Lock and return an open mismatch with its visit and submission.

    Raise :class:`WrongState` when somebody has dealt with it.
    """
    found = _lock(mismatch)
    if found[0].settled_at:
        raise WrongState(_("Another member has just resolved this. Nothing was changed."))
    return found


@transaction.atomic
def close_mismatch(*, mismatch: Mismatch, how: str, by: User | None, now: datetime) -> Mismatch:
    """Take an open mismatch off the list. Raise :class:`ReasonMissing` without a note."""
    if not how.strip():
        raise ReasonMissing(_("Say in a few words how this was resolved. The log keeps it."))
    mismatch.settled_at, mismatch.settled_by, mismatch.settled_how = now, by, how.strip()
    mismatch.save(update_fields=["settled_at", "settled_by", "settled_how"])
    annotation_actions.record_event(
        study=mismatch.campaign.study,
        type=Event.Type.PLATFORM_SYNCED,
        by=by,
        now=now,
        subject=f"{mismatch.kind} {mismatch.pk}",
        note=how.strip(),
    )
    return mismatch


def _lock(mismatch: Mismatch) -> Locked:
    known = remedies.visit_of_mismatch(mismatch)
    visit, work = lock_visit(known.pk) if known else (None, mismatch.submission)
    if work and not known:
        work = payments.lock_submission(work)
    rows = Mismatch.objects.select_for_update(of=("self",)).select_related("campaign__study")
    return rows.get(pk=mismatch.pk), visit, work


def _not_listed(visit: Visit, *, now: datetime) -> Submission:
    """Return the submission of a visit that the platform never listed; make it if there is none."""
    assert visit.campaign is not None  # a mismatch is about a visit for a campaign
    work, _made = Submission.objects.get_or_create(
        platform=visit.platform,
        environment=visit.environment,
        remote_id=visit.remote_id,
        annotator=visit.enrollment.annotator,
        defaults={
            "campaign": visit.campaign,
            "posting": visit.posting,
            "visit": visit,
            "status": Submission.Status.UNKNOWN,
        },
    )
    return work
