"""Pages of the work itself: consent, instructions, stories. Every address has a visit token."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import get_language, gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from accounts.rate_limits import LEASE_RENEWALS, count_try
from annotation import actions, queries, rules, working_time
from annotation.access import (
    annotator_page,
    is_given_up,
    keep_session,
    page_url,
    rate_limited,
    session_id,
    work_session,
)
from annotation.errors import NotAdmitted, NotTheirs, ReasonMissing, WrongState
from annotation.forms import form_context, instructions_context, unanswered_questions
from annotation.intake import QUESTIONS
from annotation.models import Assignment, ConsentText, Enrollment, Skip, Vote
from annotation.numbers import number_in
from annotation.protocols.base import IncompleteForm
from annotation.refusals import refusal_page
from annotation.requests import extended
from annotation.rules import Reason, Refusal
from annotation.views.common import (
    COMMENT,
    back_from,
    closing_url,
    continue_link,
    dropping_draft,
    go,
    message,
    page,
    progress,
    receipt_context,
    skip_receipt,
)
from tomannot import clock

STORIES_EXPLAINED = 3
"""On this many first stories, the explanations of the answers are open."""

SHORTEST_BEAT = 20
"""Seconds between two renewals of a lease by an open page; else a third of the lease."""

PAGE_OF_REASON = {
    Reason.INVITED: "annotation:consent",
    Reason.CONSENT_CHANGED: "annotation:consent",
    Reason.DECLINED: "annotation:declined",
    Reason.NOT_QUALIFIED_YET: "qualification:intro",
    Reason.FAILED: "qualification:result",
    Reason.SESSION_DONE: "link:hand_in",
    Reason.SESSION_SETTLED: "link:hand_in",
}
"""Refusals that ask the annotator for a step, with the page of that step."""


@require_safe
@annotator_page
def home(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Redirect to the page for the annotator's next step."""
    if is_given_up(request):
        return redirect(page_url(request, "link:hand_in"))
    if queries.is_in_test(enrollment):
        return redirect(page_url(request, "qualification:intro"))
    reason = queries.serving_refusal(enrollment)
    target = PAGE_OF_REASON.get(reason, "annotation:stories") if reason else "annotation:stories"
    return redirect(page_url(request, target))


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def consent(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Show the consent text, and record the annotator's decision."""
    if is_given_up(request):
        return redirect(page_url(request, "link:hand_in"))
    version = number_in(request.POST.get("version")) or enrollment.study.consent_version
    text = get_object_or_404(ConsentText, study=enrollment.study, version=version)
    refusal = queries.joining_refusal(enrollment)
    if refusal:
        return _not_for_them(request, enrollment, refusal)
    if request.method != "POST":
        if enrollment.consent_id == text.pk and enrollment.state not in rules.UNDECIDED:
            return redirect(page_url(request, "annotation:home"))
        return page(request, enrollment, "annotation/consent.html", {"consent": text})
    try:
        if request.POST.get("decision") == "agree":
            actions.give_consent(enrollment=enrollment, consent=text, now=clock.now())
            asks = enrollment.study.asked_of_people(at_end=False)
            return redirect(page_url(request, f"annotation:{'intake' if asks else 'instructions'}"))
        if enrollment.state not in rules.UNDECIDED:  # in already, and does not agree to a newer text
            return redirect(page_url(request, "annotation:withdraw"))
        actions.decline_consent(enrollment=enrollment, now=clock.now())
        return redirect(page_url(request, "annotation:declined"))
    except NotAdmitted as error:
        return _not_for_them(request, enrollment, error.reason)
    except WrongState as error:
        return message(request, enrollment, _("Please look again"), str(error), status=409)


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def intake(request: HttpRequest, enrollment: Enrollment, *, at_end: bool = False) -> HttpResponse:
    """Ask the study's questions about the annotator, if it has any; those before the work only once."""
    asked = queries.asked_of(enrollment, at_end=at_end)
    answered = not at_end and enrollment.intake_answers.filter(question__in=asked).exists()
    if request.method == "POST":
        actions.answer_intake(
            enrollment=enrollment, given=request.POST.dict(), now=clock.now(), at_end=at_end
        )
    elif asked and not answered:
        context = {"asked": {name: QUESTIONS[name] for name in asked}, "at_end": at_end}
        return page(request, enrollment, "annotation/intake.html", context)
    return redirect(back_from(request) if at_end else page_url(request, "annotation:instructions"))


@require_safe
@annotator_page
def declined(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Thank an annotator who declined, with a link back."""
    if enrollment.state != Enrollment.State.DECLINED:
        return redirect(page_url(request, "annotation:home"))
    context = {"reconsider_url": page_url(request, "annotation:consent")}
    return page(request, enrollment, "annotation/declined.html", context)


@require_safe
@annotator_page
def instructions(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Show the instructions."""
    study = enrollment.study
    context = instructions_context(study.protocol, study.instructions) | {
        "continue_url": page_url(request, "annotation:home")
    }
    return page(request, enrollment, "annotation/instructions.html", context)


@require_http_methods(["GET", "POST"])  # looking takes a story, so a HEAD does not look
@annotator_page
def stories(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Show the story to judge; store a submitted one first, and return the next in the same response."""
    if request.method != "POST":
        outcome = actions.assign_next_story(
            enrollment=enrollment, now=clock.now(), session_id=session_id(request)
        )
        return _served(request, enrollment, outcome, _receipt_named_in(request, enrollment))
    try:
        return _submitted(request, enrollment)
    except IncompleteForm as incomplete:  # nothing was stored
        theirs = Assignment.objects.select_related("story").filter(enrollment=enrollment)
        again = theirs.get(pk=number_in(request.POST.get("assignment")))
        return _story(request, enrollment, again, errors=incomplete.errors)
    except NotTheirs as error:
        unknown = message(request, enrollment, _("Nothing was saved"), str(error), status=404)
        return dropping_draft(unknown, str(number_in(request.POST.get("assignment"))), stored=False)


def _submitted(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Store the submitted answers, and show the next story. Raise like ``actions.record_vote``."""
    form: dict[str, Any] = {
        "assignment_id": number_in(request.POST.get("assignment")),
        "enrollment": enrollment,
        "submitted": request.POST.dict(),
        "language": get_language() or "en",
        "now": clock.now(),
        "session_id": session_id(request),
        "comment": request.POST.get(COMMENT, ""),
    }
    if not extended(request).htmx:
        receipt = actions.record_vote(**form)
        differs = "&differs=1" if receipt.differs else ""
        return redirect(f"{request.path}?receipt={receipt.vote.pk}{differs}")
    receipt, outcome = actions.record_vote_and_assign_next(**form)
    enrollment = receipt.vote.assignment.enrollment
    keep_session(request, receipt.vote.assignment.session)
    draft = str(receipt.vote.assignment_id)
    if request.POST.get("instructions", "0") != str(enrollment.study.instructions_id or 0):
        url = page_url(request, "annotation:stories")  # brings the new instructions, too
        return dropping_draft(HttpResponseClientRedirect(f"{url}?receipt={receipt.vote.pk}"), draft)
    response = _served(request, enrollment, outcome, receipt_context(receipt.vote, differs=receipt.differs))
    return dropping_draft(response, draft)


@require_POST
@rate_limited
@annotator_page
def renew(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Keep the story of an open page reserved (204), unless its lease is over or was long enough (409)."""
    now = clock.now()
    count_try(LEASE_RENEWALS, str(enrollment.pk), now=now)
    held = number_in(request.POST.get("held"))
    renewed = actions.renew_lease(enrollment=enrollment, assignment_id=held, now=now)
    return HttpResponse(status=204 if renewed else 409)


@require_POST
@annotator_page
def stop(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Free the story of the page at once, and show how the visit ends."""
    actions.give_back_story(enrollment=enrollment, assignment_id=number_in(request.POST.get("held")))
    return redirect(page_url(request, "annotation:done"))


@require_POST
@annotator_page
def skip(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Skip a story, and go on to the next."""
    assignment_id = number_in(request.POST.get("assignment"))
    try:
        actions.skip_story(
            assignment_id=assignment_id,
            enrollment=enrollment,
            reason=request.POST.get("reason", ""),
            words=request.POST.get("words", ""),
            language=get_language() or "en",
            now=clock.now(),
            session_id=session_id(request),
        )
    except ReasonMissing as error:
        return message(request, enrollment, _("Nothing was skipped"), str(error), status=422)
    except NotTheirs as error:
        unknown = message(request, enrollment, _("Nothing was saved"), str(error), status=404)
        return dropping_draft(unknown, f"skip.{assignment_id}", stored=False)
    url = f"{page_url(request, 'annotation:stories')}?skipped={assignment_id}"
    return dropping_draft(go(request, url), f"skip.{assignment_id}")


@require_safe
@annotator_page
def done(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Thank the annotator, and say how to come back. Redirect those with steps left to take."""
    if enrollment.state in rules.ON_THE_WAY:
        return redirect(page_url(request, "annotation:home"))
    if queries.owes_closing_answer(enrollment):
        return redirect(closing_url(request))
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
    if isinstance(outcome, Assignment):
        return _story(request, enrollment, outcome, receipt=receipt)
    enrollment.refresh_from_db(fields=["state", "suspension_reason", "stories_submitted"])
    target = PAGE_OF_REASON.get(outcome.reason)
    if queries.is_in_test(enrollment):
        target = PAGE_OF_REASON[Reason.NOT_QUALIFIED_YET]
    if outcome.reason in (*rules.DONE, Reason.SESSION_DONE) and queries.owes_closing_answer(enrollment):
        return go(request, closing_url(request))
    if target:
        return go(request, page_url(request, target))
    return _waiting(request, enrollment, outcome, receipt)


def _story(
    request: HttpRequest,
    enrollment: Enrollment,
    assignment: Assignment,
    *,
    receipt: dict[str, Any] | None = None,
    errors: dict[str, str] | None = None,
) -> HttpResponse:
    study, seed = enrollment.study, assignment.option_seed
    protocol, explain = study.protocol, enrollment.stories_submitted < STORIES_EXPLAINED
    item, language = protocol.parse(assignment.story.content), study.story_language
    form: dict[str, Any] = {"errors": []}
    if errors:
        form = form_context(protocol, item, answered=request.POST.dict(), errors=errors, option_seed=seed)
    else:
        form["questions"] = unanswered_questions(
            protocol, item, option_seed=seed, story_language=language, explain=explain
        )
    context = form | {
        "assignment_id": str(assignment.pk),
        "comment": request.POST.get(COMMENT, "") if errors else "",
        "skip_url": page_url(request, "annotation:skip"),
        "skip_reasons": Skip.Reason.choices,
        "receipt": receipt,
        "progress": progress(enrollment, work_session(request)),
        "warning": queries.warning(enrollment),
        "explain": explain,
        "read_before": protocol.revisable and queries.has_read_before(assignment),
        "pause_minutes": working_time.pause_minutes(
            enrollment.working_since, enrollment.last_submitted_at, clock.now()
        ),
        "form_action": page_url(request, "annotation:stories"),
        "instructions_url": page_url(request, "annotation:instructions"),
        "change_last_url": page_url(request, "annotation:change_last"),
        "renew_url": page_url(request, "annotation:renew"),
        "renew_seconds": max(SHORTEST_BEAT, int(study.lease.total_seconds() / 3)),
        "stop_url": page_url(request, "annotation:stop"),
    }
    if not extended(request).htmx:
        context |= instructions_context(protocol, study.instructions)
    return page(request, enrollment, "annotation/story.html", context, status=422 if errors else 200)


def _not_for_them(request: HttpRequest, enrollment: Enrollment, reason: Reason) -> HttpResponse:
    context = {"refusal": refusal_page(Refusal(reason))}
    return page(request, enrollment, "annotation/not_for_them.html", context, status=403)


def _waiting(
    request: HttpRequest, enrollment: Enrollment, refusal: Refusal, receipt: dict[str, Any] | None
) -> HttpResponse:
    links = []
    session = work_session(request)
    shown = refusal_page(refusal)
    if shown.sign == "wait":
        links.append(continue_link(request, _("Look again")))
    if session.stories_submitted if session else enrollment.stories_submitted:
        links.append({"url": page_url(request, "annotation:answers"), "label": _("See your answers")})
    context = {
        "refusal": shown,
        "receipt": receipt,
        "warning": queries.warning(enrollment),
        "instructions_url": page_url(request, "annotation:instructions"),
        "progress": progress(enrollment, session),
        "work": None if session else queries.work_so_far(enrollment),
        "actions": links,
        "quiet": shown.sign != "wait",
    }
    return page(request, enrollment, "annotation/waiting.html", context)


def _receipt_named_in(request: HttpRequest, enrollment: Enrollment) -> dict[str, Any] | None:
    """Return the receipt named in the address, after a skip, or a form that was sent without JavaScript."""
    skipped = Assignment.objects.filter(pk=number_in(request.GET.get("skipped")), enrollment=enrollment)
    if assignment := skipped.select_related("skip").first():
        return skip_receipt(assignment)
    vote = Vote.objects.filter(
        pk=number_in(request.GET.get("receipt")), assignment__enrollment=enrollment
    ).first()
    return receipt_context(vote, differs=request.GET.get("differs") == "1") if vote else None
