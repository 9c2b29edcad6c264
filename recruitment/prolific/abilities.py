"""What Prolific can do, and what people should know before they use it."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from recruitment.marketplace import Abilities

SHORTEST_REJECTION = 100

CATEGORIES: Mapping[str, str | Promise] = {
    "TOO_QUICKLY": gettext_lazy("done too quickly"),
    "TOO_SLOWLY": gettext_lazy("done too slowly"),
    "FAILED_INSTRUCTIONS": gettext_lazy("did not follow the instructions"),
    "FAILED_CHECK": gettext_lazy("failed a check"),
    "LOW_EFFORT": gettext_lazy("low effort"),
    "NO_CODE": gettext_lazy("no completion code"),
    "BAD_CODE": gettext_lazy("wrong completion code"),
    "NO_DATA": gettext_lazy("no data"),
    "OTHER": gettext_lazy("something else"),
}
"""Of Prolific's categories of rejections those that can apply here."""


def abilities() -> Abilities:
    """In the language of whoever looks."""
    return Abilities(
        lists_unfinished_work=True,
        needs_rejection_category=True,
        rejection_categories=tuple((code, str(label)) for code, label in CATEGORIES.items()),
        shortest_rejection=SHORTEST_REJECTION,
        overturning_told=_(
            "Prolific may refuse to overturn it; then its own pages, or its support, are the way to do it."
        ),
        bonus_fee_told=_("Prolific takes its fee on top."),
        returns_receipt=False,
        tells_bonus_reason=False,
        notes=(
            _("Nobody may be turned away within a study: whoever takes the test is paid, passed or not."),
            _("Completion codes are the same for everybody and prove nothing; work is checked by its id."),
            _("Before work is rejected, the person is asked to return it and has three days to do so."),
            _("What was returned or ran out of time on Prolific can never be approved there."),
            _("What nobody decides about is approved by Prolific after 21 days."),
            _("A study is offered until its places are taken, or until you pause or end the campaign."),
            _("There is no sandbox: rehearse in a workspace of its own."),
        ),
    )
