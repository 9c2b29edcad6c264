"""How each person fares with hidden checks, for the figures of people. Read by the worker that makes them."""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Q

from annotation import rules
from annotation.models import CheckResult, Study
from dashboard.figures import flags
from dashboard.figures.people import SHOWN


def add_checks(study: Study, people: list[dict[str, Any]]) -> None:
    """Put ``checks`` into the figures of each person, and the flag with its evidence where it is raised.

    ``checks``: ``answered``, ``failed`` and ``share`` (of failed ones, None without any), over the newest
    answers to checks that are in use.
    """
    found = _by_pseudonym(study)
    for person in people:
        answered, failed, stories = found.get(person["pseudonym"], (0, 0, []))
        share = failed / answered if answered else None
        person["checks"] = {"answered": answered, "failed": failed, "share": share}
        if flags.fails_checks(person):
            person["flags"].append(flags.FAILS_CHECKS)
            person["evidence"][flags.FAILS_CHECKS] = stories[:SHOWN]


def _by_pseudonym(study: Study) -> dict[str, tuple[int, int, list[str]]]:
    """Per person who has answered a check: how many, how many failed, and the ids of the failed ones."""
    failed = Q(passed=False)
    rows = (
        CheckResult.objects.standing()
        .filter(key__story__study=study)
        .values("vote__assignment__enrollment__annotator")
        .annotate(
            answered=Count("pk"),
            failed=Count("pk", filter=failed),
            stories=ArrayAgg(
                "key__story__story_id", filter=failed, order_by="key__story__story_id", default=[]
            ),
        )
    )
    return {
        rules.pseudonym(study.pseudonym_key, row["vote__assignment__enrollment__annotator"]): (
            row["answered"],
            row["failed"],
            row["stories"],
        )
        for row in rows
    }
