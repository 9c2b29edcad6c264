"""The page of one participant: figures, evidence for each flag, newest answers."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from annotation import rules
from annotation.actions.enrollments import LONGEST_REASON
from annotation.actions.exclusions import exclusion_in_force
from annotation.models import CheckResult, Enrollment, Study, Vote
from annotation.queries import recent_votes
from annotation.rights import Right, read_page, rights_in, signed_in
from dashboard.figures import store, tables
from dashboard.parameters import page_number
from dashboard.people.detail import (
    NARROWED,
    answer_rows,
    failed_checks,
    ids_of_checks,
    may_have_link,
    memberships_of,
    narrowed,
    story_address,
    suspension_of,
)
from dashboard.qualification.attempts import attempts_of
from dashboard.queries import get_enrollment
from dashboard.recruitment.queries.payments import earned_by
from qualification.experts import closed_texts
from recruitment.queries import confirmed_address_of
from tomannot import clock

State = Enrollment.State


@read_page()
def person(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponse:
    enrollment = get_enrollment(study, pseudonym)
    found, underway = store.refreshed(study, now=clock.now())
    document = found.document if found else None
    own = store.person(study, pseudonym)
    closed = closed_texts(signed_in(request))
    rights = rights_in(request.user, study)
    context = {
        "pseudonym": pseudonym,
        "enrollment": enrollment,
        **_standing(enrollment, rights),
        **_tested(enrollment, rights, closed),
        "memberships": memberships_of(enrollment),
        "earned": earned_by(enrollment),
        "figures": found,
        "underway": underway,
        "everybody": document["everybody"] if document else None,
        "person": _person(study, document, own, closed) if document and own else None,
        "questions": [str(question.title) for question in study.protocol.questions],
        **_answers(request, enrollment, rights, closed),
    }
    return render(request, "dashboard/people/person.html", context)


def _answers(
    request: HttpRequest, enrollment: Enrollment, rights: frozenset[Right], closed: frozenset[str]
) -> dict[str, Any]:
    """Return a page of the answers that pass the filter, and the filters the reader may choose."""
    may_change = Right.CHANGE in rights
    choices = {to: label for to, label in NARROWED.items() if to != "checks" or may_change}
    page, only = page_number(request), request.GET.get("only", "")
    only = only if only in choices else ""
    shown_answers = narrowed(enrollment, only, may_change=may_change, closed=closed)
    votes, more = recent_votes(enrollment, page=page, only=shown_answers)
    return {
        "answers": answer_rows(enrollment.study, enrollment, votes, _results(votes, rights, closed)),
        "page": page,
        "only": only,
        "narrowed": choices.items(),
        "more": more,
    }


def _standing(enrollment: Enrollment, rights: frozenset[Right]) -> dict[str, Any]:
    """Return the participant's standing, and what the reader may do about it."""
    may_change = Right.CHANGE in rights
    return {
        "may_exclude": may_change,
        "standing": exclusion_in_force(enrollment),
        "suspension": suspension_of(enrollment),
        "can_be_suspended": State.SUSPENDED in rules.ENROLLMENT_TRANSITIONS[enrollment.state],
        "told": _(
            "We have paused your part in this study and would like to talk with you about it. What you gave "
            "is kept and credited. Please write to us."
        ),
        "longest": LONGEST_REASON,
        "may_renew_link": may_change and may_have_link(enrollment),
        "may_send_link": may_change and settings.SENDS_MAIL and confirmed_address_of(enrollment) is not None,
    }


def _tested(enrollment: Enrollment, rights: frozenset[Right], closed: frozenset[str]) -> dict[str, Any]:
    """Return failed hidden checks and test attempts, for members who may know the accepted answers."""
    if Right.CHANGE not in rights:
        return {"failed": [], "more_failed": 0, "attempts": []}
    failed, more_failed = failed_checks(enrollment, closed=closed)
    attempts = attempts_of(enrollment, closed=closed)
    return {"failed": failed, "more_failed": more_failed, "attempts": attempts}


def _results(votes: Sequence[Vote], rights: frozenset[Right], closed: frozenset[str]) -> dict[int, bool]:
    """Return by vote whether it passed its hidden check, except for checks that are ``closed``.

    Only members who may know the accepted answers get any: a passed answer reveals them.
    """
    if Right.CHANGE not in rights:
        return {}
    found = CheckResult.objects.filter(vote__in=votes).exclude(key__story__text_hash__in=list(closed))
    return dict(found.values_list("vote", "passed"))


def _person(
    study: Study, document: dict[str, Any], own: dict[str, Any], closed: frozenset[str]
) -> dict[str, Any]:
    """Return the participant's figures, with each flag's evidence as (story id, address).

    Checks that are closed to the reader are left out: a failed one reveals the accepted answers.
    """
    everybody = document["everybody"]
    row = tables.person_row(study, everybody["median_seconds"], own, everybody=everybody["options"])
    secret = ids_of_checks(study, closed)
    for flag in row["flagged"]:
        named = [story_id for story_id in flag["evidence"] if story_id not in secret]
        flag["stories"] = [(story_id, story_address(study, story_id)) for story_id in named]
    return row
