"""What Mechanical Turk could do, that it is no more, and what people should know before they use it."""

from __future__ import annotations

from django.utils.translation import gettext as _

from recruitment.marketplace import Abilities
from recruitment.mturk.environments import is_amazon
from recruitment.mturk.fees import bonus_fee


def abilities(endpoint: str = "") -> Abilities:
    """In the language of whoever looks; ``endpoint`` is where the API is, if not at Amazon's."""
    is_amazons = is_amazon(endpoint)
    closed = _(
        "Amazon closed Mechanical Turk for good on 30 September 2026. This works with nothing but a test "
        "double of it, or with a site that speaks the same protocol."
    )
    elsewhere = _(
        "This site speaks to an address of its own instead of Amazon’s, which closed Mechanical Turk for "
        "good on 30 September 2026."
    )
    return Abilities(
        lists_unfinished_work=False,
        needs_rejection_category=False,
        longest_rejection=1024,
        overturning_told=_("Mechanical Turk overturns a rejection for 30 days after the work was handed in."),
        bonus_fee=bonus_fee,
        bonus_fee_told=_("Mechanical Turk takes a fifth on top, one cent at least."),
        returns_receipt=True,
        ends_offers=True,
        still_exists=not is_amazons,
        notes=(
            closed if is_amazons else elsewhere,
            _("From ten people on the same HIT on, the fee on each reward is 40 % instead of 20 %."),
            _("A HIT for fewer than ten people can never be widened to ten or more."),
            _(
                "What somebody accepted and did not hand in is known for your own HITs alone, and only where "
                "notifications are set up: without them nobody who left work is kept out of later HITs."
            ),
            _("What nobody decides about is approved by itself, and can then not be rejected any more."),
        ),
    )
