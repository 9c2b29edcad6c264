"""Sending everything of a campaign that is due, by one worker: one message, however much there is."""

from __future__ import annotations

import logging
import time

from annotation.locks import alone
from recruitment.actions.grants import due_grants, send_grant
from recruitment.actions.overturning import send_payment
from recruitment.actions.sending import due_payments
from recruitment.clock import database_now
from recruitment.locks import SEND
from recruitment.marketplace import Marketplace, Unreachable
from recruitment.models import Campaign, Grant, Payment

logger = logging.getLogger(__name__)
MOST_SECONDS = 240.0
"""After this the others of the queue have their turn."""
PATIENCE = 3
"""After so many in a row about which the platform did not answer, the rest is left to the next sweep."""
Row = tuple[type[Payment] | type[Grant], int]


def send_due(*, campaign: Campaign, marketplace: Marketplace, most_seconds: float = MOST_SECONDS) -> bool:
    """Have the platform carry out every payment and grant of a campaign that is due, each once.

    One worker at a time: another returns at once, and what has come to be due meanwhile is sent by the same
    worker. What was tried least often comes first, in this run and over many: one about which the platform
    does not answer keeps no other waiting, and is due again. Returns whether there is more to be tried at
    once: the time was over before everything had been, and the platform answers.
    """
    tried: set[Row] = set()
    end = time.monotonic() + most_seconds
    silent = 0
    while rows := [row for row in _due_of(campaign) if row not in tried]:
        with alone(SEND, campaign.pk) as nobody_else:
            if not nobody_else:
                return False
            for row in rows:
                if time.monotonic() > end:
                    return silent < PATIENCE
                tried.add(row)
                silent = 0 if _send(*row, marketplace) else silent + 1
    return False


def campaigns_with_due() -> list[int]:
    """The campaigns of which payments or grants are to be sent."""
    now = database_now()
    paying = Campaign.objects.filter(submissions__payments__in=due_payments(now=now))
    granting = Campaign.objects.filter(grants__in=due_grants(now=now))
    return sorted({*paying.values_list("pk", flat=True), *granting.values_list("pk", flat=True)})


def _due_of(campaign: Campaign) -> list[Row]:
    now = database_now()
    payments = due_payments(now=now).filter(submission__campaign=campaign)
    grants = due_grants(now=now).filter(campaign=campaign)
    found: list[tuple[int, Row]] = [
        (tries, (Payment, pk)) for tries, pk in payments.values_list("tries", "pk")
    ]
    found += [(tries, (Grant, pk)) for tries, pk in grants.values_list("tries", "pk")]
    return [row for _tries, row in sorted(found, key=lambda one: one[0])]


def _send(kind: type[Payment] | type[Grant], pk: int, marketplace: Marketplace) -> bool:
    """Send one; whether the platform answered."""
    try:
        if kind is Payment:
            send_payment(payment_id=pk, marketplace=marketplace, now=database_now())
        else:
            send_grant(grant_id=pk, marketplace=marketplace, now=database_now())
    except Unreachable as error:
        logger.warning("%s %s is sent again later: %s", kind.__name__, pk, error)
        return error.not_before is not None
    return True
