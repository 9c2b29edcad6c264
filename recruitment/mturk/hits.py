"""HITs: making each once, letting people begin or not, giving them more seats."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from recruitment.marketplace import MarketplaceError, Offer, OnOffer, PostingRequest, Refused, Unreachable
from recruitment.mturk import errors
from recruitment.mturk.client import Api
from recruitment.mturk.questions import external_question
from recruitment.mturk.requirements import requirements_of

TOKENS_ARE_KNOWN = timedelta(hours=23)
"""Mechanical Turk knows a request token for 24 hours; before they are over we look for what it made."""
LISTING_IS_FRESH = timedelta(minutes=10)
LONG_AGO = datetime.fromtimestamp(0, UTC)
DAY, MINUTE = 86_400, 60  # seconds


def hit_type_of(offer: Offer, environment: str) -> dict[str, Any]:
    """The parameters of CreateHITType. Equal ones give the same type, however often they are sent."""
    return {
        "Title": offer.title,
        "Description": offer.description,
        "Keywords": offer.keywords,
        "Reward": f"{offer.reward:.2f}",
        "AssignmentDurationInSeconds": offer.minutes_allowed * MINUTE,
        "AutoApprovalDelayInSeconds": offer.days_to_review * DAY,
        "QualificationRequirements": requirements_of(offer, environment),
    }


def annotation_of(offer: Offer, request: PostingRequest) -> str:
    """What only the requester sees of a HIT, and by which it is found when nothing else is known of it."""
    return f"{offer.reference} {request.number} {request.token}"


class Hits:
    """The HITs of one account. ``now`` is the clock: tokens are known for a time only."""

    def __init__(self, api: Api, now: Callable[[], datetime]) -> None:
        self._api, self._now = api, now
        self._listed: dict[str, str] = {}
        self._listed_at: datetime | None = None

    def make(self, offer: Offer, hit_type: str, request: PostingRequest) -> str:
        """The id of the HIT of a request, made now or by an earlier attempt whose answer was lost."""
        annotation = annotation_of(offer, request)
        if self._now() - request.first_asked_at >= TOKENS_ARE_KNOWN:
            made = self._with_annotation(annotation)
            if made:
                return made
        try:
            answer = self._api.call(
                "CreateHITWithHITType",
                HITTypeId=hit_type,
                LifetimeInSeconds=offer.days_open * DAY,
                MaxAssignments=request.seats,
                Question=external_question(offer.entry_url),
                RequesterAnnotation=annotation,
                UniqueRequestToken=str(request.token),
            )
        except Refused as error:
            if error.code != errors.ALREADY_EXISTS:
                raise
            return self._made_before(annotation, error.about)
        return str(answer["HIT"]["HITId"])

    def _made_before(self, annotation: str, named: str) -> str:
        """The HIT that an earlier attempt made: the one that the refusal names, if it is ours indeed."""
        if named and self.one(named).get("RequesterAnnotation") == annotation:
            return named
        self._listed_at = None
        found = self._with_annotation(annotation)
        if not found:
            raise Unreachable(_("A HIT has been made, but Mechanical Turk does not show it yet."))
        return found

    def _with_annotation(self, annotation: str) -> str:
        """The id of the HIT with this annotation, from a list of all HITs that is a few minutes old at most.

        What was made since then was made with a token that is still known.
        """
        now = self._now()
        if self._listed_at is None or now - self._listed_at >= LISTING_IS_FRESH:
            rows = self._api.everything("ListHITs", "HITs")
            self._listed = {row.get("RequesterAnnotation", ""): row["HITId"] for row in rows}
            self._listed_at = now
        return self._listed.get(annotation, "")

    def one(self, hit: str) -> dict[str, Any]:
        """A HIT as it is shown now; empty while it is not shown."""
        try:
            return dict(self._api.call("GetHIT", HITId=hit)["HIT"])
        except Refused as error:
            if error.code != errors.NO_HIT:
                raise
            return {}

    def on_offer(self, hits: Collection[str]) -> OnOffer:
        """Whether anybody can begin with any of them, from one list of all HITs."""
        wanted, now = set(hits), self._now()
        rows = [row for row in self._api.everything("ListHITs", "HITs") if row["HITId"] in wanted]
        free = [row for row in rows if row["NumberOfAssignmentsAvailable"] > 0]
        if any(row["Expiration"] > now for row in free):
            return OnOffer.OPEN
        return OnOffer.PAUSED if free else OnOffer.OVER

    def expire(self, hits: Iterable[str]) -> None:
        """Let nobody new begin; who works may hand in until their time is over."""
        _each(hits, self._expire)

    def _expire(self, hit: str) -> None:
        try:
            self._api.call("UpdateExpirationForHIT", HITId=hit, ExpireAt=LONG_AGO)
        except Refused as error:
            if error.code != errors.NO_HIT:  # nobody can begin what is no longer there
                raise

    def offer_until(self, hits: Iterable[str], until: datetime) -> None:
        """Let people begin until a time, or later where a HIT is offered longer already."""
        _each(hits, lambda hit: self._offer_until(hit, until))

    def _offer_until(self, hit: str, until: datetime) -> None:
        try:
            self._api.call("UpdateExpirationForHIT", HITId=hit, ExpireAt=until)
        except Refused as error:
            # It is refused when it was done already, and when it would shorten the time.
            expires = self.one(hit).get("Expiration", LONG_AGO)
            if expires > self._now():
                return
            if error.code == errors.ALREADY_PROCESSED:
                raise Unreachable(_("Mechanical Turk takes the same time only once; try another.")) from error
            raise

    def widen(self, hit: str, *, seats: int, token: UUID) -> None:
        """Let ``seats`` people in all take a HIT."""
        row = self.one(hit)
        if not row:
            raise Unreachable(_("Mechanical Turk does not show this HIT now."))
        more = seats - row["MaxAssignments"]
        if more <= 0:
            return
        try:
            self._api.call(
                "CreateAdditionalAssignmentsForHIT",
                HITId=hit,
                NumberOfAdditionalAssignments=more,
                UniqueRequestToken=str(token),
            )
        except Refused as error:
            if error.code != errors.ALREADY_PROCESSED:
                raise


def _each(hits: Iterable[str], do: Callable[[str], None]) -> None:
    """Do it for every HIT, also when it fails for one; then raise the last failure."""
    failure: MarketplaceError | None = None
    for hit in hits:
        try:
            do(hit)
        except MarketplaceError as error:
            failure = error
    if failure is not None:
        raise failure
