"""Mechanical Turk as the site knows it. Import nothing that loads boto3."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING

from django.conf import settings as site
from django.http import QueryDict
from django.utils.translation import gettext as _, gettext_lazy, pgettext_lazy

from accounts.models import Environment
from recruitment.arrival_rules import Arrival, Ending
from recruitment.marketplace import NotConfigured, Terms
from recruitment.models import Campaign, Visit
from recruitment.mturk.arrivals import ASSIGNMENT, RECEIPT_FIELD, is_preview, read_mturk, submit_address
from recruitment.mturk.notifications import read_hook
from recruitment.mturk.terms import MANY_SEATS, bonus_fee, is_amazon, site_of
from recruitment.platforms import Hint, Platform, ReturnLink, Words

if TYPE_CHECKING:
    from recruitment.mturk.marketplace import MechanicalTurk

MOST_COUNTRIES = 30
"""The most countries that a requirement takes."""


class MechanicalTurkPlatform(Platform):
    """HITs that show our pages in a frame."""

    words = Words(
        give_back=gettext_lazy(
            "To return the assignment, click “Return” beside this page, so that somebody else can take it."
        ),
        submission=pgettext_lazy("of Mechanical Turk", "Assignment"),
        posting="HIT",
    )
    notes = "recruitment/platform_notes/mturk.html"
    defaults = MappingProxyType(
        {"stories_per_visit": 1, "approved_percent": 98, "approved_work": 10_000, "countries": "US"}
    )
    unused_fields = ("screen_out_reward",)
    is_framed = True
    verifies_arrivals = False

    returns_receipt = True
    ends_offers = True
    longest_rejection = 1024
    overturning_note = gettext_lazy(
        "Mechanical Turk overturns a rejection for 30 days after the work was handed in."
    )
    bonus_fee_note = gettext_lazy("Mechanical Turk adds a fee of 20 %, at least one cent.")

    def bonus_fee(self, amount: Decimal) -> Decimal | None:
        return bonus_fee(amount)

    def still_exists(self, environment: str) -> bool:
        return not is_amazon(site.MTURK[environment]["endpoint"])

    def marketplace(self, environment: str, *, is_quick: bool = False) -> MechanicalTurk:
        from recruitment.mturk.marketplace import MechanicalTurk

        account = site.MTURK[environment]
        live = site.MTURK[Environment.LIVE]
        # An endpoint of one's own has no sandbox: a rehearsal there with the live key pays real people.
        is_live_place = site_of(account["endpoint"]) == site_of(live["endpoint"])
        is_paid = is_live_place and not is_amazon(live["endpoint"]) and account["key_id"] == live["key_id"]
        if environment == Environment.REHEARSAL and is_paid:
            message = _(
                "%s is the live account’s: a test run would spend its money. Use a key or an endpoint of "
                "its own."
            )
            raise NotConfigured(message % "MTURK_REHEARSAL_ACCESS_KEY_ID")
        return MechanicalTurk(
            environment=environment,
            key_id=account["key_id"],
            secret=account["secret"],
            endpoint=account["endpoint"],
            topic=account.get("notification_topic", ""),
            is_quick=is_quick,
        )

    def read_arrival(self, campaign: Campaign, query: QueryDict, *, now: datetime) -> tuple[Arrival, bool]:
        """Return the arrival, never proven: nothing is signed, and acceptance shows only at hand-in."""
        sites = site.MTURK_SUBMIT_HOSTS[campaign.environment]
        return read_mturk(dict(query.lists()), submit_sites=sites), False

    def is_preview(self, query: QueryDict) -> bool:
        return is_preview(dict(query.lists()))

    def hand_in_link(self, visit: Visit, ending: Ending) -> ReturnLink | None:
        fields = {ASSIGNMENT: visit.remote_id, RECEIPT_FIELD: visit.receipt}
        return ReturnLink(submit_address(visit.submit_to), fields) if ending.is_work else None

    def read_hook(self, headers: Mapping[str, str], body: bytes, *, environment: str) -> Hint | None:
        account = site.MTURK.get(environment, {})
        password = account.get("notification_password", "")
        return read_hook(headers, body, password=password, topic=account.get("notification_topic", ""))

    def problems_of(self, terms: Terms) -> list[str]:
        found = []
        if terms.approved_percent and not terms.approved_work:
            message = _(
                "Mechanical Turk counted people with fewer than 100 submissions as approved at 100 %: "
                "ask for a number of approved submissions as well."
            )
            found.append(message)
        if len(terms.countries) > MOST_COUNTRIES:
            found.append(_("Mechanical Turk takes at most %s countries.") % MOST_COUNTRIES)
        return found

    def problems_of_widening(self, before: int, seats: int) -> list[str]:
        if not before < MANY_SEATS <= seats:
            return []
        return [
            _(
                "Mechanical Turk never widens a HIT for fewer than %(many)s people to %(many)s or more. "
                "Offer at most %(most)s more here, or end this campaign and make another one."
            )
            % {"many": MANY_SEATS, "most": MANY_SEATS - 1 - before}
        ]


PLATFORM = MechanicalTurkPlatform()
