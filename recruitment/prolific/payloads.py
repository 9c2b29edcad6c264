"""An offer of ours as a study of Prolific's: its fields, its money, and likely complaints."""

import math
from collections.abc import Iterable, Mapping
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from html import escape
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from annotation.pay import per_hour
from annotation.rules import CENT
from recruitment.marketplace import Estimate, Line, Offer, Refused, Terms
from recruitment.prolific.arrivals import study_address

COUNTRY_NAMES = dict(
    line.split(" ", 1)
    for line in Path(__file__).with_name("countries.txt").read_text(encoding="utf-8").splitlines()
)
"""Prolific's names of the countries that can be chosen, by code of ISO 3166."""
LEAST_PER_HOUR: Mapping[str, Decimal] = {"GBP": Decimal(6), "USD": Decimal(8)}
"""Prolific's minimum at the median of the real times; researcher-help.prolific.com, article 4dd6a0."""


def cents(amount: Decimal) -> int:
    """Return the amount in cents or pence. Raise ``ValueError`` for a fraction of one."""
    whole = amount * 100
    if whole != whole.to_integral_value():
        raise ValueError(f"{amount} is not in whole cents")
    return int(whole)


def amount_of(said: Decimal | int | str) -> Decimal:
    """Return cents as Prolific says them, as an amount."""
    return (Decimal(said) / 100).quantize(CENT, ROUND_HALF_UP)


def pay_warning(reward: Decimal, currency: str, seconds: float) -> str:
    """Return why Prolific would complain about the pay; empty if it would not.

    ``seconds`` is what the work takes: what is expected before there is any, then the median of what
    people really took.
    """
    least = LEAST_PER_HOUR.get(currency)
    if least is None or not seconds:
        return ""
    paid = per_hour(reward, seconds).quantize(CENT, ROUND_DOWN)  # no pay reaches a floor by rounding
    if paid >= least:
        return ""
    return _(
        "This pays %(paid)s %(currency)s per hour. Prolific demands at least %(least)s %(currency)s of the "
        "median time that people really take, and has you top it up or stops the study."
    ) % {"paid": paid, "currency": currency, "least": least}


APPROVAL_RATE = "approval_rate"
APPROVALS = "approval_numbers"
COUNTRY = "current-country-of-residence"
ALLOWED = "participant_group_allowlist"
BLOCKED = "participant_group_blocklist"
REVIEW_DAYS = 21
"""After this many days Prolific approves undecided submissions."""


def least_minutes_allowed(minutes_expected: int) -> int:
    """Return Prolific's shortest time limit: two minutes, twice the time, twice its square root."""
    return math.ceil(2 + 2 * minutes_expected + 2 * math.sqrt(minutes_expected))


def problems_of(terms: Terms) -> list[str]:
    """Return which terms Prolific does not offer, in sentences."""
    problems = []
    least = least_minutes_allowed(terms.minutes_expected)
    if terms.minutes_allowed < least:
        problems.append(
            _("For work of %(expected)s minutes Prolific allows at least %(least)s minutes.")
            % {"expected": terms.minutes_expected, "least": least}
        )
    if terms.masters_only:
        problems.append(_("Prolific has no Masters. Use the approval rate and the number of approvals."))
    unknown = [code for code in terms.countries if code not in COUNTRY_NAMES]
    if unknown:
        problems.append(_("Prolific does not recruit in: %s.") % ", ".join(unknown))
    return problems


def internal_name(offer: Offer) -> str:
    """Return the study's name for researchers, by which a repeated request finds what an earlier one made."""
    return f"tomannot {offer.reference}"


def study_of(
    offer: Offer, filters: Iterable[Mapping[str, Any]], *, project: str, signed: bool
) -> dict[str, Any]:
    """Return the fields of a draft. Raise :class:`Refused`.

    Codes are shared, so that neither an approval nor a place in a group follows from one. Only where a test
    has a reward for not passing it, Prolific pays that by its code, to as many people as there are places,
    and offers each such place again. A person may hand in as many visits as there are places; how much
    one person does is limited here, where it is known across platforms.
    """
    problems = problems_of(offer)
    if problems:
        raise Refused(" ".join(problems))
    study: dict[str, Any] = {
        "name": offer.title,
        "internal_name": internal_name(offer),
        "description": as_html(offer.description),
        "external_study_url": study_address(offer.entry_url),
        "prolific_id_option": "url_parameters",
        "completion_codes": [
            _code(offer.completion_code, "COMPLETED"),
            _code(offer.screen_out_code, "SCREENED_OUT", *screen_outs(offer)),
        ],
        "total_available_places": offer.seats,
        "estimated_completion_time": offer.minutes_expected,
        "maximum_allowed_time": offer.minutes_allowed,
        "reward": cents(offer.reward),
        "device_compatibility": [],
        "filters": [*filters],
        "submissions_config": submissions_config(is_test=offer.is_test),
        "study_labels": ["annotation"],
    }
    if project:
        study["project"] = project
    if signed:
        study["is_external_study_url_secure"] = True
    return study


def submissions_config(*, is_test: bool) -> dict[str, int]:
    """Return how often one person may take part; -1 is any number."""
    return {"max_submissions_per_participant": 1 if is_test else -1}


SCREEN_OUT = "FIXED_SCREEN_OUT_PAYMENT"
"""In-study screening; docs.prolific.com/api-reference/studies/the-study-object, ``completion_codes``."""


def screen_outs(offer: Offer) -> list[dict[str, Any]]:
    """Return the action that pays whoever did not pass, for a test with a reward for that; else nothing."""
    if offer.screen_out_reward is None:
        return []
    reward = {"fixed_screen_out_reward": cents(offer.screen_out_reward)}
    return [{"action": SCREEN_OUT, **reward, "slots": offer.seats}]


def _code(code: str, code_type: str, *actions: dict[str, Any]) -> dict[str, Any]:
    does = [*actions] or [{"action": "MANUALLY_REVIEW"}]
    return {"code": code, "code_type": code_type, "actor": "participant", "actions": does}


def as_html(text: str) -> str:
    """Return plain text as the HTML that Prolific takes: paragraphs, without accidental markup."""
    paragraphs = [" ".join(part.split()) for part in text.replace("\r\n", "\n").split("\n\n")]
    return "".join(f"<p>{escape(paragraph, quote=False)}</p>" for paragraph in paragraphs if paragraph)


def filters_of(offer: Offer, known: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the filters on who sees the study.

    ``known`` are the filters that Prolific has now; their names and choices change, and a filter that is
    not there would let everybody in. Who has passed a test is not asked to take it again. Raises
    :class:`Refused` for a filter that is missing.
    """
    by_id = {entry["filter_id"]: entry for entry in known}
    blocked = [group for group in (*offer.excludes_groups, offer.adds_to_group) if group]
    filters = [_group_filter(BLOCKED, blocked)] if blocked else []
    if offer.needs_group:
        filters.append(_group_filter(ALLOWED, [offer.needs_group]))
    if offer.approved_percent is not None:
        filters.append(_at_least(by_id, APPROVAL_RATE, offer.approved_percent))
    if offer.approved_work:
        filters.append(_at_least(by_id, APPROVALS, offer.approved_work))
    if offer.countries:
        filters.append(_choice(by_id, COUNTRY, [COUNTRY_NAMES[code] for code in offer.countries]))
    return filters


def _group_filter(name: str, groups: list[str]) -> dict[str, Any]:
    return {"filter_id": name, "selected_values": groups}


def _at_least(known: Mapping[str, Mapping[str, Any]], name: str, lower: int) -> dict[str, Any]:
    """Return a range without an upper bound, which Prolific takes for the highest possible."""
    _need(known, name, "range")
    return {"filter_id": name, "selected_range": {"lower": lower}}


def _choice(known: Mapping[str, Mapping[str, Any]], name: str, wanted: list[str]) -> dict[str, Any]:
    choices = _need(known, name, "select").get("choices") or {}
    ids = {label: choice for choice, label in choices.items()}
    missing = [label for label in wanted if label not in ids]
    if missing:
        raise Refused(_("Prolific’s filter for the country does not have: %s.") % ", ".join(missing))
    return {"filter_id": name, "selected_values": [ids[label] for label in wanted]}


def _need(known: Mapping[str, Mapping[str, Any]], name: str, kind: str) -> Mapping[str, Any]:
    found = known.get(name)
    if found is None or found.get("type") != kind:
        message = _("Prolific no longer has the filter “%s” as we know it. Leave this condition out.")
        raise Refused(message % name)
    return found


def estimate_of(offer: Offer, *, total: Decimal, currency: str, available: Decimal) -> Estimate:
    """Return the estimate from Prolific's own total: what is not reward is its fee and the tax on that.

    ``available`` is what the workspace can spend; both it and the total are in the workspace's currency.
    """
    kinds = (
        (offer.reward, _("%(seats)s rewards of %(reward)s")),
        (offer.screen_out_reward, _("Up to %(seats)s rewards of %(reward)s for tests not passed")),
    )
    lines = [
        Line(label % {"seats": offer.seats, "reward": reward}, reward * offer.seats)
        for reward, label in kinds
        if reward is not None
    ]
    rewards = sum((line.amount for line in lines), Decimal(0))
    return Estimate(
        currency=currency,
        rewards=rewards,
        fees=total - rewards,
        lines=(*lines, Line(_("Prolific’s fee, with tax"), total - rewards)),
        warnings=tuple(_warnings(offer, total, currency, available)),
    )


def _warnings(offer: Offer, total: Decimal, currency: str, available: Decimal) -> list[str]:
    warnings = problems_of(offer)
    pay = pay_warning(offer.screen_out_reward or offer.reward, offer.currency, offer.minutes_expected * 60)
    if pay:
        warnings.append(pay)
    if currency != offer.currency:
        message = _("The workspace pays in %(theirs)s, the campaign says %(ours)s: change the campaign.")
        warnings.append(message % {"theirs": currency, "ours": offer.currency})
    if total > available:
        warnings.append(
            _("The workspace has %(available)s %(currency)s left: add money before you begin.")
            % {"available": available, "currency": currency}
        )
    if offer.days_to_review > REVIEW_DAYS:
        warnings.append(_("Prolific approves by itself after %s days.") % REVIEW_DAYS)
    return warnings
