"""Mechanical Turk behind the interface of ``recruitment.marketplace``.

The service is no more; what is written here follows its documentation, and is proved against a double that
speaks its protocol (``tests/doubles/mturk``), with an endpoint of one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.models import PlatformIdentity
from recruitment.marketplace import (
    BonusRequest,
    Estimate,
    Group,
    Offer,
    OnOffer,
    PostingRequest,
    Refused,
    Work,
)
from recruitment.mturk import fees
from recruitment.mturk.abilities import abilities
from recruitment.mturk.client import ADAPTIVE, ONCE, QUICK_SECONDS, SECONDS, Api
from recruitment.mturk.environments import is_amazon
from recruitment.mturk.groups import Groups
from recruitment.mturk.hits import Hits, hit_type_of
from recruitment.mturk.notifications import specification
from recruitment.mturk.review import Review

MOST_DAYS_TO_REVIEW, MOST_DAYS_OPEN = 30, 365


def _now() -> datetime:
    return datetime.now(UTC)


class MechanicalTurk:
    """One requester's account in one environment; ``recruitment.marketplace.Marketplace`` says what it does.

    Args:
        environment: ``live``, or ``rehearsal`` for Amazon's sandbox.
        key_id: The AWS access key's id.
        secret: The AWS secret access key.
        endpoint: Where the API is, if not at Amazon's for the environment.
        topic: ARN of the SNS topic that Mechanical Turk tells when something happens; empty for none.
        retries: botocore's retry settings.
        is_quick: While somebody waits for a page, it is asked once and given a few seconds.
        now: The clock.

    Raises :class:`recruitment.marketplace.NotConfigured` without credentials.
    """

    platform: str = PlatformIdentity.Platform.MTURK

    def __init__(
        self,
        *,
        environment: str,
        key_id: str,
        secret: str,
        endpoint: str = "",
        topic: str = "",
        retries: Mapping[str, Any] = ADAPTIVE,
        is_quick: bool = False,
        now: Callable[[], datetime] = _now,
    ) -> None:
        self.environment, self._is_amazon = environment, is_amazon(endpoint)
        self.abilities, self._topic = abilities(endpoint), topic
        self._api = Api(
            environment=environment,
            key_id=key_id,
            secret=secret,
            endpoint=endpoint,
            retries=ONCE if is_quick else retries,
            seconds=QUICK_SECONDS if is_quick else SECONDS,
        )
        self._hits, self._review = Hits(self._api, now), Review(self._api, now)
        self._groups = Groups(self._api)

    def estimate(self, offer: Offer) -> Estimate:
        self._check(offer)
        return fees.estimate(offer)

    def balance(self) -> Decimal | None:
        return Decimal(self._api.call("GetAccountBalance")["AvailableBalance"])

    def ensure_group(self, group: Group, *, reference: str) -> str:
        return self._groups.ensure(group, reference)

    def prepare(self, offer: Offer) -> str:
        self._check(offer)
        wanted = hit_type_of(offer, self.environment)
        kind = str(self._api.call("CreateHITType", **wanted)["HITTypeId"])
        if self._topic:
            told = specification(self._topic)
            self._api.call("UpdateNotificationSettings", HITTypeId=kind, Notification=told, Active=True)
        return kind

    def post(self, offer: Offer, remote_id: str, request: PostingRequest) -> str:
        return self._hits.make(offer, remote_id, request)

    def pause(self, remote_id: str, postings: Sequence[str]) -> None:
        self._hits.expire(postings)

    def resume(self, remote_id: str, postings: Sequence[str], *, until: datetime) -> None:
        self._hits.offer_until(postings, until)

    def end(self, remote_id: str, postings: Sequence[str]) -> None:
        self._hits.expire(postings)

    def widen(self, remote_id: str, posting: str, *, seats: int, token: UUID) -> None:
        self._hits.widen(posting, seats=seats, token=token)

    def on_offer(self, remote_id: str, postings: Collection[str]) -> OnOffer:
        return self._hits.on_offer(postings)

    def work(self, remote_id: str, postings: Collection[str]) -> list[Work]:
        return self._review.handed_in(postings)

    def worth_asking(self, remote_id: str, postings: Sequence[str]) -> list[str]:
        return self._review.worth_asking(postings)

    def one_work(self, hit_assignment: str) -> Work | None:
        return self._review.one(hit_assignment)

    def approve(self, hit_assignment: str, *, person: str, message: str = "") -> None:
        self._review.approve(hit_assignment, person=person, message=message)

    def reject(
        self,
        hit_assignment: str,
        *,
        person: str,
        reason: str,
        category: str = "",
        since: datetime | None = None,
    ) -> None:
        self._review.reject(hit_assignment, person=person, reason=reason)

    def overturn(self, hit_assignment: str, *, person: str) -> None:
        self._review.overturn(hit_assignment, person=person)

    def prepare_bonus(self, request: BonusRequest) -> str:
        return ""

    def bonus(self, request: BonusRequest) -> None:
        self._review.pay_bonus(request)

    def add_to_group(self, group: str, person: str) -> None:
        self._groups.add(group, person)

    def remove_from_group(self, group: str, person: str) -> None:
        self._groups.remove(group, person)

    def _check(self, offer: Offer) -> None:
        """Refuse, before anything is made, what Mechanical Turk would refuse later or take otherwise."""
        if offer.currency != "USD":
            raise Refused(_("Mechanical Turk pays in US dollars, not in %s.") % offer.currency)
        if not self.abilities.still_exists and urlsplit(offer.entry_url).scheme != "https":
            message = _("Mechanical Turk shows only pages with https: PUBLIC_URL must begin with https://.")
            raise Refused(message)
        if offer.days_to_review > MOST_DAYS_TO_REVIEW:
            raise Refused(_("Mechanical Turk pays by itself after at most %s days.") % MOST_DAYS_TO_REVIEW)
        if not 1 <= offer.days_open <= MOST_DAYS_OPEN:
            raise Refused(_("Mechanical Turk offers work for 1 to %s days.") % MOST_DAYS_OPEN)
