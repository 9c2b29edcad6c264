"""The front page, and the list of studies."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.rights import researchers_page, signed_in, studies_of
from dashboard import queries
from dashboard.figures import kept
from publishing.views import release_list
from qualification.experts import waited_for


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What this is, and what has been published here."""
    return render(request, "pages/home.html", {"releases": release_list(), "sends_mail": settings.SENDS_MAIL})


@require_safe
@researchers_page
def studies(request: HttpRequest) -> HttpResponse:
    """The studies that the reader may look at, and what they are asked for in them."""
    found = list(queries.studies(studies_of(request.user)))
    figures = kept.latest_of(found)
    rows = [(study, figures[study.pk].document if study.pk in figures else None) for study in found]
    context = {"rows": rows, "asked": waited_for(signed_in(request))}
    return render(request, "dashboard/studies.html", context)
