"""Charts of votes over time, and of the forecast."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate, chain, pairwise
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from dashboard.charts.base import Chart, Column, Row, Source, drawing

MOST_HOURS = 72
"""With more hours than these, votes are counted by day."""
MOST_CORNERS = 450
"""With more spans of ten minutes than these, the line of all votes has a corner for each hour or day."""
MOST_PAUSES = 200
"""Stretches of hours without votes through which the line of all votes is drawn flat."""
FARTHEST = 3
"""Times the time to the expected finish that the chart looks ahead."""


def votes(source: Source) -> Chart | None:
    """Chart votes over time (UTC), in spans short enough to show bursts. None without votes.

    Only whole spans are shown: the unfinished one would always look like a drop.
    """
    counts, size = _counted(source, MOST_HOURS)
    step = _step(counts) if size == 60 else 1
    running = int(source.begun_at.timestamp() // 60) // (size * step)
    counts = {span: count for span, count in counts.items() if count and span // step < running}
    if not counts:
        return None
    rows: list[dict[str, Any]] = [
        {"from": _moment(begin * step * size), "until": _moment((begin + 1) * step * size), "votes": count}
        for begin, count in _counts(counts, step).items()
    ]
    columns = (
        Column("from", _("From"), "time"),
        Column("until", _("Until"), "time"),
        Column("votes", _("Votes"), "count"),
    )
    best = max(rows, key=lambda row: row["votes"])
    span = {1: _("minute"), 10: _("10 minutes"), 60: _("hour"), 1440: _("day")}[size * step]
    at = date_format(datetime.fromisoformat(best["from"]), "DATETIME_FORMAT")
    found = {"votes": best["votes"], "at": at, "span": span}
    return Chart(
        title=_("Votes per %(span)s") % found,
        finding=_("Most votes per %(span)s: %(votes)s, from %(at)s on.") % found,
        how=_("Counted votes by time, without the current %(span)s. Times are UTC.") % found,
        columns=columns,
        rows=rows,
        drawing=drawing("votes", columns, title=_("Votes")),
    )


def progress(source: Source) -> Chart | None:
    """Chart all votes so far, and the forecast with its band up to the votes wanted. None without votes."""
    document, now = source.document, source.begun_at
    if not document["hourly"]:
        return None
    finish, wanted = document["finish"], document["votes"]["wanted"]
    rows = _counted_line(*_counted(source, MOST_CORNERS), now)
    counted = rows[-1]["votes"]
    ahead = _forecast_line(finish, counted=counted, wanted=wanted, now=now)
    columns = (
        Column("at", _("Time"), "time"),
        Column("kind", _("What")),
        Column("votes", _("Votes"), "count"),
        Column("low", _("Band from"), "count"),
        Column("high", _("to"), "count"),
    )
    return Chart(
        title=_("Votes so far, and the forecast"),
        finding=_finding(finish, counted, wanted),
        how=_(
            "Counted votes, flat during pauses, and the number wanted (horizontal line). The forecast "
            "assumes that participants go on as before; its band should hold nine times in ten. Times are "
            "UTC."
        ),
        columns=columns,
        rows=[*rows, *ahead],
        drawing=drawing(
            "progress",
            columns,
            title=_("Votes"),
            wanted=wanted,
            ahead=bool(ahead),
            kinds=[_("counted"), _("forecast")],
        ),
    )


def _step(hourly: Mapping[int, int]) -> int:
    return 1 if not hourly or max(hourly) - min(hourly) < MOST_HOURS else 24


def _counts(votes: Mapping[int, int], size: int) -> dict[int, int]:
    """Count votes per ``size`` hours or minutes, from the first to the last with votes, with empty ones."""
    counts = dict.fromkeys(range(min(votes) // size, max(votes) // size + 1), 0)
    for moment, count in votes.items():
        counts[moment // size] += count
    return counts


def _counted(source: Source, most: int) -> tuple[Mapping[int, int], int]:
    """Return votes by span, and the span's minutes: 1 or 10 if at most so many spans are enough, else 60."""
    minutes = source.document["minutes"]
    for size in (1, 10):
        if minutes and max(minutes) // size - min(minutes) // size < most:
            return _counts(minutes, size), size
    return source.document["hourly"], 60


def _counted_line(hourly: Mapping[int, int], size: int, now: datetime) -> list[Row]:
    """Return the cumulative votes at each corner of the line, from none to all at ``now``.

    Corners are at the ends of spans with votes, and at both ends of a pause, so that the line is flat during
    it. Of more than :data:`MOST_PAUSES` pauses, only the longest are used.
    """
    hours = sorted(hour for hour, count in hourly.items() if count)
    totals = list(accumulate((hourly[hour] for hour in hours), initial=0))
    step = _step(hourly) if size == 60 else 1
    turns = {hours[0], hours[-1] + 1, *((hour // step + 1) * step for hour in hours), *_pauses(hours)}
    points = {min(_at(turn * size), now): totals[bisect_left(hours, turn)] for turn in sorted(turns)}
    points[now] = totals[-1]
    return [
        {"at": _written(at), "kind": _("counted"), "votes": count, "low": None, "high": None}
        for at, count in points.items()
    ]


def _pauses(hours: Sequence[int]) -> Iterator[int]:
    """Return the first hours of the longest stretches without votes, and the first hours after them."""
    pauses = [(last + 1, following) for last, following in pairwise(hours) if following > last + 1]
    pauses.sort(key=lambda pause: pause[0] - pause[1])
    return chain.from_iterable(pauses[:MOST_PAUSES])


def _forecast_line(finish: Mapping[str, Any], *, counted: int, wanted: int, now: datetime) -> list[Row]:
    """Return the forecast as points joined by straight lines; empty without a forecast."""
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


def _finding(finish: Mapping[str, Any], counted: int, wanted: int) -> str:
    found: dict[str, int | str] = {"counted": counted, "wanted": wanted}
    if not finish.get("finish"):
        return _("%(counted)s of %(wanted)s votes are in.") % found
    found["at"] = date_format(finish["finish"], "DATETIME_FORMAT")
    return _("%(counted)s of %(wanted)s votes are in; the last one comes about %(at)s at this pace.") % found


def _at(minute: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(minutes=minute)


def _moment(minute: int) -> str:
    return _written(_at(minute))


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
