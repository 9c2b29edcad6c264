"""The pages of a qualification round, story by story, with a look back before handing in."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import annotator_page, is_given_up, page_url, session_id, work_session
from annotation.forms import error_summary, instructions_context, question_fields
from annotation.grading import IncompleteAttempt
from annotation.models import Enrollment
from annotation.protocols.base import IncompleteForm, field_name
from annotation.queries import work_so_far
from annotation.refusals import refusal_page
from annotation.rules import REASON_OF_CLOSED_DOOR, Refusal
from annotation.views.common import page
from qualification import actions
from qualification.errors import AlreadyHandedIn, NotTheirTurn, QualificationError
from qualification.models import Attempt, Round, RoundStory
from qualification.turns import turn_of

OUT = (Enrollment.State.SUSPENDED, Enrollment.State.WITHDRAWN)
"""States in which somebody in the middle of the test is out of it."""

BACK = "back"
"""In the address of a story that is looked at again from the review: after it, back there."""


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def intro(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """What the test is; starting it is a POST. Somebody in the middle of it goes on where they were."""
    if is_given_up(request) or enrollment.state != Enrollment.State.CONSENTED:
        return redirect(page_url(request, "annotation:home"))
    attempt = _current(request, enrollment)
    if request.method == "POST":
        try:
            attempt = actions.start_attempt(
                enrollment=enrollment, now=timezone.now(), session_id=session_id(request)
            )
        except QualificationError as error:
            return _message(request, enrollment, _("The test cannot start now"), str(error))
    if attempt:
        return redirect(_first_open_page(request, attempt))
    if enrollment.study.state in REASON_OF_CLOSED_DOOR:
        closed = refusal_page(Refusal(REASON_OF_CLOSED_DOOR[enrollment.study.state]))
        return _message(request, enrollment, str(closed.title), str(closed.text))
    turn = turn_of(enrollment, list(Round.objects.active_in(enrollment.study)))
    if turn is None:
        return _message(
            request, enrollment, _("Not quite ready"), _("The test is not ready yet. Please look in later.")
        )
    context = {
        "story_count": turn.round.round_stories.count(),
        "attempts_allowed": turn.left,
        "pays_on_fail": _pays_on_fail(enrollment, turn.round),
        "form_action": request.path,
    }
    return page(request, enrollment, "qualification/intro.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def story(request: HttpRequest, enrollment: Enrollment, position: int) -> HttpResponse:
    """One story of the test. Its answers are saved as they are sent and can be changed later."""
    attempt = _current(request, enrollment)
    if attempt is None:
        return _not_any_more(request, enrollment)
    entry = get_object_or_404(
        RoundStory.objects.select_related("story"), round=attempt.round, position=position
    )
    if request.method != "POST":
        return _story(request, enrollment, attempt, entry, answered=_answered(attempt, entry))
    try:
        actions.save_answers(
            attempt=attempt,
            round_story=entry,
            submitted=request.POST.dict(),
            session_id=session_id(request),
        )
    except IncompleteForm as incomplete:
        return _story(
            request, enrollment, attempt, entry, answered=request.POST.dict(), errors=incomplete.errors
        )
    except (AlreadyHandedIn, NotTheirTurn):
        enrollment.refresh_from_db(fields=["state"])
        return _not_any_more(request, enrollment)
    if request.META["QUERY_STRING"] == BACK:
        return redirect(page_url(request, "qualification:review"))
    return redirect(_next_page(request, attempt, position))


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def review(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Every answer once more, with the way to change it; handing in is a POST."""
    attempt = _current(request, enrollment)
    if attempt is None:
        return redirect(page_url(request, "qualification:result"))
    if request.method == "POST":
        try:
            actions.submit_attempt(attempt=attempt, now=timezone.now(), session_id=session_id(request))
            return redirect(page_url(request, "qualification:result"))
        except NotTheirTurn:
            return redirect(page_url(request, "annotation:home"))
        except IncompleteAttempt:
            pass  # the page below shows which answers are missing
    stories = [_reviewed(request, attempt, entry) for entry in _entries(attempt)]
    context = {
        "stories": stories,
        "complete": all(answer["option"] for entry in stories for answer in entry["answers"]),
        "form_action": request.path,
    }
    return page(request, enrollment, "qualification/review.html", context)


@require_safe
@annotator_page
def result(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Passed or not. Never which answers were accepted."""
    attempt = enrollment.attempts.filter(state=Attempt.State.SUBMITTED).select_related("round").last()
    if attempt is None:
        return redirect(page_url(request, "annotation:home"))
    may_retry = enrollment.state == Enrollment.State.CONSENTED
    context = {
        "passed": attempt.passed,
        "pays_on_fail": _pays_on_fail(enrollment, attempt.round),
        "work": None if work_session(request) else work_so_far(enrollment),
        "continue_url": page_url(request, "annotation:home") if attempt.passed or may_retry else "",
        "continue_label": _("Try again") if may_retry else _("Continue"),
    }
    return page(request, enrollment, "qualification/result.html", context)


def _current(request: HttpRequest, enrollment: Enrollment) -> Attempt | None:
    """The attempt the person is in; none for somebody whose part or visit has ended meanwhile."""
    if is_given_up(request) or enrollment.state != Enrollment.State.CONSENTED:
        return None
    return (
        enrollment.attempts.filter(state=Attempt.State.STARTED)
        .select_related("round", "enrollment__study")
        .first()
    )


def _not_any_more(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """For somebody who is in no test: what became of answers they have just sent, else where they belong."""
    home = page_url(request, "annotation:home")
    if request.method != "POST":
        return redirect(home)
    if enrollment.state in OUT:
        text = _("Your part in the study was paused or has ended meanwhile. What you saved before is kept.")
    else:
        text = _("You are not in this test any more; it may have been handed in from another window.")
    context = {
        "heading": _("These answers were not saved"),
        "text": text,
        "actions": [{"url": home, "label": _("See how it stands")}],
    }
    return page(request, enrollment, "pages/message.html", context, status=409)


def _entries(attempt: Attempt) -> list[RoundStory]:
    return list(attempt.round.round_stories.select_related("story").order_by("position"))


def _answered(attempt: Attempt, entry: RoundStory) -> dict[str, str]:
    return {field_name(a.question, a.row): a.option for a in attempt.answers.filter(round_story=entry)}


def _first_open_page(request: HttpRequest, attempt: Attempt) -> str:
    """The first story without answers, or the review when every story has some."""
    done = set(attempt.answers.values_list("round_story__position", flat=True))
    for entry in _entries(attempt):
        if entry.position not in done:
            return page_url(request, "qualification:story", position=entry.position)
    return page_url(request, "qualification:review")


def _next_page(request: HttpRequest, attempt: Attempt, position: int) -> str:
    if attempt.round.round_stories.filter(position=position + 1).exists():
        return page_url(request, "qualification:story", position=position + 1)
    return page_url(request, "qualification:review")


def _story(
    request: HttpRequest,
    enrollment: Enrollment,
    attempt: Attempt,
    entry: RoundStory,
    *,
    answered: dict[str, str],
    errors: dict[str, str] | None = None,
) -> HttpResponse:
    protocol = enrollment.study.protocol
    item = protocol.parse(entry.story.content)
    before = entry.position - 1
    context = {
        "story": {"fields": question_fields(protocol, item, answered=answered, errors=errors)},
        "errors": error_summary(protocol, errors or {}),
        "position": entry.position,
        "total": attempt.round.round_stories.count(),
        "form_action": request.get_full_path(),
        "previous_url": page_url(request, "qualification:story", position=before) if before else "",
    } | instructions_context(protocol)
    return page(request, enrollment, "qualification/story.html", context, status=422 if errors else 200)


def _reviewed(request: HttpRequest, attempt: Attempt, entry: RoundStory) -> dict[str, Any]:
    protocol = attempt.enrollment.study.protocol
    item = protocol.parse(entry.story.content)
    answered = _answered(attempt, entry)
    answers = [
        {
            "question": question,
            "row": row,
            "option": options.get(answered.get(field_name(question.key, row.key), "")),
        }
        for question in protocol.questions
        for options in [{option.key: option for option in question.options_for(item)}]
        for row in question.rows_for(item)
    ]
    return {
        "position": entry.position,
        "parts": protocol.parts(item),
        "answers": answers,
        "change_url": page_url(request, "qualification:story", position=entry.position) + f"?{BACK}",
    }


def _pays_on_fail(enrollment: Enrollment, round: Round) -> bool:
    return bool(enrollment.study.pay_rate) and round.pays_on_fail


def _message(request: HttpRequest, enrollment: Enrollment, heading: str, text: str) -> HttpResponse:
    return page(request, enrollment, "pages/message.html", {"heading": heading, "text": text}, status=409)
