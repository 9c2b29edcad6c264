"""The qualification rounds with their figures and keys; an expert’s own pages, blind to the other experts."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _, ngettext

from accounts.errors import DomainError
from accounts.models import User
from annotation.forms import form_context, instructions_context
from annotation.models import Membership, Story, Study
from annotation.numbers import number_in
from annotation.protocols.base import IncompleteForm
from annotation.rights import Right, by_and_now, form_page, granted, read_page, signed_in
from dashboard.http import ErrorsAsMessages, ErrorsInForm, render_form
from dashboard.qualification.figures import alone_of, chosen_in, first_turns, notes_of, practised_in, rows_of
from dashboard.qualification.forms import OFFERED, KeyForms, RoundForm, closed_notice
from qualification import actions
from qualification.experts import (
    closed_rounds,
    own_answers,
    pending_reviews,
    people_who_know,
    review_of,
    why_undecided,
)
from qualification.models import TESTS, AnswerKey, ExpertReview, Round, RoundStory
from qualification.queries import why_no_test
from qualification.rates import RoundRates, rates_of
from tomannot import clock


@read_page()
def qualification(request: HttpRequest, study: Study) -> HttpResponse:
    """List the rounds with their figures and notes."""
    closed = closed_rounds(signed_in(request))
    context = {
        "rounds": [_shown(study, rates, is_closed=rates.round.pk in closed) for rates in rates_of(study)],
        "practices": [
            {"round": round, "is_closed": round.pk in closed, "stories": practised_in(round)}
            for round in study.rounds.exclude(kind__in=TESTS).order_by("-number")
        ],
        "asked": pending_reviews(signed_in(request), study=study),
        "no_test": why_no_test(study),
    }
    return render(request, "dashboard/qualification/qualification.html", context)


@form_page(Right.CHANGE)
def new_round(request: HttpRequest, study: Study) -> HttpResponse:
    """Create a round of imported test stories; ``?like=`` preselects those of another round."""
    if why_not := why_no_test(study):
        messages.info(request, why_not)
        return redirect("dashboard:qualification", slug=study.slug)
    form = RoundForm(study, request.POST if request.method == "POST" else None, initial=_like(request, study))
    if form.is_valid():
        said = dict(form.cleaned_data)
        with ErrorsInForm(form):
            made = actions.create_round(
                study=study, story_ids=said.pop("stories"), **by_and_now(request), **said
            )
            messages.success(
                request, _("Round %(number)s is created. Set its key next.") % {"number": made.number}
            )
            return redirect("dashboard:round", slug=study.slug, number=made.number)
    return render_form(request, "dashboard/qualification/new_round.html", {"form": form})


def _like(request: HttpRequest, study: Study) -> dict[str, Any]:
    """Return the initial values: those of the round to copy, else the stories that are in no round."""
    number = number_in(request.GET.get("like"))
    round = Round.objects.filter(study=study, number=number).first() if number else None
    if round is None:
        used = RoundStory.objects.filter(round__study=study).values("story")
        fresh = Story.objects.filter(study=study, role=Story.Role.QUALIFICATION).exclude(pk__in=used)
        return {"stories": list(fresh.values_list("story_id", flat=True)[:OFFERED])}
    same = {name: getattr(round, name) for name in ("title", "kind", "attempts_allowed", "pays_on_fail")}
    return same | {"stories": list(round.round_stories.values_list("story__story_id", flat=True))}


def _shown(study: Study, rates: RoundRates, *, is_closed: bool) -> dict[str, Any]:
    if is_closed:
        return {"round": rates.round, "is_closed": True}
    return {
        "rates": rates,
        "round": rates.round,
        "rows": rows_of(study, rates),
        "notes": notes_of(study, rates),
        "alone": alone_of(study, rates),
    }


@form_page(post=Right.CHANGE)
def round(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Show a round. A POST asks or dismisses experts, reveals their answers, activates or retires it."""
    found = get_object_or_404(Round.objects.select_related("study"), study=study, number=number)
    if request.method == "POST":
        with ErrorsAsMessages(request):
            messages.success(request, _do(request, found))
        return redirect("dashboard:round", slug=study.slug, number=number)
    context = _context(found, signed_in(request), granted(request))
    return render(request, "dashboard/qualification/round.html", context)


@form_page(post=Right.CHANGE)
def answer_key(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Compare the experts' answers and set the acceptable options. A POST saves a new version of the key."""
    found = get_object_or_404(Round.objects.select_related("study"), study=study, number=number)
    own, rights = review_of(found, signed_in(request)), granted(request)
    if Right.CHANGE not in rights and (own is None or own.dismissed_at):
        raise PermissionDenied
    hidden = closed_notice() if found.pk in closed_rounds(signed_in(request)) else ""
    if why_not := why_no_test(study) or why_undecided(found) or hidden:
        messages.info(request, why_not)
        return redirect("dashboard:round", slug=study.slug, number=number)
    frozen = found.attempts.exists()
    sent = request.POST if request.method == "POST" else None
    key = KeyForms(found, sent, is_fixed=frozen or Right.CHANGE not in rights)
    if request.method == "POST" and key.are_valid():
        with ErrorsInForm(key.note):
            _save(request, found, key)
            return redirect("dashboard:round", slug=study.slug, number=number)
    context = {
        "round": found,
        "key": key,
        "frozen": frozen,
        "may_ask": not (found.is_practice or found.reviews.exists()),
    }
    return render_form(
        request, "dashboard/qualification/answer_key.html", context, errors=request.method == "POST"
    )


def _context(round: Round, reader: User, rights: frozenset[Right]) -> dict[str, Any]:
    own = review_of(round, reader)
    is_asked = own is not None and own.dismissed_at is None
    is_closed = round.pk in closed_rounds(reader)
    asked = list(round.reviews.select_related("expert"))
    attempts = round.attempts.count()
    answered = first_turns(round).values("enrollment").distinct().count() if round.is_practice else attempts
    may_change, no_test = Right.CHANGE in rights, why_no_test(round.study)
    may_ask = may_change and not (no_test or round.revealed_at or attempts or round.is_practice)
    askable, knowing = _askable(round, asked) if may_ask else ([], [])
    # The answers that people chose, where the reader may know them.
    chosen = chosen_in(round) if answered and may_change and not is_closed else {}
    return {
        "round": round,
        "no_test": no_test,
        "own": own,
        "reviews": asked,
        "waiting": sum(review.is_pending for review in asked),
        "handed_in": sum(review.handed_in_at is not None for review in asked),
        "may_ask": may_ask,
        "askable": askable,
        "knowing": knowing,
        "entries": [
            {"entry": entry, "parts": entry.story.parts, "asked": chosen.get(entry.position, [])}
            for entry in round.round_stories.select_related("story__study").order_by("position")
        ],
        "practised": answered,
        "is_closed": is_closed,
        "keys": _keys(round, with_answers=may_change and not is_closed),
        "attempts": attempts,
        "may_compare": not is_closed and (may_change or is_asked) and not why_undecided(round),
    }


def _save(request: HttpRequest, round: Round, key: KeyForms) -> None:
    """Save the key, and say what became of the round and of the others. Raise ``DomainError``."""
    newcomers = Round.objects.filter(study=round.study_id, state=Round.State.ACTIVE)
    before = set(newcomers)
    made = actions.set_answer_key(round=round, **by_and_now(request), **key.arguments())
    messages.success(request, _("Version %(version)s of the key is saved.") % {"version": made.version})
    if Study.objects.get(pk=round.study_id).gate == Study.Gate.NOT_REQUIRED:
        messages.info(request, _("The study requires no test, so nobody takes the round."))
    still = set(newcomers.all())  # asked anew
    for retired in sorted(before - still, key=lambda one: one.number):
        messages.info(
            request,
            _("Round %(number)s is retired: newcomers no longer take it.") % {"number": retired.number},
        )


def _do(request: HttpRequest, round: Round) -> str:
    """Do what the pressed button says and return a message. Raise ``DomainError`` if it is refused."""
    by: dict[str, Any] = {"by": signed_in(request), "now": clock.now()}
    do = request.POST.get("do", "")
    if do == "ask":
        experts = list(User.objects.filter(pk__in=_numbers(request, "expert")))
        asked = actions.ask_experts(round=round, experts=experts, **by)
        return ngettext("%(n)s expert is asked.", "%(n)s experts are asked.", len(asked)) % {"n": len(asked)}
    if do == "dismiss":
        review = get_object_or_404(ExpertReview, round=round, pk__in=_numbers(request, "review")[:1])
        actions.dismiss_expert(review=review, **by)
        return _("The expert is dismissed.")
    if do == "reveal":
        actions.close_gathering(round=round, **by)
        return _("The answers are revealed.")
    if do == "activate":
        actions.activate_round(round=round, **by)
        return _("The round is active: newcomers take it.")
    if do == "retire":
        actions.retire_round(round=round, **by)
        return _("The round is retired: newcomers no longer take it.")
    raise DomainError(_("Nothing was done: the form was incomplete."))


def _numbers(request: HttpRequest, name: str) -> list[int]:
    return [number for value in request.POST.getlist(name) if (number := number_in(value))]


def _askable(round: Round, asked: list[ExpertReview]) -> tuple[list[User], list[User]]:
    """Return the members who can still be asked, and those who know the key or the answers."""
    there = {review.expert_id for review in asked if review.dismissed_at is None}
    members = Membership.objects.filter(study=round.study_id).exclude(user__in=there).select_related("user")
    people = [member.user for member in members.order_by("user__username")]
    knowing = people_who_know(round, people)
    return [person for person in people if person not in knowing], knowing


def _keys(round: Round, *, with_answers: bool) -> list[dict[str, Any]]:
    """Return the key's versions, the newest first; ``with_answers``: with the options and reasons of each."""
    keys = round.keys.select_related("created_by").prefetch_related("options", "reasons").order_by("-version")
    entries = round.round_stories.select_related("story__study").order_by("position") if with_answers else []
    return [{"key": key, "cells": _cells(key, list(entries))} for key in keys]


def _cells(key: AnswerKey, entries: list[RoundStory]) -> list[dict[str, Any]]:
    return [
        {
            "story": entry.position,
            "label": cell.title,
            "accepts": cell.labels_of(key.accepted[entry.pk][cell.field]),
            "why": key.why.get(entry.pk, {}).get(cell.field, ""),
        }
        for entry in entries
        for cell in entry.story.cells
    ]


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
