"""Who it is that comes from Prolific: by its signature, by asking it, or only by what the address says."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime

from recruitment import queries
from recruitment.arriving.arrival import Arrival, CannotArrive, Problem
from recruitment.links import campaign_address
from recruitment.marketplace import MarketplaceError
from recruitment.models import Campaign
from recruitment.platforms import marketplace_of
from recruitment.prolific.arrivals import PERSON, SESSION, STUDY, TOKEN, Claim, InvalidClaim, read_claim
from recruitment.prolific.marketplace import Prolific
from recruitment.prolific.signed import ExpiredSignature, InvalidSignature

logger = logging.getLogger(__name__)


def who_comes(campaign: Campaign, parameters: Mapping[str, str], *, now: datetime) -> tuple[Arrival, bool]:
    """Who comes from Prolific to a campaign, and whether Prolific itself said so.

    While Prolific cannot be asked, people are let in on what their address says, until it can be. Raises
    ``CannotArrive`` for an address that no participant is given, or that is not theirs.
    """
    platform = _platform(campaign)
    if TOKEN in parameters and platform:
        signed = _signed(platform, campaign, parameters, now=now)
        if signed:
            return signed, True
    elif platform and platform.signs_addresses:
        raise CannotArrive(Problem.NOT_PROVEN)
    arrival = _arrival(_claim(parameters))
    if queries.is_known_visit(campaign, arrival):
        return arrival, False  # what was proven stays proven
    return arrival, _is_theirs(platform, arrival)


def _platform(campaign: Campaign) -> Prolific | None:
    try:
        platform = marketplace_of(campaign)
    except MarketplaceError:  # no credentials: nobody can be asked
        return None
    return platform if isinstance(platform, Prolific) else None


def _signed(
    platform: Prolific, campaign: Campaign, parameters: Mapping[str, str], *, now: datetime
) -> Arrival | None:
    """The arrival that Prolific has signed; None when it is to be asked instead."""
    try:
        claim = platform.signed_arrival(parameters[TOKEN], entry_url=campaign_address(campaign), now=now)
    except ExpiredSignature as error:  # somebody has loaded the page again
        if SESSION not in parameters:
            raise CannotArrive(Problem.OUT_OF_DATE) from error
        return None
    except InvalidSignature as error:
        raise CannotArrive(Problem.NOT_PROVEN) from error
    except MarketplaceError:
        logger.warning("Prolific's keys cannot be had, so that a signed address could not be read.")
        return None
    if any(parameters.get(name, said) != said for name, said in zip(_NAMES, _values(claim), strict=True)):
        raise CannotArrive(Problem.NOT_PROVEN)
    return _arrival(claim)


_NAMES = (PERSON, STUDY, SESSION)


def _values(claim: Claim) -> tuple[str, str, str]:
    return claim.person, claim.study, claim.submission


def _claim(parameters: Mapping[str, str]) -> Claim:
    if not any(name in parameters for name in _NAMES):
        raise CannotArrive(Problem.NO_IDS)
    try:
        return read_claim(parameters)
    except InvalidClaim as error:
        raise CannotArrive(Problem.WRONG_IDS) from error


def _arrival(claim: Claim) -> Arrival:
    return Arrival(claim.submission, claim.study, claim.person)


def _is_theirs(platform: Prolific | None, arrival: Arrival) -> bool:
    """Whether Prolific says that the submission is this person's; False while it does not say.

    Raises ``CannotArrive`` when it says otherwise.
    """
    if platform is None:
        return False
    try:
        work = platform.one_work(arrival.hit_assignment)
    except MarketplaceError:
        logger.warning("Prolific could not be asked about a visit; it is let in until it can be.")
        return False
    if work is None or (work.person, work.posting) != (arrival.person, arrival.posting):
        raise CannotArrive(Problem.NOT_PROVEN)
    return True
