"""Identify people from Prolific: by its signature, by asking it, or by their address alone."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from threading import BoundedSemaphore

from accounts.rate_limits import ARRIVAL_LOOKUPS, retry_at
from recruitment.arrivals.arrival import Arrival, CannotArrive, Problem
from recruitment.links import campaign_address
from recruitment.marketplace import MarketplaceError
from recruitment.models import Campaign
from recruitment.platforms import marketplace_of
from recruitment.prolific.arrivals import IDS, SESSION, TOKEN, read_claim
from recruitment.prolific.marketplace import Prolific
from recruitment.prolific.signatures import ExpiredSignature, InvalidSignature

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
    if TOKEN in parameters and platform:
        signed, is_new = _signed(platform, campaign, parameters, now=now)
    elif platform and platform.signs_addresses:
        raise CannotArrive(Problem.NOT_PROVEN)
    if signed and is_new:
        return signed, True
    arrival = signed or read_claim(parameters)
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
        claim = platform.signed_arrival(parameters[TOKEN], entry_url=campaign_address(campaign), now=now)
    except ExpiredSignature as error:  # somebody has loaded the page again
        if SESSION not in parameters:
            raise CannotArrive(Problem.OUT_OF_DATE) from error
        claim, is_new = error.claim, False
    except InvalidSignature as error:
        raise CannotArrive(Problem.NOT_PROVEN) from error
    except MarketplaceError:
        logger.warning("Prolific's keys cannot be had, so that a signed address could not be read.")
        return None, False
    said = {name: parameters[name].strip().lower() for name in IDS if name in parameters}
    if said.items() - zip(IDS, (claim.person, claim.posting, claim.remote_id), strict=True):
        raise CannotArrive(Problem.NOT_PROVEN)
    return claim, is_new


def _is_confirmed(platform: Prolific, campaign: Campaign, arrival: Arrival, *, now: datetime) -> bool:
    """Return whether Prolific says that the submission is this person's; False while it does not say.

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
        raise CannotArrive(Problem.NOT_PROVEN)
    return True


@contextmanager
def _turn(campaign: Campaign, *, now: datetime) -> Iterator[bool]:
    """Yield whether Prolific may be asked now: few at a time, and so many in a minute."""
    if not _asking.acquire(blocking=False):
        logger.warning("Too many visits wait for Prolific's word; one is let in until it can be asked.")
        yield False
        return
    try:
        yield retry_at(ARRIVAL_LOOKUPS, f"{campaign.platform} {campaign.environment}", now=now) is None
    finally:
        _asking.release()
