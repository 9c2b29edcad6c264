"""The rules of the room, on plain values."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, strategies as st

from qualification.rules import agreement, needs_reason, round_for


@given(
    rounds=st.lists(st.integers(1, 99), min_size=1, max_size=6, unique=True),
    begin=st.integers(0, 10_000),
    people=st.integers(1, 60),
)
def test_rounds_are_taken_evenly_in_any_run_of_people(rounds: list[int], begin: int, people: int) -> None:
    taken = Counter(round_for(place, rounds) for place in range(begin, begin + people))
    counts = [taken[number] for number in rounds]
    assert max(counts) - min(counts) <= 1


def test_the_round_follows_from_the_place_alone() -> None:
    assert [round_for(place, [4, 2]) for place in range(4)] == [2, 4, 2, 4]
    assert round_for(1, [2, 4]) == round_for(1, [4, 2])
    with pytest.raises(ValueError, match="no round"):
        round_for(0, [])


@pytest.mark.parametrize(
    ("chosen", "share"),
    [
        ({}, None),
        ({"yes": 1}, None),
        ({"yes": 3}, 1.0),
        ({"yes": 2, "no": 1}, 1 / 3),
        ({"a": 1, "b": 1}, 0.0),
    ],
)
def test_agreement_is_the_share_of_agreeing_pairs(chosen: dict[str, int], share: float | None) -> None:
    assert agreement(chosen) == share


@pytest.mark.parametrize(
    ("accepted", "chosen", "needed"),
    [
        (["yes"], {}, False),
        (["yes"], {"yes": 3}, False),
        (["yes", "possibly"], {"yes": 3}, True),
        (["possibly"], {"yes": 3}, True),
        (["yes", "possibly"], {"yes": 2, "possibly": 1}, True),
        (["yes"], {"yes": 2, "possibly": 0}, False),
    ],
)
def test_a_key_says_why_where_experts_differ_or_it_departs_from_them(
    accepted: list[str], chosen: dict[str, int], needed: bool
) -> None:
    assert needs_reason(accepted, chosen) is needed
