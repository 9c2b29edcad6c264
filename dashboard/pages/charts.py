"""A chart of a study as a file: its rows, or its whole specification."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from annotation.models import Study
from annotation.rights import study_page
from dashboard.charts.catalogue import CHARTS, chart_called
from dashboard.figures import kept
from dashboard.spreadsheets import csv_file

KINDS = ("csv", "json")


@require_safe
@study_page()
def chart_file(request: HttpRequest, study: Study, name: str, kind: str) -> HttpResponse:
    """The rows of a chart (``csv``), or a specification that any program for Vega-Lite draws (``json``).

    Where there is nothing to draw yet it leads to the chart's page, which says so.
    """
    if name not in CHARTS or kind not in KINDS:
        raise Http404("There is no such chart.")
    chart = chart_called(name, study, kept.latest(study))
    if chart is None:
        return redirect(f"dashboard:{CHARTS[name].page}", slug=study.slug)
    if kind == "csv":
        return csv_file(f"{study.slug}-{name}", [column.key for column in chart.columns], chart.rows)
    response = JsonResponse(chart.spec(), json_dumps_params={"indent": 1, "ensure_ascii": False})
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-{name}.vl.json"'
    return response
