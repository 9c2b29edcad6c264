"""What Mechanical Turk can do, and what people should know before they use it."""

from __future__ import annotations

from django.utils.translation import gettext as _

from recruitment.marketplace import Abilities
from recruitment.mturk.client import ENDPOINTS


def abilities(endpoint: str) -> Abilities:
    """In the language of whoever looks; ``endpoint`` is empty for Amazon's own."""
    is_amazons = endpoint.rstrip("/") in ("", *ENDPOINTS.values())
    closed = _(
        "Amazon closed Mechanical Turk for good on 30 September 2026. This works with nothing but a test "
        "double of it, or with a site that speaks the same protocol."
    )
    elsewhere = _(
        "This site speaks to an address of its own instead of Amazon’s, which closed Mechanical Turk for good "
        "on 30 September 2026."
    )
    return Abilities(
        has_preview=True,
        has_frames=True,
        lists_unfinished_work=False,
        needs_rejection_category=False,
        returns_receipt=True,
        still_exists=not is_amazons,
        notes=(closed if is_amazons else elsewhere,),
    )
