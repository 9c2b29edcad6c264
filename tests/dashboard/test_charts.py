"""The charts: what their rows and sentences say, their files, and what is vendored to draw them."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.actions import ensure_researcher
from annotation.models import Study
from dashboard.charts import quality, stories, votes
from dashboard.charts.base import Source, in_lines
from dashboard.charts.catalogue import CHARTS
from dashboard.figures import forecast
from dashboard.queries import Share
from publishing.statistics.intervals import wilson
from tests import builders
from tests.dashboard.quality.test_quality_page import looked_at
from tomannot.embedded import PROJECT

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
HOUR = forecast.hour_of(NOW)
FILES = PROJECT / "static" / "vendor" / "vega"


def source(
    hourly: dict[int, int],
    finish: dict[str, Any] | None = None,
    *,
    now: datetime,
    minutes: dict[int, int] | None = None,
    wanted: int = 0,
) -> Source:
    """Figures of a study with these votes."""
    document = {"hourly": hourly, "minutes": minutes or {}, "finish": finish, "votes": {"wanted": wanted}}
    return Source(Study(), document, now)


def row(name: str, kept: int, complete: int) -> dict[str, Any]:
    return {"name": name, "generated": complete + 1, "complete": complete, "kept": kept}


def test_retention_is_ranked_with_intervals_and_says_the_extremes() -> None:
    rows = [row("low", 2, 20), row("none", 0, 0), row("high", 18, 20)]
    chart = stories.retention("Kept", "Scenario", rows, ranked=True)
    assert [found["name"] for found in chart.rows] == ["high", "low", "none"]
    assert (chart.rows[0]["low"], chart.rows[0]["high"]) == wilson(18, 20)
    assert chart.rows[2]["share"] is chart.rows[2]["low"] is None
    assert "20 of 40 complete stories are kept (50 %)" in chart.finding
    assert "most often: high (90 %); least often: low (10 %)" in chart.finding
    lucky = stories.retention("Kept", "Scenario", [*rows, row("one", 1, 1)], ranked=True)
    assert lucky.rows[0]["name"] == "one"
    assert "most often: high (90 %); least often: low (10 %)" in lucky.finding, "one story is no finding"
    few = stories.retention("Kept", "Scenario", [row("a", 0, 19), row("b", 9, 20)], ranked=True)
    assert few.finding == "9 of 39 complete stories are kept (23 %)."
    in_order = stories.retention("Kept", "Severity", rows, ranked=False)
    by_severity = stories.retention("Kept", "Severity", rows, ranked=False, called="severity %s")
    assert "most often: severity " in by_severity.finding
    assert "least often: severity " in by_severity.finding
    assert [found["name"] for found in in_order.rows] == ["low", "none", "high"]
    nothing = stories.retention("Kept", "Severity", [row("1", 0, 0)], ranked=False)
    assert nothing.finding == "No story is complete yet."


def test_rules_over_the_same_stories_have_shares_without_intervals() -> None:
    filters = [
        {"title": title, "kept": kept, "questions": [Share("q1", 50 - kept, 0)]}
        for title, kept in (("all agree", 20), ("majority", 30))
    ]
    for make in (stories.kept_by_filter, stories.dropped_by_question):
        chart = make(filters, stories=50)
        assert all(found["low"] is found["high"] is None for found in chart.rows)
        assert all(found["share"] in (0.4, 0.6) for found in chart.rows)
        assert not {"low", "high"} & {column.key for column in chart.columns}
        assert "95 %" not in chart.how
    assert chart.finding == "all agree: most stories are dropped by “q1”, 30 of 50."
    none = [{"title": "all agree", "questions": [Share("q1", 0, 0)]}]
    assert stories.dropped_by_question(none, stories=50).finding == "all agree: no question drops a story."


def test_votes_are_counted_by_hour_and_by_day_without_gaps() -> None:
    chart = votes.votes(source({HOUR: 2, HOUR + 2: 5, HOUR + 3: 1}, now=NOW + timedelta(hours=3)))
    assert chart is not None
    assert [found["votes"] for found in chart.rows] == [2, 0, 5]
    assert chart.rows[0]["from"] == "2026-05-04T12:00:00Z"
    assert chart.title == "Votes per hour"
    days = {HOUR: 2, HOUR + 1: 1, HOUR + 96: 5, HOUR + 120: 1}
    by_day = votes.votes(source(days, now=NOW + timedelta(days=5)))
    assert by_day is not None
    assert [found["votes"] for found in by_day.rows] == [3, 0, 0, 0, 5]
    assert by_day.rows[0]["from"] == "2026-05-04T00:00:00Z"
    assert votes.votes(source({}, now=NOW)) is None
    assert votes.votes(source({HOUR: 1}, now=NOW)) is None, "the hour that is running is no drop"


def test_progress_runs_from_nothing_to_what_is_wanted_within_its_band() -> None:
    hourly = {HOUR - back: 10 + back % 3 for back in range(1, 13)}
    counted = sum(hourly.values())
    finish = forecast.finish(hourly, remaining=200, now=NOW)
    chart = votes.progress(source(hourly, finish, wanted=counted + 200, now=NOW))
    assert chart is not None
    seen = [found for found in chart.rows if found["kind"] == "counted"]
    ahead = [found for found in chart.rows if found["kind"] == "forecast"]
    assert (seen[0]["votes"], seen[-1]["votes"]) == (0, counted)
    assert [found["votes"] for found in seen] == sorted(found["votes"] for found in seen)
    assert ahead[0]["votes"] == ahead[0]["low"] == ahead[0]["high"] == counted
    assert ahead[-1]["votes"] == ahead[-1]["low"] == ahead[-1]["high"] == counted + 200
    assert all(found["low"] <= found["votes"] <= found["high"] for found in ahead)
    assert len(ahead) == 4, "now, the earliest, the expected and the latest finish"


@pytest.mark.parametrize("days", [1, 5], ids=["by hour", "by day"])
def test_progress_is_flat_while_nothing_comes_in(days: int) -> None:
    """Also within a day, of many days: two hours' work each morning is no slope over the whole day."""
    hourly = {HOUR + 24 * day + hour: 10 for day in range(days) for hour in (-3, -2, 0)}
    now = NOW + timedelta(days=days - 1, hours=6)
    chart = votes.progress(source(hourly, {"none": forecast.DONE}, wanted=30 * days, now=now))
    assert chart is not None
    line = {datetime.fromisoformat(found["at"]): found["votes"] for found in chart.rows}
    assert list(line) == sorted(line)
    for day in range(days):
        noon = datetime(2026, 5, 4, 12, tzinfo=UTC) + timedelta(days=day)
        turns = [(-3, 0), (-1, 20), (0, 20), (1, 30)]
        assert [line[noon + timedelta(hours=hour)] for hour, _votes in turns] == [
            30 * day + seen for _hour, seen in turns
        ]
    assert line[now] == 30 * days


def test_the_line_of_all_votes_has_a_bounded_number_of_turns() -> None:
    hourly = {HOUR + 3 * work: 1 for work in range(1000)} | {HOUR + 5000: 1}
    now = NOW + timedelta(hours=5001)
    chart = votes.progress(source(hourly, {"none": forecast.DONE}, wanted=1001, now=now))
    assert chart is not None
    line = {found["at"]: found["votes"] for found in chart.rows}
    assert len(line) <= 2 * votes.MOST_PAUSES + 3000 / 24 + 5
    last = datetime(2026, 5, 4, 12, tzinfo=UTC) + timedelta(hours=3 * 999 + 1)
    assert line[f"{last:%Y-%m-%dT%H:%M:%SZ}"] == 1000, "flat through the longest pause"


def test_a_forecast_that_may_never_come_true_looks_a_bounded_way_ahead() -> None:
    expected = NOW + timedelta(hours=10)
    finish = {"finish": expected, "earliest": NOW + timedelta(hours=5), "latest": None}
    chart = votes.progress(source({HOUR - 1: 10}, finish, wanted=30, now=NOW))
    assert chart is not None
    assert chart.rows[-1]["at"] == "2026-05-05T18:00:00Z", "three times as far as the finish"
    assert (chart.rows[-1]["low"], chart.rows[-1]["high"]) == (10, 30)
    done = votes.progress(source({HOUR - 1: 10}, {"none": forecast.DONE}, wanted=10, now=NOW))
    assert done is not None
    assert {found["kind"] for found in done.rows} == {"counted"}


def test_the_chart_of_people_is_bounded_and_says_so() -> None:
    rows = [
        {"pseudonym": f"p{n}", "votes": 1, "median_seconds": 1.0, "agreement": 0.5, "flags": ["too fast"]}
        for n in range(quality.MOST + 1)
    ]
    chart = quality.people(rows, median_seconds=1.0, everybody=900)
    assert len(chart.rows) == quality.MOST
    assert f"{quality.MOST} of 900 participants" in chart.how


def test_who_has_a_flag_is_drawn_last_and_the_axis_begins_below_the_lowest() -> None:
    rows = [
        {"pseudonym": f"p{n}", "votes": 1, "median_seconds": 1.0, "agreement": 0.95 - n / 100, "flags": flags}
        for n, flags in enumerate((["too fast"], [], []))
    ]
    chart = quality.people(rows, median_seconds=1.0, everybody=3)
    assert [row["flagged"] for row in chart.rows] == [True, False, False], "first in the table"
    _middle, below, above = chart.drawing["layer"]
    assert "!datum.flagged" in below["transform"][0]["filter"]
    assert "&& datum.flagged" in above["transform"][0]["filter"]
    assert above["encoding"]["y"]["scale"]["domain"] == [0.9, 1]
    assert "The axis of agreement begins at 90 %." in chart.how
    low = quality.people([rows[0] | {"agreement": 0.05}], median_seconds=1.0, everybody=1)
    assert low.drawing["layer"][1]["encoding"]["y"]["scale"]["domain"] == [0, 1]
    assert "axis" not in low.how
    assert quality.people([rows[0] | {"agreement": None}], median_seconds=1.0, everybody=1).rows


def test_long_names_are_broken_where_they_can_be() -> None:
    assert in_lines("inside_reuse_labeled_containers") == "inside_reuse_\nlabeled_containers"
    assert len({in_lines("x" * 15 + " " * spaces + "y" * 10) for spaces in (1, 2, 3)}) == 3
    assert len({in_lines(name) for name in ("a", "a ", "a  b", "a b")}) == 4
    assert in_lines("claude-3-5-sonnet-20240620") == "claude-3-5-sonnet-\n20240620"
    for name in ("", "a", "x" * 50, "one two", "a//b", "=1+1", "tränen-und_so.weiter/hier"):
        assert in_lines(name).replace("\n", "").replace(" ", "") == name.replace(" ", "")


def test_what_is_vendored_is_what_the_list_says() -> None:
    sums = (FILES / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    listed = {name: digest for digest, name in (line.split() for line in sums)}
    assert set(listed) == {path.name for path in FILES.glob("*.js")}
    for name, digest in listed.items():
        assert hashlib.sha256((FILES / name).read_bytes()).hexdigest() == digest


def test_only_pages_of_researchers_load_what_draws_charts() -> None:
    users = {
        str(path.relative_to(PROJECT / "templates"))
        for path in (PROJECT / "templates").rglob("*.html")
        if re.search(r"_chart_scripts|charts\.js|vendor/vega", path.read_text(encoding="utf-8"))
    }
    pages = {TEMPLATES[chart.page] for chart in CHARTS.values()}
    assert users == pages | {"dashboard/charts/_chart_scripts.html", "dashboard/charts/_chart.html"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("client")
def test_every_chart_has_its_files_and_stands_on_its_page() -> None:
    looked_at()
    builders.make_study("empty", stories=0, opened=False)
    boss = Client()
    boss.force_login(ensure_researcher(username="boss", password="a long enough password"))
    pages = {page: boss.get(f"/studies/looked-at/{path}").content.decode() for page, path in PATHS.items()}
    for name, entry in CHARTS.items():
        table = boss.get(f"/studies/looked-at/overview/charts/{name}.csv")
        rows = list(csv.DictReader(io.StringIO(table.content.decode())))
        spec = json.loads(boss.get(f"/studies/looked-at/overview/charts/{name}.json").content)
        values = spec["data"]["values"]
        assert len(rows) == len(values) > 0
        for found, value in zip(rows, values, strict=True):
            assert all(said in ("", str(value[key]), f"'{value[key]}") for key, said in found.items())
        assert spec["description"].removesuffix(".") in pages[entry.page].replace("&#x27;", "'")
        empty = boss.get(f"/studies/empty/overview/charts/{name}.csv")
        assert empty["Location"] == f"/studies/empty/{PATHS[entry.page]}"
        for page, text in pages.items():
            assert (f"/charts/{name}.csv" in text) == (page == entry.page)
    generators = boss.get("/studies/looked-at/overview/charts/kept-by-generator.csv").content.decode()
    assert "'=model-a" in generators, "no formula for a spreadsheet"
    assert boss.get("/studies/looked-at/overview/charts/nothing.csv").status_code == 404
    assert boss.get("/studies/looked-at/overview/charts/votes.png").status_code == 404


PATHS = {"overview": "", "quality": "quality/", "filters": "quality/filters/"}
"""Addresses of the pages with charts, after the address of the study."""
TEMPLATES = {
    "overview": "dashboard/overview/overview.html",
    "quality": "dashboard/quality/quality.html",
    "filters": "dashboard/quality/filters.html",
}


def test_a_burst_is_drawn_as_a_burst() -> None:
    """213 votes in three minutes, of the hour that is not over yet."""
    now = NOW.replace(minute=50)
    start = int(now.timestamp() // 60) - 45
    minutes = {start: 70, start + 1: 100, start + 2: 43}
    hourly = {start // 60: 213}
    assert votes.votes(source(hourly, now=now)) is None, "the hour alone shows nothing yet"
    chart = votes.votes(source(hourly, now=now, minutes=minutes))
    assert chart is not None
    assert (chart.title, [row["votes"] for row in chart.rows]) == ("Votes per minute", [70, 100, 43])
    label = chart.drawing["encoding"]["x"]["axis"]["labelExpr"]
    assert label.startswith("utcseconds(datum.value) ? ''"), "ticks within a minute would repeat its label"
    line = votes.progress(source(hourly, {"none": forecast.TOO_EARLY}, wanted=300, now=now, minutes=minutes))
    assert line is not None
    seen = [(row["at"][14:16], row["votes"]) for row in line.rows]
    assert seen == [("05", 0), ("06", 70), ("07", 170), ("08", 213), ("50", 213)], "then it is flat"
    two_days = {start + 60 * hour: 1 for hour in range(40)}
    chart = votes.votes(
        source({minute // 60: 1 for minute in two_days}, now=NOW + timedelta(days=9), minutes=two_days)
    )
    assert chart is not None
    assert chart.title == "Votes per hour"
