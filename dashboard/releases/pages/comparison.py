"""Compare two releases of a study: tables for the page, and a CSV file."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy

from annotation.models import Study
from annotation.numbers import number_in
from annotation.rights import read_page
from dashboard.figures.tables import agreement_rows, rating_rows, retention_rows
from dashboard.http import csv_stream
from publishing.comparison import store
from publishing.comparison.changes import Difference
from publishing.comparison.store import ReleaseComparison
from publishing.facts import NOT_STATED
from publishing.filters import Outcome
from publishing.models import Release

KINDS = {
    Difference.KEPT_BEFORE: gettext_lazy("Kept only in release %(before)s"),
    Difference.KEPT_NOW: gettext_lazy("Kept only in release %(now)s"),
    Difference.OTHERWISE: gettext_lazy("Kept in neither, for different reasons"),
}
CSV_COLUMNS = (
    "difference", "story_id", "scenario_name", "story_generator_model", "before", "reason_before", "now",
    "reason_now", "votes_that_differ",
)  # fmt: skip
MOST_ROWS = 100
"""Scenarios or generator models in a table on the page, those with the most stories first."""
_SIDES = ("before", "now")


def retention_pairs(summary: Mapping[str, Any], by: str) -> tuple[list[dict[str, Any]], int]:
    """Return rows by scenario or generator model (``by``), and how many are left out."""
    found = [{row["name"]: row for row in retention_rows(summary[side]["statistics"][by])} for side in _SIDES]
    names = sorted(
        found[0].keys() | found[1].keys(),
        key=lambda name: (-max(side[name]["generated"] for side in found if name in side), name),
    )
    shown = [{"name": name, "sides": [side.get(name) for side in found]} for name in names[:MOST_ROWS]]
    return shown, len(names) - len(shown)


Rows = Callable[[Study, Mapping[str, Any]], list[dict[str, Any]]]


def agreement_pairs(study: Study, summary: Mapping[str, Any], rows: Rows) -> list[dict[str, Any]]:
    """Return agreement or ratings (``rows``) by question in both releases, with the change of the first."""
    found = [
        {row["key"]: row for row in rows(study, {"statistics": summary[side]["statistics"]})}
        for side in _SIDES
    ]
    keys = [*found[1], *(key for key in found[0] if key not in found[1])]
    return [
        {
            "title": next(side[key]["title"] for side in found if key in side),
            "change": _change([side[key]["cells"][0]["value"] for side in found if key in side]),
            "releases": [
                {"number": summary[name]["release"]["number"], **side[key]}
                for name, side in zip(_SIDES, found, strict=True)
                if key in side
            ],
        }
        for key in keys
    ]


def _change(values: list[float | None]) -> float | None:
    """Return the second value minus the first; None if one of them is missing or undefined."""
    defined = [value for value in values if value is not None]
    return defined[1] - defined[0] if len(defined) == len(_SIDES) else None


def story_rows(study: Study, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the page's rows of differing stories."""
    titles = {question.key: str(question.title) for question in study.protocol.questions}
    return [
        {
            **row,
            "sides": [
                {
                    "outcome": row[side],
                    "reasons": [
                        titles.get(question, question)
                        for question in row[f"reason_{side}"].split(",")
                        if row[side] == Outcome.DROPPED
                    ],
                }
                for side in _SIDES
            ],
            "votes": [
                {"annotator": vote["annotator"], "change": changes_of(vote, titles)} for vote in row["votes"]
            ],
        }
        for row in rows
    ]


def changes_of(vote: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    """Describe how a vote differs between the releases: new, gone, or the changed answers."""
    before, now = vote["before"], vote["now"]
    if before is None or now is None:
        given = ", ".join(f"{titles.get(field, field)}: {said}" for field, said in (before or now).items())
        return (_("new (%(answers)s)") if before is None else _("gone (%(answers)s)")) % {"answers": given}
    return _changes(before, now, titles, none="–")


def _changes(before: Mapping[str, str], now: Mapping[str, str], titles: Mapping[str, str], none: str) -> str:
    """Return ``title: before → now`` of each answer that differs; ``none`` stands for no answer."""
    fields = [field for field in {**before, **now} if before.get(field) != now.get(field)]
    return "; ".join(
        f"{titles.get(field, field)}: {before.get(field, none)} → {now.get(field, none)}" for field in fields
    )


def csv_rows(kind: Difference, rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a CSV row for each differing story of a kind; votes in no language: ``q3: no → yes``."""
    for row in rows:
        votes = [(one["annotator"], one["before"] or {}, one["now"] or {}) for one in row["votes"]]
        yield {
            "difference": kind.value,
            "story_id": row["story_id"],
            "scenario_name": row["scenario_name"] or NOT_STATED,
            "story_generator_model": row["story_generator_model"] or NOT_STATED,
            **{name: row[name] for name in ("before", "reason_before", "now", "reason_now")},
            "votes_that_differ": " | ".join(
                f"{annotator} {_changes(before, now, {}, none='-')}" for annotator, before, now in votes
            ),
        }


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
    rows = chain.from_iterable(csv_rows(kind, found.rows(kind)) for kind in Difference)
    return csv_stream(request, name, CSV_COLUMNS, rows)


def _settings(release: Release) -> dict[str, Any]:
    return {
        _("Filter"): release.filter_title,
        _("Votes per story"): release.votes_told,
        _("State of the study"): release.get_study_state_display(),
        _("Kind"): release.get_environment_display(),
        _("Licence"): release.license,
        _("Title"): release.title,
        _("Version of tomannot"): release.code_version,
    }


def _counts(release: Release) -> dict[str, Any]:
    return {
        _("Stories"): release.stories,
        _("Kept"): release.kept,
        _("Dropped"): release.dropped,
        _("Incomplete"): release.incomplete,
        _("Votes"): release.votes,
        _("Participants"): release.annotators,
    }


def _side_by_side(before: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, tuple[Any, Any]]]:
    return [(label, (before[label], now[label])) for label in before]


def _shown(
    request: HttpRequest, study: Study, before: Release, now: Release, found: ReleaseComparison
) -> dict[str, Any]:
    summary = found.summary
    differing, numbers = summary["differing"], {"before": before.number, "now": now.number}
    titles = {kind: str(said) % numbers for kind, said in KINDS.items()}
    kind = _kind(request.GET.get("kind"), differing)
    page = Paginator(range(differing[kind]), store.PER_PAGE).get_page(request.GET.get("page"))
    return {
        "summary": summary,
        "kept_in_both": now.kept - differing[Difference.KEPT_NOW],
        "kinds": [
            {"name": each.value, "title": title, "stories": differing[each], "current": each is kind}
            for each, title in titles.items()
        ],
        "kind_title": titles[kind],
        "stories": story_rows(study, found.page(kind, page.number)),
        "page": page,
        "measures": [
            (key, heading, questions)
            for key, heading, rows in (
                ("agreement", _("Agreement"), agreement_rows),
                ("ratings", _("Ratings"), rating_rows),
            )
            if (questions := agreement_pairs(study, summary, rows))
        ],
        "selects": study.protocol.resolution == "filter",
        "heads": [_("Release %(number)s") % {"number": number} for number in numbers.values()],
        "side_by_side": [
            (_("Settings"), _side_by_side(_settings(before), _settings(now)), False),
            (_("Counts"), _side_by_side(_counts(before), _counts(now)), True),
        ],
        "retentions": [
            ("by-scenario", _("Kept, by scenario"), _("Scenario"), *retention_pairs(summary, "by_scenario")),
            (
                "by-generator",
                _("Kept, by generator model"),
                _("Generator model"),
                *retention_pairs(summary, "by_generator_model"),
            ),
        ],
    }


def _kind(said: str | None, differing: dict[str, int]) -> Difference:
    """Return the requested kind, else the first with stories."""
    if said in set(Difference):
        return Difference(said)
    return next((kind for kind in Difference if differing[kind]), Difference.KEPT_BEFORE)
