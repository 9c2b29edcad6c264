"""Publish a release: choose the filter, look at the private preview, then decide."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import Study
from annotation.rights import Right, by_and_now, form_page, read_page
from dashboard.figures import store
from dashboard.releases.forms import StatementForm
from dashboard.responses import ErrorsAsMessages
from dashboard.settings.configuration.export import test_of
from publishing import previews
from publishing.actions import releases
from publishing.card.html import rendered
from publishing.errors import PublishingError
from publishing.facts import Statement
from publishing.files.directory import content_type
from publishing.filters import DEFAULT_FILTER, FILTERS, ONE_OF_EACH, find_filter
from publishing.queries import statement_of
from tomannot import clock


@form_page(Right.PUBLISH)
def publish(request: HttpRequest, study: Study) -> HttpResponse:
    """Choose the filter of a release to preview. A POST requests the release; a Celery worker builds it."""
    if request.method == "POST":
        name = request.POST.get("filter", DEFAULT_FILTER)
        if "previewed" not in request.POST:  # only the preview asks
            preview = reverse("dashboard:preview_release", args=[study.slug])
            return redirect(f"{preview}?{urlencode({'filter': name})}")
        with ErrorsAsMessages(request, PublishingError):
            release = releases.request_release(
                study=study,
                **by_and_now(request),
                filter_name=name,
                test=test_of(study) if "publish_test" in request.POST else None,
            )
            messages.success(request, _("Release %(number)s is being built.") % {"number": release.number})
        return redirect("dashboard:releases", slug=study.slug)
    found, underway = store.refreshed(study, now=clock.now())
    context = {
        "figures": found,
        "underway": underway,
        "verdicts": found.document["verdicts"] if found and found.document else None,
        "filters": _choices(study, found),
        "is_described": statement_of(study, at=clock.now()) != Statement(),
    }
    return render(request, "dashboard/releases/publish.html", context)


@read_page(Right.PUBLISH)
def preview_release(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the next release as it would be, to those who may publish it, and ask whether to."""
    option = ONE_OF_EACH if "one_of_each" in request.GET else ""
    rule, now = find_filter(request.GET.get("filter", DEFAULT_FILTER) + option), clock.now()
    if rule is None:
        raise Http404("There is no such filter.")
    found = previews.get_or_request(study, rule.name, now=now)
    urls = {
        path: reverse("dashboard:preview_chart", args=[study.slug, rule.name, path])
        for path in (found.charts if found else ())
    }
    context = {
        "name": rule.name,  # a filter can be called, and a template would
        "validates": rule.validates,
        "title": rule.localized(study.votes_per_story)[0],
        "one_of_each": rule.one_of_each,
        "preview": found,
        "has_test": study.gate == Study.Gate.READY,
        "card": rendered(found.card, urls.get) if found and not found.failure else None,
        "statement": [
            (field.label, getattr(found.statement, name) if found else "")
            for name, field in StatementForm.base_fields.items()
        ],
    }
    return render(request, "dashboard/releases/preview_release.html", context)


@read_page(Right.PUBLISH)
def preview_chart(request: HttpRequest, study: Study, name: str, path: str) -> HttpResponse:
    """Send a chart of the preview."""
    found = previews.latest(study, name)
    if found is None:  # it is kept for minutes only
        return redirect("dashboard:preview_release", slug=study.slug)
    if path not in found.charts:
        raise Http404("The preview has no such chart.")
    return HttpResponse(found.charts[path], content_type=content_type(path))


def _choices(study: Study, found: store.Figures | None) -> list[dict[str, Any]]:
    """Return the filters to choose from, with what each would keep if the figures are known."""
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
        for title, sentence in [rule.localized(study.votes_per_story)]
    ]
