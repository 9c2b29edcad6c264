"""The dataset card (README.md) of a release, and the other files that describe it. Pure.

Titles, names and descriptions come from people. YAML is written by a library, and text in Markdown is
escaped, so that none of it can add a heading, a link or a column.
"""

from publishing.card import front_matter, sections
from publishing.facts import ReleaseFacts
from publishing.totals import Tally

CARD_PATH = "README.md"


def dataset_card(facts: ReleaseFacts, tally: Tally, made: sections.Documents) -> bytes:
    """Return the whole card of a release with these documents."""
    parts = [
        front_matter.front_matter(facts, tally, made.layout, made.columns),
        sections.opening(facts, tally),
        sections.procedure(facts, tally),
        sections.closing(facts, tally, made),
    ]
    return ("\n\n".join(parts) + "\n").encode()
