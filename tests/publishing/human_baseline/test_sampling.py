"""The draw: so many of each scenario, the same for everybody who knows the seed, one severity of a core."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st

from publishing.human_baseline.drawing import StoryFacts, sample

SEEDS = st.integers(-(2**53), 2**53)
STORIES = st.lists(
    st.tuples(st.sampled_from("uvw"), st.integers(0, 9), st.integers(1, 3)), unique=True, max_size=60
).map(
    lambda found: [
        StoryFacts(f"{core}-{name}_sev{level}", f"{core}-{name}", name) for name, core, level in found
    ]
)


@settings(max_examples=60)
@given(STORIES, st.integers(1, 6), SEEDS)
def test_every_scenario_gives_its_number_or_all_it_has_and_repeats_a_core_only_then(
    stories: list[StoryFacts], wanted: int, seed: int
) -> None:
    drawn = sample(stories, per_scenario=wanted, seed=seed)
    facts = {story.story_id: story for story in stories}
    have = Counter(story.scenario_name for story in stories)
    took = Counter(facts[story_id].scenario_name for story_id in drawn.story_ids)
    assert len(set(drawn.story_ids)) == len(drawn.story_ids)
    assert took == {name: min(wanted, count) for name, count in have.items()}
    assert drawn.short == {name: count for name, count in have.items() if count < wanted}
    repeated = 0
    for name in have:
        cores = {story.core_id for story in stories if story.scenario_name == name}
        chosen = [facts[one].core_id for one in drawn.story_ids if facts[one].scenario_name == name]
        assert len(set(chosen)) == min(len(chosen), len(cores))
        repeated += len(chosen) - len(set(chosen))
    assert drawn.repeated_cores == repeated


@settings(max_examples=60)
@given(STORIES, st.integers(1, 6), SEEDS, st.randoms(use_true_random=False))
def test_the_order_of_the_stories_does_not_matter(
    stories: list[StoryFacts], wanted: int, seed: int, chance: random.Random
) -> None:
    shuffled = stories.copy()
    chance.shuffle(shuffled)
    assert sample(shuffled, per_scenario=wanted, seed=seed) == sample(stories, per_scenario=wanted, seed=seed)


def test_another_seed_draws_others_and_a_larger_sample_holds_the_smaller() -> None:
    stories = [StoryFacts(f"s{number}", f"s{number}", "u") for number in range(100)]
    draws = {sample(stories, per_scenario=5, seed=seed).story_ids for seed in range(20)}
    assert len(draws) == 20
    assert (
        sample(stories, per_scenario=9, seed=3).story_ids[:5]
        == sample(stories, per_scenario=5, seed=3).story_ids
    )


def test_every_story_is_drawn_as_often_as_another() -> None:
    stories = [StoryFacts(f"s{number}", f"s{number}", "u") for number in range(10)]
    drawn = Counter(
        story_id for seed in range(2000) for story_id in sample(stories, per_scenario=3, seed=seed).story_ids
    )
    assert min(drawn.values()) > 500  # 600 expected, standard deviation 20
    assert max(drawn.values()) < 700


def test_less_than_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        sample([], per_scenario=0, seed=1)
