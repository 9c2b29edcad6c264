"""Pages of the qualification test: introduction, one page per story, review, and result."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from accounts.errors import DomainError
from annotation.access import annotator_page, is_given_up, page_url, session_id, work_session
from annotation.errors import ChangedMeanwhile
from annotation.forms import form_context, instructions_context
from annotation.grading import IncompleteAttempt
from annotation.models import Enrollment
from annotation.numbers import number_in
from annotation.protocols.base import IncompleteForm
from annotation.queries import stories_left, work_so_far
from annotation.rules import ENDS_TEST, REASON_BY_STUDY_STATE
from annotation.views.common import dropping_draft, go, page
from qualification import actions
from qualification.errors import AlreadyHandedIn, NotTheirTurn
from qualification.models import AnswerKey, Attempt, AttemptAnswer, PracticeAnswer, Round, RoundStory
from qualification.queries import next_attempt, pass_mark, practice_of, saved_version
from tomannot import clock

BACK = "back"
"""Query string of a story opened from the review: saving it leads back to the review."""


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def intro(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Explain the test, and start it on POST. Redirect to the next open story if it has begun."""
    if is_given_up(request) or enrollment.state != Enrollment.State.CONSENTED:
        return redirect(page_url(request, "annotation:home"))
    attempt, session = _current(request, enrollment), session_id(request)
    is_open = enrollment.study.state not in REASON_BY_STUDY_STATE
    if not (attempt or (is_open and (session or stories_left(enrollment, at_most=1)))):
        return redirect(page_url(request, "annotation:stories"))
    if request.method == "POST":
        try:
            attempt = actions.start_attempt(enrollment=enrollment, now=clock.now(), session_id=session)
        except DomainError as error:
            return _message(request, enrollment, _("The test can’t start right now"), str(error))
    if attempt:
        return redirect(_first_open_page(request, attempt))
    turn = next_attempt(enrollment, list(Round.objects.active_in(enrollment.study)))
    if turn is None:
        return _message(request, enrollment, _("The test is not ready yet"), _("Please come back later."))
    practice = practice_of(enrollment)
    context = {
        "practice": practice,
        "practice_url": practice and page_url(request, "qualification:practice", position=practice.next),
        "round": turn.round,
        "attempts_allowed": turn.left,
        "mark": pass_mark(turn.round),
        "pays_on_fail": _pays_on_fail(enrollment, turn.round),
        "instructions_url": page_url(request, "annotation:instructions"),
    }
    return page(request, enrollment, "qualification/intro.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def story(request: HttpRequest, enrollment: Enrollment, position: int) -> HttpResponse:
    """Show a story of the test, and save its answers; they can be changed until the test is handed in."""
    attempt = _current(request, enrollment)
    if attempt is None or not _is_meant(request, attempt):
        return _not_any_more(request, enrollment, position)
    entry = get_object_or_404(_entries(attempt), position=position)
    if request.method != "POST":
        return _story(request, enrollment, attempt, entry)
    try:
        actions.save_answers(
            attempt=attempt,
            round_story=entry,
            submitted=request.POST.dict(),
            session_id=session_id(request),
            after=number_in(request.POST["saved"]) if "saved" in request.POST else None,
        )
    except IncompleteForm as incomplete:
        return _story(request, enrollment, attempt, entry, incomplete.errors)
    except (AlreadyHandedIn, NotTheirTurn):
        enrollment.refresh_from_db(fields=["state"])
        return _not_any_more(request, enrollment, position)
    except ChangedMeanwhile as error:
        again = {"url": request.get_full_path(), "label": _("See the answers")}
        return not_saved(request, enrollment, _sent_draft(request, position), str(error), again)
    return dropping_draft(go(request, _next_page(request, attempt, position)), _sent_draft(request, position))


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def review(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Show every answer with a link to change it; hand in the test on POST."""
    attempt = _current(request, enrollment)
    if attempt is None or not _is_meant(request, attempt):
        return redirect(page_url(request, "qualification:result"))
    if request.method == "POST":
        try:
            actions.submit_attempt(attempt=attempt, now=clock.now(), session_id=session_id(request))
            return redirect(page_url(request, "qualification:result"))
        except NotTheirTurn:
            return redirect(page_url(request, "annotation:home"))
        except IncompleteAttempt:
            pass  # the page below shows which answers are missing
    stories = [_reviewed(request, attempt, entry) for entry in _entries(attempt)]
    context = {
        "attempt": attempt,
        "stories": stories,
        "complete": all(answer["option"] for entry in stories for answer in entry["answers"]),
    }
    return page(request, enrollment, "qualification/review.html", context)


@require_safe
@annotator_page
def result(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Say whether the annotator passed; which answers were accepted only after a quiz."""
    attempt = enrollment.attempts.filter(state=Attempt.State.SUBMITTED).select_related("round", "key").last()
    if attempt is None:
        return redirect(page_url(request, "annotation:home"))
    may_retry = enrollment.state == Enrollment.State.CONSENTED
    context = {
        "answers": _quiz_answers(attempt) if attempt.round.is_quiz else [],
        "passed": attempt.passed,
        "pays_on_fail": session_id(request) is None and _pays_on_fail(enrollment, attempt.round),
        "work": None if work_session(request) else work_so_far(enrollment),
        "continue_url": page_url(request, "annotation:home") if attempt.passed or may_retry else "",
        "continue_label": _("Try again") if may_retry else _("Continue"),
    }
    return page(request, enrollment, "qualification/result.html", context)


def _quiz_answers(attempt: Attempt) -> list[dict[str, Any]]:
    """Return every question of a quiz that was handed in, with its right answer and the reason."""
    given: dict[int, list[AttemptAnswer]] = {}
    for answer in attempt.answers.all():
        given.setdefault(answer.round_story_id, []).append(answer)
    found = []
    for entry in _entries(attempt):
        asked = " ".join(part.text for part in entry.story.parts)
        found += [one | {"title": asked, "text": ""} for one in compared(entry, given[entry.pk], attempt.key)]
    return found


def compared(
    entry: RoundStory, given: Sequence[AttemptAnswer | PracticeAnswer], key: AnswerKey
) -> list[dict[str, Any]]:
    """Return every question about the story with the answer given, the accepted ones, and the reason."""
    answers = {one.choice.field: one for one in given}
    return [
        {
            "title": cell.title,
            "text": cell.question.text,
            "given": cell.labels[answers[cell.field].option],
            "is_right": answers[cell.field].accepted,
            "accepted": cell.labels_of(key.accepted[entry.pk][cell.field]),
            "reason": key.why.get(entry.pk, {}).get(cell.field, ""),
        }
        for cell in entry.story.cells
    ]


def _current(request: HttpRequest, enrollment: Enrollment) -> Attempt | None:
    if is_given_up(request) or enrollment.state != Enrollment.State.CONSENTED:
        return None
    started = enrollment.attempts.filter(state=Attempt.State.STARTED)
    return started.select_related("round", "enrollment__study").first()


def _is_meant(request: HttpRequest, attempt: Attempt) -> bool:
    """Return False for a form of an earlier attempt that comes late: it must not become part of this one."""
    return number_in(request.POST.get("attempt")) in (0, attempt.pk)


def _draft(attempt: int, position: int, saved: int) -> str:
    return f"test.{attempt}.{position}.{saved}"


def _sent_draft(request: HttpRequest, position: int) -> str:
    return _draft(number_in(request.POST.get("attempt")), position, number_in(request.POST.get("saved")))


def _not_any_more(request: HttpRequest, enrollment: Enrollment, position: int) -> HttpResponse:
    """Say that the answers just sent were not saved; otherwise redirect to the annotator's next step."""
    home = page_url(request, "annotation:home")
    if request.method != "POST":
        return redirect(home)
    if enrollment.state in ENDS_TEST:
        text = _("Your participation has been paused or has ended. What you saved before is kept.")
    else:
        text = _("You are no longer in this test. It may have been handed in from another window.")
    way_on = {"url": home, "label": _("See your status")}
    return not_saved(request, enrollment, _sent_draft(request, position), text, way_on)


def not_saved(
    request: HttpRequest, enrollment: Enrollment, draft: str, text: str, way_on: dict[str, str]
) -> HttpResponse:
    """Say why the answers just sent can never be saved, and let the device drop them."""
    context = {"heading": _("These answers were not saved"), "text": text, "actions": [way_on]}
    response = page(request, enrollment, "pages/message.html", context, status=409)
    return dropping_draft(response, draft, stored=False)


def _entries(attempt: Attempt) -> QuerySet[RoundStory]:
    return attempt.round.round_stories.select_related("story__study").order_by("position")


def _saved(attempt: Attempt, entry: RoundStory) -> tuple[int, dict[str, str]]:
    answers = list(attempt.answers.filter(round_story=entry))
    return saved_version(answers), {answer.choice.field: answer.option for answer in answers}


def _first_open_page(request: HttpRequest, attempt: Attempt) -> str:
    done = set(attempt.answers.values_list("round_story__position", flat=True))
    for entry in _entries(attempt):
        if entry.position not in done:
            return page_url(request, "qualification:story", position=entry.position)
    return page_url(request, "qualification:review")


def _next_page(request: HttpRequest, attempt: Attempt, position: int) -> str:
    more = attempt.round.round_stories.filter(position=position + 1).exists()
    if more and request.META["QUERY_STRING"] != BACK:
        return page_url(request, "qualification:story", position=position + 1)
    return page_url(request, "qualification:review")


def _story(
    request: HttpRequest,
    enrollment: Enrollment,
    attempt: Attempt,
    entry: RoundStory,
    errors: dict[str, str] | None = None,
) -> HttpResponse:
    before = entry.position - 1
    saved, answered = _saved(attempt, entry)
    if errors:
        saved, answered = number_in(request.POST.get("saved")), request.POST.dict()
    context = {
        "attempt": attempt,
        "saved": saved,
        "draft": _draft(attempt.pk, entry.position, saved),
        "previous_url": page_url(request, "qualification:story", position=before) if before else "",
    } | instructions_context(enrollment.study.protocol, attempt.instructions)
    return form_page(
        request, enrollment, "qualification/story.html", entry, context, answered=answered, errors=errors
    )


def form_page(
    request: HttpRequest,
    enrollment: Enrollment,
    template: str,
    entry: RoundStory,
    context: dict[str, Any],
    *,
    answered: dict[str, str],
    errors: dict[str, str] | None,
) -> HttpResponse:
    """Render the form of a story of a round with these answers (422 with errors)."""
    seed, protocol = enrollment.option_seed, entry.story.protocol
    shown: dict[str, Any] = {
        "position": entry.position,
        "total": RoundStory.objects.filter(round=entry.round_id).count(),
        "form_action": request.get_full_path(),
    }
    shown |= form_context(protocol, entry.story.item, answered=answered, errors=errors, option_seed=seed)
    return page(request, enrollment, template, context | shown, status=422 if errors else 200)


def _reviewed(request: HttpRequest, attempt: Attempt, entry: RoundStory) -> dict[str, Any]:
    _version, answered = _saved(attempt, entry)
    return {
        "position": entry.position,
        "heading": entry.heading,
        "parts": entry.story.parts,
        "answers": [
            {"title": cell.title, "option": cell.labels.get(answered.get(cell.field, ""))}
            for cell in entry.story.cells
        ],
        "change_url": page_url(request, "qualification:story", position=entry.position) + f"?{BACK}",
    }


def _pays_on_fail(enrollment: Enrollment, round: Round) -> bool:
    return bool(enrollment.study.pay_rate) and round.pays_on_fail


def _message(request: HttpRequest, enrollment: Enrollment, heading: str, text: str) -> HttpResponse:
    return page(request, enrollment, "pages/message.html", {"heading": heading, "text": text}, status=409)
