"""Limit how often something may be tried, counted in Redis over all processes.

Windows are fixed: the count restarts at every multiple of the window's length, so the time of the next
allowed try is known exactly. Network and e-mail addresses are stored only as keyed hashes, and only until
the window ends.
"""

import functools
import ipaddress
import logging
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.core.cache import caches
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

logger = logging.getLogger(__name__)
NAMESPACE = "limits"
"""Prefix of all counters' keys."""
IPV6_PREFIX = 64
"""Bits of an IPv6 address that identify a client, which usually owns all addresses below."""

_WITH_PORT = re.compile(r"^\[([0-9A-Fa-f:.]+)\](?::\d+)?$|^(\d+\.\d+\.\d+\.\d+):\d+$")
"""An address with a port, as some proxies write it into ``X-Forwarded-For``."""


@dataclass(frozen=True, slots=True)
class Limit:
    """At most ``most`` tries within each window."""

    name: str
    most: int
    window: timedelta


SIGN_INS = Limit("sign-ins", 60, timedelta(minutes=10))
"""Per client: passwords tried. Each costs the server some 50 ms of hashing, which annotators wait for."""

WRONG_LINKS = Limit("wrong-links", 30, timedelta(minutes=10))
"""Per client: invalid addresses of annotators' pages. Valid ones are not counted."""

ASKED_BY_CLIENT = Limit("asked-by-client", 30, timedelta(hours=1))
"""Per client: requests for a link by e-mail. Generous, since a university may be one client."""

ASKED_FOR_ADDRESS = Limit("asked-for-address", 3, timedelta(hours=1))
"""Per e-mail address: mails that anybody may have us send there."""

ASKED_BY_ENROLLMENT = Limit("asked-by-enrollment", 5, timedelta(hours=1))
"""Per enrollment: addresses given, each of which gets a mail."""

NEW_ENROLLMENTS = Limit("new-enrollments", 500, timedelta(hours=1))
"""Per client: enrollments created through a join link. Generous, since a university may be one client."""

CAMPAIGN_VISITS = Limit("campaign-visits", 1000, timedelta(hours=1))
"""Per client: visits begun for campaigns on a platform, which join links must not use up."""

REFUSED_VISITS = Limit("refused-visits", 60, timedelta(minutes=10))
"""Per client: refused arrivals from a platform, each of which is logged."""

ARRIVAL_LOOKUPS = Limit("arrival-lookups", 300, timedelta(minutes=1))
"""Per platform account: arrivals verified with the platform while the annotator waits. Beyond the limit we
trust the arrival, because the platform limits our calls and we need them for other things."""

LEASE_RENEWALS = Limit("lease-renewals", 60, timedelta(minutes=10))
"""Per enrollment: renewals of a lease by a page that is open. A page asks every 20 seconds at most."""

LOGGED_ADDRESSES = Limit("logged-addresses", 30, timedelta(hours=1))
"""Per study: invalid addresses recorded in its log."""

WRONG_API_TOKENS = Limit("wrong-api-tokens", 30, timedelta(minutes=10))
"""Per client: API requests with an invalid token. Valid ones are not counted."""

API_REQUESTS = Limit("api-requests", 600, timedelta(minutes=1))
"""Per API token. A script that reads one page after another stays below."""


def retry_at(limit: Limit, whom: str, *, now: datetime) -> datetime | None:
    """Count one try. Return None if it is within the limit, otherwise the time of the next allowed try.

    Without Redis nothing is limited: the limits only reduce noise, since what they guard is signed.
    """
    window, key = _counter(limit, whom, now)
    cache = caches["shared"]
    try:
        cache.add(key, 0, timeout=int(limit.window.total_seconds()))
        tries = cache.incr(key)
    except ValueError:  # the window ended between the two, or Redis is away
        return None
    return _end_of(limit, window) if tries > limit.most else None


class RateLimited(Exception):
    """A limit is reached until ``until``. ``what`` is a sentence for the user that names it."""

    def __init__(self, until: datetime, what: str = "") -> None:
        super().__init__(what)
        self.until, self.what = until, what


def count_try(limit: Limit, whom: str, *, now: datetime, what: str = "") -> None:
    """Count one try. Raise :class:`RateLimited` beyond the limit."""
    until = retry_at(limit, whom, now=now)
    if until:
        raise RateLimited(until, what)


def used_up(limit: Limit, whom: str, *, now: datetime) -> datetime | None:
    """Return when the next try is allowed, or None if it is allowed now. Does not count a try."""
    window, key = _counter(limit, whom, now)
    tries: int = caches["shared"].get(key) or 0
    return _end_of(limit, window) if tries >= limit.most else None


def _counter(limit: Limit, whom: str, now: datetime) -> tuple[int, str]:
    """Return the number of the current window, and the key of its counter."""
    window = int(now.timestamp()) // int(limit.window.total_seconds())
    digest = salted_hmac("tomannot.limits", whom, algorithm="sha256").hexdigest()
    return window, f"{NAMESPACE}:{limit.name}:{window}:{digest}"


def _end_of(limit: Limit, window: int) -> datetime:
    return datetime.fromtimestamp((window + 1) * int(limit.window.total_seconds()), tz=UTC)


@functools.cache
def _warn_once(hops: int) -> None:
    logger.warning(
        "PROXIES is %s, but a request came with %s addresses in X-Forwarded-For: clients can't be told "
        "apart, or can write what they like. Set PROXIES and the proxy's header (docs/operators.md).",
        settings.PROXIES,
        hops,
    )


def hops_of(request: HttpRequest) -> list[str]:
    """Return the addresses that proxies, and perhaps the client, wrote into ``X-Forwarded-For``."""
    return [hop.strip() for hop in request.headers.get("X-Forwarded-For", "").split(",") if hop.strip()]


def client_of(request: HttpRequest) -> str:
    """Return the network address of a request's client, or for IPv6 the client's network.

    Behind ``settings.PROXIES`` proxies that each append to ``X-Forwarded-For``, this is the address that the
    outermost proxy saw; anything that the client wrote itself is further left.
    """
    address = str(request.META.get("REMOTE_ADDR", ""))
    hops = hops_of(request)
    if settings.PROXIES:
        if len(hops) < settings.PROXIES:
            _warn_once(len(hops))
        address = hops[-min(settings.PROXIES, len(hops))] if hops else address
    address = _WITH_PORT.sub(r"\1\2", address)
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    parsed = getattr(parsed, "ipv4_mapped", None) or parsed  # a server that listens on :: sees ::ffff:1.2.3.4
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network(f"{parsed}/{IPV6_PREFIX}", strict=False))


def address_of_client(request: HttpRequest) -> str | None:
    """Return :func:`client_of` as a single address, as django-axes stores it; None if there is none."""
    address = client_of(request).partition("/")[0].partition("%")[0]
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return None
