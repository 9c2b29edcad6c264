"""Which stories of a release are asked about: so many of each scenario, chosen by a seed. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from annotation.rules import order_key


@dataclass(frozen=True, slots=True)
class StoryFacts:
    """What the choice depends on."""

    story_id: str
    core_id: str
    scenario_name: str


@dataclass(frozen=True, slots=True)
class Sample:
    """The chosen stories, by scenario and then by their place in the draw.

    ``short`` says for each scenario with fewer stories than wanted how many it has; all are taken.
    ``repeated_cores`` counts stories that another severity of the same core stands beside.
    """

    story_ids: tuple[str, ...]
    short: dict[str, int]
    repeated_cores: int


def sample(stories: Iterable[StoryFacts], *, per_scenario: int, seed: int) -> Sample:
    """``per_scenario`` stories of each scenario, or all of one that has fewer.

    Stories are put in order by SHA-256 of seed and story id (:func:`annotation.rules.order_key`), as in
    a study's serving order: anybody can recompute it, and the order of the file does not matter. The
    first story of every core comes before the second of any, so that two severities of one core are
    taken only where a scenario has too few cores. Raises ``ValueError`` for less than one per scenario.
    """
    if per_scenario < 1:
        raise ValueError("Draw at least one story per scenario.")
    by_scenario: dict[str, list[StoryFacts]] = defaultdict(list)
    for story in stories:
        by_scenario[story.scenario_name].append(story)
    chosen: list[StoryFacts] = []
    for _, found in sorted(by_scenario.items()):
        chosen += _cores_first(found, seed)[:per_scenario]
    cores = {story.core_id for story in chosen}
    return Sample(
        story_ids=tuple(story.story_id for story in chosen),
        short={name: len(found) for name, found in sorted(by_scenario.items()) if len(found) < per_scenario},
        repeated_cores=len(chosen) - len(cores),
    )


def _cores_first(stories: Iterable[StoryFacts], seed: int) -> list[StoryFacts]:
    """In the order of the draw, the first of every core before the second of any."""
    drawn = sorted(stories, key=lambda story: (order_key(seed, story.story_id), story.story_id))
    of_core: Counter[str] = Counter()
    rounds = []
    for place, story in enumerate(drawn):
        rounds.append((of_core[story.core_id], place, story))
        of_core[story.core_id] += 1
    return [story for _, _, story in sorted(rounds, key=lambda entry: entry[:2])]
