"""Prolific as the site knows it: who comes, its webhooks, and what its pages ask."""

import base64
import hashlib
import hmac
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from threading import BoundedSemaphore
from typing import Any

from django.conf import settings as site
from django.http import QueryDict
from django.utils.translation import gettext as _, gettext_lazy

from accounts.models import Environment
from accounts.rate_limits import ARRIVAL_LOOKUPS, retry_at
from recruitment.arrival_rules import Arrival, ArrivalProblem, CannotArrive, Ending
from recruitment.links import campaign_address
from recruitment.marketplace import MarketplaceError, NotConfigured, Terms
from recruitment.models import Campaign, Visit
from recruitment.platforms import Hint, InvalidHook, Platform, ReturnLink, Words, marketplace_of
from recruitment.prolific import arrivals
from recruitment.prolific.client import API, ProlificClient
from recruitment.prolific.marketplace import Prolific
from recruitment.prolific.payloads import REVIEW_DAYS, pay_warning, problems_of
from recruitment.prolific.review import CATEGORIES, SHORTEST_REJECTION

SIGNATURE = "X-Prolific-Request-Signature"
TIMESTAMP = "X-Prolific-Request-Timestamp"
EVENT_ID = "X-Event-ID"
HOOK_SECRET = "X-Hook-Secret"  # noqa: S105  # the name of a header
LONGEST_ID = 100
EVENT_TYPES = ("submission.status.change", "study.status.change")
"""Events that we subscribe to."""


def signature_of(secret: str, timestamp: str, body: bytes) -> str:
    """Return Base64 of the HMAC-SHA256 of the timestamp followed by the body, as sent."""
    digest = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def read_hook(headers: Mapping[str, str], body: bytes, *, secret: str) -> Hint:
    """Return the hint in a request. Raise :class:`InvalidHook` for one that Prolific did not sign.

    Old requests are accepted too: they only say where to look, and repetitions are known by their id.
    """
    timestamp = headers.get(TIMESTAMP, "")
    expected = signature_of(secret, timestamp, body)
    signed = hmac.compare_digest(expected.encode(), headers.get(SIGNATURE, "").encode())
    if not secret or not timestamp or not signed:
        raise InvalidHook(403)
    try:
        resource = json.loads(body)["resource_id"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidHook(403) from error
    event_id = headers.get(EVENT_ID, "")
    if not isinstance(resource, str) or not arrivals.is_id(resource) or not 0 < len(event_id) <= LONGEST_ID:
        raise InvalidHook(403)
    return Hint(event_id, (resource,))


def subscribe(client: ProlificClient, *, workspace: str, address: str) -> str:
    """Have Prolific post to the address from now on. Return the secret with which it signs.

    A workspace has one secret: an existing one is kept, since others may rely on it, and so are existing
    subscriptions. Raise the errors of ``recruitment.marketplace``.
    """
    secrets = client.get("/hooks/secrets/", workspace_id=workspace)["results"] or [
        client.post("/hooks/secrets/", {"workspace_id": workspace}, repeatable=False)
    ]
    found = client.get("/hooks/subscriptions/", workspace_id=workspace, is_enabled="true")["results"]
    there = {row["event_type"] for row in found if row["target_url"] == address}
    for event_type in (one for one in EVENT_TYPES if one not in there):
        wanted = {"workspace_id": workspace, "event_type": event_type, "target_url": address}
        made = client.reply("POST", "/api/v1/hooks/subscriptions/", body=wanted, repeatable=False)
        confirmation = {"secret": made.headers[HOOK_SECRET]}  # which only the answer's header has
        client.post(f"/hooks/subscriptions/{made.body['id']}/", confirmation, repeatable=True)
    return str(secrets[0]["value"])


logger = logging.getLogger(__name__)
AT_ONCE = 2
"""Requests of a process that wait for Prolific at a time, of the few that it works on: the site must go on
while Prolific is slow."""
_asking = BoundedSemaphore(AT_ONCE)


def identify(campaign: Campaign, parameters: Mapping[str, str], *, now: datetime) -> tuple[Arrival, bool]:
    """Return the arrival at a campaign, and whether Prolific itself confirmed it.

    While Prolific cannot be asked, people are let in on what their address says, until it can be. Raises
    ``CannotArrive`` for an address that no participant is given, or that is not theirs.
    """
    platform = _platform(campaign)
    signed, is_new = None, False
    if arrivals.TOKEN in parameters and platform:
        signed, is_new = _signed(platform, campaign, parameters, now=now)
    elif platform and platform.signs_addresses:
        raise CannotArrive(ArrivalProblem.NOT_PROVEN)
    if signed and is_new:
        return signed, True
    arrival = signed or arrivals.read_claim(parameters)
    is_theirs = platform is not None and _is_confirmed(platform, campaign, arrival, now=now)
    # Where addresses are signed, one whose signature could not be read proves nothing by itself.
    lacks_signature = platform is not None and platform.signs_addresses and signed is None
    return arrival, is_theirs and not lacks_signature


def _platform(campaign: Campaign) -> Prolific | None:
    try:
        platform = marketplace_of(campaign)
    except MarketplaceError:  # no credentials: nobody can be asked
        return None
    return platform if isinstance(platform, Prolific) else None


def _signed(
    platform: Prolific, campaign: Campaign, parameters: Mapping[str, str], *, now: datetime
) -> tuple[Arrival | None, bool]:
    """Return the claim that Prolific signed, and whether it is fresh; None while its keys are missing.

    A signature is one of this address only: it must not open somebody else's, also when it is old.
    """
    is_new = True
    try:
        claim = platform.signed_arrival(
            parameters[arrivals.TOKEN], entry_url=campaign_address(campaign), now=now
        )
    except arrivals.ExpiredSignature as error:  # somebody has loaded the page again
        if arrivals.SESSION not in parameters:
            raise CannotArrive(ArrivalProblem.OUT_OF_DATE) from error
        claim, is_new = error.claim, False
    except arrivals.InvalidSignature as error:
        raise CannotArrive(ArrivalProblem.NOT_PROVEN) from error
    except MarketplaceError:
        logger.warning("Prolific's keys cannot be had, so that a signed address could not be read.")
        return None, False
    said = {name: parameters[name].strip().lower() for name in arrivals.IDS if name in parameters}
    if said.items() - zip(arrivals.IDS, (claim.person, claim.posting, claim.remote_id), strict=True):
        raise CannotArrive(ArrivalProblem.NOT_PROVEN)
    return claim, is_new


def _is_confirmed(platform: Prolific, campaign: Campaign, arrival: Arrival, *, now: datetime) -> bool:
    """Return True if Prolific says that the submission is this person's; False while it does not say.

    Raise ``CannotArrive`` when it says otherwise.
    """
    with _turn(campaign, now=now) as may_ask:
        if not may_ask:
            return False
        try:
            work = platform.one_work(arrival.remote_id)
        except MarketplaceError:
            logger.warning("Prolific could not be asked about a visit; it is let in until it can be.")
            return False
    if work is None or (work.person, work.posting) != (arrival.person, arrival.posting):
        raise CannotArrive(ArrivalProblem.NOT_PROVEN)
    return True


@contextmanager
def _turn(campaign: Campaign, *, now: datetime) -> Iterator[bool]:
    """Yield True if Prolific may be asked now, within the limits at a time and per minute."""
    if not _asking.acquire(blocking=False):
        logger.warning("Too many visits wait for Prolific's word; one is let in until it can be asked.")
        yield False
        return
    try:
        yield retry_at(ARRIVAL_LOOKUPS, f"{campaign.platform} {campaign.environment}", now=now) is None
    finally:
        _asking.release()


class ProlificPlatform(Platform):
    """Studies that send people to our pages and take them back with a code."""

    words = Words(
        give_back=gettext_lazy(
            "To return the assignment, choose “Stop without completing” on Prolific, so that somebody else "
            "can take it."
        ),
        submission=gettext_lazy("Submission"),
        posting=gettext_lazy("Study there"),
        work_page=gettext_lazy("Submissions of this study on Prolific"),
        rejection_withdrawn=gettext_lazy(
            "Prolific still asks the person to return the work, and returned work isn’t paid. Write to them "
            "that the matter is settled."
        ),
    )
    notes = "recruitment/platform_notes/prolific.html"
    has_one_posting = True
    excludes_unfinished = False  # people may return work at any time without it being held against them
    limits_concurrency = True
    needs_codes = True
    unused_fields = ("masters_only", "keywords", "days_open", "days_to_review")
    review_days = REVIEW_DAYS

    lists_unfinished_work = True
    shows_bonus_reason = False
    rejection_categories = CATEGORIES
    shortest_rejection = SHORTEST_REJECTION
    overturning_note = gettext_lazy(
        "Prolific may refuse to overturn it; then its own pages, or its support, are the way to do it."
    )
    bonus_fee_note = gettext_lazy("Prolific takes its fee on top.")

    def marketplace(self, environment: str, *, is_quick: bool = False) -> Prolific:
        account: dict[str, Any] = site.PROLIFIC[environment]
        live = site.PROLIFIC[Environment.LIVE]
        is_same_site = account["api"].rstrip("/") == live["api"].rstrip("/")  # there is no sandbox
        for key in ("workspace", "token") if environment == Environment.REHEARSAL and is_same_site else ():
            if account[key] and account[key] == live[key]:
                message = _(
                    "%s is the live account’s: a test run would spend its money. Use a workspace of its own."
                )
                raise NotConfigured(message % f"PROLIFIC_REHEARSAL_{key.upper()}")
        return Prolific(
            environment=environment,
            **account,
            is_quick=is_quick,
            signs_addresses=site.PROLIFIC_SIGNED_ADDRESSES[environment],
        )

    def read_arrival(self, campaign: Campaign, query: QueryDict, *, now: datetime) -> tuple[Arrival, bool]:
        parameters = dict(query.lists())
        if any(len(values) > 1 for values in parameters.values()):
            raise CannotArrive(ArrivalProblem.WRONG_IDS)
        only = {name: values[0] for name, values in parameters.items() if values}
        return identify(campaign, only, now=now)

    def hand_in_link(self, visit: Visit, ending: Ending) -> ReturnLink | None:
        campaign = visit.campaign
        assert campaign is not None
        if not ending.is_work:
            return self.return_link(campaign)
        code = campaign.completion_code
        pays_at_once = campaign.screen_out_reward is not None  # and whoever found no work waits for a word
        if ending is Ending.SCREENED_OUT or (ending is Ending.NO_WORK and not pays_at_once):
            code = campaign.screen_out_code or code
        return ReturnLink(arrivals.completion_url(code, api=_api(campaign)), code=code)

    def return_link(self, campaign: Campaign) -> ReturnLink:
        return ReturnLink(f"{arrivals.participants_site(_api(campaign))}/submissions", is_return=True)

    def problems_of(self, terms: Terms) -> list[str]:
        return problems_of(terms)

    def pay_warning(self, reward: Decimal, currency: str, seconds: float) -> str:
        return pay_warning(reward, currency, seconds)

    def work_page(self, posting: str) -> str:
        return (
            f"{arrivals.PARTICIPANTS_SITE}/researcher/workspaces/studies/{posting}/submissions"
            if posting
            else ""
        )

    def read_hook(self, headers: Mapping[str, str], body: bytes, *, environment: str) -> Hint:
        return read_hook(headers, body, secret=site.PROLIFIC_WEBHOOK_SECRETS.get(environment, ""))

    def subscribe(self, environment: str, *, address: str) -> str:
        prolific = self.marketplace(environment)
        secret = subscribe(prolific.client, workspace=prolific.workspace, address=address)
        infix = "_REHEARSAL" if environment == Environment.REHEARSAL else ""
        return f"PROLIFIC{infix}_WEBHOOK_SECRET={secret}"


def _api(campaign: Campaign) -> str:
    return site.PROLIFIC[campaign.environment]["api"] or API


PLATFORM = ProlificPlatform()
