"""The sections on kept stories, agreement before the filter, and the filter's effect. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from publishing.card.figures import AGREEMENT_FIGURE, JOINT, RATINGS_FIGURE, RETENTION_FIGURE, largest
from publishing.card.markdown import (
    NOTHING,
    bullets,
    cell,
    code,
    counted,
    decimal,
    interval,
    listed,
    percent,
    table,
    text,
)
from publishing.facts import ReleaseFacts, Tally
from publishing.files.rows import ADJUDICATIONS_PATH, DROPPED_PATH, INCOMPLETE_PATH, RATINGS_PATH, VOTES_PATH
from publishing.filters import DUPLICATE, ONLY_FIRST, Outcome, get_filter

MOST_ROWS = 100
"""Rows in a table of the card; ``statistics.json`` has all groups."""

RATING_ESTIMATES = {
    "mean": "mean",
    "median": "median",
    "krippendorff_alpha_ordinal": "Krippendorff's alpha",
    "gwet_ac2": "Gwet's AC2",
}
COEFFICIENTS = {
    "percent": "raw agreement",
    "fleiss_kappa": "Fleiss' kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
    "gwet_ac1": "Gwet's AC1",
}


def results(facts: ReleaseFacts, tally: Tally, statistics: Mapping[str, Any]) -> list[str]:
    """Return the sections on the decisions and the agreement, as far as the study has any."""
    selects, rated = get_filter(facts.filter_name).selects, "ratings" in statistics
    return [
        *(retention(tally, statistics) if selects else []),
        *(ratings(facts, statistics) if rated else []),
        *(agreement(facts, statistics) if "agreement_on_validity" in statistics else []),
        *(selection(facts, tally) if selects else []),
    ]


def ratings(facts: ReleaseFacts, statistics: Mapping[str, Any]) -> list[str]:
    """Return the section on ratings: levels and agreement by question, means by scenario and by author."""
    found, bootstrap = statistics["ratings"], statistics["bootstrap"]
    rows = [
        (cell(key), f"{one['items']:,}", *(_coefficient(one, name) for name in RATING_ESTIMATES))
        for key, one in found.items()
    ]
    why = _undefined([(cell(key), one) for key, one in found.items()], RATING_ESTIMATES)
    means = [
        table(
            (heading, *map(cell, found)),
            [
                (cell(name), *(_coefficient(one[by][name], "mean") for one in found.values()))
                for name in names
            ],
        )
        for by, heading in (("by_scenario", "mean by scenario"), ("by_generator_model", "mean by author"))
        for names in [[*next(iter(found.values()))[by]][:MOST_ROWS]]
    ]
    return [
        "## How the items were rated",
        "Computed over all items with exactly "
        f"{counted(facts.votes_per_story, 'counted vote', 'counted votes')}. In brackets: "
        f"{100 * bootstrap['level']:g} % intervals from {bootstrap['resamples']:,} bootstrap samples of "
        "items. Krippendorff's alpha is ordinal, and Gwet's AC2 has quadratic weights: both correct for "
        "agreement by chance and count near ratings as partly equal.",
        "![Mean ratings by question and by scenario; the tables below have the same numbers]"
        f"({RATINGS_FIGURE})",
        table(("rating", "items", *RATING_ESTIMATES.values()), rows),
        *([bullets(why)] if why else []),
        *means,
        f"{code(RATINGS_PATH)} has the mean rating of every item with its 95 % interval by Student's t. "
        "The annotators are not a sample of any population.",
    ]


def retention(tally: Tally, statistics: Mapping[str, Any]) -> list[str]:
    """Return the section on kept stories per scenario, author and severity, as a chart and tables."""
    dropped = tally.dropped_by_question()
    sections = [
        "## What was kept",
        f"![Stories kept, by scenario and by author; the tables below have the same numbers]"
        f"({RETENTION_FIGURE})",
        f"The {statistics['stories']['kept']:,} kept stories have {statistics['stories']['unique_texts']:,} "
        "different texts. The kept share is a share of all stories of the study, as in published work. X, Y "
        "and Z count the distinct main characters, other people, and objects or actions in the kept stories.",
        _shares("scenario", statistics["by_scenario"]),
        _shares("written by", statistics["by_generator_model"]),
        _shares("severity", statistics["by_severity"]),
    ]
    if dropped:
        sections += [
            "Stories dropped by each question (a story dropped by two questions counts for both"
            f"{f'; {code(DUPLICATE)}: {ONLY_FIRST}' if DUPLICATE in dropped else ''}):",
            table(("question", "stories dropped"), [(cell(key), f"{n:,}") for key, n in dropped.items()]),
        ]
    return sections


def _shares(name: str, groups: Mapping[str, Mapping[str, Any]]) -> str:
    shown = largest(groups)[:MOST_ROWS]
    rows = [
        (
            cell(key),
            f"{group['generated']:,}",
            f"{group['kept'] + group['dropped']:,}",
            f"{group['kept']:,}",
            percent(group["retention"]),
            *(_number(group[f"unique_{letter}"]) for letter in "xyz"),
        )
        for key, group in shown
    ]
    header = (name, "stories", "complete", "kept", "kept share", "X", "Y", "Z")
    left_out = len(groups) - len(shown)
    more = f"{left_out:,} more, with fewer stories, are in {code('statistics.json')}."
    return "\n\n".join([table(header, rows), *([more] if left_out else [])])


def _number(value: int | None) -> str:
    return NOTHING if value is None else f"{value:,}"


def agreement(facts: ReleaseFacts, statistics: Mapping[str, Any]) -> list[str]:
    """Return the section on agreement per question and for the joint verdict, with intervals."""
    measured = [
        *((cell(key), found) for key, found in statistics["agreement"].items()),
        (JOINT, statistics["agreement_on_validity"]),
    ]
    bootstrap = statistics["bootstrap"]
    rows = [
        (name, f"{found['stories']:,}", *(_coefficient(found, key) for key in COEFFICIENTS))
        for name, found in measured
    ]
    why = _undefined(measured)
    return [
        "## How much people agreed, before the filter",
        "Computed over all stories with exactly "
        f"{counted(facts.votes_per_story, 'counted vote', 'counted votes')}, kept or dropped. Raw "
        "agreement is the share of pairs of votes with the same answer; the other three coefficients correct "
        f"for agreement by chance. In brackets: {100 * bootstrap['level']:g} % intervals from "
        f"{bootstrap['resamples']:,} bootstrap samples of stories. “{JOINT.capitalize()}” compares whether "
        "each vote has any answer against the story.",
        f"![Raw agreement and Gwet's AC1 per question, with intervals; the table below has the same numbers]"
        f"({AGREEMENT_FIGURE})",
        table(("votes on", "stories", *COEFFICIENTS.values()), rows),
        *([bullets(why)] if why else []),
        "When nearly all answers are the same, kappa and alpha can be low although nearly everybody agreed; "
        "AC1 does not have this problem.",
    ]


def _undefined(
    measured: Sequence[tuple[str, Mapping[str, Any]]], names_of: Mapping[str, str] = COEFFICIENTS
) -> list[str]:
    """Return which coefficients are undefined and why, each reason once."""
    of_what: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name, found in measured:
        by_reason: dict[str, list[str]] = {}
        for key, reason in found["undefined"].items():
            if key in names_of:
                by_reason.setdefault(reason, []).append(names_of[key])
        for reason, names in by_reason.items():
            of_what.setdefault((reason, tuple(names)), []).append(name)
    return [
        f"{listed(names)} of {listed(things)} {'is' if len(names) * len(things) == 1 else 'are'} "
        f"undefined: {text(reason)}"
        for (reason, names), things in of_what.items()
    ]


def _coefficient(found: Mapping[str, Any], key: str) -> str:
    value = found[key]
    return NOTHING if value is None else f"{decimal(value)}{interval(found['intervals'][key])}"


def selection(facts: ReleaseFacts, tally: Tally) -> list[str]:
    """Return the section on the filter's effect on the data."""
    rule = get_filter(facts.filter_name)
    counts = tally.counts()
    can_object = any(question.against for question in facts.asked)
    if rule.validates and not can_object and not counts["dropped"]:
        kept = "No answer could count against a story, so every complete story was kept"
    elif rule.validates:
        kept = (
            "The kept stories have no answer against them from any annotator; annotators may still have "
            "chosen different answers"
        )
    else:
        kept = (
            "The kept stories have few enough answers against them to pass the filter above; somebody may "
            "still have judged one of them flawed"
        )
    incomplete = counts["incomplete"]
    unjudged = (
        f" {counted(incomplete, 'story is', 'stories are')} incomplete and without a verdict, in "
        f"{code(INCOMPLETE_PATH)}."
        if incomplete
        else ""
    )
    return [
        "## How the filter selects, and what that means",
        f"{kept}. The kept share may differ between scenarios and authors (tables above), so the kept "
        "stories are not a representative sample of all stories. Agreement among the kept stories "
        f"alone is misleading: compute it from {code(VOTES_PATH)}, which has the votes on every story, kept "
        f"or not. The dropped stories are in {code(DROPPED_PATH)}.{unjudged}{_by_experts(tally)}",
        f"{counted(facts.votes_per_story, 'vote', 'votes')} cannot show that a story is valid for everybody, "
        "and the annotators are not a sample of any population. The stories carry the habits of the models "
        "or people who wrote them, in their wording and in what happens.",
    ]


def _by_experts(tally: Tally) -> str:
    """Return the sentence on stories that experts decided, if there are any."""
    kept, dropped = tally.by_expert[Outcome.KEPT], tally.by_expert[Outcome.DROPPED]
    decided = counted(kept + dropped, "story", "stories")
    return (
        f" Experts decided {decided} on which the votes split: {kept:,} kept, {dropped:,} dropped "
        f"({code(ADJUDICATIONS_PATH)})."
        if kept + dropped
        else ""
    )
