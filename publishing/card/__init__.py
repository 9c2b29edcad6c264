"""The dataset card (README.md) of a release, written from its facts. Pure.

Titles, names and descriptions come from people: YAML is written by a library, and text that goes into
Markdown is escaped, so that none of it can add a heading, a link or a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from publishing.card import changes, citing, contents, front_matter, kept, machine, overview, procedure
from publishing.card.changes import Changes
from publishing.card.markdown import text
from publishing.facts import ReleaseFacts, Tally
from publishing.files.rows import Layout


def dataset_card(
    facts: ReleaseFacts,
    tally: Tally,
    layout: Layout,
    features: Mapping[str, Sequence[Mapping[str, Any]] | None],
    statistics: Mapping[str, Any],
    machine_validation: Mapping[str, Any] | None,
    previous: Changes | None,
) -> bytes:
    """The whole card.

    ``features`` are the columns of every config (None: left to the reader); ``statistics`` and
    ``machine_validation`` are the documents of these names in the release; ``previous`` is what has
    changed since the release before, None when there is none or its files are away.
    """
    sections = [
        front_matter.front_matter(facts, tally, layout, features),
        f"# {text(facts.title)}",
        *overview.warnings(facts),
        *overview.overview(facts, tally),
        *procedure.procedure(facts, tally),
        *kept.retention(tally, statistics),
        *kept.agreement(facts, statistics),
        *kept.selection(facts, tally),
        *machine.machine_validation(machine_validation),
        *changes.changes(facts, previous),
        *contents.files(layout),
        *contents.use(layout),
        *contents.stated(facts.statement),
        *citing.rights(facts),
    ]
    return ("\n\n".join(section for section in sections if section) + "\n").encode()
