"""A person's own pages: what they have answered, changing it, their place here, and leaving."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation import actions, queries
from annotation.access import (
    annotator_page,
    is_claimed,
    known_person_page,
    only_claimed,
    page_url,
    session_id,
    work_session,
)
from annotation.errors import CannotChange
from annotation.forms import answered_fields, error_summary, instructions_context, question_fields
from annotation.models import Assignment, Enrollment, WorkSession
from annotation.protocols.base import IncompleteForm
from annotation.refusals import no_change_text
from annotation.views.common import continue_link, message, number, page, progress, receipt_context


@require_safe
@annotator_page
def answers(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """The person's answers, page by page, each with the way to change it or why that is over."""
    if _is_over_for_claimed(request):
        return only_claimed(request, enrollment)
    protocol = enrollment.study.protocol
    which = min(number(request.GET.get("page")) or 1, enrollment.study.story_cap)
    votes, more = queries.recent_votes(enrollment, page=which, session_id=_only_in(request))
    if which > 1 and not votes:
        return redirect(request.path)
    now = timezone.now()
    context = {
        "changed": _was_changed(request, enrollment, number(request.GET.get("changed"))),
        "answers": [
            {
                "vote": vote,
                "parts": protocol.summary(protocol.parse(vote.assignment.story.content)),
                "choices": queries.choices_in_words(protocol, vote),
                "receipt": receipt_context(vote),
                "change_until": vote.first_submitted_at + timedelta(hours=enrollment.study.change_hours),
                "no_change": no_change_text(actions.changing(vote, enrollment, now=now)),
                "change_url": page_url(request, "annotation:change", assignment_id=vote.assignment_id),
            }
            for vote in votes
        ],
        "newer": f"?page={which - 1}" if which > 1 else "",
        "older": f"?page={which + 1}" if more else "",
        "actions": [continue_link(request, _("Back to the stories"))],
    }
    return page(request, enrollment, "annotation/answers.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def change(request: HttpRequest, enrollment: Enrollment, assignment_id: int) -> HttpResponse:
    """The form of one answered story again, with the answers as they are."""
    if _is_over_for_claimed(request):
        return only_claimed(request, enrollment)
    vote = queries.newest_vote(enrollment, assignment_id, session_id=_only_in(request))
    if vote is None:
        text = _("There is no such answer of yours.")
        return message(request, enrollment, _("Nothing to change"), text, status=404)
    now = timezone.now()
    try:
        if request.method != "POST":
            actions.check_changeable(vote, enrollment, now=now)
            return _form(request, enrollment, vote.assignment, answered_fields(queries.choices(vote)))
        actions.change_vote(
            assignment_id=assignment_id,
            enrollment=enrollment,
            submitted=request.POST.dict(),
            language=get_language() or "en",
            now=now,
        )
    except IncompleteForm as incomplete:
        return _form(request, enrollment, vote.assignment, request.POST.dict(), incomplete.errors)
    except CannotChange as error:
        text = str(no_change_text(error.reason))
        return message(request, enrollment, _("This answer stays as it is"), text, status=409)
    return redirect(f"{page_url(request, 'annotation:answers')}?changed={assignment_id}")


@require_safe
@known_person_page
def own(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Who the person is here, what they have done, and what they can do about it."""
    session = work_session(request)
    context = {
        "work": None if session else queries.work_so_far(enrollment),
        "progress": progress(enrollment, session),
        "over": enrollment.state != Enrollment.State.QUALIFIED,
        "sends_mail": settings.SENDS_MAIL and session is None,
        "email_url": page_url(request, "link:address"),
        "answers_url": page_url(request, "annotation:answers"),
        "instructions_url": page_url(request, "annotation:instructions"),
        "withdraw_url": page_url(request, "annotation:withdraw"),
        "forget_url": page_url(request, "annotation:forget"),
        "actions": [continue_link(request, _("Back to the stories"))],
    }
    return page(request, enrollment, "annotation/own.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@known_person_page
def withdraw(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Leave the study: what that means, and the button."""
    if request.method == "POST":
        actions.withdraw(enrollment=enrollment, now=timezone.now())
        return redirect(page_url(request, "annotation:stories"))
    return _leaving(request, enrollment, "annotation/withdraw.html")


@require_http_methods(["GET", "HEAD", "POST"])
@known_person_page
def forget(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Be forgotten: what is erased, what stays, and the button."""
    if request.method == "POST":
        actions.forget(annotator=enrollment.annotator, now=timezone.now())
        return redirect(page_url(request, "annotation:stories"))
    return _leaving(request, enrollment, "annotation/forget.html")


def _only_in(request: HttpRequest) -> int | None:
    """The work session to which the answers on show are limited: its own, for who is only claimed to be."""
    return session_id(request) if is_claimed(request) else None


def _is_over_for_claimed(request: HttpRequest) -> bool:
    """Whether answers are closed: whoever types a finished visit's ids neither reads nor changes them."""
    session = work_session(request)
    return is_claimed(request) and session is not None and session.state != WorkSession.State.OPEN


def _was_changed(request: HttpRequest, enrollment: Enrollment, assignment_id: int) -> bool:
    """Whether the person changed this answer; what an address says about it is not believed."""
    only = _only_in(request)
    vote = queries.newest_vote(enrollment, assignment_id, session_id=only) if assignment_id else None
    return vote is not None and vote.revision > 1


def _leaving(request: HttpRequest, enrollment: Enrollment, template: str) -> HttpResponse:
    context: dict[str, Any] = {"form_action": request.path, "progress": progress(enrollment)}
    return page(request, enrollment, template, context)


def _form(
    request: HttpRequest,
    enrollment: Enrollment,
    assignment: Assignment,
    answered: dict[str, str],
    errors: dict[str, str] | None = None,
) -> HttpResponse:
    protocol = enrollment.study.protocol
    item = protocol.parse(assignment.story.content)
    context = {
        "story": {"fields": question_fields(protocol, item, answered=answered, errors=errors)},
        "errors": error_summary(protocol, errors or {}),
        "form_action": request.path,
        "back_url": page_url(request, "annotation:answers"),
    } | instructions_context(protocol)
    return page(request, enrollment, "annotation/change.html", context, status=422 if errors else 200)
