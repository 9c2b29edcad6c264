"""Mechanical Turk behind the interface of ``recruitment.marketplace``: HITs, groups, and the account.

The service is no more; what is written here follows its documentation, and is proved against a double that
speaks its protocol (``tests/doubles/mturk``), with an endpoint of one's own.
"""

from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.utils.translation import gettext as _

from recruitment.marketplace import (
    Estimate,
    Group,
    Marketplace,
    Offer,
    OnOffer,
    PostingRequest,
    Refused,
    Unreachable,
)
from recruitment.mturk import client, terms
from recruitment.mturk.arrivals import external_question
from recruitment.mturk.client import TOKENS_ARE_KNOWN, Api
from recruitment.mturk.notifications import specification
from recruitment.mturk.review import Review
from recruitment.mturk.terms import is_amazon, requirements_of

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


DESCRIPTIONS = {
    Group.QUALIFIED: "Given to those who passed the qualification test of {reference}.",
    Group.INCOMPLETE: "Given to those who accepted a HIT of {reference} and did not submit it.",
}
"""Workers read them in the list of their qualifications."""


def name_of(group: Group, reference: str) -> str:
    """Return the name of a group's qualification type, unique in the account."""
    return f"tomannot {reference} {group}"


class MechanicalTurk(Review, Marketplace):
    """A requester's account, by its AWS access key. Raise ``NotConfigured`` without one.

    ``topic``: ARN of the SNS topic to notify. ``access``: the other arguments of :class:`Api`.
    """

    def __init__(
        self,
        *,
        environment: str,
        endpoint: str = "",
        topic: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        **access: Any,
    ) -> None:
        self.environment, self._topic, self._now = environment, topic, now
        self._is_amazons = is_amazon(endpoint)
        self._api = Api(environment=environment, endpoint=endpoint, **access)
        self._listed: dict[str, str] = {}
        self._listed_at: datetime | None = None

    # -- the account

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
            notification = specification(self._topic)
            self._api.call(
                "UpdateNotificationSettings", HITTypeId=kind, Notification=notification, Active=True
            )
        return kind

    def _check(self, offer: Offer) -> None:
        """Refuse, before anything is made, what Mechanical Turk would refuse later or take otherwise."""
        if offer.currency != "USD":
            raise Refused(_("Mechanical Turk pays in US dollars, not in %s.") % offer.currency)
        if self._is_amazons and urlsplit(offer.entry_url).scheme != "https":
            message = _("Mechanical Turk shows only pages with https: PUBLIC_URL must begin with https://.")
            raise Refused(message)

    # -- HITs

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
        return dict(self._api.call("GetHIT", unless=[client.NO_HIT], HITId=hit).get("HIT", {}))

    def on_offer(self, remote_id: str, postings: Collection[str]) -> OnOffer:
        """Return whether the HITs are open or over, from one list of all HITs."""
        wanted, now = set(postings), self._now()
        rows = [row for row in self._api.everything("ListHITs", "HITs") if row["HITId"] in wanted]
        free = [row for row in rows if row["NumberOfAssignmentsAvailable"] > 0]
        if any(row["Expiration"] > now for row in free):
            return OnOffer.OPEN
        return OnOffer.PAUSED if free else OnOffer.OVER

    def pause(self, remote_id: str, posting: str) -> None:
        """Let nobody new begin; people at work may hand in until their time is over."""
        gone = [client.NO_HIT]  # nobody can begin what is no longer there
        self._api.call("UpdateExpirationForHIT", unless=gone, HITId=posting, ExpireAt=LONG_AGO)

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
        row = self._hit(posting)
        if not row:
            raise Unreachable(_("Mechanical Turk does not show this HIT now."))
        more = seats - row["MaxAssignments"]
        if more <= 0:
            return
        self._api.call(
            "CreateAdditionalAssignmentsForHIT",
            unless=[client.ALREADY_PROCESSED],
            HITId=posting,
            NumberOfAdditionalAssignments=more,
            UniqueRequestToken=str(token),
        )

    # -- groups of people: custom qualifications, which workers cannot ask for

    def ensure_group(self, group: Group, *, reference: str) -> str:
        name = name_of(group, reference)
        made = self._api.call(
            "CreateQualificationType",
            unless=[client.NAME_TAKEN],
            Name=name,
            Description=DESCRIPTIONS[group].format(reference=reference),
            QualificationTypeStatus="Active",
        )
        return str(made["QualificationType"]["QualificationTypeId"]) if made else self._named(name)

    def _named(self, name: str) -> str:
        rows = self._api.everything(
            "ListQualificationTypes", "QualificationTypes", MustBeRequestable=False, MustBeOwnedByCaller=True
        )
        found = [str(row["QualificationTypeId"]) for row in rows if row["Name"] == name]
        if not found:
            raise Unreachable(_("The qualification exists, but Mechanical Turk does not show it yet."))
        return found[0]

    def add_to_group(self, group: str, person: str) -> None:
        """Give somebody the qualification, without a mail to them. Given twice, it is given once."""
        self._api.call(
            "AssociateQualificationWithWorker",
            QualificationTypeId=group,
            WorkerId=person,
            IntegerValue=1,
            SendNotification=False,
        )

    def remove_from_group(self, group: str, person: str) -> None:
        """Take the qualification back, if they have it. No reason is given: it would be mailed to them."""
        self._api.call(
            "DisassociateQualificationFromWorker",
            unless=[client.NO_QUALIFICATION, client.WRONG_QUALIFICATION_STATE],
            QualificationTypeId=group,
            WorkerId=person,
        )
