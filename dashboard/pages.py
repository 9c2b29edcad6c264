"""The front page, and the list of studies."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.rights import researchers_page, signed_in, studies_of
from dashboard import queries
from dashboard.figures import store
from publishing.views import release_list
from qualification.experts import pending_reviews


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show the front page with the published releases."""
    return render(request, "pages/home.html", {"releases": release_list(), "sends_mail": settings.SENDS_MAIL})


@require_safe
@researchers_page
def studies(request: HttpRequest) -> HttpResponse:
    """List the studies that the reader may see, with the tasks that wait for the reader in them."""
    found = list(queries.studies(studies_of(request.user)))
    figures = store.latest_of(found)
    rows = [(study, figures[study.pk].document if study.pk in figures else None) for study in found]
    context = {"rows": rows, "asked": pending_reviews(signed_in(request))}
    return render(request, "dashboard/studies.html", context)
