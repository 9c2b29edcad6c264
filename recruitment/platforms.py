"""Crowd platforms behind one interface. Each has a folder of this room and a line in :data:`PLATFORMS`.

It also needs a value of ``PlatformIdentity.Platform``, a place in the constraint on ``Campaign.platform``,
and its account in the settings. Only the ``marketplace`` of a :class:`Platform` sends requests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from django.utils.translation import gettext as _

from accounts.models import Environment
from recruitment.arrival_rules import Arrival, Ending
from recruitment.marketplace import Marketplace, NotConfigured, Refused, Terms

if TYPE_CHECKING:
    from django.http import QueryDict
    from django.utils.functional import Promise

    from recruitment.models import Campaign, Visit

PLATFORMS = {
    "prolific": "recruitment.prolific.platform",
    "mturk": "recruitment.mturk.platform",
}  # fmt: skip
"""Modules that define ``PLATFORM``, by its name in ``PlatformIdentity.Platform``, as researchers see them."""


@dataclass(frozen=True, slots=True)
class ReturnLink:
    """The browser's way back: a link, or a form if there are ``fields``.

    ``is_return``: it leads to where work is given back, not handed in.
    """

    url: str
    fields: dict[str, str] = field(default_factory=dict)
    code: str = ""
    is_return: bool = False


class InvalidHook(Exception):
    """A request that is not a notification from the platform, with the response to give."""

    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(status)
        self.status, self.headers = status, headers


@dataclass(frozen=True, slots=True)
class Hint:
    """A platform's notification that something changed: a reason to look, never evidence."""

    event_id: str
    about: tuple[str, ...]
    """The platform's ids of campaigns, postings or submissions."""
    returned: tuple[tuple[str, str], ...] = ()
    """Submissions that were returned or timed out, as pairs of its id and the person's."""


@dataclass(frozen=True, slots=True)
class Words:
    """A platform's own words on our pages."""

    give_back: Promise
    """Tells people how they give work back."""
    submission: Promise | str
    posting: Promise | str
    work_page: Promise | str = ""
    """Label of the link to :meth:`Platform.work_page`."""
    rejection_withdrawn: Promise | str = ""
    """Steps left to researchers after they withdrew a rejection that had been sent."""


class Platform(ABC):
    """A crowd platform as this site knows it."""

    words: ClassVar[Words]
    notes: ClassVar[str]
    """The template of what people should know before they use the platform. Takes ``is_closed``."""
    defaults: ClassVar[Mapping[str, Any]] = {"stories_per_visit": 20}
    """Values in the form of a new campaign."""
    is_framed: ClassVar[bool] = False
    """True if participants see our pages in a frame of the platform."""
    verifies_arrivals: ClassVar[bool] = True
    """Reading an arrival costs a request to the platform, so clients with many refused ones have to wait."""
    has_one_posting: ClassVar[bool] = False
    """A campaign is a single posting with the campaign's id, and more seats widen it."""
    excludes_unfinished: ClassVar[bool] = True
    """People who left work unfinished are put in a group, which later postings exclude."""
    limits_concurrency: ClassVar[bool] = False
    """It can limit how many people work at the same time."""
    needs_codes: ClassVar[bool] = False
    """Campaigns have completion codes."""
    unused_fields: ClassVar[tuple[str, ...]] = ()
    """Fields of the campaign form that mean nothing on this platform."""
    review_days: ClassVar[int | None] = None
    """Days after which it approves by itself, where a campaign cannot say it."""

    lists_unfinished_work: ClassVar[bool] = False
    """Its lists include work that was taken and not handed in."""
    returns_receipt: ClassVar[bool] = False
    """Submissions carry our receipt, so that it can be compared."""
    ends_offers: ClassVar[bool] = False
    """Offers expire after the days on offer, not only with their seats."""
    shows_bonus_reason: ClassVar[bool] = True
    """The recipient of a bonus reads its reason."""
    rejection_categories: ClassVar[Mapping[str, Promise]] = {}
    """Kinds of reasons for a rejection, where one is asked for."""
    shortest_rejection: ClassVar[int] = 1
    longest_rejection: ClassVar[int] = 2000
    """Characters of the reason for a rejection."""
    overturning_note: ClassVar[Promise]
    """Until when and how a rejection can be overturned, in a sentence."""
    bonus_fee_note: ClassVar[Promise]
    """The fee on top of a bonus or top-up, in a sentence."""

    def bonus_fee(self, amount: Decimal) -> Decimal | None:
        """Return the fee on a bonus; None where it depends on the platform's account."""
        return None

    def still_exists(self, environment: str) -> bool:
        return True

    @abstractmethod
    def marketplace(self, environment: str, *, is_quick: bool = False) -> Marketplace:
        """Return the API with the credentials in the settings. Raise ``NotConfigured`` without them.

        ``is_quick``: ask once and wait a few seconds, since somebody waits for a page. Import the adapter
        here: boto3 alone takes longer to load than all of this room.
        """

    @abstractmethod
    def read_arrival(self, campaign: Campaign, query: QueryDict, *, now: datetime) -> tuple[Arrival, bool]:
        """Return the arrival in an address, and whether the platform proved it. Raise ``CannotArrive``."""

    def is_preview(self, query: QueryDict) -> bool:
        """Return True if somebody looks at the work without having accepted it."""
        return False

    @abstractmethod
    def hand_in_link(self, visit: Visit, ending: Ending) -> ReturnLink | None:
        """Return how the visit's work is handed in or given back; None when only words help."""

    def return_link(self, campaign: Campaign) -> ReturnLink | None:
        """Return the link for people who were refused. It never hands in work."""
        return None

    @abstractmethod
    def problems_of(self, terms: Terms) -> list[str]:
        """Return what the platform would refuse in a campaign, in sentences."""

    def problems_of_widening(self, before: int, seats: int) -> list[str]:
        """Return why a posting of ``before`` seats cannot be widened to ``seats``, in sentences."""
        return []

    def pay_warning(self, reward: Decimal, currency: str, seconds: float) -> str:
        """Return why the platform would object to this reward for this many seconds of work, or ""."""
        return ""

    def work_page(self, posting: str) -> str:
        """Return the researchers' page on the platform with all work of a posting, or ""."""
        return ""

    def read_hook(self, headers: Mapping[str, str], body: bytes, *, environment: str) -> Hint | None:
        """Return the hint in a request to ``hooks/NAME/``, or None. Raise :class:`InvalidHook`."""
        raise InvalidHook(404)

    def subscribe(self, environment: str, *, address: str) -> str:
        """Have the platform post notifications to ``address``; return the line for ``.env``.

        Raise ``MarketplaceError``.
        """
        raise Refused(_("Notifications of this platform are not set up from here: see its documentation."))


@cache
def platform_named(name: str) -> Platform:
    """Return the platform with this name. Raise ``LookupError`` if none is registered."""
    platform: Platform = import_module(PLATFORMS[name]).PLATFORM
    return platform


def platform_of(campaign: Campaign) -> Platform:
    return platform_named(campaign.platform)


def marketplace_of(campaign: Campaign, *, is_quick: bool = False) -> Marketplace:
    """Return the API of a campaign's platform and environment. Raise ``NotConfigured``."""
    return platform_of(campaign).marketplace(campaign.environment, is_quick=is_quick)


def is_shown(platform: str, environment: str) -> bool:
    """Return True if a platform is offered: it still exists, or this site has an account there."""
    if platform_named(platform).still_exists(environment):
        return True
    try:
        platform_named(platform).marketplace(environment, is_quick=True)
    except NotConfigured:
        return False
    return True


def unfinished_work_excludes() -> bool:
    """Return True if a platform that is offered here can keep people out who left work unfinished."""
    excluding = [name for name in PLATFORMS if platform_named(name).excludes_unfinished]
    return any(is_shown(name, environment) for name in excluding for environment in Environment.values)
