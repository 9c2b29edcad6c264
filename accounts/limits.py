"""How often something may be tried, counted for all processes together in Redis.

Fixed windows: the count begins anew at every multiple of the window's length, so the moment at which
somebody may try again is known exactly. What is counted (a client's network address, an e-mail
address) is stored as a keyed hash only, for as long as the window lasts.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.core.cache import caches
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

NAMESPACE = "limits"
"""With what the names of all counters begin."""
IPV6_PREFIX = 64
"""Bits of an IPv6 address that stand for one client: whoever has one address has all of these."""

_WITH_PORT = re.compile(r"^\[([0-9A-Fa-f:.]+)\](?::\d+)?$|^(\d+\.\d+\.\d+\.\d+):\d+$")
"""An address as some proxies write it into ``X-Forwarded-For``."""


@dataclass(frozen=True, slots=True)
class Limit:
    """At most ``most`` times within each window."""

    name: str
    most: int
    window: timedelta


WRONG_LINKS = Limit("wrong-links", 30, timedelta(minutes=10))
"""Per client: addresses of annotators' pages that we never made. Right ones are not counted."""

ASKED_BY_CLIENT = Limit("asked-by-client", 30, timedelta(hours=1))
"""Per client: asking for a link by e-mail. Generous, since a university may be one client."""

ASKED_FOR_ADDRESS = Limit("asked-for-address", 3, timedelta(hours=1))
"""Per e-mail address: mails that somebody may have us send there."""

ASKED_BY_PLACE = Limit("asked-by-place", 5, timedelta(hours=1))
"""Per person in a study: addresses given, each of which is sent a mail."""

NEW_PLACES = Limit("new-places", 500, timedelta(hours=1))
"""Per client: places made by a join link. Whoever has one is not counted. Generous for the same reason."""

REFUSED_VISITS = Limit("refused-visits", 60, timedelta(minutes=10))
"""Per client: arrivals from a platform that were not let in, each of which is logged."""

QUESTIONS = Limit("questions-about-arrivals", 300, timedelta(minutes=1))
"""Per account on a platform: people of whom it is asked who they are, while they wait. Beyond, they are let
in on their word: the platform counts our calls, and its answers are wanted for other things."""

LOGGED_ADDRESSES = Limit("logged-addresses", 30, timedelta(hours=1))
"""Per study: addresses that open nothing and are noted in its log."""

WRONG_API_TOKENS = Limit("wrong-api-tokens", 30, timedelta(minutes=10))
"""Per client: requests to the API whose token opens nothing. Right ones are not counted."""

API_REQUESTS = Limit("api-requests", 600, timedelta(minutes=1))
"""Per API token. A script that reads page after page stays below; one that runs wild is slowed down."""


def retry_at(limit: Limit, whom: str, *, now: datetime) -> datetime | None:
    """Count one try. None while it is within the limit, else when the next one may come.

    Without Redis nothing is limited: the limits keep noise away, what they guard is signed.
    """
    window, key = _counter(limit, whom, now)
    cache = caches["shared"]
    try:
        cache.add(key, 0, timeout=int(limit.window.total_seconds()))
        tries = cache.incr(key)
    except ValueError:  # the window ended between the two, or Redis is away
        return None
    return _end_of(limit, window) if tries > limit.most else None


def used_up(limit: Limit, whom: str, *, now: datetime) -> datetime | None:
    """The same for the next try, which is not counted."""
    window, key = _counter(limit, whom, now)
    tries: int = caches["shared"].get(key) or 0
    return _end_of(limit, window) if tries >= limit.most else None


def _counter(limit: Limit, whom: str, now: datetime) -> tuple[int, str]:
    """The number of the window, and the name of the count in it."""
    window = int(now.timestamp()) // int(limit.window.total_seconds())
    digest = salted_hmac("tomannot.limits", whom, algorithm="sha256").hexdigest()
    return window, f"{NAMESPACE}:{limit.name}:{window}:{digest}"


def _end_of(limit: Limit, window: int) -> datetime:
    return datetime.fromtimestamp((window + 1) * int(limit.window.total_seconds()), tz=UTC)


def client_of(request: HttpRequest) -> str:
    """Where a request comes from: a network address, or for IPv6 the network of one client.

    Behind ``settings.PROXIES`` proxies that each append to ``X-Forwarded-For``, the address that the
    outermost of them saw; whatever the client itself wrote there stands further left.
    """
    address = str(request.META.get("REMOTE_ADDR", ""))
    if settings.PROXIES:
        hops = request.headers.get("X-Forwarded-For", "").split(",")
        address = str(hops[-min(settings.PROXIES, len(hops))]).strip() or address
    address = _WITH_PORT.sub(r"\1\2", address)
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network(f"{parsed}/{IPV6_PREFIX}", strict=False))


def address_of_client(request: HttpRequest) -> str | None:
    """The same as one address, for django-axes, which stores it as such; None when there is none."""
    address = client_of(request).partition("/")[0]
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return None
