"""The top of the card: warnings, what the release is, its numbers, and why it was made. Pure."""

from __future__ import annotations

from publishing.card.markdown import code, paragraphs, table
from publishing.facts import ReleaseFacts, Tally
from publishing.filters import get_filter

REHEARSAL_WARNING = (
    "> **THIS IS A REHEARSAL. THESE ARE NOT HUMAN JUDGEMENTS.** The votes come from test or simulated "
    "people. Nothing in this directory is evidence about the stories; do not cite it and do not train or "
    "evaluate on it."
)


def warnings(facts: ReleaseFacts) -> list[str]:
    """What has to be read before anything else, if there is such a thing."""
    rule = get_filter(facts.filter_name)
    not_validated = (
        f"> **The stories of this release are not “validated”.** It was made with the filter "
        f"{code(facts.filter_name)}, not with the rule that nobody may be against a story: {rule.title}. "
        "Somebody may have answered that a story in it is flawed. Do not compare it with releases made "
        "with `all-agree` as if they were alike."
    )
    return [
        *([REHEARSAL_WARNING] if facts.is_rehearsal else []),
        *([] if rule.validates else [not_validated]),
    ]


def overview(facts: ReleaseFacts, tally: Tally) -> list[str]:
    """What it is, in a sentence and in numbers, and why."""
    counts = tally.counts()
    rows = [
        ("stories generated", counts["stories"]),
        (f"stories with {facts.votes_per_story} votes", counts["kept"] + counts["dropped"]),
        ("stories kept", counts["kept"]),
        ("stories dropped", counts["dropped"]),
        ("stories without all their votes, not released", counts["incomplete"]),
        ("counted votes", counts["votes"]),
        ("people whose votes count", counts["annotators"]),
    ]
    return [
        f"Release {facts.number} of the study {code(facts.slug)}, {facts.created:%-d %B %Y}.",
        *paragraphs(facts.description),
        *(["## Why", *why] if (why := paragraphs(facts.statement.motivation)) else []),
        "## In numbers",
        table(("in this release", "number"), [(name, f"{number:,}") for name, number in rows]),
    ]
