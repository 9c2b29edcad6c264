"""What the overview of a study shows now. Reads of people, leases and newest votes; never of all."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q
from django.utils.translation import gettext as _

from annotation import rules
from annotation.checks import checks_among
from annotation.models import Assignment, Enrollment, Story, Study, Vote
from dashboard.enrolled import STEPS, people_address
from dashboard.queries import Share, stories_address
from qualification.queries import Tested
from recruitment.models import Visit

LEASES_SHOWN = 50


def people_counts(study: Study, people: Tested) -> dict[str, int]:
    """From invitation to the first vote: how many people came how far."""
    enrollments = Enrollment.objects.filter(study=study, environment=study.environment)
    counts = enrollments.aggregate(
        invited=Count("pk"),
        agreed=Count("pk", filter=Q(consented_at__isnull=False)),
        active=Count("pk", filter=Q(stories_submitted__gt=0)),
    )
    came = enrollments.filter(Exists(Visit.objects.filter(enrollment=OuterRef("pk")))).count()
    return counts | {
        "came": came,
        "began_test": people.started,
        "handed_in_test": people.submitted,
        "passed_test": people.passed,
    }


def people_of(study: Study, people: Tested) -> list[Share]:
    """The same as shares of the invited; the steps of the test where the study asks for one."""
    counts = people_counts(study, people)
    steps = [
        (_("Invited"), "invited"),
        (_("Came by their link"), "came"),
        (_("Agreed to take part"), "agreed"),
    ]
    if study.gate != Study.Gate.NOT_REQUIRED:
        steps += [
            (_("Began the test"), "began_test"),
            (_("Handed the test in"), "handed_in_test"),
            (_("Passed the test"), "passed_test"),
        ]
    steps.append((_("Answered a story"), "active"))
    invited = counts["invited"]
    return [
        Share(
            label,
            counts[step],
            counts[step] / invited if invited else None,
            people_address(study, step=step) if step in STEPS else people_address(study),
        )
        for label, step in steps
    ]


def votes_in_the_last_hour(study: Study, *, now: datetime) -> int:
    """How many votes on main stories came, counted or not; a changed one came when it was first given.

    Votes have an index by time.
    """
    came = Vote.objects.filter(submitted_at__gt=now - timedelta(hours=1), revision=1)
    return came.filter(assignment__enrollment__study=study, assignment__story__role=Story.Role.MAIN).count()


def leases_of(study: Study, *, now: datetime) -> dict[str, Any]:
    """Who holds a story now, the lease that ends first first: the first 50, and whether there are more."""
    held = (
        Assignment.objects.filter(enrollment__study=study, state=Assignment.State.LEASED)
        .select_related("story", "enrollment")
        .order_by("lease_expires_at", "pk")[: LEASES_SHOWN + 1]
    )
    rows = [
        {
            "number": assignment.pk,
            "pseudonym": rules.pseudonym(study.pseudonym_key, assignment.enrollment.annotator_id),
            "story_id": assignment.story.story_id,
            "served_at": assignment.served_at,
            "lease_expires_at": assignment.lease_expires_at,
            "ran_out": assignment.lease_expires_at <= now,
        }
        for assignment in held
    ]
    return {"rows": rows[:LEASES_SHOWN], "more": len(rows) > LEASES_SHOWN}


def droppers_of(study: Study, verdicts: Mapping[str, Any]) -> list[Share]:
    """Per question of the protocol: how many of the complete stories have an answer against them."""
    complete = verdicts["kept"] + verdicts["dropped"]
    dropped = verdicts["dropped_by_question"]
    return [
        Share(
            str(question.title),
            dropped.get(question.key, 0),
            dropped.get(question.key, 0) / complete if complete else None,
            stories_address(study, dropped_by=question.key),
        )
        for question in study.protocol.questions
    ]


def lint_of(study: Study, document: Mapping[str, Any]) -> list[Share]:
    """Per kind of lint warning: how many main stories it was raised for."""
    labels, stories = study.protocol.finding_labels, document["verdicts"]["stories"]
    return [
        Share(
            str(labels.get(code, code.replace("_", " "))),
            count,
            count / stories if stories else None,
            stories_address(study, lint=code) if code in labels else "",
        )
        for code, count in document["lint"].items()
    ]


def cost_of(study: Study, document: Mapping[str, Any]) -> dict[str, Decimal | None] | None:
    """What the counted votes come to, and all votes wanted with a range; None if not paid or no votes.

    Votes and answers to hidden checks × time per vote
    (:func:`dashboard.figures.forecast.seconds_per_vote`) × pay rate. The checks still to come are as many
    to a vote as for somebody who answers as many stories as people have so far. No platform's fee, no test
    and no surplus vote is in it.
    """
    pace = document["seconds_per_vote"]
    if study.pay_rate is None or pace is None:
        return None
    so_far = document["votes"]["counted"] + document["checks"]["answered"]
    whole = so_far + stories_to_come(study, document)
    return {
        "so_far": rules.estimated_pay(so_far, pace["mean"], study.pay_rate),
        "whole": rules.estimated_pay(whole, pace["mean"], study.pay_rate),
        "low": rules.estimated_pay(whole, pace["low"], study.pay_rate),
        "high": rules.estimated_pay(whole, pace["high"], study.pay_rate),
    }


def stories_to_come(study: Study, document: Mapping[str, Any]) -> int:
    """How many stories will still be answered: for the votes wanted, and the hidden checks among them."""
    votes, known, people = document["votes"], document["checks"], document["everybody"]["people"]
    remaining: int = max(0, votes["wanted"] - votes["counted"])
    each: float = (votes["counted"] + known["answered"]) / max(1, people) or 1.0
    among = checks_among(each, every=study.check_every, usable=known["usable"])
    return round(remaining * each / (each - among))
