"""Compare two releases of a study."""

from itertools import chain
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.models import Study
from annotation.rights import read_page
from dashboard.csv_files import csv_stream
from dashboard.parameters import number_in, page_number
from dashboard.releases import comparison as tables
from publishing.comparison import store
from publishing.comparison.diff import Kind
from publishing.comparison.store import Comparison
from publishing.models import Release

MOST_CHOICES = 200
"""Releases to choose from; older ones by their number in the address."""


@read_page()
def compare_releases(request: HttpRequest, study: Study) -> HttpResponse:
    """Choose two published releases, and show how they differ once a worker has compared them."""
    published = Release.objects.published().filter(study=study).order_by("-number")
    numbers = list(published.values_list("number", flat=True)[:MOST_CHOICES])
    first, second = (number_in(request.GET.get(name)) for name in ("first", "second"))
    pair = store.published_pair(study, first, second) if first and second else None
    context: dict[str, Any] = {
        "numbers": numbers,
        "same": bool(first and first == second),
        "unknown": bool(first and second and first != second and not pair),
        "chosen": [pair[0].number, pair[1].number] if pair else numbers[1::-1],
    }
    if pair:
        found, failure = store.get_or_request(*pair)
        context |= {"pair": pair, "failure": failure, "underway": not found and not failure}
        if found:
            context |= _shown(request, study, *pair, found)
    return render(request, "dashboard/releases/compare_releases.html", context)


@read_page()
def compare_file(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Stream the differing stories as CSV; redirect to the page until a worker has compared the releases."""
    first, second = (number_in(request.GET.get(name)) for name in ("first", "second"))
    pair = store.published_pair(study, first, second) if first and second else None
    found = store.load(*pair) if pair else None
    if pair is None or found is None:
        page = reverse("dashboard:compare_releases", args=[study.slug])
        return redirect(f"{page}?{request.GET.urlencode()}")
    name = f"{study.slug}-{pair[0].number}-and-{pair[1].number}"
    rows = chain.from_iterable(tables.csv_rows(kind, found.rows(kind)) for kind in Kind)
    return csv_stream(request, name, tables.CSV_COLUMNS, rows)


def _shown(
    request: HttpRequest, study: Study, before: Release, now: Release, found: Comparison
) -> dict[str, Any]:
    summary = found.summary
    differing, titles = summary["differing"], tables.kinds(before, now)
    kind = _kind(request.GET.get("kind"), differing)
    number = page_number(request)
    asked = {"first": before.number, "second": now.number}
    pages = -(-differing[kind] // store.PER_PAGE)
    scenarios, more_scenarios = tables.retention_pairs(summary, "by_scenario")
    generators, more_generators = tables.retention_pairs(summary, "by_generator_model")
    return {
        "summary": summary,
        "kept_in_both": summary["moves"].get("kept kept", 0),
        "settings": tables.setting_rows(before, now),
        "counts": tables.count_rows(before, now),
        "kinds": [
            {
                "title": title,
                "stories": differing[each],
                "current": each is kind,
                "query": urlencode(asked | {"kind": each.value}),
            }
            for each, title in titles.items()
        ],
        "kind_title": titles[kind],
        "stories": tables.story_rows(study, found.page(kind, number)),
        "page_number": number,
        "pages": pages,
        "earlier": urlencode(asked | {"kind": kind.value, "page": number - 1}) if number > 1 else "",
        "later": urlencode(asked | {"kind": kind.value, "page": number + 1}) if number < pages else "",
        "file_query": urlencode(asked),
        "agreement": tables.agreement_pairs(study, summary),
        "retentions": [
            ("by-scenario", scenarios, more_scenarios),
            ("by-generator", generators, more_generators),
        ],
    }


def _kind(said: str | None, differing: dict[str, int]) -> Kind:
    """Return the requested kind, else the first with stories."""
    if said in set(Kind):
        return Kind(said)
    return next((kind for kind in Kind if differing[kind]), Kind.KEPT_BEFORE)
