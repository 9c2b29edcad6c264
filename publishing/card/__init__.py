"""The dataset card (README.md) of a release, and the other files that describe it. Pure.

Titles, names and descriptions come from people. YAML is written by a library, and text in Markdown is
escaped, so that none of it can add a heading, a link or a column.
"""

from collections.abc import Mapping
from typing import Any

from publishing.card import changes, citation, contents, front_matter, machine, overview, procedure, results
from publishing.card.changes import Changes
from publishing.card.markdown import text
from publishing.card.people import human_baseline
from publishing.facts import ReleaseFacts, Tally
from publishing.files.features import Type
from publishing.files.rows import Layout


def dataset_card(
    facts: ReleaseFacts,
    tally: Tally,
    layout: Layout,
    columns: Mapping[str, Mapping[str, Type]],
    example: Mapping[str, Any],
    statistics: Mapping[str, Any],
    machine_validation: Mapping[str, Any] | None,
    people: Mapping[str, Any] | None,
    previous: Changes | None,
) -> bytes:
    """Return the whole card.

    ``columns`` are those of every file; ``example`` is the first row of the first config; ``statistics`` and
    ``machine_validation`` are the release's documents of these names, ``people`` that of its human baseline,
    if any; ``previous`` is the comparison with the previous release, if its files are available.
    """
    sections = [
        front_matter.front_matter(facts, tally, layout, columns),
        f"# {text(facts.title)}",
        *overview.warnings(facts),
        *overview.overview(facts, tally),
        *procedure.procedure(facts, tally),
        *procedure.planned(facts.plan),
        *results.results(facts, tally, statistics),
        *machine.machine_validation(machine_validation),
        *human_baseline(people),
        *changes.changes(facts, tally, previous),
        *contents.files(facts, layout, with_baseline=bool(people)),
        *contents.columns(layout, facts.asked, columns, example),
        *contents.use(layout),
        *contents.stated(facts.statement),
        *citation.rights(facts),
    ]
    return ("\n\n".join(section for section in sections if section) + "\n").encode()
