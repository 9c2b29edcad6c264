"""One person of a study: their figures, the evidence of each flag, and their newest answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation import rules
from annotation.actions.exclusions import LONGEST_REASON, standing_exclusion
from annotation.models import CheckResult, Enrollment, Study, Vote
from annotation.queries import recent_votes
from annotation.rights import Right, rights_in, signed_in, study_page
from dashboard.attempts import attempts_of
from dashboard.figures import kept, shown
from dashboard.persons import (
    NARROWED,
    answer_rows,
    failed_checks,
    ids_of_checks,
    may_have_link,
    narrowed,
    story_address,
    suspension_of,
)
from dashboard.queries import enrollment_called
from dashboard.recruiting.earned import earned_by
from dashboard.recruiting.groups import memberships_of
from qualification.experts import closed_texts
from recruitment.queries import confirmed_address_of

State = Enrollment.State


@require_safe
@study_page()
def person(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponse:
    """One person's figures, the evidence of each flag, and their newest answers."""
    enrollment = enrollment_called(study, pseudonym)
    if enrollment is None:
        raise Http404("Nobody in this study has this pseudonym.")
    found, underway = kept.refreshed(study, now=timezone.now())
    document = found.document if found else None
    own = kept.person(study, pseudonym)
    closed = closed_texts(signed_in(request))
    rights = rights_in(request.user, study)
    context = {
        "study": study,
        "pseudonym": pseudonym,
        "enrollment": enrollment,
        **_for_whom(enrollment, rights, closed),
        "memberships": memberships_of(enrollment),
        "earned": earned_by(enrollment),
        "figures": found,
        "underway": underway,
        "everybody": document["everybody"] if document else None,
        "person": _person(study, document, own, closed) if document and own else None,
        "questions": [str(question.title) for question in study.protocol.questions],
        **_answers(request, enrollment, rights, closed),
    }
    return render(request, "dashboard/person.html", context)


def _answers(
    request: HttpRequest, enrollment: Enrollment, rights: frozenset[Right], closed: frozenset[str]
) -> dict[str, Any]:
    """A page of the answers that are asked for, and what can be asked for by who reads."""
    may_change = Right.CHANGE in rights
    choices = {to: label for to, label in NARROWED.items() if to != "checks" or may_change}
    page, only = _page_number(request), request.GET.get("only", "")
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


def _for_whom(enrollment: Enrollment, rights: frozenset[Right], closed: frozenset[str]) -> dict[str, Any]:
    """What depends on who reads."""
    return _standing(enrollment, rights) | _tested(enrollment, rights, closed)


def _standing(enrollment: Enrollment, rights: frozenset[Right]) -> dict[str, Any]:
    """Where the person stands in the study, and what the reader can do about it."""
    may_change = Right.CHANGE in rights
    return {
        "may_exclude": may_change,
        "may_review": Right.REVIEW in rights,
        "standing": standing_exclusion(enrollment),
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
    """The hidden checks they failed and their attempts at the test, for who may know what is accepted."""
    if Right.CHANGE not in rights:
        return {"failed": [], "more_failed": 0, "attempts": []}
    failed, more_failed = failed_checks(enrollment, closed=closed)
    attempts = attempts_of(enrollment, closed=closed)
    return {"failed": failed, "more_failed": more_failed, "attempts": attempts}


def _results(votes: Sequence[Vote], rights: frozenset[Right], closed: frozenset[str]) -> dict[int, bool]:
    """Which of these votes answer a hidden check, and whether they passed; but for what is closed.

    For who may know what is accepted: what passed is accepted, option by option.
    """
    if Right.CHANGE not in rights:
        return {}
    found = CheckResult.objects.filter(vote__in=votes).exclude(key__story__text_hash__in=list(closed))
    return dict(found.values_list("vote", "passed"))


def _person(
    study: Study, document: dict[str, Any], own: dict[str, Any], closed: frozenset[str]
) -> dict[str, Any]:
    """The person's figures, with the stories that are evidence as (story id, address).

    What is closed to the reader is left out: that somebody failed it tells what is accepted.
    """
    everybody = document["everybody"]
    row = shown.person_row(study, everybody["median_seconds"], own, everybody=everybody["options"])
    secret = ids_of_checks(study, closed)
    for flag in row["flagged"]:
        named = [story_id for story_id in flag["evidence"] if story_id not in secret]
        flag["stories"] = [(story_id, story_address(study, story_id)) for story_id in named]
    return row


def _page_number(request: HttpRequest) -> int:
    asked = request.GET.get("page", "")
    return max(1, int(asked)) if asked.isdecimal() and len(asked) < 7 else 1
