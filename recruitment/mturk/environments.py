"""What differs between Mechanical Turk and its sandbox, which we use for rehearsals."""

from __future__ import annotations

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


def is_amazon(endpoint: str) -> bool:
    """Whether an endpoint, empty for the usual one, is Amazon's and so answers no more."""
    return endpoint.rstrip("/") in ("", *ENDPOINTS.values())
