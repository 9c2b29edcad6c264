"""Download of a study's chart: its rows or its whole specification."""

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect

from annotation.models import Study
from annotation.rights import read_page
from dashboard.charts.catalogue import CHARTS, chart_called
from dashboard.csv_files import csv_file
from dashboard.figures import store

KINDS = ("csv", "json")


@read_page()
def chart_file(request: HttpRequest, study: Study, name: str, kind: str) -> HttpResponse:
    """Send a chart's rows (``csv``), or a specification that any Vega-Lite program draws (``json``).

    Without data, redirect to the chart's page, which says so.
    """
    if name not in CHARTS or kind not in KINDS:
        raise Http404("There is no such chart.")
    chart = chart_called(name, study, store.latest(study))
    if chart is None:
        return redirect(f"dashboard:{CHARTS[name].page}", slug=study.slug)
    if kind == "csv":
        return csv_file(f"{study.slug}-{name}", [column.key for column in chart.columns], chart.rows)
    response = JsonResponse(chart.spec(), json_dumps_params={"indent": 1, "ensure_ascii": False})
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-{name}.vl.json"'
    return response
