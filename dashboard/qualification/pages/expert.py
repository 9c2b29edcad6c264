"""An expert's own pages: the stories of a round, answered independently of the other experts."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from accounts.errors import DomainError
from annotation.forms import form_context, instructions_context
from annotation.models import Study
from annotation.protocols.base import IncompleteForm
from annotation.rights import by_and_now, form_page, signed_in
from dashboard.http import ErrorsAsMessages, render_form
from qualification import actions
from qualification.experts import own_answers, review_of
from qualification.models import ExpertReview, Round, RoundStory


@form_page()
def expert(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Show the expert's answers and what is missing. A POST hands them in."""
    review = _own(request, study, number)
    if review is None:
        return _not_asked(request, study, number)
    if request.method == "POST":
        with ErrorsAsMessages(request):
            actions.hand_in_review(review=review, **by_and_now(request))
            messages.success(request, _("Thank you. Your answers are handed in."))
            return redirect("dashboard:round", slug=study.slug, number=number)
        return redirect("dashboard:expert", slug=study.slug, number=number)
    answers = own_answers(review)
    stories = [_answered(entry, answers) for entry in _entries(review)]
    context = {
        "round": review.round,
        "review": review,
        "stories": stories,
        "complete": all(option for story in stories for _title, option in story["answers"]),
        "open": next((story["position"] for story in stories if not story["is_complete"]), None),
    }
    return render(request, "dashboard/qualification/expert.html", context)


@form_page()
def expert_story(request: HttpRequest, study: Study, number: int, position: int) -> HttpResponse:
    """Answer one story in the annotators' form. Answers can change until they are handed in."""
    review = _own(request, study, number)
    if review is None or not review.is_pending:
        return _not_asked(request, study, number)
    entries = _entries(review)
    entry = get_object_or_404(
        RoundStory.objects.select_related("story__study"), round=review.round, position=position
    )
    answered, errors = own_answers(review).get(position, {}), {}
    if request.method == "POST":
        try:
            actions.save_expert_answers(review=review, round_story=entry, submitted=request.POST.dict())
            if position < len(entries):
                onward = position + 1
                return redirect("dashboard:expert_story", slug=study.slug, number=number, position=onward)
            return redirect("dashboard:expert", slug=study.slug, number=number)
        except IncompleteForm as incomplete:
            answered, errors = request.POST.dict(), incomplete.errors
        except DomainError as error:
            messages.error(request, str(error))
            return redirect("dashboard:round", slug=study.slug, number=number)
    protocol = entry.story.protocol
    context = {"round": review.round, "position": position, "total": len(entries)}
    context |= form_context(protocol, entry.story.item, answered=answered, errors=errors)
    context |= instructions_context(protocol, study.instructions)
    return render_form(request, "dashboard/qualification/expert_story.html", context, errors=errors)


def _own(request: HttpRequest, study: Study, number: int) -> ExpertReview | None:
    """Return the reader's own review of the round, or None if they were not asked or are dismissed."""
    round = get_object_or_404(Round, study=study, number=number)
    review = review_of(round, signed_in(request))
    return None if review is None or review.dismissed_at else review


def _not_asked(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    messages.info(request, _("There is nothing for you to answer here."))
    return redirect("dashboard:round", slug=study.slug, number=number)


def _entries(review: ExpertReview) -> list[RoundStory]:
    entries = RoundStory.objects.filter(round=review.round_id).select_related("story__study")
    return list(entries.order_by("position"))


def _answered(entry: RoundStory, answers: dict[int, dict[str, str]]) -> dict[str, Any]:
    """Return a story's row: every question with the answer's label, empty where there is none."""
    answered = answers.get(entry.position, {})
    said = [(cell.title, cell.labels.get(answered.get(cell.field, ""), "")) for cell in entry.story.cells]
    return {
        "position": entry.position,
        "parts": entry.story.parts,
        "answers": said,
        "is_complete": all(option for _title, option in said),
    }
