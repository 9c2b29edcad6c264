"""The work itself: consent, instructions, story after story. Every address carries a visit token."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRedirect

from annotation import actions, queries, rules
from annotation.access import annotator_page, is_given_up, keep_session, page_url, session_id, work_session
from annotation.errors import NotAdmitted, NotTheirs, WrongState
from annotation.forms import error_summary, instructions_context, question_fields
from annotation.models import Assignment, ConsentText, Enrollment, Vote
from annotation.protocols.base import IncompleteForm
from annotation.refusals import refusal_page
from annotation.rules import Reason, Refusal
from annotation.views.common import continue_link, message, number, page, progress, receipt_context

STORIES_EXPLAINED = 3
"""On a person's first stories, what the answers mean stands open beside the questions."""

PAGE_OF_REASON = {
    Reason.INVITED: "annotation:consent",
    Reason.CONSENT_CHANGED: "annotation:consent",
    Reason.DECLINED: "annotation:declined",
    Reason.NOT_QUALIFIED_YET: "qualification:intro",
    Reason.FAILED: "qualification:result",
    Reason.SESSION_DONE: "link:hand_in",
    Reason.SESSION_SETTLED: "link:hand_in",
}
"""Refusals that are really a step the person has still to take, and the page where they take it."""

UNDECIDED = (Enrollment.State.INVITED, Enrollment.State.DECLINED)
"""States of people who have not agreed, or are asked once more."""

WORTH_ANOTHER_LOOK = (Reason.NOTHING_FREE, Reason.STUDY_PAUSED, Reason.PROTOCOL_CHANGED)
"""Refusals that may be over at any moment."""


@require_safe
@annotator_page
def home(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Wherever the person belongs now."""
    if is_given_up(request):
        return redirect(page_url(request, "link:hand_in"))
    if queries.is_in_test(enrollment):
        return redirect(page_url(request, "qualification:intro"))
    reason = rules.may_be_served(actions.standing(enrollment))
    target = PAGE_OF_REASON.get(reason, "annotation:stories") if reason else "annotation:stories"
    return redirect(page_url(request, target))


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def consent(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """The consent text, and the person's answer to it."""
    if is_given_up(request):
        return redirect(page_url(request, "link:hand_in"))
    version = number(request.POST.get("version")) or enrollment.study.consent_version
    text = get_object_or_404(ConsentText, study=enrollment.study, version=version)
    kept_out = queries.kept_out(enrollment)
    if kept_out:
        return _not_for_them(request, enrollment, kept_out)
    if request.method != "POST":
        if enrollment.consent_id == text.pk and enrollment.state not in UNDECIDED:
            return redirect(page_url(request, "annotation:home"))
        return page(
            request, enrollment, "annotation/consent.html", {"consent": text, "action_url": request.path}
        )
    try:
        if request.POST.get("decision") == "agree":
            actions.give_consent(enrollment=enrollment, consent=text, now=timezone.now())
            return redirect(page_url(request, "annotation:instructions"))
        if enrollment.state not in UNDECIDED:  # in already, and does not agree to a newer text
            return redirect(page_url(request, "annotation:withdraw"))
        actions.decline_consent(enrollment=enrollment, now=timezone.now())
        return redirect(page_url(request, "annotation:declined"))
    except NotAdmitted as error:
        return _not_for_them(request, enrollment, error.reason)
    except WrongState as error:
        return message(request, enrollment, _("Please look again"), str(error), status=409)


@require_safe
@annotator_page
def declined(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """A friendly end, with the way back."""
    if enrollment.state != Enrollment.State.DECLINED:
        return redirect(page_url(request, "annotation:home"))
    context = {"reconsider_url": page_url(request, "annotation:consent")}
    return page(request, enrollment, "annotation/declined.html", context)


@require_safe
@annotator_page
def instructions(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """The instructions on a page of their own."""
    context = instructions_context(enrollment.study.protocol) | {
        "continue_url": page_url(request, "annotation:home"),
        "continue_label": _("Continue"),
    }
    return page(request, enrollment, "annotation/instructions.html", context)


@require_http_methods(["GET", "POST"])  # looking takes a story, so a HEAD does not look
@annotator_page
def stories(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """The story to judge; a submitted one is stored first and the next comes in the same response."""
    if request.method != "POST":
        outcome = actions.assign_next_story(
            enrollment=enrollment, now=timezone.now(), session_id=session_id(request)
        )
        return _served(request, enrollment, outcome, _receipt_named_in(request, enrollment))
    try:
        return _submitted(request, enrollment)
    except IncompleteForm as incomplete:
        return _story_again(request, enrollment, incomplete)
    except NotTheirs as error:
        unknown = message(request, enrollment, _("Nothing was saved"), str(error), status=404)
        unknown["X-Unknown-Assignment"] = str(number(request.POST.get("assignment")))
        return unknown


def _submitted(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Store the submitted answers, and show the next story. Raises what ``actions.record_vote`` does."""
    form: dict[str, Any] = {
        "assignment_id": number(request.POST.get("assignment")),
        "enrollment": enrollment,
        "submitted": request.POST.dict(),
        "language": get_language() or "en",
        "now": timezone.now(),
        "session_id": session_id(request),
    }
    if not request.htmx:  # type: ignore[attr-defined]
        receipt = actions.record_vote(**form)
        differs = "&differs=1" if receipt.differs else ""
        return redirect(f"{request.path}?receipt={receipt.vote.pk}{differs}")
    receipt, outcome = actions.record_vote_and_assign_next(**form)
    enrollment = receipt.vote.assignment.enrollment
    keep_session(request, receipt.vote.assignment.session)
    response = _served(request, enrollment, outcome, receipt_context(receipt.vote, differs=receipt.differs))
    response["X-Stored-Assignment"] = str(receipt.vote.assignment_id)
    return response


@require_safe
@annotator_page
def done(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Thanks, and how to come back. Whoever has not come as far as the stories is brought on."""
    if enrollment.state in rules.ON_THE_WAY:
        return redirect(page_url(request, "annotation:home"))
    session = work_session(request)
    context = {
        "progress": progress(enrollment, session),
        "work": None if session else queries.work_so_far(enrollment),
        "actions": [continue_link(request)],
    }
    return page(request, enrollment, "annotation/done.html", context)


def _served(
    request: HttpRequest,
    enrollment: Enrollment,
    outcome: Assignment | Refusal,
    receipt: dict[str, Any] | None,
) -> HttpResponse:
    """The story the person has been given, or why they have none, as they stand by now."""
    if isinstance(outcome, Assignment):
        return _story(request, enrollment, outcome, receipt=receipt)
    enrollment.refresh_from_db(fields=["state", "suspension_reason", "stories_submitted"])
    target = PAGE_OF_REASON.get(outcome.reason)
    if queries.is_in_test(enrollment):
        target = PAGE_OF_REASON[Reason.NOT_QUALIFIED_YET]
    if target:
        url = page_url(request, target)
        return HttpResponseClientRedirect(url) if request.htmx else redirect(url)  # type: ignore[attr-defined]
    return _waiting(request, enrollment, outcome, receipt)


def _story_again(request: HttpRequest, enrollment: Enrollment, incomplete: IncompleteForm) -> HttpResponse:
    """The same story with what was chosen so far and what is missing; nothing has been stored."""
    assignment = Assignment.objects.select_related("story").get(
        pk=number(request.POST.get("assignment")), enrollment=enrollment
    )
    return _story(request, enrollment, assignment, errors=incomplete.errors, status=422)


def _story(
    request: HttpRequest,
    enrollment: Enrollment,
    assignment: Assignment,
    *,
    receipt: dict[str, Any] | None = None,
    errors: dict[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    protocol = enrollment.study.protocol
    item = protocol.parse(assignment.story.content)
    context = {
        "assignment": assignment,
        "story": {
            "fields": question_fields(
                protocol, item, answered=request.POST.dict() if errors else {}, errors=errors
            )
        },
        "errors": error_summary(protocol, errors or {}),
        "receipt": receipt,
        "progress": progress(enrollment, work_session(request)),
        "warning": queries.warning(enrollment),
        "explain": enrollment.stories_submitted < STORIES_EXPLAINED,
        "pause_minutes": rules.pause_minutes(
            enrollment.working_since, enrollment.last_submitted_at, timezone.now()
        ),
        "form_action": page_url(request, "annotation:stories"),
        "instructions_url": page_url(request, "annotation:instructions"),
        "stop_url": page_url(request, "annotation:done"),
    }
    if not request.htmx:  # type: ignore[attr-defined]
        context |= instructions_context(protocol)
    return page(request, enrollment, "annotation/story.html", context, status=status)


def _not_for_them(request: HttpRequest, enrollment: Enrollment, reason: Reason) -> HttpResponse:
    """A plain page for somebody whom the study is not for."""
    context = {"refusal": refusal_page(Refusal(reason))}
    return page(request, enrollment, "annotation/not_for_them.html", context, status=403)


def _waiting(
    request: HttpRequest, enrollment: Enrollment, refusal: Refusal, receipt: dict[str, Any] | None
) -> HttpResponse:
    links = []
    session = work_session(request)
    if refusal.reason in WORTH_ANOTHER_LOOK:
        links.append(continue_link(request, _("Look again")))
    if session.stories_submitted if session else enrollment.stories_submitted:
        links.append({"url": page_url(request, "annotation:answers"), "label": _("Look at your answers")})
    context = {
        "refusal": refusal_page(refusal),
        "receipt": receipt,
        "warning": queries.warning(enrollment),
        "instructions_url": page_url(request, "annotation:instructions"),
        "progress": progress(enrollment, session),
        "work": None if session else queries.work_so_far(enrollment),
        "actions": links,
        "quiet": refusal.reason not in WORTH_ANOTHER_LOOK,
    }
    return page(request, enrollment, "annotation/waiting.html", context)


def _receipt_named_in(request: HttpRequest, enrollment: Enrollment) -> dict[str, Any] | None:
    """The receipt named in the address after a form was sent without JavaScript."""
    vote = Vote.objects.filter(
        pk=number(request.GET.get("receipt")), assignment__enrollment=enrollment
    ).first()
    return receipt_context(vote, differs=request.GET.get("differs") == "1") if vote else None
