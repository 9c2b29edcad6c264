"""The dataset card (README.md) of a release, written from its facts. Pure.

Titles, names and descriptions come from people: YAML is written by a library, and text that goes into
Markdown is escaped, so that none of it can add a heading, a link or a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from publishing.card.changes import Changes, changes
from publishing.card.citing import rights
from publishing.card.contents import files, stated, use
from publishing.card.front_matter import front_matter
from publishing.card.kept import agreement, retention, selection
from publishing.card.machine import machine_validation as guessable
from publishing.card.markdown import text
from publishing.card.overview import overview, warnings
from publishing.card.procedure import procedure
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
        front_matter(facts, tally, layout, features),
        f"# {text(facts.title)}",
        *warnings(facts),
        *overview(facts, tally),
        *procedure(facts, tally),
        *retention(tally, statistics),
        *agreement(facts, statistics),
        *selection(facts, tally),
        *guessable(machine_validation),
        *changes(facts, previous),
        *files(layout),
        *use(layout),
        *stated(facts.statement),
        *rights(facts),
    ]
    return ("\n\n".join(section for section in sections if section) + "\n").encode()
