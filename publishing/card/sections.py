"""The card's parts, rendered from the templates in ``text/``. Pure.

People's texts pass the filters of :mod:`publishing.card.markdown`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from statistics import median_low
from typing import Any

from jinja2 import Environment
from jinja2.runtime import LoopContext

from annotation.intake import AI_TOOLS
from annotation.protocols import stated_by
from annotation.protocols.instructions import sections_of
from publishing import filters
from publishing.card import citation, contents, figures, markdown
from publishing.card.markdown import NOTHING, bullets, code, decimal, interval, listed, percent, text
from publishing.comparison.changes import CHANGES_PATH, Changes, changed_rules
from publishing.facts import NOT_STATED, ReleaseFacts
from publishing.files import jsonl, rows
from publishing.files.features import Type
from publishing.files.rows import Layout
from publishing.results import per_item
from publishing.statistics.intervals import wilson
from publishing.statistics.quartiles import quartiles
from publishing.statistics.tables import TABLES, Cell
from publishing.statistics.tally import WITHOUT_FLAGGED
from publishing.totals import MAX_SECONDS, Tally
from tomannot import text_templates

MOST_NAMED = 8
"""Generators named in the text; the table has all of them."""
MOST_ROWS = 100
"""Rows in a table of the card; ``statistics.json`` has all groups."""
EXCLUDED = "excluded"
UNCONFIRMED = ("pending", "doubted")


@dataclass(frozen=True, slots=True)
class Documents:
    """The contents of the other files that the card describes."""

    layout: Layout
    columns: Mapping[str, Mapping[str, Type]]
    """Columns and their types, by file."""
    example: Mapping[str, Any]
    """The first row of the first config."""
    statistics: Mapping[str, Any]
    guessed: Mapping[str, Any]
    """The document of the machine validation."""
    people: Mapping[str, Any] | None
    """Results of the human baseline, if there is one."""
    previous: Changes | None
    """The comparison with the previous release, if its files are available."""


def opening(facts: ReleaseFacts, tally: Tally) -> str:
    """Return title, warnings, description, purpose and counts."""
    return _rendered("opening.jinja", facts, tally, given=sorted(tally.annotators.values()))


def procedure(facts: ReleaseFacts, tally: Tally) -> str:
    """Return the steps from the generated stories to the released ones, with the study's numbers."""
    unconfirmed = sum(facts.surplus.get(reason, 0) for reason in UNCONFIRMED)
    surplus = sorted(item for item in facts.surplus.items() if item[0] not in (EXCLUDED, *UNCONFIRMED))
    languages = Counter[str]()
    for (_version, name), votes in tally.forms.items():
        languages[name] += votes
    return _rendered(
        "procedure.jinja",
        facts,
        tally,
        surplus=surplus,
        unconfirmed=unconfirmed,
        seconds=quartiles(tally.seconds),
        hours=tally.person_hours,
        languages=sorted(languages.items(), key=lambda item: (-item[1], item[0])),
    )


def closing(facts: ReleaseFacts, tally: Tally, made: Documents) -> str:
    """Return everything that follows from the release's files, from the plan to the citation."""
    varied, previous = figures.varied_configs(made.guessed), made.previous
    also = {*made.columns, *([rows.BASELINE] if made.people else [])}
    cues = [
        (config, side, listed(words))
        for config, found in varied.items()
        for side in ("right", "wrong")
        if (words := [code(cue["text"]) for cue in found["cues"] if cue["points_to"] == side])
    ]
    return _rendered(
        "closing.jinja",
        facts,
        tally,
        layout=made.layout,
        results=per_item(facts.protocol_name, facts.asked),
        statistics=made.statistics,
        guessed=made.guessed,
        varied=varied,
        cues=cues,
        people=made.people,
        previous=previous,
        changed_rules=changed_rules(facts, previous.before) if previous else [],
        files=contents.files(facts, made.layout, also=also),
        also=also,
        first_path=rows.config_path(made.layout.configs[0]),
        example=jsonl.document(made.example).decode().rstrip().replace("`", "\\u0060"),
        columns=contents.columns(facts.asked, made.columns),
        silent=contents.silent(facts.statement),
        cited=citation.citation(facts),
    )


def authors(tally: Tally, shown: Callable[[str], str]) -> str:
    """Return who wrote how many of the stories: models, people, or somebody whom no source names."""
    models, by_people, unknown = tally.authors()
    by_models = sum(tally.outcomes.values()) - by_people - unknown
    named = [*map(shown, models[:MOST_NAMED])]
    if len(models) > MOST_NAMED:
        named.append(f"{len(models) - MOST_NAMED:,} more")
    parts = [
        f"{by_models:,} written by the {'model' if len(models) == 1 else 'models'} {listed(named)}"
        if models
        else "",
        f"{by_people:,} written by people" if by_people else "",
        f"{unknown:,} whose author is {NOT_STATED}" if unknown else "",
    ]
    return listed([part for part in parts if part])


def _undefined(
    measured: Iterable[tuple[str, Mapping[str, Any]]],
    names_of: Mapping[str, str],
    joint: Mapping[str, Any] | None = None,
) -> str:
    """Return which coefficients are undefined and why, each reason once, as bullets."""
    of_what: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name, found in [*measured, *([(figures.JOINT, joint)] if joint else [])]:
        by_reason: dict[str, list[str]] = {}
        for key, reason in found["undefined"].items():
            if key in names_of:
                by_reason.setdefault(reason, []).append(names_of[key])
        for reason, names in by_reason.items():
            of_what.setdefault((reason, tuple(names)), []).append(name)
    return bullets(
        f"{listed(names)} of {listed(things)} {'is' if len(names) * len(things) == 1 else 'are'} "
        f"undefined: {text(reason)}"
        for (reason, names), things in of_what.items()
    )


def _coefficient(found: Mapping[str, Any], key: str) -> str:
    value = found[key]
    return NOTHING if value is None else f"{decimal(value)}{interval(found['intervals'][key])}"


def _cell(cell: Cell) -> str:
    if cell.value is None:
        return NOTHING
    is_whole = isinstance(cell.value, int)
    return f"{cell.value:,}" if is_whole else f"{decimal(cell.value)}{interval(cell.interval)}"


def _score(score: Mapping[str, Any]) -> str:
    bounds = score["interval"]
    return percent(score["accuracy"]) + (f" [{100 * bounds[0]:.1f}, {100 * bounds[1]:.1f}]" if bounds else "")


@cache
def _environment() -> Environment:
    environment = text_templates.environment(Path(__file__).parent / "text")
    environment.filters |= {
        "number": lambda value: NOTHING if value is None else f"{value:,}",
        "day": lambda moment: f"{moment:%-d %B %Y}",
        "zip": zip,
        "moment": datetime.fromisoformat,
        "numbered": lambda lines: markdown.steps(filter(None, lines.split("\n"))),
        **{name: getattr(markdown, name) for name in ("cell", "code", "paragraphs", "percent", "text")},
    }
    for module in (citation, contents, figures, filters, markdown, rows):
        environment.globals |= {name: one for name, one in vars(module).items() if not name.startswith("_")}
    environment.globals |= {name.upper(): words for name, words in contents.MEANINGS.items()}
    environment.globals |= {
        "AI_TOOLS": AI_TOOLS, "CHANGES_PATH": CHANGES_PATH, "EXCLUDED": EXCLUDED,
        "MAX_SECONDS": MAX_SECONDS, "MOST_ROWS": MOST_ROWS, "WITHOUT_FLAGGED": WITHOUT_FLAGGED,
        "authors": authors, "between": _between, "coefficient": _coefficient,
        "median_low": median_low, "number_with_interval": _cell, "score": _score,
        "sections_of": sections_of, "TABLES": TABLES, "undefined": _undefined, "wilson": wilson,
    }  # fmt: skip
    return environment


def _between(loop: LoopContext) -> str:
    """Return what stands before an item of a list in a sentence: ``a, b and c``."""
    return "" if loop.first else " and " if loop.last else ", "


def _rendered(template: str, facts: ReleaseFacts, tally: Tally, **context: Any) -> str:
    return rendered(
        template,
        facts=facts,
        tally=tally,
        counts=tally.counts(),
        rule=facts.rule,
        needed=f"{facts.votes_told} vote{'s' if facts.votes_told != '1' else ''}",
        follows=stated_by(facts.protocol_name).follows,
        resolution=stated_by(facts.protocol_name).resolution,
        **context,
    )


def rendered(template: str, **context: Any) -> str:
    """Return the text of a template in ``text/``, with one blank line at most between others."""
    text = _environment().get_template(template).render(context)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n")
