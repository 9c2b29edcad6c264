"""Having a platform carry out what is written down: one worker at a time, outside of any transaction.

A worker that dies on the way leaves the row as being sent, and it is sent again with the same token, after a
look at what has happened. What says nothing of the work itself (no answer, credentials that are not accepted,
too little money) leaves the payment waiting; only what the platform refuses about this work is final.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _

from accounts.models import PlatformIdentity, User
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event
from annotation.sql import lock_person
from recruitment.marketplace import (
    BonusRequest,
    Marketplace,
    MarketplaceError,
    NotConfigured,
    NotEnoughMoney,
    NotShown,
    Refused,
    Unreachable,
)
from recruitment.models import Campaign, Payment, Submission, Visit
from recruitment.queueing import soon

Kind = Payment.Kind
State = Payment.State
DECIDED = {
    Payment.Kind.APPROVAL: Submission.Status.APPROVED,
    Payment.Kind.OVERTURN: Submission.Status.APPROVED,
    Payment.Kind.REJECTION: Submission.Status.REJECTED,
}
SENDING = timedelta(minutes=5)
"""Longer than any call of a platform takes, with its repetitions."""
SHOWN_WITHIN = timedelta(days=1)
"""Work that a platform has not shown for so long is not there any more: it has listed it before."""
FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=5), timedelta(hours=6)
SEND_TASK = "recruitment.tasks.send_due"
"""Sends everything of a campaign that is due."""
BONUSES = (Kind.BONUS, Kind.TOP_UP)
UNSETTLED = (State.REQUESTED, State.SENDING)
FOR_BETTER_TIMES = (NotConfigured, NotEnoughMoney)
"""What is wrong with the account, not with the work: it waits until somebody has mended it."""


WhenDone = Callable[[Payment, datetime], None]


class TakenOver(Exception):
    """Another worker is sending it by now: this one was away for too long, and must not go on."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A payment that one worker sends. ``is_first``: it had certainly never been carried out before."""

    payment: Payment
    is_first: bool

    def row(self) -> QuerySet[Payment]:
        """The row as long as it is this worker's: whoever was away for too long writes nothing any more."""
        return Payment.objects.filter(pk=self.payment.pk, state=State.SENDING, tries=self.payment.tries)


@transaction.atomic
def claim_payment(*, payment_id: int, now: datetime) -> Claim | None:
    """Take a payment to send it; None when it is settled, waits, or another worker is sending it.

    Nobody else takes it for :data:`SENDING` from now on, or until it has been given back. ``now`` must come
    from one clock for all workers. The number of tries never goes back: by it a worker knows what it claimed.
    """
    payment = Payment.objects.select_related("submission").get(pk=payment_id)
    submission = lock_submission(payment.submission)
    others = _bonuses(submission).filter(state=State.SENDING).exclude(pk=payment_id)
    if payment.kind in BONUSES and others.exists():
        return None  # one at a time: a platform without tokens tells them apart by nothing but their number
    claimed = _due(now).filter(pk=payment_id)
    if not claimed.update(state=State.SENDING, tries=F("tries") + 1, sending_until=now + SENDING):
        return None
    is_first = Payment.objects.filter(pk=payment_id, first_sent_at=None).update(first_sent_at=now)
    payment = Payment.objects.select_related("submission__campaign__study").get(pk=payment_id)
    return Claim(payment, bool(is_first))


def send_payment(
    *, payment_id: int, marketplace: Marketplace, when_done: WhenDone | None = None, now: datetime
) -> Payment | None:
    """Have the platform carry a payment out, once; None when there is nothing (more) to send.

    ``when_done`` lets votes count after a rejection that was overturned so; both or neither.
    Raises ``Unreachable`` when the platform did not answer; the payment is then sent again later, as it is:
    less and less often while the account lacks money or its credentials are not accepted, or the work is not
    shown, which is final after :data:`SHOWN_WITHIN`; now and then while the person has days to answer.
    """
    claim = claim_payment(payment_id=payment_id, now=now)
    if claim is None:
        return None
    try:
        _carry_out(claim, marketplace)
    except TakenOver:
        return None
    except NotShown as error:
        return _wait_for_it(claim, error, now=now)
    except Unreachable as error:
        waits = error.not_before and min(error.not_before, now + LONGEST_PAUSE)
        _give_back(claim, error, next_try_at=waits)
        raise
    except FOR_BETTER_TIMES as error:
        later = next_try(claim.payment.waits_since, now=now)
        return _give_back(claim, error, next_try_at=later, waits_since=claim.payment.waits_since or now)
    except MarketplaceError as error:
        return _settle(claim, State.FAILED, problem=str(error), now=now)
    return _settle(claim, State.DONE, problem="", when_done=when_done, now=now)


def next_try(waits_since: datetime | None, *, now: datetime) -> datetime:
    """When to ask again for what waits for better times: after as long as it has waited, within limits."""
    return now + min(max(now - (waits_since or now), FIRST_PAUSE), LONGEST_PAUSE)


def due_payments(*, now: datetime) -> QuerySet[Payment, int]:
    """The ids of payments that are to be sent, or whose sending was cut off.

    What was tried least comes first, so that what is slow or waits keeps nothing else from being sent; of the
    others the oldest.
    """
    return _due(now).order_by("tries", "pk").values_list("pk", flat=True)


@transaction.atomic
def send_waiting(*, campaign: Campaign) -> int:
    """Send what waits for better times at once, because somebody has mended the account; returns how many."""
    waiting = Payment.objects.filter(
        submission__campaign=campaign, state__in=UNSETTLED, waits_since__isnull=False
    )
    found = list(waiting.values_list("pk", flat=True))
    Payment.objects.filter(pk__in=found, state__in=UNSETTLED).update(next_try_at=None, waits_since=None)
    if found:
        soon(SEND_TASK, campaign.pk)
    return len(found)


def lock_submission(submission: Submission) -> Submission:
    """The piece of work, locked: everything that is decided or sent about it comes one after the other."""
    return (
        Submission.objects.select_for_update(of=("self",), no_key=True)
        .select_related("campaign__study")
        .get(pk=submission.pk)
    )


def person_of(submission: Submission) -> str:
    """The platform's id of whose work it is. Raises ``Refused`` for somebody who has been forgotten."""
    identity = PlatformIdentity.objects.filter(
        annotator=submission.annotator_id,
        platform=submission.platform,
        environment=submission.environment,
    ).first()
    if identity is None:
        raise Refused(
            _("Who did this has been forgotten, as they asked, so it can only be decided on the platform.")
        )
    return identity.person


def _due(now: datetime) -> QuerySet[Payment]:
    free = Q(sending_until=None) | Q(sending_until__lte=now)
    its_time = Q(next_try_at=None) | Q(next_try_at__lte=now)
    return Payment.objects.filter(free, its_time, state__in=UNSETTLED)


def _bonuses(submission: Submission) -> QuerySet[Payment]:
    return Payment.objects.filter(submission=submission, kind__in=BONUSES)


def _carry_out(claim: Claim, marketplace: Marketplace) -> None:
    payment = claim.payment
    work = payment.submission.hit_assignment
    person = person_of(payment.submission)
    if payment.kind == Kind.APPROVAL:
        marketplace.approve(work, person=person)
    elif payment.kind == Kind.OVERTURN:
        marketplace.overturn(work, person=person)
    elif payment.kind == Kind.REJECTION:
        marketplace.reject(
            work, person=person, reason=payment.reason, category=payment.category, since=payment.requested_at
        )
    else:
        _pay_bonus(claim, person, marketplace)


def _pay_bonus(claim: Claim, person: str, marketplace: Marketplace) -> None:
    payment = claim.payment
    assert payment.first_sent_at is not None
    others = _bonuses(payment.submission).filter(amount=payment.amount).exclude(pk=payment.pk)
    request = BonusRequest(
        hit_assignment=payment.submission.hit_assignment,
        person=person,
        amount=payment.amount,
        reason=payment.reason,
        token=payment.request_token,
        first_sent_at=payment.first_sent_at,
        remote_id=payment.remote_id,
        maybe_paid=not claim.is_first,
        earlier_tokens=_tokens_before(payment),
        same_amount_paid=others.filter(state=State.DONE).count(),
    )
    if not request.remote_id:
        # Stored before anything is paid, so that whoever goes on pays this one and makes no other. What
        # has only now been made was not paid by an earlier try.
        prepared = marketplace.prepare_bonus(request)
        request = replace(request, remote_id=prepared, maybe_paid=request.maybe_paid and not prepared)
        if not claim.row().update(remote_id=prepared):
            raise TakenOver
    marketplace.bonus(request)


def _tokens_before(payment: Payment) -> tuple[UUID, ...]:
    """The tokens of the refused ones in whose place it stands. Work has one top-up, and any bonuses."""
    if payment.kind == Kind.TOP_UP:
        before = payment.submission.payments.filter(
            kind=Kind.TOP_UP, amount=payment.amount, pk__lt=payment.pk
        )
        return tuple(before.order_by("-pk").values_list("request_token", flat=True))
    tokens = []
    earlier = payment.repeats
    while earlier:
        tokens.append(earlier.request_token)
        earlier = earlier.repeats
    return tuple(tokens)


@transaction.atomic
def _give_back(
    claim: Claim,
    error: MarketplaceError,
    *,
    next_try_at: datetime | None = None,
    waits_since: datetime | None = None,
) -> Payment:
    """Let it be sent again: as for the first time, if the platform certainly did not do it.

    That it was not done this time says nothing about an earlier one of which nobody knows what came of it.
    """
    changes: dict[str, Any] = {"sending_until": None, "problem": str(error)}
    changes |= {"next_try_at": next_try_at, "waits_since": waits_since}
    if not error.maybe_done and claim.is_first:
        changes |= {"state": State.REQUESTED, "first_sent_at": None}
    claim.row().update(**changes)
    return Payment.objects.get(pk=claim.payment.pk)


def _wait_for_it(claim: Claim, error: NotShown, *, now: datetime) -> Payment:
    since = claim.payment.first_sent_at or now
    if now - since < SHOWN_WITHIN:
        return _give_back(claim, error, next_try_at=next_try(since, now=now))
    problem = _(
        "The platform has not shown this work for a day. See whether the account is still the one for which "
        "it was done, and whether the work is still there: Mechanical Turk removes it 120 days after its HIT "
        "is over. Then send this again; or pay the person in another way, and note that."
    )
    return _settle(claim, State.FAILED, problem=problem, now=now)


@transaction.atomic
def _settle(
    claim: Claim, state: Payment.State, *, problem: str, when_done: WhenDone | None = None, now: datetime
) -> Payment:
    follows = when_done if claim.payment.votes_count else None
    visit = Visit.objects.filter(submission=claim.payment.submission_id).first() if follows else None
    if visit:
        lock_person(visit.enrollment_id)  # before the rows of the work, as everywhere
    settled = claim.row().update(
        state=state, problem=problem, settled_at=now, sending_until=None, next_try_at=None
    )
    payment = Payment.objects.select_related("submission__campaign__study").get(pk=claim.payment.pk)
    if settled:
        if state == State.DONE and payment.kind in DECIDED:
            # The platform has just said so by carrying it out; a list may need a while to.
            decided = Submission.objects.filter(pk=payment.submission_id)
            decided.update(status=DECIDED[Payment.Kind(payment.kind)], seen_at=now)
        type = Event.Type.PAYMENT_SENT if state == State.DONE else Event.Type.PAYMENT_FAILED
        record_payment(payment=payment, type=type, by=None, now=now, note=problem)
        if follows:
            follows(payment, now)
    return payment


def record_payment(
    *, payment: Payment, type: Event.Type, by: User | None, now: datetime, note: str = ""
) -> None:
    """Write what became of a payment into the study's log."""
    record_payments(payments=[payment], type=type, by=by, now=now, note=note)


def record_payments(
    *, payments: Sequence[Payment], type: Event.Type, by: User | None, now: datetime, note: str = ""
) -> None:
    """The same of many of one campaign, all with the same note."""
    if not payments:
        return
    study = payments[0].submission.campaign.study
    annotators = [payment.submission.annotator_id for payment in payments]
    places = Enrollment.objects.filter(study=study, annotator__in=annotators)
    by_annotator = {place.annotator_id: place for place in places}
    annotation_actions.record_events(
        study=study,
        type=type,
        by=by,
        now=now,
        rows=[
            (
                by_annotator.get(payment.submission.annotator_id),
                f"{payment.kind} {payment.pk} of {payment.amount} {payment.currency}",
                note,
            )
            for payment in payments
        ],
    )
