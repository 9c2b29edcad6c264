"""One round: its experts, their answers side by side, its key with all versions, who takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from accounts.models import User
from annotation.models import Membership, Study
from annotation.protocols.base import field_name
from annotation.rights import Right, rights_in, signed_in, study_page
from dashboard.answer_key import KeyForms
from dashboard.attempts import Asked, chosen_in
from qualification import actions
from qualification.errors import InvalidKey, QualificationError
from qualification.experts import closed_rounds, review_of, why_undecided
from qualification.knowing import who_knows
from qualification.models import AnswerKey, ExpertReview, Round, RoundStory
from qualification.queries import why_no_test


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(post=Right.CHANGE)
def round(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """A round as it stands; a POST asks experts, waits for one no longer, lays open, retires, activates."""
    found = get_object_or_404(Round.objects.select_related("study"), study=study, number=number)
    if request.method == "POST":
        try:
            messages.success(request, _do(request, found))
        except QualificationError as error:
            messages.error(request, str(error))
        return redirect("dashboard:round", slug=study.slug, number=number)
    context = _context(found, signed_in(request), rights_in(request.user, study))
    return render(request, "dashboard/round.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(post=Right.CHANGE)
def answer_key(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Who chose what, side by side, and the options that the group accepts; a POST saves a new version."""
    found = get_object_or_404(Round.objects.select_related("study"), study=study, number=number)
    own, rights = review_of(found, signed_in(request)), rights_in(request.user, study)
    if Right.CHANGE not in rights and (own is None or own.dismissed_at):
        raise PermissionDenied
    if why_not := _why_no_key(found, signed_in(request)):
        messages.info(request, why_not)
        return redirect("dashboard:round", slug=study.slug, number=number)
    frozen = found.attempts.exists()
    sent = request.POST if request.method == "POST" else None
    key = KeyForms(found, sent, is_fixed=frozen or Right.CHANGE not in rights)
    if request.method == "POST" and key.are_valid():
        refused = _save(request, found, key)
        if refused is None:
            return redirect("dashboard:round", slug=study.slug, number=number)
        key.note.add_error(None, refused)
    context = {
        "study": study,
        "round": found,
        "key": key,
        "frozen": frozen,
        "may_change": Right.CHANGE in rights,
    }
    return render(
        request, "dashboard/answer_key.html", context, status=422 if request.method == "POST" else 200
    )


def _context(round: Round, reader: User, rights: frozenset[Right]) -> dict[str, Any]:
    """What the page of a round shows to this reader."""
    own = review_of(round, reader)
    is_closed = round.pk in closed_rounds(reader)
    asked = list(round.reviews.select_related("expert"))
    attempts = round.attempts.count()
    may_change, no_test = Right.CHANGE in rights, why_no_test(round.study)
    may_ask = may_change and not no_test and not round.laid_open_at and not attempts
    askable, knowing = _askable(round, asked) if may_ask else ([], [])
    return {
        "study": round.study,
        "round": round,
        "no_test": no_test,
        "own": own,
        "reviews": asked,
        "waiting": sum(review.is_pending for review in asked),
        "handed_in": sum(review.handed_in_at is not None for review in asked),
        "may_ask": may_ask,
        "askable": askable,
        "knowing": knowing,
        "entries": _stories(round, chosen_in(round) if attempts and may_change and not is_closed else {}),
        "is_closed": is_closed,
        "keys": _keys(round) if may_change and not is_closed else _dates(round),
        "attempts": attempts,
        "may_change": may_change,
        "may_compare": not is_closed and _may_compare(round, own, rights),
    }


def _why_no_key(round: Round, reader: User) -> str:
    """Why the page of the key is not shown now; empty where it is. Told before anything is typed."""
    told = closed() if round.pk in closed_rounds(reader) else ""
    return why_no_test(round.study) or why_undecided(round) or told


def closed() -> str:
    """What somebody reads who has still to answer blind, in place of what would tell them."""
    return _(
        "You have still to answer some of these stories as an expert. Until you have handed in, the keys, "
        "answers and rates about them are closed to you."
    )


def _save(request: HttpRequest, round: Round, key: KeyForms) -> str | None:
    """Save what the forms say; what is wrong, where it cannot be."""
    newcomers = Round.objects.filter(study=round.study_id, state=Round.State.ACTIVE)
    before = set(newcomers)
    try:
        made = actions.set_answer_key(round=round, by=signed_in(request), now=timezone.now(), **key.said())
    except InvalidKey as error:
        return " ".join(error.problems)
    except QualificationError as error:
        return str(error)
    messages.success(request, _("Version %(version)s of the key is saved.") % {"version": made.version})
    if Study.objects.get(pk=round.study_id).gate == Study.Gate.NOT_REQUIRED:
        messages.info(request, _("The study asks for no test, so nobody takes the round."))
    still = set(newcomers.all())  # asked anew
    for retired in sorted(before - still, key=lambda one: one.number):
        messages.info(request, _("No newcomer takes round %(number)s any more.") % {"number": retired.number})
    return None


def _do(request: HttpRequest, round: Round) -> str:
    """What the button that was pressed stands for; what came of it. Raises ``QualificationError``."""
    by: dict[str, Any] = {"by": signed_in(request), "now": timezone.now()}
    do = request.POST.get("do", "")
    if do == "ask":
        experts = list(User.objects.filter(pk__in=_numbers(request, "expert")))
        asked = actions.ask_experts(round=round, experts=experts, **by)
        return ngettext("%(n)s expert is asked.", "%(n)s experts are asked.", len(asked)) % {"n": len(asked)}
    if do == "dismiss":
        review = get_object_or_404(ExpertReview, round=round, pk__in=_numbers(request, "review")[:1])
        actions.dismiss_expert(review=review, **by)
        return _("Nobody waits for them any more.")
    if do == "lay_open":
        actions.close_gathering(round=round, **by)
        return _("The answers are laid open.")
    if do == "activate":
        actions.activate_round(round=round, **by)
        return _("Newcomers take the round.")
    if do == "retire":
        actions.retire_round(round=round, **by)
        return _("No newcomer takes the round any more.")
    raise QualificationError(_("Nothing was done: the form was not complete."))


def _numbers(request: HttpRequest, name: str) -> list[int]:
    return [int(value) for value in request.POST.getlist(name) if value.isdecimal() and len(value) < 18]


def _may_compare(round: Round, own: ExpertReview | None, rights: frozenset[Right]) -> bool:
    """Who may change the study fixes the key; experts look on. Nobody does while answers are coming in."""
    asked = own is not None and own.dismissed_at is None
    return (Right.CHANGE in rights or asked) and not why_undecided(round)


def _askable(round: Round, asked: list[ExpertReview]) -> tuple[list[User], list[User]]:
    """The members of the study who could still be asked, and those who know too much for it."""
    there = {review.expert_id for review in asked if review.dismissed_at is None}
    members = Membership.objects.filter(study=round.study_id).exclude(user__in=there).select_related("user")
    people = [member.user for member in members.order_by("user__username")]
    knowing = who_knows(round, people)
    return [person for person in people if person not in knowing], knowing


def _stories(round: Round, chosen: Mapping[int, list[Asked]]) -> list[dict[str, Any]]:
    """The stories of the round, each with what people chose where the reader may know the key."""
    entries: list[RoundStory] = list(round.round_stories.select_related("story__study").order_by("position"))
    protocol = round.study.protocol
    return [
        {
            "entry": entry,
            "parts": protocol.parts(entry.story.item),
            "asked": chosen.get(entry.position, []),
        }
        for entry in entries
    ]


def _dates(round: Round) -> list[dict[str, Any]]:
    """The versions of the key without what they accept."""
    return [{"key": key, "cells": []} for key in round.keys.select_related("created_by").order_by("-version")]


def _keys(round: Round) -> list[dict[str, Any]]:
    """The versions of the key, the newest first, with what each accepts and why."""
    keys = round.keys.select_related("created_by").prefetch_related("options", "reasons")
    entries = list(round.round_stories.select_related("story__study").order_by("position"))
    return [{"key": key, "cells": _cells(key, entries)} for key in keys.order_by("-version")]


def _cells(key: AnswerKey, entries: list[RoundStory]) -> list[dict[str, Any]]:
    accepted: dict[tuple[int, str], set[str]] = {}
    for option in key.options.all():
        accepted.setdefault((option.round_story_id, field_name(option.question, option.row)), set()).add(
            option.option
        )
    why = {
        (said.round_story_id, field_name(said.question, said.row)): said.reason for said in key.reasons.all()
    }
    cells = []
    for entry in entries:
        item = entry.story.item
        for question in entry.story.study.protocol.questions:
            options = question.options_for(item)
            for row in question.rows_for(item):
                at = (entry.pk, field_name(question.key, row.key))
                labels = [str(option.label) for option in options if option.key in accepted.get(at, ())]
                label = f"{question.title}: {row.label}" if row.label else str(question.title)
                cells.append(
                    {"story": entry.position, "label": label, "accepts": labels, "why": why.get(at, "")}
                )
    return cells
