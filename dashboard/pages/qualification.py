"""The test as a whole: its rounds, how people fare in them, and making another one."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from annotation.models import Story, Study
from annotation.rights import Right, rights_in, signed_in, study_page
from dashboard.rounds import alone_of, notes_of, rows_of
from dashboard.study_forms import StudyForm
from qualification import actions
from qualification.errors import QualificationError
from qualification.experts import closed_rounds, waited_for
from qualification.models import Round, RoundStory
from qualification.queries import why_no_test
from qualification.rates import RoundRates, rates_of

OFFERED = 200
"""Test stories that a round can be made of on the page: the newest."""
SUMMARY = 160
"""Characters of a story by which it is recognised."""


class RoundForm(StudyForm):
    """Which stories a new round has, and how often it may be tried."""

    title = forms.CharField(
        label=gettext_lazy("Title"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("For researchers only."),
    )
    attempts_allowed = forms.IntegerField(
        label=gettext_lazy("Attempts of one person"),
        min_value=1,
        max_value=20,
        initial=1,
        help_text=gettext_lazy("Over all rounds of the study: another form is no further try."),
    )
    pays_on_fail = forms.BooleanField(
        label=gettext_lazy("The time for the test is paid also when it is failed"),
        required=False,
        initial=True,
    )
    stories = forms.MultipleChoiceField(
        label=gettext_lazy("Stories"),
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy(
            "In the published procedure: five, of varied quality. People read them in this order."
        ),
        error_messages={"required": gettext_lazy("Choose at least one story.")},
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        found = Story.objects.filter(study=study, role=Story.Role.QUALIFICATION).select_related("study")
        newest = list(found.order_by("-story_import", "-source_line", "-pk")[:OFFERED])
        stories = self.fields["stories"]
        stories.choices = [(story.story_id, _summary(story)) for story in reversed(newest)]  # type: ignore[attr-defined]
        stories.widget.attrs.pop("class", None)
        self.fields["pays_on_fail"].widget.attrs.pop("class", None)


def _summary(story: Story) -> str:
    text = " ".join(part.text for part in story.study.protocol.summary(story.item))
    return f"{story.story_id} · {text[:SUMMARY]}{'…' if len(text) > SUMMARY else ''}"


@require_safe
@study_page()
def qualification(request: HttpRequest, study: Study) -> HttpResponse:
    """Every round with how people fare in it, and what stands out."""
    closed = closed_rounds(signed_in(request))
    context = {
        "study": study,
        "rounds": [_shown(study, rates, is_closed=rates.round.pk in closed) for rates in rates_of(study)],
        "asked": waited_for(signed_in(request), study=study),
        "may_change": Right.CHANGE in rights_in(request.user, study),
        "no_test": why_no_test(study),
    }
    return render(request, "dashboard/qualification.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Right.CHANGE)
def new_round(request: HttpRequest, study: Study) -> HttpResponse:
    """A round of test stories that have been imported; ``?like=`` chooses those of another round."""
    if why_not := why_no_test(study):
        messages.info(request, why_not)
        return redirect("dashboard:qualification", slug=study.slug)
    form = RoundForm(study, request.POST if request.method == "POST" else None, initial=_like(request, study))
    if request.method == "POST" and form.is_valid():
        said = dict(form.cleaned_data)
        try:
            made = actions.create_round(
                study=study,
                story_ids=said.pop("stories"),
                by=signed_in(request),
                now=timezone.now(),
                **said,
            )
            messages.success(
                request, _("Round %(number)s is made. It needs a key.") % {"number": made.number}
            )
            return redirect("dashboard:round", slug=study.slug, number=made.number)
        except QualificationError as error:
            form.add_error(None, str(error))
    context = {"study": study, "form": form, "has_stories": bool(form.fields["stories"].choices)}  # type: ignore[attr-defined]
    return render(request, "dashboard/new_round.html", context, status=422 if form.errors else 200)


def _like(request: HttpRequest, study: Study) -> dict[str, Any]:
    """What is filled in: as in the round that is to be made anew, else the stories that are in none yet."""
    number = request.GET.get("like", "")
    round = Round.objects.filter(study=study, number=number).first() if number.isdecimal() else None
    if round is None:
        used = RoundStory.objects.filter(round__study=study).values("story")
        fresh = Story.objects.filter(study=study, role=Story.Role.QUALIFICATION).exclude(pk__in=used)
        return {"stories": list(fresh.values_list("story_id", flat=True)[:OFFERED])}
    return {
        "title": round.title,
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
