"""Mechanical Turk behind the interface of ``recruitment.marketplace``.

The service is no more; what is written here follows its documentation, and is proved against a double that
speaks its protocol (``tests/doubles/mturk``), with an endpoint of one's own.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from accounts.models import PlatformIdentity
from recruitment.marketplace import Estimate, Marketplace, Offer, Refused
from recruitment.mturk import terms
from recruitment.mturk.client import ADAPTIVE, ONCE, QUICK_SECONDS, SECONDS, Api
from recruitment.mturk.groups import Groups
from recruitment.mturk.hits import Hits, hit_type_of
from recruitment.mturk.notifications import specification
from recruitment.mturk.review import Review
from recruitment.mturk.terms import is_amazon

MOST_DAYS_TO_REVIEW, MOST_DAYS_OPEN = 30, 365


class MechanicalTurk(Hits, Review, Groups, Marketplace):
    """A requester's account, by its AWS access key. Raise ``NotConfigured`` without one.

    ``endpoint``: where the API is, if not at Amazon's for the environment (a rehearsal's is the sandbox).
    ``topic``: ARN of the SNS topic to notify. ``is_quick``: somebody waits for a page, so ask once.
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
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__()
        self.environment = environment
        self._topic, self._is_amazons = topic, is_amazon(endpoint)
        self._api = Api(
            environment=environment,
            key_id=key_id,
            secret=secret,
            endpoint=endpoint,
            retries=ONCE if is_quick else retries,
            seconds=QUICK_SECONDS if is_quick else SECONDS,
        )
        self._now = now

    def estimate(self, offer: Offer) -> Estimate:
        self._check(offer)
        return terms.estimate(offer)

    def balance(self) -> Decimal | None:
        return Decimal(self._api.call("GetAccountBalance")["AvailableBalance"])

    def prepare(self, offer: Offer) -> str:
        self._check(offer)
        wanted = hit_type_of(offer, self.environment)
        kind = str(self._api.call("CreateHITType", **wanted)["HITTypeId"])
        if self._topic:
            told = specification(self._topic)
            self._api.call("UpdateNotificationSettings", HITTypeId=kind, Notification=told, Active=True)
        return kind

    def _check(self, offer: Offer) -> None:
        """Refuse, before anything is made, what Mechanical Turk would refuse later or take otherwise."""
        if offer.currency != "USD":
            raise Refused(_("Mechanical Turk pays in US dollars, not in %s.") % offer.currency)
        if self._is_amazons and urlsplit(offer.entry_url).scheme != "https":
            message = _("Mechanical Turk shows only pages with https: PUBLIC_URL must begin with https://.")
            raise Refused(message)
        if offer.days_to_review > MOST_DAYS_TO_REVIEW:
            raise Refused(_("Mechanical Turk pays by itself after at most %s days.") % MOST_DAYS_TO_REVIEW)
        if not 1 <= offer.days_open <= MOST_DAYS_OPEN:
            raise Refused(_("Mechanical Turk offers work for 1 to %s days.") % MOST_DAYS_OPEN)
