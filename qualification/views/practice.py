"""Pages of the practice before the test: a story, then its right answers with the reasons."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import annotator_page, is_given_up, page_url, session_id
from annotation.forms import instructions_context
from annotation.models import Enrollment
from annotation.numbers import number_in
from annotation.protocols.base import IncompleteForm
from annotation.queries import is_in_test
from annotation.rules import REASON_BY_STUDY_STATE
from annotation.views.common import dropping_draft, go, page
from qualification import actions
from qualification.errors import NotTheirTurn
from qualification.models import RoundStory
from qualification.queries import Practice, last_practised, practice_of, saved_version
from qualification.views.attempts import compared, form_page, not_saved
from tomannot import clock


@require_http_methods(["GET", "HEAD", "POST"])
@annotator_page
def practice(request: HttpRequest, enrollment: Enrollment, position: int) -> HttpResponse:
    """Show a practice story, always blank; a POST leads to its right answers."""
    round, saved = number_in(request.POST.get("round")), number_in(request.POST.get("saved"))
    try:
        entry = _entry(_open_practice(request, enrollment, sent=round), position)
        if request.method != "POST":
            return _form(request, enrollment, entry, saved_version(last_practised(enrollment, entry)))
        actions.practise(
            enrollment=enrollment,
            round_story=entry,
            submitted=request.POST.dict(),
            now=clock.now(),
            session_id=session_id(request),
            after=saved,
        )
    except IncompleteForm as incomplete:
        return _form(request, enrollment, entry, saved, incomplete.errors)
    except NotTheirTurn as error:
        home = page_url(request, "annotation:home")
        if request.method != "POST":
            return redirect(home)
        way_on = {"url": home, "label": _("Continue")}
        return not_saved(request, enrollment, _draft(round, position, saved), str(error), way_on)
    answers = page_url(request, "qualification:practised", position=position)
    return dropping_draft(go(request, answers), _draft(round, position, saved))


@require_safe
@annotator_page
def practised(request: HttpRequest, enrollment: Enrollment, position: int) -> HttpResponse:
    """Show the annotator's answers to a practice story beside the right ones, with the reasons."""
    try:
        mine = _open_practice(request, enrollment)
    except NotTheirTurn:
        return redirect(page_url(request, "annotation:home"))
    entry = _entry(mine, position)
    given = last_practised(enrollment, entry)
    if not given:
        return redirect(page_url(request, "qualification:practice", position=position))
    answers = compared(entry, given, given[0].key)
    following = position + 1 if position < mine.stories else min(mine.left, default=0)
    context = {
        "position": position,
        "parts": entry.story.parts,
        "answers": answers,
        "right": sum(answer["is_right"] for answer in answers),
        "next_url": following and page_url(request, "qualification:practice", position=following),
        "again_url": page_url(request, "qualification:practice", position=1),
        "test_url": "" if mine.is_owed else page_url(request, "qualification:intro"),
    }
    return page(request, enrollment, "qualification/practised.html", context)


def _open_practice(request: HttpRequest, enrollment: Enrollment, *, sent: int = 0) -> Practice:
    """Return the annotator's practice. Raise ``NotTheirTurn``, also if their test has begun.

    ``sent`` is the round of a form, if any: one of an earlier practice must not become part of this one.
    """
    their_turn = enrollment.state == Enrollment.State.CONSENTED and not is_in_test(enrollment)
    is_closed = is_given_up(request) or enrollment.study.state in REASON_BY_STUDY_STATE
    mine = practice_of(enrollment) if their_turn and not is_closed else None
    if mine is None or sent not in (0, mine.round.pk):
        raise NotTheirTurn(_("This practice is closed."))
    return mine


def _entry(practice: Practice, position: int) -> RoundStory:
    stories = RoundStory.objects.select_related("story__study", "round")
    return get_object_or_404(stories, round=practice.round, position=position)


def _draft(round: int, position: int, saved: int) -> str:
    return f"practice.{round}.{position}.{saved}"


def _form(
    request: HttpRequest,
    enrollment: Enrollment,
    entry: RoundStory,
    saved: int,
    errors: dict[str, str] | None = None,
) -> HttpResponse:
    study = enrollment.study
    context = {
        "round": entry.round_id,
        "saved": saved,
        "draft": _draft(entry.round_id, entry.position, saved),
        "test_url": page_url(request, "qualification:intro"),
    } | instructions_context(study.protocol, study.instructions)
    answered = request.POST.dict() if errors else {}
    return form_page(
        request, enrollment, "qualification/practice.html", entry, context, answered=answered, errors=errors
    )
