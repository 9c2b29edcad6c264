"""The study's join link, and whose completion code something is."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_safe

from annotation.models import Study
from annotation.rights import Right, rights_in, study_page
from dashboard.recruiting.owed import COLUMNS, owed_rows
from dashboard.spreadsheets import csv_stream
from recruitment.links import join_address
from recruitment.models import JoinLink
from recruitment.queries import check_code


@require_safe
@study_page(Right.CHANGE)
def owed_file(request: HttpRequest, study: Study) -> HttpResponseBase:
    """What each completion code is owed, as a table."""
    return csv_stream(f"{study.slug}-owed", COLUMNS, owed_rows(study))


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(post=Right.CHANGE)
def joining(request: HttpRequest, study: Study) -> HttpResponse:
    """How people come from a platform; a POST looks a code up, so that no log has it or the id with it."""
    link = JoinLink.objects.select_related("study").filter(study=study).first()
    code, participant = request.POST.get("code", ""), request.POST.get("participant", "")
    context = {
        "study": study,
        "link": link,
        "address": join_address(link) if link else "",
        "may_check": Right.CHANGE in rights_in(request.user, study),
        "asked": request.method == "POST",
        "code": code,
        "participant": participant,
        "found": check_code(study, code, participant=participant) if code else None,
    }
    return render(request, "dashboard/joining.html", context)
