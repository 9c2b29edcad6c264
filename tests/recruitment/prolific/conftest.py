"""The adapter against the double."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from recruitment.marketplace import BonusRequest, Offer, PostingRequest
from recruitment.prolific.marketplace import Prolific
from tests.doubles.prolific import TOKEN, ProlificDouble

OFFER = Offer(
    reference="stories-1",
    is_test=False,
    title="Judge short stories",
    description="Four questions on each.\n\nYou may stop & go < at any time.",
    keywords="",
    entry_url="http://127.0.0.1:8000/join/stories/1/",
    reward=Decimal("2.50"),
    currency="GBP",
    seats=3,
    seats_per_posting=3,
    minutes_expected=10,
    minutes_allowed=60,
    days_open=7,
    days_to_review=14,
    completion_code="C-DONE",
    screen_out_code="C-OUT",
)
REASON = "Three of the four questions were answered without the story having been on the screen. " * 2


class Lab:
    """A researcher's side: the adapter, and shorthands for what tests ask of it."""

    def __init__(self, double: ProlificDouble, **more: Any) -> None:
        self.double = double
        self.platform = double.platform
        self.prolific = Prolific(
            token=TOKEN,
            environment="live",
            workspace=double.platform.workspace_id,
            api=double.url,
            sleep=lambda _seconds: None,
            now=double.platform.clock.now,
            **more,
        )

    def publish(self, **changes: Any) -> str:
        offer = replace(OFFER, **{"seats_per_posting": changes.get("seats", OFFER.seats)} | changes)
        study = self.prolific.prepare(offer)
        self.prolific.post(offer, study, posting_of(offer))
        self.double.settle()
        return study

    def hand_in(self, study: str, person: str, code: str | None = "C-DONE") -> str:
        submission = self.double.start(person, study).submission
        self.double.complete(submission, code)
        self.double.settle()
        return submission

    def bonus_for(self, submission: str, amount: str, **changes: Any) -> BonusRequest:
        request = BonusRequest(
            submission=submission,
            person=self.double.submission(submission).participant,
            amount=Decimal(amount),
            reason="Thank you",
            token=uuid.uuid4(),
            first_sent_at=self.platform.clock.now(),
        )
        return replace(request, remote_id=self.prolific.prepare_bonus(request), **changes)

    def paid(self, kind: str) -> list[int]:
        self.double.settle()
        return [entry.cents for entry in self.platform.ledger if entry.kind == kind]


def posting_of(offer: Offer) -> PostingRequest:
    return PostingRequest(1, offer.seats, uuid.uuid4(), datetime.now(UTC))


@pytest.fixture
def double() -> Iterator[ProlificDouble]:
    with ProlificDouble(seed=7) as made:
        yield made


@pytest.fixture
def lab(double: ProlificDouble) -> Lab:
    return Lab(double)
