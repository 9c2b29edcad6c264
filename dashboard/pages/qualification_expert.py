"""An expert's own pages: the stories of a round, answered alone, without seeing what others said."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.forms import error_summary, instructions_context, question_fields
from annotation.models import Study
from annotation.protocols.base import IncompleteForm
from annotation.rights import signed_in, study_page
from qualification import actions
from qualification.errors import QualificationError
from qualification.experts import own_answers, review_of
from qualification.models import ExpertReview, Round, RoundStory


@require_http_methods(["GET", "HEAD", "POST"])
@study_page()
def expert(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """What an expert has answered and what is missing; a POST hands it in."""
    review = _own(request, study, number)
    if review is None:
        return _not_asked(request, study, number)
    if request.method == "POST":
        try:
            actions.hand_in_review(review=review, by=signed_in(request), now=timezone.now())
            messages.success(request, _("Thank you. Your answers are handed in."))
            return redirect("dashboard:round", slug=study.slug, number=number)
        except QualificationError as error:
            messages.error(request, str(error))
        return redirect("dashboard:expert", slug=study.slug, number=number)
    answers = own_answers(review)
    stories = [_answered(study, entry, answers) for entry in _entries(review)]
    context = {
        "study": study,
        "round": review.round,
        "review": review,
        "stories": stories,
        "complete": all(option for story in stories for _title, option in story["answers"]),
        "open": next((story["position"] for story in stories if not story["is_complete"]), None),
    }
    return render(request, "dashboard/expert.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@study_page()
def expert_story(request: HttpRequest, study: Study, number: int, position: int) -> HttpResponse:
    """One story with the form that annotators answer. It can be changed until handed in."""
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
            return _onward(study, number, position, len(entries))
        except IncompleteForm as incomplete:
            answered, errors = request.POST.dict(), incomplete.errors
        except QualificationError as error:
            messages.error(request, str(error))
            return redirect("dashboard:round", slug=study.slug, number=number)
    protocol = study.protocol
    context = {
        "study": study,
        "round": review.round,
        "fields": question_fields(protocol, entry.story.item, answered=answered, errors=errors),
        "errors": error_summary(protocol, errors),
        "position": position,
        "total": len(entries),
    } | instructions_context(protocol)
    return render(request, "dashboard/expert_story.html", context, status=422 if errors else 200)


def _own(request: HttpRequest, study: Study, number: int) -> ExpertReview | None:
    """The reader's own review of the round; None for who was not asked, or is not waited for any more."""
    round = get_object_or_404(Round, study=study, number=number)
    review = review_of(round, signed_in(request))
    return None if review is None or review.dismissed_at else review


def _not_asked(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    messages.info(request, _("There is nothing that you are asked to answer here."))
    return redirect("dashboard:round", slug=study.slug, number=number)


def _onward(study: Study, number: int, position: int, total: int) -> HttpResponse:
    """To the next story, or at the end to the look back."""
    if position < total:
        return redirect("dashboard:expert_story", slug=study.slug, number=number, position=position + 1)
    return redirect("dashboard:expert", slug=study.slug, number=number)


def _entries(review: ExpertReview) -> list[RoundStory]:
    entries = RoundStory.objects.filter(round=review.round_id).select_related("story__study")
    return list(entries.order_by("position"))


def _answered(study: Study, entry: RoundStory, answers: dict[int, dict[str, str]]) -> dict[str, Any]:
    """A story as it is listed: every question with the answer in words, empty where there is none."""
    protocol, item = study.protocol, entry.story.item
    fields = question_fields(protocol, item, answered=answers.get(entry.position, {}))
    said = [
        (
            f"{field.question.title}: {row.row.label}" if row.row.label else field.question.title,
            next((choice.option.label for choice in row.options if choice.checked), ""),
        )
        for field in fields
        for row in field.rows
    ]
    return {
        "position": entry.position,
        "parts": protocol.parts(item),
        "answers": said,
        "is_complete": all(option for _title, option in said),
    }
