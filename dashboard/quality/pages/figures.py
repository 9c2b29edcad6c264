"""Agreement, retention, filters, the figures of every annotator, and skipped stories, as pages and as CSV."""

from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render

from annotation.models import Skip, Story, Study
from annotation.rights import read_page
from annotation.rules import is_skipped_often
from dashboard.figures import store, tables
from dashboard.http import csv_file, csv_stream
from publishing.files.rows import SKIP_COLUMNS
from publishing.story_stream import skip_rows
from tomannot import clock


@read_page()
def quality(request: HttpRequest, study: Study) -> HttpResponse:
    """Show agreement before the filter, retention, and everybody's figures with their flags."""
    found, underway = store.refreshed(study, now=clock.now())
    context: dict[str, Any] = {"figures": found, "underway": underway}
    if found and found.document:
        document = found.document
        median = document["everybody"]["median_seconds"]
        places = Paginator(range(store.people_count(study)), store.PEOPLE_AT_ONCE)
        page = places.get_page(request.GET.get("page"))
        context |= {
            "document": document,
            "complete": document["verdicts"]["kept"] + document["verdicts"]["dropped"],
            "measures": tables.measures(study, document),
            "has_statistics": bool(tables.statistics_lines(document)),
            "page": page,
            "people": [tables.person_row(study, median, row) for row in store.people_on(study, page.number)],
            "questions": [str(question.title) for question in study.protocol.chosen],
        }
    return render(request, "dashboard/quality/quality.html", context)


@read_page()
def filters(request: HttpRequest, study: Study) -> HttpResponse:
    """Show what each filter would keep of the votes so far."""
    found, underway = store.refreshed(study, now=clock.now())
    compared = found.document["filters"] if found and found.document else None
    context = {
        "figures": found,
        "underway": underway,
        "compared": compared,
        "votes": found.document["votes"] if found and found.document else None,
        "rows": tables.compared_rows(study, compared) if compared else [],
    }
    return render(request, "dashboard/quality/filters.html", context)


@read_page()
def quality_file(request: HttpRequest, study: Study, table: str) -> HttpResponse:
    """Return one of :data:`TABLES` as CSV.

    Redirect to the page while the figures are being computed.
    """
    if table not in TABLES:
        raise Http404("There is no such table.")
    found = store.latest(study)
    document = found.document if found else None
    if document is None:
        return redirect("dashboard:quality", slug=study.slug)
    columns, rows = TABLES[table](study, document)
    return csv_file(f"{study.slug}-{table}", columns, rows)


def _agreement_table(study: Study, document: dict[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    measured = [*tables.agreement_rows(study, document), *tables.rating_rows(study, document)]
    names = list(dict.fromkeys(cell["name"] for row in measured for cell in row["cells"]))
    bounds = [f"{name}_{end}" for name in names for end in ("low", "high")]
    columns = ["question", "stories", "categories", *names, *bounds, "undefined"]
    rows = []
    for row in measured:
        line = {"question": row["key"], "stories": row["stories"], "categories": row["categories"]}
        for cell in row["cells"]:
            low, high = cell["interval"] or (None, None)
            name = cell["name"]
            line |= {name: cell["value"], f"{name}_low": low, f"{name}_high": high}
        said = dict.fromkeys(cell["undefined"] for cell in row["cells"] if cell["undefined"])
        rows.append({**line, "undefined": " ".join(said)})
    return columns, rows


def _retention_table(study: Study, document: dict[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    statistics = document["statistics"]
    columns = ["by", "name", "generated", "complete", "kept", "dropped", "incomplete", "retention"]
    columns += ["unique_x", "unique_y", "unique_z"]
    found = {"scenario": statistics["by_scenario"], "generator_model": statistics["by_generator_model"]}
    return columns, [{"by": by, **row} for by, names in found.items() for row in tables.retention_rows(names)]


def _participants_figures(study: Study, document: dict[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    people, median = list(store.people(study)), document["everybody"]["median_seconds"]
    shares = {
        f"{question.key}_{option}": (question.key, option)
        for question in study.protocol.questions
        for option in dict.fromkeys(
            [
                *(option.key for option in question.options),
                *sorted({option for row in people for option in row["options"].get(question.key, {})}),
            ]
        )
    }
    plain = ["pseudonym", "votes", "median_seconds", "agreement", "compared", "alone", "alone_share"]
    plain += ["same_share", "same_share_others"]
    rows = [
        {
            **{name: row[name] for name in plain},
            "pace_as_pay": tables.hourly_pay(study.pay_rate, median, row["median_seconds"]),
            "paid_per_hour": row["paid_per_hour"],
            **{
                name: row["options"].get(question, {}).get(option, 0.0)
                for name, (question, option) in shares.items()
            },
            "checks_answered": row["checks"]["answered"],
            "checks_failed": row["checks"]["failed"],
            "signs_known": row["signs"]["known"],
            "signs_without": row["signs"]["without"],
            "flags": " ".join(row["flags"]),
        }
        for row in people
    ]
    counted = ["checks_answered", "checks_failed", "signs_known", "signs_without", "flags"]
    return [*plain, "pace_as_pay", "paid_per_hour", *shares, *counted], rows


def _statistics_table(study: Study, document: dict[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    columns = ["statistic", "kind", "measure", "value", "low", "high"]
    return columns, tables.statistics_lines(document)


TABLES = {
    "agreement": _agreement_table,
    "statistics": _statistics_table,
    "retention": _retention_table,
    "people": _participants_figures,
}
SHOWN = 200
"""Stories on the page, the most skipped first; the file has all skips."""


@read_page()
def skips(request: HttpRequest, study: Study) -> HttpResponse:
    """Count the skips of each story by reason, and of hidden checks together."""
    stories = Skip.objects.by_story(study)
    rows = [
        row
        | {
            "often": is_skipped_often(skips=row["skips"], votes_per_story=study.votes_per_story),
            "by_reason": [(reason.label, row[reason]) for reason in Skip.Reason],
        }
        for row in stories[:SHOWN]
    ]
    in_force = Skip.objects.in_force().filter(assignment__story__study=study)
    context = {
        "rows": rows,
        "reasons": Skip.Reason.labels,
        "more": max(0, stories.count() - SHOWN),
        "total": Skip.objects.reported(study).count(),
        "checks": in_force.filter(assignment__story__role=Story.Role.CHECK).count(),
    }
    return render(request, "dashboard/quality/skips.html", context)


@read_page()
def skips_file(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Stream every skip of a main story as CSV, as in a release."""
    return csv_stream(request, f"{study.slug}-skips", list(SKIP_COLUMNS), skip_rows(study))
