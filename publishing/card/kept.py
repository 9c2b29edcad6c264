"""What was kept, how much people agreed before the filter, and what the filter does to it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from publishing.card.figures import AGREEMENT_FIGURE, JOINT, RETENTION_FIGURE, largest
from publishing.card.markdown import (
    NOTHING,
    bullets,
    cell,
    code,
    counted,
    decimal,
    interval,
    percent,
    table,
    text,
)
from publishing.facts import ReleaseFacts, Tally
from publishing.files.rows import DROPPED_PATH, VOTES_PATH
from publishing.filters import get_filter

MOST_ROWS = 100
"""Scenarios or generators in a table of the card; ``statistics.json`` has all of them."""

COEFFICIENTS = {
    "percent": "raw agreement",
    "fleiss_kappa": "Fleiss' kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
    "gwet_ac1": "Gwet's AC1",
}


def retention(tally: Tally, statistics: Mapping[str, Any]) -> list[str]:
    """How many stories of each kind were kept, as a chart and as tables."""
    dropped = tally.dropped_by_question()
    sections = [
        "## What was kept",
        f"![Stories kept, by scenario and by generator model; the tables below have the same numbers]"
        f"({RETENTION_FIGURE})",
        "The share is that of all generated stories, as published work reports it. X, Y and Z count the "
        "different main characters, other people, and things or actions that the kept stories name.",
        _shares("scenario", statistics["by_scenario"]),
        _shares("generator model", statistics["by_generator_model"]),
    ]
    if dropped:
        sections += [
            "Stories dropped by each question (a story that two questions drop counts for both):",
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
    header = (name, "generated", "with all votes", "kept", "kept share", "X", "Y", "Z")
    left_out = len(groups) - len(shown)
    more = f"{left_out:,} more, with fewer stories, are in {code('statistics.json')}."
    return "\n\n".join([table(header, rows), *([more] if left_out else [])])


def _number(value: int | None) -> str:
    return NOTHING if value is None else f"{value:,}"


def agreement(facts: ReleaseFacts, statistics: Mapping[str, Any]) -> list[str]:
    """Agreement per question and for the joint verdict, with intervals; what is undefined says why."""
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
        f"Over every story with exactly {facts.votes_per_story} counted votes, kept or dropped. Raw "
        "agreement is the share of pairs of votes with the same answer; the other three allow for "
        f"agreement by chance. In brackets: {100 * bootstrap['level']:g} % intervals from "
        f"{bootstrap['resamples']:,} bootstrap samples of stories. “{JOINT.capitalize()}”: whether a vote "
        "has any answer against it.",
        f"![Raw agreement per question with intervals; the table below has the same numbers]"
        f"({AGREEMENT_FIGURE})",
        table(("votes on", "stories", *COEFFICIENTS.values()), rows),
        *([bullets(why)] if why else []),
        "Where nearly all answers are alike, kappa and alpha can be low although nearly everybody agreed; "
        "AC1 does not have this property.",
    ]


def _undefined(measured: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Which coefficients are undefined, each reason said once for all that it is the same for."""
    of_what: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name, found in measured:
        by_reason: dict[str, list[str]] = {}
        for key, reason in found["undefined"].items():
            if key in COEFFICIENTS:
                by_reason.setdefault(reason, []).append(COEFFICIENTS[key])
        for reason, names in by_reason.items():
            of_what.setdefault((reason, tuple(names)), []).append(name)
    return [
        f"{_listed(names)} of {_listed(things)} {'is' if len(names) * len(things) == 1 else 'are'} "
        f"undefined: {text(reason)}"
        for (reason, names), things in of_what.items()
    ]


def _listed(names: Sequence[str]) -> str:
    """Names in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), names[-1]])


def _coefficient(found: Mapping[str, Any], key: str) -> str:
    value = found[key]
    return NOTHING if value is None else f"{decimal(value)}{interval(found['intervals'][key])}"


def selection(facts: ReleaseFacts, tally: Tally) -> list[str]:
    """What the filter does to the data, in words."""
    rule = get_filter(facts.filter_name)
    counts = tally.counts()
    if rule.validates and not facts.can_count_against and not counts["dropped"]:
        kept = "No answer counted against a story, so every story with all its votes was kept"
    elif rule.validates:
        kept = (
            "The kept stories are those against which nobody asked answered anything that counts against a "
            "story; people may still have chosen different answers"
        )
    else:
        kept = (
            "The kept stories are those with few enough answers against them for the rule above; somebody "
            "may have answered that a story among them is flawed"
        )
    incomplete = counts["incomplete"]
    unjudged = (
        f" {counted(incomplete, 'story lacks', 'stories lack')} votes and could not be judged yet; nothing "
        "here speaks for or against what lacks votes."
        if incomplete
        else ""
    )
    return [
        "## How the filter selects, and what that means",
        f"{kept}. The kept share may differ between scenarios and generators (tables above), so the kept "
        "stories are not a sample of the generated ones; and agreement among the kept stories says nothing "
        f"about how much people agreed: compute it from {code(VOTES_PATH)}, which has the votes on every "
        f"story, kept or not. What was dropped is in {code(DROPPED_PATH)}.{unjudged}",
        f"{counted(facts.votes_per_story, 'vote', 'votes')} cannot show that a story is valid for everybody, "
        "and the people who voted are not a sample of any population. The stories were written by the "
        "generators named above; their texts, and what is likely in them, carry the habits of those "
        "generators.",
    ]
