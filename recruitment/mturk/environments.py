"""Differences between Mechanical Turk and its sandbox, which we use for rehearsals."""

from urllib.parse import urlsplit

from accounts.models import Environment

ENDPOINTS = {
    Environment.LIVE: "https://mturk-requester.us-east-1.amazonaws.com",
    Environment.REHEARSAL: "https://mturk-requester-sandbox.us-east-1.amazonaws.com",
}
MASTERS = {
    Environment.LIVE: "2F1QJWKUDD8XADTFD2Q0G6UTO95ALH",
    Environment.REHEARSAL: "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6",
}
"""The qualification type of Masters; the one of the other environment does not exist."""


def site_of(address: str) -> tuple[str, int]:
    """Return host and port of an endpoint, however it is written; of an empty one an empty host."""
    parts = urlsplit(address.strip())
    port = parts.port or (80 if parts.scheme == "http" else 443)
    return (parts.hostname or "").rstrip("."), port


def is_amazon(endpoint: str) -> bool:
    """Tell whether an endpoint, empty for the usual one, is Amazon's and so answers no more."""
    return site_of(endpoint)[0] in ("", *(site_of(own)[0] for own in ENDPOINTS.values()))


def is_of_the_other(endpoint: str, environment: str) -> bool:
    """Tell whether an endpoint is Amazon's of the other environment, by its host, whatever the port."""
    others = (own for name, own in ENDPOINTS.items() if name != environment)
    return site_of(endpoint)[0] in {site_of(other)[0] for other in others}
