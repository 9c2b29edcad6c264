"""An offer as a campaign for stories makes it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from recruitment.marketplace import Offer

STORIES: dict[str, Any] = {
    "reference": "simpletom-1",
    "is_test": False,
    "title": "Judge one short story",
    "description": "Nine questions about a story of two people.",
    "keywords": "story, judgement",
    "entry_url": "https://lab.example/mturk/3/",
    "reward": Decimal("0.25"),
    "currency": "USD",
    "seats": 300,
    "seats_per_posting": 3,
    "minutes_expected": 1,
    "minutes_allowed": 20,
    "days_open": 7,
    "days_to_review": 14,
    "approved_percent": 98,
    "approved_work": 10_000,
    "countries": ("US",),
}


def offer(**other: Any) -> Offer:
    """The offer of 100 stories x 3 people, with other values where they are given."""
    return Offer(**{**STORIES, **other})
