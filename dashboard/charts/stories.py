"""How stories fared: by verdict, and the kept share by scenario, generator model, severity and filter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from dashboard.charts.base import Chart, Column, named, share_axis, tooltips
from dashboard.charts.shares import one_each, several_each, with_share, without_interval

FEWEST = 20
"""Complete stories from which on a share is called the largest or smallest: with fewer, chance decides."""


def verdicts(counts: Mapping[str, int]) -> Chart:
    """``counts``: ``stories``, ``kept``, ``dropped`` and ``incomplete``."""
    stories = counts["stories"]
    rows = [
        {
            "name": label,
            "label": label,
            "stories": counts[key],
            "share": counts[key] / stories if stories else None,
        }
        for key, label in (
            ("kept", _("kept")),
            ("dropped", _("dropped")),
            ("incomplete", _("incomplete")),
        )
    ]
    columns = (
        Column("name", _("Verdict")),
        Column("stories", _("Stories"), "count"),
        Column("share", _("Share"), "share"),
    )
    x = {"field": "stories", "type": "quantitative", "title": _("Stories"), "axis": {"tickMinStep": 1}}
    number = {"field": "stories", "type": "quantitative", "format": ",d"}
    return Chart(
        name="verdicts",
        title=_("Stories by verdict"),
        finding=_(
            "Of %(stories)s stories %(kept)s are kept so far, %(dropped)s dropped, %(incomplete)s incomplete."
        )
        % dict(counts),
        how=_("Kept: every vote is there, and no answer counts against the story."),
        columns=columns,
        rows=rows,
        drawing={
            "height": {"step": 34},
            "encoding": {"y": named("label"), "x": x},
            "layer": [
                {"mark": {"type": "bar", "height": 18}, "encoding": {"tooltip": tooltips(columns)}},
                {
                    "mark": {"type": "text", "align": "left", "dx": 5, "clip": False},
                    "encoding": {"text": number},
                },
            ],
        },
    )


def retention(
    name: str,
    title: str,
    what: str,
    rows: Iterable[Mapping[str, Any]],
    *,
    ranked: bool,
    lists: str = "",
    called: str = "%s",
) -> Chart:
    """The kept share of the complete stories by one of their properties, ``what``.

    ``rows``: of :func:`dashboard.figures.shown.retention_rows`. ``ranked``: the most often kept first;
    else in the order given, which then means something. ``lists``: as in :class:`Chart`.
    ``called``: how a sentence says one of the names.
    """
    found = [
        with_share(
            {"name": row["name"], **{key: row[key] for key in ("generated", "complete", "kept")}},
            row["kept"],
            row["complete"],
        )
        for row in rows
    ]
    if ranked:
        found.sort(key=lambda row: (row["share"] is None, -(row["share"] or 0), row["name"]))
    complete, kept = sum(row["complete"] for row in found), sum(row["kept"] for row in found)
    columns = (
        Column("name", what),
        Column("generated", _("Stories"), "count"),
        Column("complete", _("Complete"), "count"),
        Column("kept", _("Kept"), "count"),
        *_share_columns(_("Of the complete")),
    )
    return Chart(
        name=name,
        title=title,
        finding=_extremes(found, kept, complete, called),
        how=_(
            "Share of the stories with all their votes, with Wilson’s interval (95 %); the dashed line is "
            "the share over all of them."
        ),
        columns=columns,
        rows=found,
        drawing=one_each(_("Kept"), columns, rows=found, whole=kept / complete if complete else None),
        lists=lists,
    )


def kept_by_filter(filters: Sequence[Mapping[str, Any]], *, stories: int) -> Chart:
    """``filters``: ``title`` and ``kept`` of each, the default one first; ``stories``: the complete ones.

    Without intervals: they would invite a comparison of filters as if each had judged other stories.
    """
    rows = [
        without_interval(
            with_share({"name": row["title"], "stories": stories, "kept": row["kept"]}, row["kept"], stories)
        )
        for row in filters
    ]
    columns = (
        Column("name", _("Filter")),
        Column("stories", _("Complete"), "count"),
        Column("kept", _("Kept"), "count"),
        Column("share", _("Of the complete"), "share"),
    )
    return Chart(
        name="kept-by-filter",
        title=_("Kept by each filter"),
        finding=_("%(first)s: %(one)s kept; %(last)s: %(other)s.")
        % {
            "first": rows[0]["name"],
            "one": percent(rows[0]["share"]),
            "last": _most(rows)["name"],
            "other": percent(_most(rows)["share"]),
        },
        how=_(
            "The same votes on the same stories under every rule: share of the complete stories. What "
            "differs is the rule alone, so there is no interval."
        ),
        columns=columns,
        rows=rows,
        drawing=one_each(_("Kept"), columns, rows=rows, whole=None),
    )


def dropped_by_question(filters: Sequence[Mapping[str, Any]], *, stories: int) -> Chart:
    """``filters``: ``title`` and ``questions`` (label, value) of each that names reasons."""
    rows = [
        without_interval(
            with_share(
                {"name": share.label, "filter": row["title"], "dropped": share.value}, share.value, stories
            )
        )
        for row in filters
        for share in row["questions"]
    ]
    columns = (
        Column("name", _("Question")),
        Column("filter", _("Filter")),
        Column("dropped", _("Dropped"), "count"),
        Column("share", _("Of the complete"), "share"),
    )
    worst = max((row for row in rows if row["filter"] == rows[0]["filter"]), key=lambda row: row["dropped"])
    return Chart(
        name="dropped-by-question",
        title=_("What drops stories, by question and filter"),
        finding=_("%(filter)s: most stories are dropped by “%(question)s”, %(dropped)s of %(stories)s.")
        % {
            "filter": worst["filter"],
            "question": worst["name"],
            "dropped": worst["dropped"],
            "stories": stories,
        },
        how=_(
            "Share of the complete stories that answers to the question drop, under every rule the same "
            "stories; a story may be dropped by several questions."
        ),
        columns=columns,
        rows=rows,
        drawing=several_each(
            {"field": "share", **share_axis(_("Dropped"))},
            columns,
            group="filter",
            groups=[row["title"] for row in filters],
        ),
    )


def percent(share: float | None) -> str:
    """A share in whole percent, for a sentence."""
    return "–" if share is None else _("%(percent)s %%") % {"percent": round(100 * share)}


def _share_columns(label: str) -> tuple[Column, ...]:
    return (
        Column("share", label, "share"),
        Column("low", _("Interval from"), "share"),
        Column("high", _("to"), "share"),
    )


def _most(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return max(rows, key=lambda row: row["share"] or 0)


def _extremes(rows: Sequence[Mapping[str, Any]], kept: int, complete: int, called: str) -> str:
    """All of them together, and of those with stories enough who is kept most and least often."""
    if not complete:
        return _("No story is complete yet.")
    whole = _("%(kept)s of %(complete)s complete stories are kept (%(share)s).") % {
        "kept": kept,
        "complete": complete,
        "share": percent(kept / complete),
    }
    seen = [row for row in rows if row["complete"] >= FEWEST]
    if len({row["share"] for row in seen}) < 2:
        return whole
    most, least = _most(seen), min(seen, key=lambda row: row["share"])
    return _("%(whole)s Most often: %(most)s (%(high)s); least often: %(least)s (%(low)s).") % {
        "whole": whole,
        "most": called % most["name"],
        "high": percent(most["share"]),
        "least": called % least["name"],
        "low": percent(least["share"]),
    }
