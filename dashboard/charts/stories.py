"""Charts of verdicts, and of the kept share by scenario, generator model, severity and filter."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext as _

from dashboard.charts.base import Chart, Column, Source, drawing, kept_of_each, with_share
from publishing.filters import FILTERS
from publishing.study_filters import filters_of

FEWEST = 20
"""Complete stories from which on a share is called the largest or smallest: with fewer, chance decides."""


def verdicts(source: Source) -> Chart | None:
    counts = source.document["verdicts"]
    stories = counts["stories"]
    if not stories:
        return None
    rule = next(iter(filters_of(source.study, FILTERS).values()))
    rows = [
        {"name": label, "label": label, "stories": counts[key], "share": counts[key] / stories}
        for key, label in (("kept", _("kept")), ("dropped", _("dropped")), ("incomplete", _("incomplete")))
    ]
    columns = (
        Column("name", _("Verdict")),
        Column("stories", _("Stories"), "count"),
        Column("share", _("Share"), "share"),
    )
    return Chart(
        title=_("Stories by verdict"),
        finding=_(
            "Of %(stories)s stories %(kept)s are kept so far, %(dropped)s dropped, %(incomplete)s incomplete."
        )
        % counts,
        how=f"{capfirst(rule.localized_rule(source.study.votes_per_story))}.",
        columns=columns,
        rows=rows,
        drawing=drawing("verdicts", columns, title=_("Stories")),
    )


def retention(
    title: str,
    what: str,
    rows: Sequence[Mapping[str, Any]],
    *,
    ranked: bool = True,
    lists: str = "",
    called: str = "%s",
) -> Chart:
    """Chart the kept share of complete stories by the property ``what``.

    ``rows`` are those of :func:`dashboard.figures.tables.retention_rows`. With ``ranked``, the most often
    kept come first; otherwise the given order has a meaning and stays. ``lists`` is as in :class:`Chart`.
    ``called`` quotes one of the names in a sentence.
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
        Column("share", _("Of the complete"), "share"),
        Column("low", _("Interval from"), "share"),
        Column("high", _("to"), "share"),
    )
    return Chart(
        title=title,
        finding=_extremes(found, kept, complete, called),
        how=_(
            "Share of the stories with all their votes, with Wilson’s interval (95 %); the dashed line is "
            "the share over all of them."
        ),
        columns=columns,
        rows=found,
        drawing=kept_of_each(columns, rows=found, whole=kept / complete if complete else None),
        lists=lists,
    )


def kept_by_filter(filters: Sequence[Mapping[str, Any]], *, stories: int) -> Chart:
    """Chart ``title`` and ``kept`` of each of ``filters``, the default first, of ``stories`` complete ones.

    Intervals are left out: they would suggest that each filter judged different stories.
    """
    rows = [
        with_share(
            {"name": row["title"], "stories": stories, "kept": row["kept"]},
            row["kept"],
            stories,
            has_interval=False,
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
        title=_("Kept by each filter"),
        finding=_("Every filter keeps %(share)s.") % {"share": percent(rows[0]["share"])}
        if len({row["kept"] for row in rows}) == 1
        else _("%(first)s: %(one)s kept; %(last)s: %(other)s.")
        % {
            "first": rows[0]["name"],
            "one": percent(rows[0]["share"]),
            "last": _most(rows)["name"],
            "other": percent(_most(rows)["share"]),
        },
        how=_(
            "Share of the complete stories, from the same votes under every filter. Only the filter "
            "differs, so there is no interval."
        ),
        columns=columns,
        rows=rows,
        drawing=kept_of_each(columns, rows=rows, whole=None),
    )


def dropped_by_question(filters: Sequence[Mapping[str, Any]], *, stories: int) -> Chart:
    """Chart ``title`` and ``questions`` (label, value) of each of ``filters`` that names reasons."""
    rows = [
        with_share(
            {"name": share.label, "filter": row["title"], "dropped": share.value},
            share.value,
            stories,
            has_interval=False,
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
    finding = _("%(filter)s: most stories are dropped by “%(question)s”, %(dropped)s of %(stories)s.")
    finding = finding if worst["dropped"] else _("%(filter)s: no question drops a story.")
    return Chart(
        title=_("Reasons for dropping, by question and filter"),
        finding=finding % {**worst, "question": worst["name"], "stories": stories},
        how=_(
            "Share of the complete stories that the question drops, from the same stories under every "
            "filter. Several questions may drop the same story."
        ),
        columns=columns,
        rows=rows,
        drawing=drawing(
            "several_each",
            columns,
            field="share",
            title=_("Dropped"),
            group="filter",
            groups=[row["title"] for row in filters],
        ),
    )


def percent(share: float | None) -> str:
    """Format a share as a whole percentage, for a sentence."""
    return "–" if share is None else _("%(percent)s %%") % {"percent": round(100 * share)}


def _most(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return max(rows, key=lambda row: row["share"] or 0)


def _extremes(rows: Sequence[Mapping[str, Any]], kept: int, complete: int, called: str) -> str:
    """Describe all rows, and name those kept most and least often among the ones with enough stories."""
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
    said = _(
        "%(whole)s Among those with at least %(fewest)s complete stories, most often: %(most)s (%(high)s); "
        "least often: %(least)s (%(low)s)."
    )
    return said % {
        "whole": whole,
        "fewest": FEWEST,
        "most": called % most["name"],
        "high": percent(most["share"]),
        "least": called % least["name"],
        "low": percent(least["share"]),
    }
