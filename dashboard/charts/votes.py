"""Votes as they came, and where that leads."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain, pairwise
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from dashboard.charts.base import Chart, Column, Row, tooltips
from dashboard.figures.forecast import hour_of

MOST_HOURS = 72
"""With more hours than these, votes are counted by day."""
MOST_PAUSES = 200
"""Stretches of hours without votes through which the line of all votes is drawn flat."""
FARTHEST = 3
"""Times the time to the expected finish that the chart looks ahead."""


def votes(hourly: Mapping[int, int], *, now: datetime) -> Chart | None:
    """Votes per hour, or per day (UTC); ``hourly`` maps hours since 1970 to votes. None without any.

    Of whole hours or days only: the one that runs at ``now`` would always look like a drop.
    """
    hours = _step(hourly)
    running = hour_of(now) // hours
    hourly = {hour: count for hour, count in hourly.items() if hour // hours < running}
    if not hourly:
        return None
    rows: list[dict[str, Any]] = [
        {"from": _moment(begin * hours), "until": _moment((begin + 1) * hours), "votes": count}
        for begin, count in _counts(hourly, hours).items()
    ]
    columns = (
        Column("from", _("From"), "time"),
        Column("until", _("Until"), "time"),
        Column("votes", _("Votes"), "count"),
    )
    best = max(rows, key=lambda row: row["votes"])
    found = {"votes": best["votes"], "at": _said(best["from"])}
    day = hours > 1
    return Chart(
        name="votes",
        title=_("Votes per day") if day else _("Votes per hour"),
        finding=(
            _("Most votes in a day: %(votes)s, from %(at)s on.")
            if day
            else _("Most votes in an hour: %(votes)s, from %(at)s on.")
        )
        % found,
        how=(
            _("Counted votes by when they were given, without the day that is running; times are UTC.")
            if day
            else _("Counted votes by when they were given, without the hour that is running; times are UTC.")
        ),
        columns=columns,
        rows=rows,
        drawing={
            "height": 180,
            "mark": {"type": "rect"},
            "encoding": {
                "x": _when("from"),
                "x2": {"field": "until"},
                "y2": {"datum": 0},
                "y": {
                    "field": "votes",
                    "type": "quantitative",
                    "title": _("Votes"),
                    "scale": {"zero": True},
                    "axis": {"tickMinStep": 1, "tickCount": 4},
                },
                "tooltip": tooltips(columns),
            },
        },
    )


def progress(
    hourly: Mapping[int, int], finish: Mapping[str, Any], *, wanted: int, now: datetime
) -> Chart | None:
    """All votes so far, and the forecast with its band to the votes wanted.

    ``finish``: of :func:`dashboard.figures.forecast.finish`, reckoned at ``now``. None without any vote.
    """
    if not hourly:
        return None
    rows = _seen(hourly, now)
    counted = rows[-1]["votes"]
    ahead = _ahead(finish, counted=counted, wanted=wanted, now=now)
    columns = (
        Column("at", _("Time"), "time"),
        Column("kind", _("What")),
        Column("votes", _("Votes"), "count"),
        Column("low", _("Band from"), "count"),
        Column("high", _("to"), "count"),
    )
    line = {
        "x": _when("at"),
        "y": {"field": "votes", "type": "quantitative", "title": _("Votes"), "axis": {"tickCount": 5}},
        "strokeDash": {
            "field": "kind",
            "type": "nominal",
            "title": None,
            "scale": {"domain": [_("counted"), _("forecast")], "range": [[1, 0], [5, 4]]},
            "legend": {"symbolType": "stroke"} if ahead else None,
        },
    }
    whole = {
        "mark": {"type": "rule", "style": "reference"},
        "encoding": {"y": {"datum": wanted, "type": "quantitative"}},
    }
    band = {
        "transform": [{"filter": "isValid(datum.low)"}],
        "mark": {"type": "area", "opacity": 0.25},
        "encoding": {"x": _when("at"), "y": {**line["y"], "field": "low"}, "y2": {"field": "high"}},
    }
    return Chart(
        name="progress",
        title=_("Votes so far, and where this leads"),
        finding=_promise(finish, counted, wanted),
        how=_(
            "Counted votes, flat while none came in, and the number wanted (the line across); the forecast "
            "assumes that people go on as they did, and its band holds nine of ten draws. Times are UTC."
        ),
        columns=columns,
        rows=[*rows, *ahead],
        drawing={
            "height": 220,
            "layer": [
                whole,
                *([band] if ahead else []),
                {
                    "mark": {"type": "line", "strokeWidth": 2.5},
                    "encoding": {**line, "tooltip": tooltips(columns)},
                },
            ],
        },
    )


def _step(hourly: Mapping[int, int]) -> int:
    return 1 if not hourly or max(hourly) - min(hourly) < MOST_HOURS else 24


def _counts(hourly: Mapping[int, int], hours: int) -> dict[int, int]:
    """Votes per span of so many hours, from the first to the last with any, empty ones too."""
    spans = range(min(hourly) // hours, max(hourly) // hours + 1)
    counts = dict.fromkeys(spans, 0)
    for hour, count in hourly.items():
        counts[hour // hours] += count
    return counts


def _seen(hourly: Mapping[int, int], now: datetime) -> list[Row]:
    """All votes at each turn of the line, from none to all at ``now``.

    It turns at the ends of the spans that votes came in, and where a pause begins and ends, so that it is
    flat through a pause; of more than :data:`MOST_PAUSES`, through the longest.
    """
    hours = sorted(hour for hour, count in hourly.items() if count)
    totals = list(accumulate((hourly[hour] for hour in hours), initial=0))
    step = _step(hourly)
    turns = {hours[0], hours[-1] + 1, *((hour // step + 1) * step for hour in hours), *_pauses(hours)}
    points = {min(_at(turn), now): totals[bisect_left(hours, turn)] for turn in sorted(turns)}
    points[now] = totals[-1]
    return [
        {"at": _written(at), "kind": _("counted"), "votes": count, "low": None, "high": None}
        for at, count in points.items()
    ]


def _pauses(hours: Sequence[int]) -> Iterator[int]:
    """The first hours of the longest stretches without votes, and the first ones after them."""
    pauses = [(last + 1, following) for last, following in pairwise(hours) if following > last + 1]
    pauses.sort(key=lambda pause: pause[0] - pause[1])
    return chain.from_iterable(pauses[:MOST_PAUSES])


def _ahead(finish: Mapping[str, Any], *, counted: int, wanted: int, now: datetime) -> list[Row]:
    """The forecast as points between which everything runs straight; empty where there is none."""
    expected, earliest = finish.get("finish"), finish.get("earliest")
    if expected is None or earliest is None or expected <= now:
        return []
    latest = finish.get("latest")
    farthest = now + FARTHEST * (expected - now)
    turns = {now, earliest, expected, min(latest or farthest, farthest)}

    def by(moment: datetime, end: datetime | None) -> int:
        share = 0.0 if end is None else min(1.0, (moment - now) / (end - now))
        return round(counted + share * (wanted - counted))

    return [
        {
            "at": _written(turn),
            "kind": _("forecast"),
            "votes": by(turn, expected),
            "low": by(turn, latest),
            "high": by(turn, earliest),
        }
        for turn in sorted(turns)
    ]


def _promise(finish: Mapping[str, Any], counted: int, wanted: int) -> str:
    found: dict[str, int | str] = {"counted": counted, "wanted": wanted}
    if not finish.get("finish"):
        return _("%(counted)s of %(wanted)s votes are there.") % found
    found["at"] = date_format(finish["finish"], "DATETIME_FORMAT")
    return (
        _("%(counted)s of %(wanted)s votes are there; the last one comes about %(at)s at this pace.") % found
    )


def _when(field: str) -> dict[str, Any]:
    return {
        "field": field,
        "type": "temporal",
        "title": None,
        "scale": {"type": "utc"},
        "axis": {
            "labelOverlap": True,
            "tickCount": 6,
            "labelExpr": "utcFormat(datum.value, utchours(datum.value) ? '%H:%M' : '%e %b')",
        },
    }


def _at(hour: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(hours=hour)


def _moment(hour: int) -> str:
    return _written(_at(hour))


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _said(moment: str) -> str:
    return date_format(datetime.fromisoformat(moment), "DATETIME_FORMAT")
