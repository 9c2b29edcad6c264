"""The qualification rounds: how people fare in them, and creating another one."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotation.models import Story, Study
from annotation.rights import Right, by_and_now, form_page, read_page, signed_in
from dashboard.parameters import number_in
from dashboard.qualification.attempts import practised_in
from dashboard.qualification.forms import OFFERED, RoundForm
from dashboard.qualification.round_notes import alone_of, notes_of, rows_of
from dashboard.responses import render_form
from qualification import actions
from qualification.errors import QualificationError
from qualification.experts import closed_rounds, pending_reviews
from qualification.models import Round, RoundStory
from qualification.queries import why_no_test
from qualification.rates import RoundRates, rates_of


@read_page()
def qualification(request: HttpRequest, study: Study) -> HttpResponse:
    """List the rounds with their figures and notes."""
    closed = closed_rounds(signed_in(request))
    context = {
        "rounds": [_shown(study, rates, is_closed=rates.round.pk in closed) for rates in rates_of(study)],
        "practices": [
            {"round": round, "is_closed": round.pk in closed, "stories": practised_in(round)}
            for round in study.rounds.exclude(kind=Round.Kind.TEST).order_by("-number")
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
    if request.method == "POST" and form.is_valid():
        said = dict(form.cleaned_data)
        try:
            made = actions.create_round(
                study=study, story_ids=said.pop("stories"), **by_and_now(request), **said
            )
            messages.success(
                request, _("Round %(number)s is created. Set its key next.") % {"number": made.number}
            )
            return redirect("dashboard:round", slug=study.slug, number=made.number)
        except QualificationError as error:
            form.add_error(None, str(error))
    context = {"form": form, "has_stories": bool(form.fields["stories"].choices)}  # type: ignore[attr-defined]
    return render_form(request, "dashboard/qualification/new_round.html", context)


def _like(request: HttpRequest, study: Study) -> dict[str, Any]:
    """Return the initial values: those of the round to copy, else the stories that are in no round."""
    number = number_in(request.GET.get("like"))
    round = Round.objects.filter(study=study, number=number).first() if number else None
    if round is None:
        used = RoundStory.objects.filter(round__study=study).values("story")
        fresh = Story.objects.filter(study=study, role=Story.Role.QUALIFICATION).exclude(pk__in=used)
        return {"stories": list(fresh.values_list("story_id", flat=True)[:OFFERED])}
    return {
        "title": round.title,
        "kind": round.kind,
        "attempts_allowed": round.attempts_allowed,
        "pays_on_fail": round.pays_on_fail,
        "stories": list(round.round_stories.values_list("story__story_id", flat=True)),
    }


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
