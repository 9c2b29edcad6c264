"""Pages of an annotator's own data: answers, changing them, status, and leaving the study."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import get_language, gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import actions, queries
from annotation.access import (
    annotator_page,
    is_claimed,
    known_person_page,
    page_url,
    refuse_claimed,
    session_id,
    work_session,
)
from annotation.actions.votes import comment_of
from annotation.errors import CannotChange
from annotation.forms import form_context, instructions_context
from annotation.models import Enrollment, Vote, WorkSession
from annotation.numbers import number_in
from annotation.protocols.base import IncompleteForm
from annotation.refusals import no_change_text
from annotation.views.common import (
    COMMENT,
    back_from,
    continue_link,
    dropping_draft,
    go,
    message,
    page,
    progress,
    receipt_context,
)
from tomannot import clock

TO_STORY = "?back=story"
"""Ends the address of a change that began on a story's page, and leads back to it."""


@require_safe
@annotator_page
def answers(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """List the annotator's answers, each with a link to change it or the reason why that is over."""
    if _is_over_for_claimed(request):
        return refuse_claimed(request, enrollment)
    protocol = enrollment.study.protocol
    which = min(number_in(request.GET.get("page")) or 1, enrollment.study.story_cap)
    votes, more = queries.recent_votes(enrollment, page=which, session_id=_only_in(request))
    if which > 1 and not votes:
        return redirect(request.path)
    now = clock.now()
    context = {
        "changed": _was_changed(request, enrollment, number_in(request.GET.get("changed"))),
        "answers": [
            {
                "vote": vote,
                "parts": protocol.summary(protocol.parse(vote.assignment.story.content)),
                "choices": queries.choices_in_words(protocol, vote),
                "comment": getattr(vote, "comment", None),
                "receipt": receipt_context(vote),
                "change_until": vote.first_submitted_at + timedelta(hours=enrollment.study.change_hours),
                "no_change": no_change_text(actions.change_refusal(vote, enrollment, now=now)),
                "change_url": page_url(request, "annotation:change", assignment_id=vote.assignment_id),
            }
            for vote in votes
        ],
        "newer": f"?page={which - 1}" if which > 1 else "",
        "older": f"?page={which + 1}" if more else "",
        "actions": [continue_link(request, _("Back to the stories"))],
    }
    return page(request, enrollment, "annotation/answers.html", context)


@require_safe
@annotator_page
def change_last(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Lead from a story to the form of the answer before it, and from there back to the story."""
    votes, _more = queries.recent_votes(enrollment, session_id=_only_in(request))
    if _is_over_for_claimed(request) or not votes:
        return redirect(page_url(request, "annotation:answers"))
    return redirect(page_url(request, "annotation:change", assignment_id=votes[0].assignment_id) + TO_STORY)


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def change(request: HttpRequest, enrollment: Enrollment, assignment_id: int) -> HttpResponse:
    """Show the form of an answered story with its answers, and store changes."""
    if _is_over_for_claimed(request):
        return refuse_claimed(request, enrollment)
    vote = queries.newest_vote(enrollment, assignment_id, session_id=_only_in(request))
    if vote is None:
        text = _("You have no answer at this address.")
        return message(request, enrollment, _("Nothing to change"), text, status=404)
    now, form = clock.now(), _form_of(request, vote)
    try:
        if request.method != "POST":
            actions.check_changeable(vote, enrollment, now=now)
            return _form(request, enrollment, form, queries.answered_fields(vote))
        changed = actions.change_vote(
            assignment_id=assignment_id,
            enrollment=enrollment,
            submitted=request.POST.dict(),
            language=get_language() or "en",
            now=now,
            revision=form["revision"],
            comment=request.POST.get(COMMENT),
        )
    except IncompleteForm as incomplete:
        return _form(request, enrollment, form, request.POST.dict(), incomplete.errors)
    except CannotChange as error:
        text = no_change_text(error.reason)
        refused = message(request, enrollment, _("This answer can’t be changed"), text, status=409)
        return dropping_draft(refused, form["draft"], stored=False)
    return dropping_draft(go(request, _after_change(request, changed)), form["draft"])


@require_safe
@known_person_page
def own(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Show the annotator's status, work and choices."""
    session = work_session(request)
    context = {
        "work": None if session else queries.work_so_far(enrollment),
        "progress": progress(enrollment, session),
        "over": enrollment.state != Enrollment.State.QUALIFIED,
        "sends_mail": settings.SENDS_MAIL and session is None,
        "email_url": page_url(request, "link:address"),
        "answers_url": page_url(request, "annotation:answers"),
        "closing_url": queries.asked_of(enrollment, at_end=True) and page_url(request, "annotation:closing"),
        "instructions_url": page_url(request, "annotation:instructions"),
        "withdraw_url": page_url(request, "annotation:withdraw"),
        "forget_url": page_url(request, "annotation:forget"),
        "actions": [continue_link(request, _("Back to the stories"))],
    }
    return page(request, enrollment, "annotation/own.html", context)


@require_POST
@annotator_page
def language(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Keep the annotator's choice of language, and return to the page where they made it."""
    actions.choose_language(enrollment=enrollment, language=request.POST.get("language", ""))
    return redirect(back_from(request))


@require_http_methods(["GET", "HEAD", "POST"])
@known_person_page
def withdraw(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Explain what leaving the study means, and leave it."""
    leave = partial(actions.withdraw, enrollment=enrollment)
    return _leaving(request, enrollment, "annotation/withdraw.html", leave)


@require_http_methods(["GET", "HEAD", "POST"])
@known_person_page
def forget(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Explain what deleting personal data means, and delete it."""
    leave = partial(actions.forget, annotator=enrollment.annotator)
    return _leaving(request, enrollment, "annotation/forget.html", leave)


def _form_of(request: HttpRequest, vote: Vote) -> dict[str, Any]:
    revision = number_in(request.POST.get("revision")) or vote.revision
    return {"vote": vote, "revision": revision, "draft": f"change.{vote.assignment_id}.{revision}"}


def _after_change(request: HttpRequest, changed: Vote) -> str:
    if _came_from_story(request):
        return f"{page_url(request, 'annotation:stories')}?receipt={changed.pk}"
    return f"{page_url(request, 'annotation:answers')}?changed={changed.assignment_id}"


def _only_in(request: HttpRequest) -> int | None:
    """Return the work session to show answers of, if the visitor's identity is only claimed."""
    return session_id(request) if is_claimed(request) else None


def _is_over_for_claimed(request: HttpRequest) -> bool:
    """Return True for a finished visit by a claimed identity: anybody could type its ids to read answers."""
    session = work_session(request)
    return is_claimed(request) and session is not None and session.state != WorkSession.State.OPEN


def _was_changed(request: HttpRequest, enrollment: Enrollment, assignment_id: int) -> bool:
    """Return True if the annotator changed this answer. Do not trust the address about it."""
    only = _only_in(request)
    vote = queries.newest_vote(enrollment, assignment_id, session_id=only) if assignment_id else None
    return vote is not None and vote.revision > 1


def _came_from_story(request: HttpRequest) -> bool:
    return request.GET.get("back") == "story"


def _leaving(
    request: HttpRequest, enrollment: Enrollment, template: str, leave: Callable[..., object]
) -> HttpResponse:
    if request.method == "POST":
        leave(now=clock.now())
        return redirect(page_url(request, "annotation:stories"))
    return page(request, enrollment, template, {"progress": progress(enrollment)})


def _form(
    request: HttpRequest,
    enrollment: Enrollment,
    form: dict[str, Any],
    answered: dict[str, str],
    errors: dict[str, str] | None = None,
) -> HttpResponse:
    vote, protocol = form["vote"], enrollment.study.protocol
    item, seed = protocol.parse(vote.assignment.story.content), vote.option_seed
    from_story = _came_from_story(request)
    context = form | {
        "comment": answered[COMMENT] if COMMENT in answered else comment_of(vote),
        "form_action": request.path + (TO_STORY if from_story else ""),
        "back_url": page_url(request, "annotation:stories" if from_story else "annotation:answers"),
    }
    context |= form_context(protocol, item, answered=answered, errors=errors, option_seed=seed)
    context |= instructions_context(protocol, enrollment.study.instructions)
    return page(request, enrollment, "annotation/change.html", context, status=422 if errors else 200)
