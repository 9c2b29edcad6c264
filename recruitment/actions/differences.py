"""What researchers do about differences with a platform: their word about a visit's votes stands after that.

Each of these locks the person, the piece of work and the difference before it looks at any of them, so that
two researchers on stale pages, or one and a comparison, take turns.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.models import Event, Study, WorkSession
from recruitment.actions.payments import approve, reject
from recruitment.actions.sending import lock_submission
from recruitment.actions.settling import lock_visit, take_step
from recruitment.errors import CannotPay, CannotSettle
from recruitment.models import Difference, Submission, Visit
from recruitment.queueing import gathered
from recruitment.reconciliation import queries
from recruitment.reconciliation.cases import has_answers, visit_of_difference
from recruitment.reconciliation.decisions import decision_of
from recruitment.reconciliation.plan import Decision, accepted

Locked = tuple[Difference, Visit | None, Submission | None]
NOTED_AT_ONCE = 500
"""Differences that one press notes: as many as are done while somebody waits for the page."""
UNPROVEN = (Difference.Kind.WRONG_RECEIPT, Difference.Kind.NO_DATA)
"""Differences about work that is not confirmed unless a researcher says so."""


@transaction.atomic
def settle_difference(*, difference: Difference, how: str, by: User | None, now: datetime) -> Difference:
    """Somebody has dealt with a difference, and says how. Raises :class:`CannotSettle` without a word.

    Votes of work that could not be proven do not count after that: their slots go to others. Whoever comes
    second changes nothing.
    """
    difference, visit, _work = _lock(difference)
    if difference.settled_at:
        return difference
    session = visit.session if visit else None
    settled = close_difference(difference=difference, how=how, by=by, now=now)
    if difference.kind in UNPROVEN and visit and session and session.state == WorkSession.State.OPEN:
        # Nothing else would ever let go of its slots.
        annotation_actions.doubt_session(session=session, reason=how.strip(), by=by, now=now)
        Visit.objects.filter(pk=visit.pk).update(decided_by_hand=True)
    return settled


@gathered()
def settle_alike(
    *,
    study: Study,
    kind: str,
    campaign_number: int | None = None,
    newest: int,
    how: str,
    by: User | None,
    now: datetime,
) -> int:
    """Note the same words about all open differences of a kind, the oldest first; returns about how many.

    Each as by :func:`settle_difference`, with its own entry in the log; at most :data:`NOTED_AT_ONCE`. None
    that was noticed after ``newest``: whoever says this has not seen it. Raises :class:`CannotSettle` without
    a word.
    """
    found = Difference.objects.filter(campaign__study=study, kind=kind, settled_at=None, pk__lte=newest)
    if campaign_number is not None:
        found = found.filter(campaign__number=campaign_number)
    needed = ("campaign__study", "submission__visit", "visit")
    alike = list(found.select_related(*needed).order_by("pk")[:NOTED_AT_ONCE])
    for difference in alike:
        settle_difference(difference=difference, how=how, by=by, now=now)
    return len(alike)


@transaction.atomic
def confirm_by_hand(*, difference: Difference, how: str, by: User | None, now: datetime) -> Difference:
    """Let the votes of a visit count on a researcher's word, and settle the difference about it.

    What follows is the same as when a comparison confirms it; where the campaign approves confirmed work by
    itself, work that waits for a decision is approved, too. Raises :class:`CannotSettle` for work of which
    nothing is here or that was rejected, and when somebody else has dealt with it.
    """
    difference, visit, work = lock_open(difference)
    if visit is None or (difference.kind == Difference.Kind.NO_DATA and not has_answers(visit)):
        raise CannotSettle(_("Nothing of this work is here, so there is nothing that could count."))
    accept_by_hand(visit=visit, work=work, by=by, now=now)
    waits = work is not None and work.status == Submission.Status.SUBMITTED and decision_of(work) is None
    if work and waits and difference.campaign.approves_by_itself:
        approve(submission=work, by=by, now=now)
    return close_difference(difference=difference, how=how, by=by, now=now)


@transaction.atomic
def approve_for_difference(*, difference: Difference, how: str, by: User | None, now: datetime) -> Difference:
    """Approve the work that a difference is about, and settle it; both or neither.

    Raises ``CannotPay`` as :func:`~recruitment.actions.payments.approve` does and for work that the platform
    does not list, and :class:`CannotSettle` when somebody else has dealt with it.
    """
    difference, _visit, work = lock_open(difference)
    approve(submission=_listed(work), by=by, now=now)
    return settle_difference(difference=difference, how=how, by=by, now=now)


@transaction.atomic
def reject_for_difference(
    *,
    difference: Difference,
    how: str,
    reason: str,
    category: str = "",
    leave_group: bool = False,
    by: User | None,
    now: datetime,
) -> Difference:
    """Reject the work that a difference is about, and settle it; both or neither. Raises as above."""
    difference, _visit, work = lock_open(difference)
    reject(
        submission=_listed(work),
        reason=reason,
        category=category,
        leave_group=leave_group,
        by=by,
        now=now,
    )
    return settle_difference(difference=difference, how=how, by=by, now=now)


@transaction.atomic
def accept_by_hand(*, visit: Visit, work: Submission | None, by: User | None, now: datetime) -> None:
    """Let the votes of a visit count on a researcher's word, which no comparison takes back.

    Its rows must be locked. Raises :class:`CannotSettle` for work that was rejected.
    """
    is_rejected = work is not None and (
        work.status == Submission.Status.REJECTED or decision_of(work) == Decision.REJECTED
    )
    if is_rejected:
        raise CannotSettle(_("This work has been rejected, and what is not paid does not count."))
    assert visit.campaign is not None  # a difference is about a visit for a campaign
    for step in accepted(queries.here(visit)):
        take_step(step, visit, work, visit.campaign, by=by, now=now)
    Visit.objects.filter(pk=visit.pk).update(decided_by_hand=True)


def lock_open(difference: Difference) -> Locked:
    """A difference with its visit and piece of work, of which nobody else decides any more.

    Raises :class:`CannotSettle` when somebody has dealt with it.
    """
    found = _lock(difference)
    if found[0].settled_at:
        raise CannotSettle(_("Somebody has just dealt with this. Nothing was changed."))
    return found


@transaction.atomic
def close_difference(*, difference: Difference, how: str, by: User | None, now: datetime) -> Difference:
    """Take an open difference off the list. Raises :class:`CannotSettle` without a word about how."""
    if not how.strip():
        raise CannotSettle(_("Say in a few words how this was dealt with. It is kept in the log."))
    difference.settled_at, difference.settled_by, difference.settled_how = now, by, how.strip()
    difference.save(update_fields=["settled_at", "settled_by", "settled_how"])
    annotation_actions.record_event(
        study=difference.campaign.study,
        type=Event.Type.PLATFORM_SYNCED,
        by=by,
        now=now,
        subject=f"{difference.kind} {difference.pk}",
        note=how.strip(),
    )
    return difference


def _lock(difference: Difference) -> Locked:
    known = visit_of_difference(difference)
    visit, work = lock_visit(known.pk) if known else (None, difference.submission)
    if work and not known:
        work = lock_submission(work)
    rows = Difference.objects.select_for_update(of=("self",)).select_related("campaign__study")
    return rows.get(pk=difference.pk), visit, work


def _listed(work: Submission | None) -> Submission:
    if work is None:
        raise CannotPay(_("The platform does not list this work, so it cannot be decided there."))
    return work
