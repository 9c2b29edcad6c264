"""Have a platform carry out recorded payments: one worker at a time, outside of any transaction.

A worker that dies on the way leaves the row as being sent, and it is sent again with the same token, after a
look at what has happened. A payment waits if the problem is not the work (no answer, rejected credentials,
too little money). Only a refusal of this work is final.
"""

import logging
import time
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils.translation import gettext as _

from annotation.locks import alone
from annotation.models import Event
from annotation.sql import lock_person
from recruitment.actions.grants import rejoin_group, send_grant
from recruitment.actions.payments import lock_submission, record_payments
from recruitment.actions.settlement import accept_visit, lock_visit
from recruitment.marketplace import (
    ACCOUNT_PROBLEMS,
    MOST_SILENT,
    BonusRequest,
    Marketplace,
    MarketplaceError,
    NotShown,
    Refused,
    Unreachable,
)
from recruitment.models import Campaign, Grant, Payment, Submission, Visit
from recruitment.queries import platform_id_of
from recruitment.queue import LONGEST_PAUSE, SEND, next_try
from tomannot import clock

logger = logging.getLogger(__name__)
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
"""Give up after this time without the platform showing the submission, which it has listed before."""
BONUSES = (Kind.BONUS, Kind.TOP_UP)
MOST_SECONDS = 240.0
"""Longest run for one campaign; then other campaigns have their turn."""
LEAST_IN_BULK, MOST_IN_BULK = 10, 1000
"""Approvals that one request asks for, on a platform that takes several."""
Row = tuple[type[Payment] | type[Grant], int]


class TakenOver(Exception):
    """Another worker is sending the payment: this one was away for too long, and must not go on."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A payment that one worker sends. ``is_first``: it had certainly never been carried out before."""

    payment: Payment
    is_first: bool

    def row(self) -> QuerySet[Payment]:
        """Return the row if this worker still holds it; a worker that was away too long writes nothing."""
        return Payment.objects.filter(pk=self.payment.pk, state=State.SENDING, tries=self.payment.tries)


def send_due(*, campaign: Campaign, marketplace: Marketplace, most_seconds: float = MOST_SECONDS) -> bool:
    """Have the platform carry out every payment and grant of a campaign that is due, each once.

    One worker at a time: another returns at once, and the first also sends what becomes due meanwhile. What
    was tried least often comes first, so that one without an answer delays no other. Return True if there
    is more to try at once: the time was over before everything was tried, and the platform answers.
    """
    tried: set[Row] = set()
    end = time.monotonic() + most_seconds
    silent = 0
    while rows := [row for row in _due_of(campaign) if row not in tried]:
        with alone(SEND, campaign.pk) as nobody_else:
            if not nobody_else:
                return False
            _approve_in_bulk(campaign, marketplace)
            for row in rows:
                if time.monotonic() > end:
                    return silent < MOST_SILENT
                tried.add(row)
                silent = 0 if _send(*row, marketplace) else silent + 1
    return False


def campaigns_with_due() -> list[int]:
    """Return the campaigns of which payments or grants are to be sent."""
    now = clock.now()
    paying = Campaign.objects.filter(submissions__payments__in=Payment.objects.due(now=now))
    granting = Campaign.objects.filter(grants__in=Grant.objects.due(now=now))
    return sorted({*paying.values_list("pk", flat=True), *granting.values_list("pk", flat=True)})


def _due_of(campaign: Campaign) -> list[Row]:
    now = clock.now()
    payments = Payment.objects.due(now=now).filter(submission__campaign=campaign)
    grants = campaign.grants.due(now=now)
    found: list[tuple[int, Row]] = [
        (tries, (Payment, pk)) for tries, pk in payments.values_list("tries", "pk")
    ]
    found += [(tries, (Grant, pk)) for tries, pk in grants.values_list("tries", "pk")]
    return [row for _tries, row in sorted(found, key=lambda one: one[0])]


def _approve_in_bulk(campaign: Campaign, marketplace: Marketplace) -> None:
    """Ask for many new approvals at once, on a platform that takes that; each is then sent by itself."""
    new = Payment.objects.due(now=clock.now()).filter(
        submission__campaign=campaign,
        submission__status=Submission.Status.SUBMITTED,
        kind=Kind.APPROVAL,
        tries=0,
    )
    works = list(new.order_by("pk").values_list("submission__remote_id", flat=True)[:MOST_IN_BULK])
    if len(works) < LEAST_IN_BULK:
        return
    try:
        marketplace.approve_all(works)
    except MarketplaceError as error:
        logger.warning("Campaign %s: approving in bulk failed, one follows the other: %s", campaign.pk, error)


def _send(kind: type[Payment] | type[Grant], pk: int, marketplace: Marketplace) -> bool:
    """Send one payment. Return True if the platform answered."""
    try:
        if kind is Payment:
            send_payment(payment_id=pk, marketplace=marketplace, now=clock.now())
        else:
            send_grant(grant_id=pk, marketplace=marketplace, now=clock.now())
    except Unreachable as error:
        logger.warning("%s %s is sent again later: %s", kind.__name__, pk, error)
        return error.not_before is not None
    return True


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
    claimed = Payment.objects.due(now=now).filter(pk=payment_id)
    if not claimed.update(state=State.SENDING, tries=F("tries") + 1, sending_until=now + SENDING):
        return None
    is_first = Payment.objects.filter(pk=payment_id, first_sent_at=None).update(first_sent_at=now)
    payment = Payment.objects.select_related("submission__campaign__study").get(pk=payment_id)
    return Claim(payment, bool(is_first))


def send_payment(*, payment_id: int, marketplace: Marketplace, now: datetime) -> Payment | None:
    """Have the platform carry a payment out, once; None when there is nothing (more) to send.

    Raise ``Unreachable`` when the platform did not answer; the payment is then sent again later, as it is:
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
        return _wait_until_shown(claim, error, now=now)
    except Unreachable as error:
        waits = error.not_before and min(error.not_before, now + LONGEST_PAUSE)
        _give_back(claim, error, next_try_at=waits)
        raise
    except ACCOUNT_PROBLEMS as error:
        later = next_try(claim.payment.waits_since, now=now)
        return _give_back(claim, error, next_try_at=later, waits_since=claim.payment.waits_since or now)
    except MarketplaceError as error:
        return _settle(claim, State.FAILED, problem=str(error), now=now)
    return _settle(claim, State.DONE, problem="", now=now)


def person_of(submission: Submission) -> str:
    """Return the platform's id of the submission's person. Raise ``Refused`` if they are forgotten."""
    person = platform_id_of(submission)
    if not person:
        message = _(
            "This participant had their personal data deleted, so you can decide this only on the platform."
        )
        raise Refused(message)
    return person


def _bonuses(submission: Submission) -> QuerySet[Payment]:
    return Payment.objects.filter(submission=submission, kind__in=BONUSES)


def _carry_out(claim: Claim, marketplace: Marketplace) -> None:
    payment = claim.payment
    work = payment.submission.remote_id
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
        submission=payment.submission.remote_id,
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
    """Return the tokens of the refused payments that this one repeats. A submission has one top-up."""
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
    """Return the payment to the queue.

    If the platform certainly did not carry it out, and no earlier try may have, the next try counts as the
    first.
    """
    changes: dict[str, Any] = {"sending_until": None, "problem": str(error)}
    changes |= {"next_try_at": next_try_at, "waits_since": waits_since}
    if not error.maybe_done and claim.is_first:
        changes |= {"state": State.REQUESTED, "first_sent_at": None}
    claim.row().update(**changes)
    return Payment.objects.get(pk=claim.payment.pk)


def _wait_until_shown(claim: Claim, error: NotShown, *, now: datetime) -> Payment:
    since = claim.payment.first_sent_at or now
    if now - since < SHOWN_WITHIN:
        return _give_back(claim, error, next_try_at=next_try(since, now=now))
    problem = _(
        "The platform has not shown this submission for a day. Check that the account is still the one it "
        "was made for, and that the submission still exists: Mechanical Turk removes it 120 days after its "
        "HIT is over. Then retry, or record a payment outside the platform."
    )
    return _settle(claim, State.FAILED, problem=problem, now=now)


@transaction.atomic
def _settle(claim: Claim, state: Payment.State, *, problem: str, now: datetime) -> Payment:
    """Write down what the platform said; votes that are to count after an overturned rejection do at once."""
    votes_count = claim.payment.votes_count and state == State.DONE
    visit = Visit.objects.filter(submission=claim.payment.submission_id).first() if votes_count else None
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
            decided.update(status=DECIDED[Payment.Kind(payment.kind)])
        type = Event.Type.PAYMENT_SENT if state == State.DONE else Event.Type.PAYMENT_FAILED
        record_payments([payment], type, by=None, now=now, note=problem)
        for rejection in payment.submission.payments.filter(kind=Kind.REJECTION) if votes_count else ():
            rejoin_group(submission=payment.submission, since=rejection.requested_at, now=now)
        if visit:
            visit, work = lock_visit(visit.pk)
            accept_visit(visit=visit, submission=work, by=payment.requested_by, now=now)
    return payment
