"""HITs: make each once, let people begin or not, add seats."""

from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from recruitment.marketplace import Offer, OnOffer, PostingRequest, Refused, Unreachable
from recruitment.mturk import client
from recruitment.mturk.arrivals import external_question
from recruitment.mturk.client import Api
from recruitment.mturk.terms import requirements_of

TOKENS_ARE_KNOWN = timedelta(hours=23)
"""Mechanical Turk knows a request token for 24 hours; before they are over we look for what it made."""
LISTING_IS_FRESH = timedelta(minutes=10)
LONG_AGO = datetime.fromtimestamp(0, UTC)
DAY, MINUTE = 86_400, 60  # seconds


def hit_type_of(offer: Offer, environment: str) -> dict[str, Any]:
    """Return the parameters of CreateHITType. Equal ones give the same type, however often they are sent."""
    return {
        "Title": offer.title,
        "Description": offer.description,
        "Keywords": offer.keywords,
        "Reward": f"{offer.reward:.2f}",
        "AssignmentDurationInSeconds": offer.minutes_allowed * MINUTE,
        "AutoApprovalDelayInSeconds": offer.days_to_review * DAY,
        "QualificationRequirements": requirements_of(offer, environment),
    }


class Hits:
    """The part of the adapter about HITs. Its clock matters, since tokens are known for a time only."""

    _api: Api
    _now: Callable[[], datetime]

    def __init__(self) -> None:
        self._listed: dict[str, str] = {}
        self._listed_at: datetime | None = None

    def post(self, offer: Offer, remote_id: str, request: PostingRequest) -> str:
        """Return the HIT of a request, made now or by an earlier attempt whose answer was lost."""
        annotation = f"{offer.reference} {request.number} {request.token}"  # only the requester sees it
        if self._now() - request.first_asked_at >= TOKENS_ARE_KNOWN:
            made = self._with_annotation(annotation)
            if made:
                return made
        try:
            answer = self._api.call(
                "CreateHITWithHITType",
                HITTypeId=remote_id,
                LifetimeInSeconds=offer.days_open * DAY,
                MaxAssignments=request.seats,
                Question=external_question(offer.entry_url),
                RequesterAnnotation=annotation,
                UniqueRequestToken=str(request.token),
            )
        except Refused as error:
            if error.code != client.ALREADY_EXISTS:
                raise
            return self._find_existing(annotation, error.about)
        return str(answer["HIT"]["HITId"])

    def _find_existing(self, annotation: str, named: str) -> str:
        """Return the HIT that an earlier attempt made: the one that the refusal names, if it is ours."""
        if named and self._hit(named).get("RequesterAnnotation") == annotation:
            return named
        self._listed_at = None
        found = self._with_annotation(annotation)
        if not found:
            raise Unreachable(_("A HIT has been made, but Mechanical Turk does not show it yet."))
        return found

    def _with_annotation(self, annotation: str) -> str:
        """Return the HIT with this annotation, from a list of all HITs that is a few minutes old at most.

        What was made since then was made with a token that is still known.
        """
        now = self._now()
        if self._listed_at is None or now - self._listed_at >= LISTING_IS_FRESH:
            rows = self._api.everything("ListHITs", "HITs")
            self._listed = {row.get("RequesterAnnotation", ""): row["HITId"] for row in rows}
            self._listed_at = now
        return self._listed.get(annotation, "")

    def _hit(self, hit: str) -> dict[str, Any]:
        """Return a HIT as it is shown now; empty while it is not shown."""
        try:
            return dict(self._api.call("GetHIT", HITId=hit)["HIT"])
        except Refused as error:
            if error.code != client.NO_HIT:
                raise
            return {}

    def on_offer(self, remote_id: str, postings: Collection[str]) -> OnOffer:
        """Return whether anybody can begin with any of them, from one list of all HITs."""
        wanted, now = set(postings), self._now()
        rows = [row for row in self._api.everything("ListHITs", "HITs") if row["HITId"] in wanted]
        free = [row for row in rows if row["NumberOfAssignmentsAvailable"] > 0]
        if any(row["Expiration"] > now for row in free):
            return OnOffer.OPEN
        return OnOffer.PAUSED if free else OnOffer.OVER

    def pause(self, remote_id: str, posting: str) -> None:
        """Let nobody new begin; people at work may hand in until their time is over."""
        try:
            self._api.call("UpdateExpirationForHIT", HITId=posting, ExpireAt=LONG_AGO)
        except Refused as error:
            if error.code != client.NO_HIT:  # nobody can begin what is no longer there
                raise

    def end(self, remote_id: str, posting: str) -> None:
        self.pause(remote_id, posting)

    def resume(self, remote_id: str, posting: str, *, until: datetime) -> None:
        """Let people begin until a time, or later where a HIT is offered longer already."""
        try:
            self._api.call("UpdateExpirationForHIT", HITId=posting, ExpireAt=until)
        except Refused as error:
            # It is refused when it was done already, and when it would shorten the time.
            expires = self._hit(posting).get("Expiration", LONG_AGO)
            if expires > self._now():
                return
            if error.code == client.ALREADY_PROCESSED:
                raise Unreachable(_("Mechanical Turk takes the same time only once; try another.")) from error
            raise

    def widen(self, remote_id: str, posting: str, *, seats: int, token: UUID) -> None:
        """Let ``seats`` people in all take a HIT."""
        row = self._hit(posting)
        if not row:
            raise Unreachable(_("Mechanical Turk does not show this HIT now."))
        more = seats - row["MaxAssignments"]
        if more <= 0:
            return
        try:
            self._api.call(
                "CreateAdditionalAssignmentsForHIT",
                HITId=posting,
                NumberOfAdditionalAssignments=more,
                UniqueRequestToken=str(token),
            )
        except Refused as error:
            if error.code != client.ALREADY_PROCESSED:
                raise
