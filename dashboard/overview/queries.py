"""Queries of the overview: what needs attention, participants, leases, newest votes; none reads all votes."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q
from django.utils.translation import gettext as _

from annotation.deciding import span
from annotation.fixed_settings import fixed_settings
from annotation.hidden_checks import checks_among
from annotation.models import Assignment, Enrollment, ReviewItem, Skip, Story, Study, Vote
from annotation.ordering import unfinished_stories
from annotation.rules import is_skipped_often
from annotation.working_time import estimated_pay
from dashboard.people import listing
from dashboard.people.listing import STEPS, people_address, steps_of
from dashboard.qualification.figures import notes_of
from dashboard.quality.hidden_checks import checks_of
from dashboard.queries import Share, stories_address
from dashboard.recruitment.queries import open_mismatches
from dashboard.settings.forms import SettingsForm
from dashboard.stories.queries import ANY
from publishing.filters import filters_for
from publishing.study_filters import filters_of
from qualification.models import TESTS, Round, RoundStory
from qualification.rates import rates_of


def noticed(study: Study, people: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Count what is too slow to count for a page; the worker stores the result with the figures.

    ``flagged``: participants with a flag among ``people``. ``doubted_checks``: hidden checks that most
    participants fail. ``skipped_often``: main stories. ``test_notes``: notes on active rounds.
    """
    taken = [rates for rates in rates_of(study) if rates.round.state == Round.State.ACTIVE]
    return {
        "flagged": sum(bool(person["flags"]) for person in people),
        "skipped_often": sum(
            is_skipped_often(skips=row["skips"], votes_per_story=study.votes_per_story)
            for row in Skip.objects.by_story(study)
        ),
        "doubted_checks": sum(check.looks_wrong for check in checks_of(study)),
        "test_notes": sum(len(notes_of(study, rates)) for rates in taken),
    }


def waiting(study: Study, document: Mapping[str, Any] | None) -> dict[str, int]:
    """Count what needs attention now, by kind, from the figures' ``document`` and three queries."""
    counts = (document["noticed"] if document else {}) | {
        "suspended": listing.undecided_people(study).count(),
        "unjudged": ReviewItem.objects.filter(sample__study=study).waiting().count(),
        "mismatches": open_mismatches(study).count(),
    }
    return {kind: count for kind, count in counts.items() if count}


LEASES_SHOWN = 50


def people_counts(study: Study) -> dict[str, int]:
    """Count the annotators at each step, from the invitation to the first vote."""
    enrollments = Enrollment.objects.filter(study=study, environment=study.environment)
    steps = {step: Count("pk", filter=condition) for step, condition in steps_of(study).items()}
    return enrollments.aggregate(invited=Count("pk"), **steps)


def people_of(study: Study) -> list[Share]:
    """Return the steps as shares of the invited, with those of the test if the study has one."""
    counts = people_counts(study)
    steps = [
        (_("Invited"), "invited"),
        (_("Opened their link"), "came"),
        (_("Agreed to take part"), "agreed"),
    ]
    if study.gate != Study.Gate.NOT_REQUIRED:
        steps += [
            (_("Began the test"), "began_test"),
            (_("Handed the test in"), "handed_in_test"),
            (_("Passed the test"), "passed_test"),
        ]
    steps.append((_("Answered a story"), "active"))
    return [
        Share.of(label, counts[step], counts["invited"], people_address(study, **search))
        for label, step in steps
        for search in [{"step": step} if step in STEPS else {}]
    ]


def votes_in_the_last_hour(study: Study, *, now: datetime) -> int:
    """Count votes on main stories, surplus included; a changed vote counts at its first submission.

    Uses the index of votes by time.
    """
    came = Vote.objects.filter(submitted_at__gt=now - timedelta(hours=1), revision=1)
    return came.filter(assignment__enrollment__study=study, assignment__story__role=Story.Role.MAIN).count()


def leases_of(study: Study, *, now: datetime) -> dict[str, Any]:
    """Return the first 50 active leases by their end (``ran_out``: it is over), and if there are more."""
    held = list(
        Assignment.objects.filter(enrollment__study=study, state=Assignment.State.LEASED)
        .annotate(ran_out=Q(lease_expires_at__lte=now))
        .select_related("story", "enrollment")
        .order_by("lease_expires_at", "pk")[: LEASES_SHOWN + 1]
    )
    return {"rows": held[:LEASES_SHOWN], "more": len(held) > LEASES_SHOWN}


def droppers_of(study: Study, verdicts: Mapping[str, Any]) -> list[Share]:
    """Return, by question, how many complete stories it drops. Questions answered in words drop none."""
    complete = verdicts["kept"] + verdicts["dropped"]
    dropped = verdicts["dropped_by_question"]
    return [
        Share.of(str(question.title), dropped.get(question.key, 0), complete, url)
        for question in study.protocol.chosen
        for url in [stories_address(study, dropped_by=question.key)]
    ]


def lint_of(study: Study, document: Mapping[str, Any]) -> list[Share]:
    """Count the main stories with each kind of lint warning."""
    labels, stories = study.protocol.finding_labels, document["verdicts"]["stories"]
    return [
        Share.of(str(labels.get(code, code.replace("_", " "))), count, stories, url)
        for code, count in document["lint"].items()
        for url in [stories_address(study, lint=code) if code in labels else ""]
    ]


def opening_figures(study: Study) -> dict[str, Any]:
    """Return what a draft would open with: its numbers, and the settings that then stay fixed."""
    stories = Story.objects.filter(study=study).wanted().count()
    rounds = RoundStory.objects.filter(round__study=study, round__state=Round.State.ACTIVE)
    is_test = Q(round__kind__in=TESTS)
    fixed = fixed_settings(state=Study.State.OPEN, has_stories=bool(stories)).keys()
    follows, offered = study.protocol.follows, filters_of(study, filters_for(study.protocol_name))
    return {
        "stories": stories,
        "votes": span(stories * study.votes_per_story, stories * study.slots_per_story),
        "warnings": Story.objects.filter(study=study, lint_findings__isnull=False).main().distinct().count(),
        "warnings_url": stories_address(study, lint=ANY),
        **rounds.aggregate(test=Count("pk", filter=is_test), practice=Count("pk", filter=~is_test)),
        "published_votes": follows.votes if follows and follows.votes != study.votes_per_story else None,
        "filters": [(rule.name, rule.localized_title) for rule in offered.values()],
        "fixed": [str(field.label) for name, field in SettingsForm.base_fields.items() if name in fixed],
    }


def unfinished_of(study: Study, document: Mapping[str, Any], *, at_once: int) -> dict[str, int] | None:
    """Return the number of started stories, and until half of the votes are in, what each order makes of it.

    ``at_once`` is how many participants hold a story now. None if there are no stories.
    """
    stories, wanted = document["verdicts"]["stories"], document["votes"]["wanted"]
    if not stories:
        return None
    now = {"now": document.get("started", 0)}
    if 2 * document["votes"]["counted"] >= wanted:
        return now
    shared, own = (
        unfinished_stories(
            stories=stories,
            votes_per_story=study.votes_per_story,
            votes=wanted // 2,
            own_order=own,
            at_once=at_once,
        )
        for own in (False, True)
    )
    return {**now, "shared": shared, "own": own}


def cost_of(study: Study, document: Mapping[str, Any]) -> dict[str, Decimal | None] | None:
    """Return the cost so far and at the end, with a range; None if unpaid or without votes.

    The cost is votes and answers to hidden checks × time per vote
    (:func:`dashboard.figures.forecast.seconds_per_vote`) × pay rate. Hidden checks still to come are
    estimated as for an annotator who answers as many stories as annotators have on average. Platform fees,
    tests and surplus votes are left out.
    """
    pace = document["seconds_per_vote"]
    if study.pay_rate is None or pace is None:
        return None
    so_far = document["votes"]["counted"] + document["checks"]["answered"]
    whole = so_far + stories_to_come(study, document)
    return {
        "so_far": estimated_pay(so_far, pace["mean"], study.pay_rate),
        "whole": estimated_pay(whole, pace["mean"], study.pay_rate),
        "low": estimated_pay(whole, pace["low"], study.pay_rate),
        "high": estimated_pay(whole, pace["high"], study.pay_rate),
    }


def stories_to_come(study: Study, document: Mapping[str, Any]) -> int:
    """Return how many answers are still to come, hidden checks included."""
    votes, known, people = document["votes"], document["checks"], document["everybody"]["people"]
    remaining: int = max(0, votes["wanted"] - votes["counted"])
    each: float = (votes["counted"] + known["answered"]) / max(1, people) or 1.0
    among = checks_among(each, every=study.check_every, usable=known["usable"])
    return round(remaining * each / (each - among))
