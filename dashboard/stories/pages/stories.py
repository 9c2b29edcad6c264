"""Stories of a study: the list, one story, imports, and votes as a file."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from annotation import actions
from annotation.actions.import_jobs import DECIDE_WITHIN, UNFINISHED
from annotation.errors import WrongState
from annotation.importing.progress import progress_of
from annotation.models import Adjudication, Story, StoryImport, Study
from annotation.protocols import UnknownProtocol
from annotation.reasons import LONGEST_STATEMENT
from annotation.rights import Right, by_and_now, form_page, granted, read_page, write_page
from dashboard.figures import store
from dashboard.http import ErrorsAsMessages, csv_file, csv_stream, json_stream, render_form
from dashboard.settings.forms import UploadForm, choose
from dashboard.stories.detail import story_context
from dashboard.stories.queries import (
    ANY,
    DISAGREE,
    OUTCOMES,
    SPLIT,
    Expert,
    ListedStory,
    Search,
    every_story,
    neighbour,
    reason_in_words,
    story_page,
)
from dashboard.stories.votes_export import csv_columns, csv_rows, json_rows, questions_of, votes_of
from publishing.facts import NOT_STATED

PROBLEMS_SHOWN = 50
IMPORTS_SHOWN = 20
DECISIONS = {"import": actions.import_checked, "cancel": actions.cancel_import}
PROBLEM_COLUMNS = ("line", "column", "field", "message", "remedy")
STORY_COLUMNS: dict[str, Callable[[ListedStory], Any]] = {
    "story_id": lambda row: row.story.story_id,
    "verdict": lambda row: row.verdict.outcome.value,
    "reason": lambda row: row.verdict.reason,
    "split_by_one": lambda row: str(row.is_split).lower(),
    "expert": lambda row: row.decision and row.decision.verdict,
    "votes": lambda row: row.votes,
    "lint": lambda row: " ".join(row.codes),
    "scenario_name": lambda row: row.story.scenario_name or NOT_STATED,
    "severity_original": lambda row: row.story.severity_original,
    "story_generator_model": lambda row: row.story.story_generator_model or NOT_STATED,
    "core_id": lambda row: row.story.core_id,
    "text": lambda row: row.text,
}
"""Columns of the stories file, each with its value for a story."""


class SearchForm(forms.Form):
    text = forms.CharField(label=gettext_lazy("Words of the story"), required=False, max_length=200)
    start = forms.CharField(label=gettext_lazy("Starting at this id"), required=False, max_length=100)
    scenario = forms.CharField(label=gettext_lazy("Scenario"), required=False, max_length=100)
    model = forms.CharField(label=gettext_lazy("Generator model"), required=False, max_length=200)
    lint = forms.ChoiceField(label=gettext_lazy("Lint warning"), required=False)
    verdict = forms.ChoiceField(label=gettext_lazy("Verdict so far"), required=False)
    expert = forms.ChoiceField(label=gettext_lazy("Decided by an expert"), required=False)
    dropped_by = forms.ChoiceField(label=gettext_lazy("Dropped by"), required=False)
    after = forms.CharField(required=False, max_length=100, widget=forms.HiddenInput)

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        labels = study.protocol.finding_labels.items()
        questions = [(question.key, question.title) for question in study.protocol.chosen]
        choose(self, "dropped_by", [("", _("any question")), *questions])
        choose(self, "lint", [("", _("all stories")), (ANY, _("any warning")), *labels])
        choose(
            self,
            "verdict",
            [
                ("", _("all stories")),
                *OUTCOMES.items(),
                (SPLIT, _("split by one vote")),
                (DISAGREE, _("same text, other verdict")),
            ],
        )
        choose(self, "expert", [("", _("all stories")), *Expert.choices])
        self.fields["scenario"].widget.attrs["list"] = "scenarios"
        self.fields["model"].widget.attrs["list"] = "models"

    def search(self) -> Search:
        """Return the valid filters; invalid ones are ignored."""
        self.is_valid()
        return Search(**self.cleaned_data)

    def query(self) -> str:
        """Return the filters for an address, with a question mark; without the place in the list."""
        wanted = {name: value for name, value in self.cleaned_data.items() if value and name != "after"}
        return f"?{urlencode(wanted)}" if wanted else ""


@read_page()
def stories(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a page of the list. A search for the id of a story leads to that story at once."""
    search = SearchForm(study, request.GET).search()
    if search.start and not (search.text or search.is_filtered or search.after):
        found = Story.objects.filter(study=study, story_id=search.start).first()
        if found:
            return redirect("dashboard:story", slug=study.slug, story_id=found.story_id)
    return _list(request, study)


def _list(request: HttpRequest, study: Study, *, status: int = 200) -> HttpResponse:
    form = SearchForm(study, request.GET)
    search = form.search()
    page = story_page(study, search)
    figures = store.latest(study)
    document = figures.document if figures else None
    context = {
        "form": form,
        "stories": document["verdicts"]["stories"] if document else 0,
        "page": page,
        "rows": [
            (row, OUTCOMES[row.verdict.outcome], reason_in_words(study, row.verdict)) for row in page.rows
        ],
        "next": "?" + urlencode({**request.GET.dict(), "after": page.next}) if page.next else "",
        "first": (form.query() or request.path) if search.after else "",
        "is_filtered": bool(search.is_filtered or search.start),
        "wanted": form.query(),
        "decisions": Adjudication.Verdict.choices,
        "reason": request.POST.get("reason", ""),
        "longest": LONGEST_STATEMENT,
        "scenarios": sorted(document["statistics"]["by_scenario"]) if document else [],
        "models": sorted(document["statistics"]["by_generator_model"]) if document else [],
    }
    return render(request, "dashboard/stories/stories.html", context, status=status)


@write_page(Right.REVIEW)
def decide_stories(request: HttpRequest, study: Study) -> HttpResponse:
    """Record an expert's decision about the ticked stories of the list, all or none."""
    with ErrorsAsMessages(request, ValueError):
        ticked = [text.partition(":") for text in request.POST.getlist("story")]
        made = actions.adjudicate_stories(
            study=study,
            seen={story_id: int(seen) for seen, _colon, story_id in ticked if "\0" not in story_id},
            verdict=Adjudication.Verdict(request.POST.get("decision", "")),
            reason=request.POST.get("reason", ""),
            **by_and_now(request),
        )
        said = ngettext("%(n)s story is decided.", "%(n)s stories are decided.", len(made))
        messages.success(request, said % {"n": len(made)})
        here = reverse("dashboard:stories", args=[study.slug])
        return redirect(f"{here}?{request.GET.urlencode()}" if request.GET else here)
    return _list(request, study, status=422)


@read_page()
def stories_file(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Stream all stories that pass the filters as CSV."""
    search = replace(SearchForm(study, request.GET).search(), after="")
    rows = ({name: value(row) for name, value in STORY_COLUMNS.items()} for row in every_story(study, search))
    return csv_stream(request, f"{study.slug}-stories", list(STORY_COLUMNS), rows)


@read_page()
def story(request: HttpRequest, study: Study, story_id: str) -> HttpResponse:
    """Show a story with its votes, verdicts and history."""
    if "\0" in story_id:  # PostgreSQL takes no such text
        raise Http404
    found = get_object_or_404(Story.objects.select_related("story_import"), study=study, story_id=story_id)
    found.study = study
    is_newest = found.role == Story.Role.MAIN and not found.is_old_version
    context = story_context(study, found) | {
        "story": found,
        "may_review": is_newest and Right.REVIEW in granted(request),
    }
    if is_newest and study.protocol.revisable:
        with suppress(WrongState):
            actions.check_revisable(story=found, study=study)
            context["may_revise"] = Right.CHANGE in granted(request)
    if found.role == Story.Role.MAIN:
        form = SearchForm(study, request.GET)
        search = form.search()
        context |= {
            "previous": neighbour(study, search, story_id, backwards=True),
            "next": neighbour(study, search, story_id, backwards=False),
            "wanted": form.query(),
        }
    return render(request, "dashboard/stories/story.html", context)


@read_page()
def votes_file(request: HttpRequest, study: Study, kind: str) -> HttpResponseBase:
    """Send every revision of every vote on main stories, as ``csv`` or ``jsonl`` like the API."""
    name = f"{study.slug}-votes"
    if kind == "csv":
        keys = questions_of(study)
        return csv_stream(request, name, csv_columns(keys), csv_rows(study, keys))
    if kind == "jsonl":
        return json_stream(request, name, json_rows(votes_of(study), study.protocol.questions))
    raise Http404("Votes are exported as csv and as jsonl.")


@form_page(post=Right.CHANGE)
def import_stories(request: HttpRequest, study: Study) -> HttpResponse:
    """Take a file to check, and list earlier imports."""
    wanted = {"role": request.GET.get("role", Story.Role.MAIN)}  # pages that lack stories link with a role
    form = UploadForm(request.POST, request.FILES) if request.method == "POST" else UploadForm(initial=wanted)
    if form.is_valid():
        job = actions.queue_import(
            study=study,
            file=form.cleaned_data["file"],
            role=Story.Role(form.cleaned_data["role"]),
            license=form.cleaned_data["license"],
            dry_run=True,
            **by_and_now(request),
        )
        return redirect("dashboard:import_report", slug=study.slug, number=job.pk)
    context = {
        "form": form,
        "imports": StoryImport.objects.filter(study=study).select_related("requested_by")[:IMPORTS_SHOWN],
    }
    return render_form(request, "dashboard/stories/import_stories.html", context)


@form_page(post=Right.CHANGE)
def import_report(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Report what an import would do or has done; a POST confirms or cancels it."""
    job = get_object_or_404(StoryImport.objects.select_related("study"), study=study, pk=number)
    if request.method == "POST":
        decide = DECISIONS.get(request.POST.get("decision", ""))
        with ErrorsAsMessages(request):
            if decide:
                decide(story_import=job, **by_and_now(request))
            else:
                messages.error(request, _("Choose whether to import the stories."))
        return redirect("dashboard:import_report", slug=study.slug, number=job.pk)
    underway = job.state in UNFINISHED
    problems = Paginator(job.problems.all(), PROBLEMS_SHOWN)
    context = {
        "job": job,
        "role": job.role,
        "underway": underway,
        "read": progress_of(job.pk) if underway else job.rows_read,
        "problems": problems.get_page(request.GET.get("page")),
        "kinds": _kinds(study, job),
        "undecided": job.state == StoryImport.State.CHECKED and bool(job.file),
        "decide_until": job.finished_at + DECIDE_WITHIN if job.finished_at else None,
    }
    return render(request, "dashboard/stories/import_report.html", context)


@read_page()
def import_problems(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Send the problems of an import file as CSV."""
    job = get_object_or_404(StoryImport, study=study, pk=number)
    rows = job.problems.values(*PROBLEM_COLUMNS).iterator(chunk_size=2000)
    return csv_file(f"{study.slug}-import-{job.pk}-problems", PROBLEM_COLUMNS, rows)


def _kinds(study: Study, job: StoryImport) -> list[dict[str, Any]]:
    """Return lint warnings by kind, the most frequent first."""
    try:
        labels = study.protocol.finding_labels
    except UnknownProtocol:
        labels = {}
    kinds = [
        {"label": str(labels.get(code, code.replace("_", " "))), **found}
        for code, found in job.findings_by_code.items()
    ]
    return sorted(kinds, key=lambda kind: (-kind["count"], kind["label"]))
