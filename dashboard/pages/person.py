"""One person of a study: their figures, the evidence of each flag, and their newest answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.models import User
from annotation.models import CheckResult, Study, Vote
from annotation.queries import RECENT, choices_in_words, recent_votes
from annotation.rights import Right, rights_in, signed_in, study_page
from dashboard.figures import kept, shown
from dashboard.queries import enrollment_called
from dashboard.recruiting.earned import earned_by
from dashboard.recruiting.groups import memberships_of
from qualification.experts import closed_texts


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
    page = _page_number(request)
    votes, more = recent_votes(enrollment, page=page)
    results = _results(votes, signed_in(request))
    context = {
        "study": study,
        "pseudonym": pseudonym,
        "enrollment": enrollment,
        "may_exclude": Right.CHANGE in rights_in(request.user, study),
        "memberships": memberships_of(enrollment),
        "earned": earned_by(enrollment),
        "figures": found,
        "underway": underway,
        "everybody": document["everybody"] if document else None,
        "person": _person(study, document, own) if document and own else None,
        "answers": [_answer(study, vote, results.get(vote.pk)) for vote in votes],
        "page": page,
        "more": more,
        "first": RECENT * (page - 1) + 1,
    }
    return render(request, "dashboard/person.html", context)


def _results(votes: Sequence[Vote], reader: User) -> dict[int, bool]:
    """Which of these votes answer a hidden check, and whether they passed; but for what is closed."""
    found = CheckResult.objects.filter(vote__in=votes).values_list("vote", "passed", "key__story__text_hash")
    closed = closed_texts(reader) if found else frozenset()
    return {vote: passed for vote, passed, text in found if text not in closed}


def story_address(study: Study, story_id: str) -> str:
    """The researchers' page about a story."""
    try:
        return reverse("dashboard:story", args=[study.slug, story_id])
    except NoReverseMatch:
        return ""


def _person(study: Study, document: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The person's figures, with the stories that are evidence as (story id, address)."""
    row = shown.person_row(study, document["everybody"]["median_seconds"], own)
    for flag in row["flagged"]:
        flag["stories"] = [(story_id, story_address(study, story_id)) for story_id in flag["evidence"]]
    return row


def _page_number(request: HttpRequest) -> int:
    asked = request.GET.get("page", "")
    return max(1, int(asked)) if asked.isdecimal() and len(asked) < 7 else 1


def _answer(study: Study, vote: Vote, passed: bool | None) -> dict[str, Any]:
    """``passed``: the hidden check that the vote answers; None for any other story."""
    story_id = vote.assignment.story.story_id
    return {
        "vote": vote,
        "story_id": story_id,
        "address": story_address(study, story_id),
        "state": vote.assignment.get_state_display(),
        "words": choices_in_words(study.protocol, vote),
        "passed": passed,
    }
