"""The stories of a study: the list, and the page of one with its votes, its verdict and its history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.models import Story, Study
from annotation.rights import Right, rights_in, study_page
from dashboard.figures import kept
from dashboard.one_story import about
from dashboard.spreadsheets import csv_stream
from dashboard.stories import (
    ANY,
    SPLIT,
    Expert,
    ListedStory,
    Search,
    every_story,
    reason_in_words,
    story_page,
)
from publishing.filters import Outcome

OUTCOMES = {
    Outcome.KEPT: gettext_lazy("kept"),
    Outcome.DROPPED: gettext_lazy("dropped"),
    Outcome.INCOMPLETE: gettext_lazy("incomplete"),
}


COLUMNS: dict[str, Callable[[ListedStory], Any]] = {
    "story_id": lambda row: row.story.story_id,
    "verdict": lambda row: row.verdict.outcome.value,
    "reason": lambda row: row.verdict.reason,
    "split_by_one": lambda row: str(row.is_split).lower(),
    "expert": lambda row: row.expert,
    "votes": lambda row: row.votes,
    "lint": lambda row: " ".join(row.codes),
    "scenario_name": lambda row: row.story.scenario_name,
    "severity_original": lambda row: row.story.severity_original,
    "story_generator_model": lambda row: row.story.story_generator_model,
    "core_id": lambda row: row.story.core_id,
}
"""Of the file."""


class SearchForm(forms.Form):
    """What to look for in the list."""

    start = forms.CharField(label=gettext_lazy("From this id on"), required=False, max_length=100)
    scenario = forms.CharField(label=gettext_lazy("Scenario"), required=False, max_length=100)
    model = forms.CharField(label=gettext_lazy("Generator model"), required=False, max_length=200)
    lint = forms.ChoiceField(label=gettext_lazy("Lint finding"), required=False)
    verdict = forms.ChoiceField(label=gettext_lazy("Verdict so far"), required=False)
    expert = forms.ChoiceField(label=gettext_lazy("Decided by an expert"), required=False)
    dropped_by = forms.ChoiceField(label=gettext_lazy("Dropped by"), required=False)
    after = forms.CharField(required=False, max_length=100, widget=forms.HiddenInput)

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        labels = study.protocol.finding_labels.items()
        questions = [(question.key, question.title) for question in study.protocol.questions]
        _choose(self.fields["dropped_by"], [("", _("any question")), *questions])
        _choose(self.fields["lint"], [("", _("all stories")), (ANY, _("any finding")), *labels])
        _choose(
            self.fields["verdict"],
            [("", _("all stories")), *OUTCOMES.items(), (SPLIT, _("split by one vote"))],
        )
        _choose(self.fields["expert"], [("", _("all stories")), *Expert.choices])
        for name in self.fields:
            self.fields[name].widget.attrs["class"] = "text"
        self.fields["scenario"].widget.attrs["list"] = "scenarios"
        self.fields["model"].widget.attrs["list"] = "models"

    def search(self) -> Search:
        """What is looked for; what makes no sense is left out."""
        self.is_valid()
        return Search(**self.cleaned_data)


def _choose(field: forms.Field, choices: list[tuple[Any, Any]]) -> None:
    assert isinstance(field, forms.ChoiceField)
    field.choices = choices


@require_safe
@study_page()
def stories(request: HttpRequest, study: Study) -> HttpResponse:
    """A page of the list; an id that is there leads to its story at once."""
    form = SearchForm(study, request.GET)
    search = form.search()
    if search.start and not (search.filters or search.after):
        found = Story.objects.filter(study=study, story_id=search.start).first()
        if found:
            return redirect("dashboard:story", slug=study.slug, story_id=found.story_id)
    page = story_page(study, search)
    wanted = {name: value for name, value in form.cleaned_data.items() if value and name != "after"}
    figures = kept.latest(study)
    document = figures.document if figures else None
    context = {
        "study": study,
        "form": form,
        "page": page,
        "rows": [
            (row, OUTCOMES[row.verdict.outcome], reason_in_words(study, row.verdict)) for row in page.rows
        ],
        "next": "?" + urlencode(wanted | {"after": page.next}) if page.next else "",
        "is_first": not search.after,
        "wanted": urlencode(wanted),
        "scenarios": sorted(document["statistics"]["by_scenario"]) if document else [],
        "models": sorted(document["statistics"]["by_generator_model"]) if document else [],
    }
    return render(request, "dashboard/stories.html", context)


@require_safe
@study_page()
def stories_file(request: HttpRequest, study: Study) -> HttpResponseBase:
    """The same search as a CSV of all stories that fit, sent while they are looked for."""
    search = replace(SearchForm(study, request.GET).search(), after="")
    rows = ({name: value(row) for name, value in COLUMNS.items()} for row in every_story(study, search))
    return csv_stream(request, f"{study.slug}-stories", list(COLUMNS), rows)


@require_safe
@study_page()
def story(request: HttpRequest, study: Study, story_id: str) -> HttpResponse:
    """Everything about one story."""
    if "\0" in story_id:  # PostgreSQL takes no such text
        raise Http404
    found = get_object_or_404(Story.objects.select_related("story_import"), study=study, story_id=story_id)
    found.study = study
    context = about(study, found) | {
        "study": study,
        "story": found,
        "outcomes": OUTCOMES,
        "may_review": Right.REVIEW in rights_in(request.user, study) and found.role == Story.Role.MAIN,
        "may_change": Right.CHANGE in rights_in(request.user, study),
    }
    for row in context["verdicts"]:
        row["outcome"] = OUTCOMES[row["verdict"].outcome]
        row["reason"] = reason_in_words(study, row["verdict"])
    return render(request, "dashboard/story.html", context)
