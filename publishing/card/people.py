"""The section on how well people answer the questions. Pure."""

from collections.abc import Mapping
from typing import Any

from publishing.card.figures import PEOPLE_FIGURE
from publishing.card.markdown import code, counted, percent, table
from publishing.files.rows import BASELINE


def human_baseline(found: Mapping[str, Any] | None) -> list[str]:
    """Return the section, or nothing if no answers of people are in the release."""
    if not found:
        return []
    source, drawn = found["source"], found["source"]["drawn"]
    rows = [
        (
            code(config),
            f"{one['complete']:,}",
            _share(one["accuracy"], one["interval"]),
            _share(one["majority"]["accuracy"], one["majority"]["interval"]),
            percent(one["agreement"]["percent"]),
        )
        for config, one in found["configs"].items()
    ]
    return [
        "## How well people answer",
        f"{counted(found['annotators'], 'participant', 'participants')} answered "
        f"{found['all']['complete']:,} of these questions, each {source['votes_per_question']} times. "
        f"The stories were drawn from release {drawn['release']['number']}, up to {drawn['per_scenario']} of "
        f"each scenario (seed {drawn['seed']}). All answers are in release {source['number']} of the study "
        f"{code(source['study'])}; those to questions that have changed since are left out here. Random "
        f"guessing is right in {percent(found['all']['chance'])}. In brackets: 95 % intervals.",
        table(("question set", "questions", "right answers", "majority is right", "same answer"), rows),
        f"![How well people and simple rules answer]({PEOPLE_FIGURE})",
        f"The answers and the method are in {code(BASELINE)}.",
    ]


def _share(share: float | None, bounds: tuple[float, float] | None) -> str:
    return percent(share) + (f" [{100 * bounds[0]:.1f}, {100 * bounds[1]:.1f}]" if bounds else "")
