"""QualificationRequirements: conditions for taking a HIT.

Every requirement guards discovery, preview and acceptance: who cannot do the work does not see it.
"""

from typing import Any

from accounts.models import Environment
from recruitment.marketplace import Offer
from recruitment.mturk.environments import MASTERS

PERCENT_APPROVED = "000000000000000000L0"
NUMBER_APPROVED = "00000000000000000040"
LOCALE = "00000000000000000071"
RATE_COUNTS_FROM = 100
"""A worker with fewer submitted assignments has an approval rate of 100 %, whatever happened to them."""


def requirements_of(offer: Offer, environment: str) -> list[dict[str, Any]]:
    """Return the requirements of an offer, at most ten.

    A wanted approval rate always comes with a number of approved assignments, 100 where none is asked for:
    below that the rate says nothing. People in a group of ``excludes_groups`` must not have the qualification
    at all, which is also true of everybody who never had anything to do with us. Who has passed a test is not
    shown it again.
    """
    wanted: list[dict[str, Any]] = []
    approved = offer.approved_work
    if offer.approved_percent is not None:
        wanted.append(_at_least(PERCENT_APPROVED, offer.approved_percent))
        approved = max(approved or 0, RATE_COUNTS_FROM)
    if approved:
        wanted.append(_at_least(NUMBER_APPROVED, approved))
    if offer.countries:
        places = [{"Country": country} for country in sorted(offer.countries)]
        wanted.append(_requirement(LOCALE, "EqualTo" if len(places) == 1 else "In", LocaleValues=places))
    if offer.masters_only:
        wanted.append(_requirement(MASTERS[Environment(environment)], "Exists"))
    if offer.needs_group:
        wanted.append(_requirement(offer.needs_group, "Exists"))
    excluded = {*offer.excludes_groups, offer.adds_to_group} - {""}
    wanted += [_requirement(group, "DoesNotExist") for group in sorted(excluded)]
    return wanted


def _at_least(identifier: str, value: int) -> dict[str, Any]:
    return _requirement(identifier, "GreaterThanOrEqualTo", IntegerValues=[value])


def _requirement(identifier: str, comparator: str, **values: Any) -> dict[str, Any]:
    return {
        "QualificationTypeId": identifier,
        "Comparator": comparator,
        **values,
        "ActionsGuarded": "DiscoverPreviewAndAccept",
    }
