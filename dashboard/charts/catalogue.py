"""All charts, each with its page and the figures it is drawn from."""

from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

from django.utils.translation import gettext as _

from annotation.models import Study
from dashboard.charts import quality, stories, votes
from dashboard.charts.base import Chart, Source
from dashboard.figures import flags, store, tables


class Entry(NamedTuple):
    """A chart: its page (the name of the view) and its maker, which returns None if there is no data."""

    page: str
    make: Callable[[Source], Chart | None]


def chart_called(name: str, study: Study, found: store.Figures | None) -> Chart | None:
    """Return the chart with this name; None if it is unknown or has no data."""
    if found is None or found.document is None or name not in CHARTS:
        return None
    return CHARTS[name].make(Source(study, found.document, found.begun_at))


def _agreement(source: Source) -> Chart | None:
    rows = tables.agreement_rows(source.study, source.document)
    return quality.agreement(rows) if any(row["stories"] for row in rows) else None


def _by_scenario(source: Source) -> Chart | None:
    rows, title = tables.retention_rows(source.document["statistics"]["by_scenario"]), _("Kept, by scenario")
    return stories.retention(title, _("Scenario"), rows, lists="scenario") if rows else None


def _by_generator(source: Source) -> Chart | None:
    rows = tables.retention_rows(source.document["statistics"]["by_generator_model"])
    title, what = _("Kept, by generator model"), _("Generator model")
    return stories.retention(title, what, rows, lists="model") if rows else None


def _by_severity(source: Source) -> Chart | None:
    rows, title, what = source.document["by_severity"], _("Kept, by severity"), _("Severity")
    called = _("severity %s")
    return stories.retention(title, what, rows, ranked=False, called=called) if rows else None


def _people(source: Source) -> Chart | None:
    rows = [
        {**row, "flags": [flags.title(name) for name in row["flags"]]}
        for row in islice(store.people(source.study), quality.MOST)
    ]
    median, everybody = source.document["everybody"]["median_seconds"], store.people_count(source.study)
    return quality.people(rows, median_seconds=median, everybody=everybody) if rows else None


def _filters(source: Source) -> Chart | None:
    compared = source.document["filters"]
    if source.study.most_votes or not compared["stories"]:  # only one filter can judge an adaptive study
        return None
    rows = tables.compared_rows(source.study, compared)
    return stories.kept_by_filter(rows, stories=compared["stories"])


def _reasons(source: Source) -> Chart | None:
    compared = source.document["filters"]
    if source.study.most_votes or not compared["stories"]:  # only one filter can judge an adaptive study
        return None
    rows = [row for row in tables.compared_rows(source.study, compared) if not row["is_model"]]
    return stories.dropped_by_question(rows, stories=compared["stories"])


CHARTS = {
    "verdicts": Entry("overview", stories.verdicts),
    "progress": Entry("overview", votes.progress),
    "votes": Entry("overview", votes.votes),
    "agreement": Entry("quality", _agreement),
    "kept-by-scenario": Entry("quality", _by_scenario),
    "kept-by-generator": Entry("quality", _by_generator),
    "kept-by-severity": Entry("quality", _by_severity),
    "people": Entry("quality", _people),
    "kept-by-filter": Entry("filters", _filters),
    "dropped-by-question": Entry("filters", _reasons),
}
"""All charts by their names."""
