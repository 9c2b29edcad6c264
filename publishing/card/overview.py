"""The top of the card: warnings, description, purpose and counts. Pure."""

from statistics import median_low

from publishing.card.markdown import code, counted, paragraphs, table
from publishing.facts import ReleaseFacts, Tally
from publishing.filters import get_filter

REHEARSAL_WARNING = (
    "> **THIS IS A TEST RUN. THESE ARE NOT HUMAN JUDGEMENTS.** The votes come from tests or simulated "
    "people. Nothing in this directory is evidence about the stories. Do not cite it, and do not train or "
    "evaluate on it."
)


def warnings(facts: ReleaseFacts) -> list[str]:
    """Return the warnings that readers must see first, if any."""
    rule = get_filter(facts.filter_name)
    not_validated = (
        f"> **The stories of this release are not “validated”.** It was made with the filter "
        f"{code(facts.filter_name)} ({rule.title}), which keeps stories even if somebody judged them flawed. "
        "Do not compare it directly with releases made with `all-agree`."
    )
    return [
        *([REHEARSAL_WARNING] if facts.is_rehearsal else []),
        *([] if rule.validates else [not_validated]),
    ]


def overview(facts: ReleaseFacts, tally: Tally) -> list[str]:
    """Return the description, the purpose and the counts."""
    counts, given = tally.counts(), sorted(tally.annotators.values())
    needed = counted(facts.votes_per_story, "vote", "votes")
    decided = [
        ("stories kept", counts["kept"]),
        ("stories dropped", counts["dropped"]),
        ("incomplete stories, without a verdict", counts["incomplete"]),
    ]
    selects = get_filter(facts.filter_name).selects
    rows = [
        ("stories in the study", counts["stories"]),
        (f"stories with {needed}", counts["kept"] + counts["dropped"]),
        *(decided if selects else [("incomplete stories, which lack votes", counts["incomplete"])]),
        ("counted votes", counts["votes"]),
        ("annotators whose votes count", counts["annotators"]),
        ("fewest counted votes of an annotator", given[0]),
        ("median of counted votes per annotator", median_low(given)),
        ("most counted votes of an annotator", given[-1]),
    ]
    return [
        f"Release {facts.number} of the study {code(facts.slug)}, {facts.created:%-d %B %Y}.",
        *paragraphs(facts.description),
        *(["## Why", *why] if (why := paragraphs(facts.statement.motivation)) else []),
        "## In numbers",
        table(("in this release", "number"), [(name, f"{number:,}") for name, number in rows]),
    ]
