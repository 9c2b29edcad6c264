"""Publishing a release: which filter, and what each would keep."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.models import Study
from annotation.rights import Right, signed_in, study_page
from dashboard.figures import kept, shown
from publishing import actions
from publishing.errors import PublishingError
from publishing.facts import Statement
from publishing.filters import DEFAULT_FILTER, FILTERS
from publishing.queries import statement_of


@require_safe
@study_page()
def filters(request: HttpRequest, study: Study) -> HttpResponse:
    """What each filter would keep of the votes so far."""
    found, underway = kept.refreshed(study, now=timezone.now())
    compared = found.document["filters"] if found and found.document else None
    context = {
        "study": study,
        "figures": found,
        "underway": underway,
        "compared": compared,
        "votes": found.document["votes"] if found and found.document else None,
        "rows": shown.compared_rows(study, compared) if compared else [],
    }
    return render(request, "dashboard/filters.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Right.PUBLISH)
def publish(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask for a release, after a page that says what it would hold; a Celery worker builds it."""
    if request.method == "POST":
        name = request.POST.get("filter", DEFAULT_FILTER)
        try:
            release = actions.request_release(
                study=study, by=signed_in(request), now=timezone.now(), filter_name=name
            )
            messages.success(request, _("Release %(number)s is being built.") % {"number": release.number})
        except PublishingError as error:
            messages.error(request, str(error))
        return redirect("dashboard:releases", slug=study.slug)
    found, underway = kept.refreshed(study, now=timezone.now())
    context = {
        "study": study,
        "figures": found,
        "underway": underway,
        "verdicts": found.document["verdicts"] if found and found.document else None,
        "filters": _choices(study, found),
        "is_described": statement_of(study, at=timezone.now()) != Statement(),
    }
    return render(request, "dashboard/publish.html", context)


def _choices(study: Study, found: kept.Figures | None) -> list[dict[str, Any]]:
    """The filters a release may be made with, and what each keeps as far as that has been worked out."""
    rows = found.document["filters"]["filters"] if found and found.document else []
    by_name = {row["name"]: row for row in rows}
    return [
        {
            "name": rule.name,
            "title": title,
            "rule": sentence,
            "validates": rule.validates,
            "checked": rule.name == DEFAULT_FILTER,
            "kept": by_name.get(rule.name, {}).get("kept"),
            "dropped": by_name.get(rule.name, {}).get("dropped"),
        }
        for rule in FILTERS.values()
        for title, sentence in [rule.shown(study.votes_per_story)]
    ]
