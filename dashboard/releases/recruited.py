"""Figures on recruitment, test and pay of a study's annotators, for the annotation report of its releases."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django.db.models import Case, Count, Sum, When

from annotation.intake import FEWEST_IN_GROUP
from annotation.models import Study
from annotation.pay import per_hour
from annotation.rules import CENT
from publishing.statistics.quartiles import quartiles
from qualification.models import Round
from qualification.queries import pass_mark
from recruitment.marketplace import NEVER_APPROVED, Status
from recruitment.models import Campaign, LinkPayment, Payment, Visit

OUTSIDE = "outside platforms"
REWARDS = ("reward", "screen_out_reward")


def recruited(study: Study) -> dict[str, Any]:
    """Return what the annotation report of a release says of recruitment, test and pay."""
    started = Campaign.objects.filter(study=study).exclude(state=Campaign.State.DRAFT).order_by("number")
    campaigns = started.annotate(people=Count("visits__enrollment", distinct=True)).values(
        "platform", "purpose", "countries", *REWARDS, "currency", "minutes_expected", "people"
    )
    by_link = Visit.objects.filter(enrollment__study=study, campaign=None)
    used = Round.objects.filter(study=study).exclude(state=Round.State.PREPARING).order_by("number")
    return {
        "campaigns": [
            row | {name: None if row[name] is None else str(row[name]) for name in REWARDS}
            for row in campaigns
        ],
        "people_by_link": by_link.aggregate(people=Count("enrollment", distinct=True))["people"],
        "rounds": [
            {"kind": one.kind, "stories": one.round_stories.count(), "attempts": one.attempts_allowed}
            | pass_mark(one)
            for one in used
        ],
        "achieved": _achieved(study),
    }


def _achieved(study: Study) -> list[dict[str, Any]]:
    """Return the pay of handed-in visits by purpose and currency; time is from arrival to hand-in.

    Those that were given back are left out. Outside platforms there are no visits: what one person was paid
    in all counts as one, without a time.
    """
    visit = Case(When(pays_for=None, then="submission__visit"), default="pays_for__visit")
    done = Payment.objects.filter(submission__campaign__study=study, state=Payment.State.DONE).order_by()
    sums = {tuple(key): paid for *key, paid in done.values_list(visit, "currency").annotate(Sum("amount"))}
    handed_in = Visit.objects.filter(campaign__study=study, handed_in_at__isnull=False)
    columns = ("campaign__purpose", "campaign__currency", "submission__status", "arrived_at", "handed_in_at")
    found: dict[tuple[str, str], list[tuple[Decimal, float, str]]] = defaultdict(list)
    for pk, purpose, currency, status, start, end in handed_in.values_list("pk", *columns):
        paid = sums.get((pk, currency), Decimal(0))
        if paid or status not in NEVER_APPROVED:
            found[purpose, currency].append((paid, (end - start).total_seconds(), status))
    noted = LinkPayment.objects.filter(enrollment__study=study).order_by()
    for currency, _person, paid in noted.values_list("currency", "enrollment").annotate(paid=Sum("amount")):
        found[OUTSIDE, currency].append((paid, 0.0, ""))
    return [
        {
            "purpose": purpose,
            "currency": currency,
            "paid": sum(paid > 0 for paid, *_ in visits),
            "rejected": sum(not paid and status == Status.REJECTED for paid, _took, status in visits),
            "waiting": sum(not paid and status != Status.REJECTED for paid, _took, status in visits),
            "per_visit": _amounts(paid for paid, *_ in visits if paid),
            "per_hour": _amounts(per_hour(paid, took) for paid, took, _status in visits if paid and took),
        }
        for (purpose, currency), visits in sorted(found.items())
    ]


def _amounts(values: Iterable[Decimal]) -> dict[str, str] | None:
    """Return the quartiles of amounts in whole cents; None for so few that they would tell what each got."""
    counted = Counter(value.quantize(CENT) for value in values)
    found = quartiles(counted) if counted.total() >= FEWEST_IN_GROUP else None
    return {name: str(amount) for name, amount in found.items()} if found else None
