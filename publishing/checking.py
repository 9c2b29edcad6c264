"""What a release says about hidden checks and about votes that were judged, up to its moment."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from django.db.models import Count, Q

from annotation.checks import CheckRules
from annotation.models import CheckResult, Event, ReviewSample, SpotCheck, Study
from annotation.settled import NONE, noted_changes
from publishing.facts import HiddenChecks, SpotChecks
from publishing.models import Release


def counted_until(release: Release) -> datetime:
    """The one moment up to which everything in a release is counted."""
    return release.answers_until or release.requested_at


def hidden_checks(release: Release) -> HiddenChecks | None:
    """How people fared with hidden checks; None when nobody was given one.

    First answers only, so that building a release again gives the same card.
    """
    until = counted_until(release)
    first = CheckResult.objects.filter(
        key__story__study=release.study,
        vote__revision=1,
        vote__environment=release.environment,
        vote__submitted_at__lte=until,
    )
    found = first.aggregate(
        checks=Count("key__story", distinct=True),
        answers=Count("pk"),
        failed=Count("pk", filter=Q(passed=False)),
    )
    if not found["answers"]:
        return None
    warned = Event.objects.filter(
        study=release.study, type=Event.Type.ANNOTATOR_WARNED, at__lte=until
    ).aggregate(people=Count("enrollment", distinct=True))
    return HiddenChecks(**found, warned=warned["people"], rules=_rules(release.study, until))


def spot_checks(release: Release) -> SpotChecks | None:
    """How the votes fared that were drawn at random from everybody's; None when none of them was judged.

    What was decided last about each counts, in whichever sample, as far as it was before the release.
    """
    until = SpotCheck.objects.filter(at__lte=counted_until(release))
    drawn = until.filter(
        item__sample__study=release.study,
        item__sample__kind=ReviewSample.Kind.RANDOM,
        item__sample__among=ReviewSample.Among.EVERYBODY,
    )
    decided = until.filter(vote__assignment__in=drawn.values("vote__assignment")).order_by("pk")
    rows = decided.values_list("vote__assignment", "vote__assignment__enrollment", "decision")
    standing = {assignment: (person, decision) for assignment, person, decision in rows}
    if not standing:
        return None
    decisions = Counter(decision for _, decision in standing.values())
    people = Counter(person for person, _ in standing.values())
    return SpotChecks(
        accepted=decisions[SpotCheck.Decision.ACCEPT],
        uncounted=decisions[SpotCheck.Decision.UNCOUNTED],
        rejected=decisions[SpotCheck.Decision.REJECT],
        people=len(people),
        most_of_one=max(people.values()),
    )


def _rules(study: Study, until: datetime) -> CheckRules:
    """The rules in force at a moment, from what the log says about every change of them."""
    rules, names = CheckRules(), {item.name for item in fields(CheckRules)}
    events = Event.objects.filter(study=study, type=Event.Type.CHECKS_CHANGED, subject="", at__lte=until)
    for note in events.order_by("pk").values_list("note", flat=True):
        changed: dict[str, Any] = {
            name: None if after == NONE else int(after)
            for name, (_, after) in noted_changes(note).items()
            if name in names
        }
        rules = replace(rules, **changed)
    return rules
