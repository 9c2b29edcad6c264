"""Bringing stories in: a file is uploaded, a report says what would come of it, then somebody decides."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation import actions
from annotation.actions.import_jobs import DECIDE_WITHIN, UNFINISHED
from annotation.errors import WrongState
from annotation.importing.progress import progress_of
from annotation.models import Story, StoryImport, Study
from annotation.protocols import UnknownProtocol
from annotation.rights import Right, rights_in, signed_in, study_page
from dashboard.spreadsheets import csv_file
from dashboard.study_forms import UploadForm

PROBLEMS_SHOWN = 50
IMPORTS_SHOWN = 20
DECISIONS = {"import": actions.import_checked, "cancel": actions.cancel_import}
COLUMNS = ("line", "column", "field", "message", "remedy")


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(post=Right.CHANGE)
def import_stories(request: HttpRequest, study: Study) -> HttpResponse:
    """Take a file to be checked, and list what was brought in before."""
    wanted = {"role": request.GET.get("role", Story.Role.MAIN)}  # a page that lacks stories says which
    form = UploadForm(request.POST, request.FILES) if request.method == "POST" else UploadForm(initial=wanted)
    if form.is_valid():
        job = actions.queue_import(
            study=study,
            file=form.cleaned_data["file"],
            role=Story.Role(form.cleaned_data["role"]),
            dry_run=True,
            by=signed_in(request),
            now=timezone.now(),
        )
        return redirect("dashboard:import_report", slug=study.slug, number=job.pk)
    context = {
        "study": study,
        "form": form,
        "may_change": Right.CHANGE in rights_in(request.user, study),
        "imports": StoryImport.objects.filter(study=study).select_related("requested_by")[:IMPORTS_SHOWN],
    }
    return render(request, "dashboard/import_stories.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(post=Right.CHANGE)
def import_report(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """What would come of a file, or has come of it; a POST has it imported or cancels."""
    job = get_object_or_404(StoryImport.objects.select_related("study"), study=study, pk=number)
    if request.method == "POST":
        decide = DECISIONS.get(request.POST.get("decision", ""))
        try:
            if decide:
                decide(story_import=job, by=signed_in(request), now=timezone.now())
            else:
                messages.error(request, _("Choose whether the stories are to be imported."))
        except WrongState as error:
            messages.error(request, str(error))
        return redirect("dashboard:import_report", slug=study.slug, number=job.pk)
    underway = job.state in UNFINISHED
    problems = Paginator(job.problems.all(), PROBLEMS_SHOWN)
    context = {
        "study": study,
        "job": job,
        "role": job.role,
        "underway": underway,
        "read": progress_of(job.pk) if underway else job.rows_read,
        "problems": problems.get_page(request.GET.get("page")),
        "kinds": _kinds(study, job),
        "undecided": job.state == StoryImport.State.CHECKED and bool(job.file),
        "decide_until": job.finished_at + DECIDE_WITHIN if job.finished_at else None,
        "may_change": Right.CHANGE in rights_in(request.user, study),
    }
    return render(request, "dashboard/import_report.html", context)


@require_safe
@study_page()
def import_problems(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """The problems of a file as CSV."""
    job = get_object_or_404(StoryImport, study=study, pk=number)
    rows = job.problems.values(*COLUMNS).iterator(chunk_size=2000)
    return csv_file(f"{study.slug}-import-{job.pk}-problems", COLUMNS, rows)


def _kinds(study: Study, job: StoryImport) -> list[dict[str, Any]]:
    """The lint's findings by kind, the most frequent first."""
    try:
        labels = study.protocol.finding_labels
    except UnknownProtocol:
        labels = {}
    kinds = [
        {"label": str(labels.get(code, code.replace("_", " "))), **found}
        for code, found in job.findings_by_code.items()
    ]
    return sorted(kinds, key=lambda kind: (-kind["count"], kind["label"]))
