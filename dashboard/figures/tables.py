"""The figures as tables: the same rows for pages and for CSV files."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.utils import translation
from django.utils.text import capfirst
from django.utils.translation import gettext as _, gettext_lazy

from annotation.models import Study
from annotation.working_time import paid_seconds
from dashboard.figures import flags
from dashboard.queries import Share, stories_address
from publishing.filter_comparison import MODEL
from publishing.filters import FILTERS
from publishing.statistics.answered import ALL
from publishing.statistics.tables import TABLES, Cell
from publishing.study_filters import filters_of

COEFFICIENTS = {
    "percent": gettext_lazy("Pairs that agree"),
    "fleiss_kappa": gettext_lazy("Fleiss’ kappa"),
    "krippendorff_alpha": gettext_lazy("Krippendorff’s alpha"),
    "gwet_ac1": gettext_lazy("Gwet’s AC1"),
}
RATINGS = {
    "mean": gettext_lazy("Mean"),
    "median": gettext_lazy("Median"),
    "krippendorff_alpha_ordinal": gettext_lazy("Ordinal alpha"),
    "gwet_ac2": gettext_lazy("Gwet’s AC2"),
}


ALL_ANSWERS = "validity"


def agreement_rows(study: Study, document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return agreement by question, and last for whole votes: coefficients with intervals or a reason."""
    statistics = document["statistics"]
    titles = {question.key: str(question.title) for question in study.protocol.questions}
    found = [(key, titles.get(key, key), entry) for key, entry in statistics["agreement"].items()]
    if "agreement_on_validity" in statistics:
        found.append(
            (ALL_ANSWERS, _("All answers: for or against the story"), statistics["agreement_on_validity"])
        )
    return [
        {
            "key": key,
            "title": title,
            "stories": entry["stories"],
            "categories": entry["categories"],
            "cells": [_coefficient(name, str(label), entry) for name, label in COEFFICIENTS.items()],
        }
        for key, title, entry in found
    ]


def rating_rows(study: Study, document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the ratings by question: mean, median, ordinal alpha and AC2, with intervals or a reason."""
    return [
        {
            "key": key,
            "title": str(study.protocol.question(key).title),
            "stories": entry["items"],
            "categories": len(entry["chosen"]),
            "cells": [_coefficient(name, str(label), entry) for name, label in RATINGS.items()],
        }
        for key, entry in document["statistics"].get("ratings", {}).items()
    ]


def measures(study: Study, document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every table of agreement and other statistics, the latter with their words; no empty ones."""
    statistics = document["statistics"]
    titles = {question.key: str(question.title) for question in study.protocol.questions}
    found = [
        _measured("agreement", _("Stories"), agreement_rows(study, document)),
        _measured("ratings", _("Items"), rating_rows(study, document)),
    ]
    for key, table in TABLES.items():
        if key not in statistics:
            continue
        rows = [
            (titles.get(kind, kind) or _("All"), [_cell(cell) for cell in cells])
            for kind, cells in table.rows(statistics[key])
        ]
        heading, explanation = translation.gettext(table.heading), translation.gettext(table.explanation)
        words = {"heading": heading, "explanation": explanation, "named": translation.gettext(table.named)}
        found.append({"key": key, "rows": rows, **words})
    return [table for table in found if table["rows"]]


def _measured(key: str, number: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a table of coefficients, the number of units first, with the reasons why some are undefined."""
    reasons: dict[str, dict[str, None]] = {}
    for row in rows:
        for cell in row["cells"]:
            if cell["value"] is None and cell["undefined"]:
                reasons.setdefault(cell["undefined"], {})[row["title"]] = None
    units = [{"label": number, "value": row["stories"], "whole": True} for row in rows]
    return {
        "key": key,
        "rows": [(row["title"], [unit, *row["cells"]]) for row, unit in zip(rows, units, strict=True)],
        "undefined": [{"reason": reason, "titles": [*titles]} for reason, titles in reasons.items()],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    words = {"label": translation.gettext(cell.label), "whole": isinstance(cell.value, int)}
    return {**cell._asdict(), **words}


def statistics_lines(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the same numbers for a CSV file, a line per statistic, kind of question and number."""
    statistics = document["statistics"]
    return [
        {
            "statistic": key,
            "kind": kind or ALL,
            "measure": name,
            "value": cell.value,
            "low": cell.interval and cell.interval[0],
            "high": cell.interval and cell.interval[1],
        }
        for key, table in TABLES.items()
        if key in statistics
        for kind, cells in table.rows(statistics[key])
        for name, cell in zip(table.columns, cells, strict=True)
    ]


def _coefficient(name: str, label: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    undefined = entry["undefined"].get(name, "") or entry["undefined_intervals"].get(name, "")
    return {
        "name": name,
        "label": label,
        "value": entry[name],
        "interval": entry["intervals"][name],
        "undefined": translation.gettext(undefined) if undefined else "",
    }


def retention_rows(by_name: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows by scenario or generator model: counts of stories, and the kept share of complete ones."""
    return [
        {
            "name": name,
            **{what: fared[what] for what in ("generated", "kept", "dropped", "incomplete")},
            "complete": fared["kept"] + fared["dropped"],
            "retention": fared["kept"] / (fared["kept"] + fared["dropped"])
            if fared["kept"] + fared["dropped"]
            else None,
            **{f"unique_{letter}": fared[f"unique_{letter}"] for letter in "xyz"},
        }
        for name, fared in by_name.items()
    ]


def person_row(
    study: Study,
    median_seconds: float | None,
    person: Mapping[str, Any],
    *,
    everybody: Mapping[str, Mapping[str, float]] | None = None,
) -> dict[str, Any]:
    """Return a participant's figures as pages show them.

    ``everybody``: question → option → share in all votes.
    """
    of_all = everybody or {}
    return {
        **person,
        "questions": [
            {
                "title": str(question.title),
                "options": [
                    {
                        "label": labels.get(option, option),
                        "share": share,
                        "everybody": of_all.get(question.key, {}).get(option, 0.0),
                    }
                    for option, share in _in_order(question, person["options"].get(question.key, {}))
                ],
            }
            for question in study.protocol.chosen
            for labels in [{known.key: str(known.label) for known in question.options}]
        ],
        "pay": hourly_pay(study.pay_rate, median_seconds, person["median_seconds"]),
        "flagged": [
            {"name": name, "title": flags.title(name), "evidence": person["evidence"].get(name, [])}
            for name in person["flags"]
        ],
    }


def compared_rows(study: Study, document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the page's comparison of filters: a row per filter, the model last."""
    rows, filters = [], filters_of(study, FILTERS)
    for row in document["filters"]:
        rule, is_default = filters.get(row["name"]), row["name"] == next(iter(filters))
        rows.append(
            {
                **row,
                "title": capfirst(rule.localized_title if rule else _("Dawid and Skene’s model")),
                "rule": rule.localized_rule(study.votes_per_story) if rule else "",
                "validates": bool(rule and rule.validates),
                "is_model": row["name"] == MODEL,
                "share": row["kept"] / document["stories"] if document["stories"] else 0.0,
                "questions": [
                    Share.of(str(question.title), dropped.get(question.key, 0), document["stories"], url)
                    for dropped in [row.get("dropped_by_question", {})]
                    for question in study.protocol.chosen  # words drop no story
                    # The story list searches by the default filter alone.
                    for url in [stories_address(study, dropped_by=question.key) if is_default else ""]
                ],
            }
        )
    return rows


def hourly_pay(target: Decimal | None, median_seconds: float | None, own_seconds: float) -> Decimal | None:
    """Return hourly pay if every story pays alike and the median pace earns the target.

    target × (median time of all votes) / (the person's median time), to the cent, both as far as they are
    paid; None if not paid, or when there is no time to compare.
    """
    if target is None or not median_seconds or not own_seconds:
        return None
    everybodys, own = (Decimal(str(paid_seconds(one))) for one in (median_seconds, own_seconds))
    return (target * everybodys / own).quantize(Decimal("0.01"))


def _in_order(question: Any, shares: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return all options of the form, unchosen ones included, followed by any others that were chosen."""
    offered = [option.key for option in question.options]
    return [(key, shares.get(key, 0.0)) for key in (*offered, *sorted(set(shares).difference(offered)))]
