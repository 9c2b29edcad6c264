"""When a check comes, in which order, and what comes of the answers, as functions of plain values."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings, strategies as st

from annotation import hidden_checks
from annotation.hidden_checks import CheckRules, Consequence

KEYS = st.text("0123456789abcdef", min_size=8, max_size=64)
PEOPLE = st.integers(1, 10**9)
EVERY = st.integers(hidden_checks.FEWEST_BETWEEN, 200)


def places(key: str, person: int, every: int, blocks: int) -> list[int]:
    """The positions of a person's checks in their first so many blocks."""
    upto = range(1, every * blocks + 1)
    return [p for p in upto if hidden_checks.is_due(key=key, person=person, position=p, every=every)]


@settings(max_examples=25)
@given(KEYS, PEOPLE, EVERY)
def test_each_block_has_one_check_which_is_never_its_last_story(key: str, person: int, every: int) -> None:
    found = places(key, person, every, blocks=4)

    assert [(position - 1) // every for position in found] == [0, 1, 2, 3]
    assert not [
        position for position in found if hidden_checks.consequences_are_due(submitted=position, every=every)
    ]


@settings(max_examples=25)
@given(KEYS, PEOPLE, EVERY, st.integers(1, 400))
def test_all_get_as_many_checks_in_a_whole_set(key: str, person: int, every: int, load: int) -> None:
    whole = load + -(-load // (every - 1))
    items = checks = 0
    while items < load:
        due = hidden_checks.is_due(
            key=key, person=person, position=items + checks + 1, every=every, whole=whole
        )
        items, checks = items + (not due), checks + due
    assert items + checks == whole


@settings(max_examples=25)
@given(KEYS, PEOPLE, st.integers(1, 10_000))
def test_a_study_without_checks_has_none(key: str, person: int, position: int) -> None:
    assert not hidden_checks.is_due(key=key, person=person, position=position, every=0)
    assert not hidden_checks.consequences_are_due(submitted=position, every=0)


def test_checks_cannot_be_counted_out() -> None:
    """Every place of a block is drawn about equally often, and not the same one for two people or blocks."""
    found = [places("secret", person, 10, blocks=20) for person in range(1, 41)]

    assert len({tuple(one) for one in found}) == 40
    drawn = [(position - 1) % 10 for one in found for position in one]
    counts = [drawn.count(place) for place in range(10)]
    assert counts[9] == 0
    assert all(60 <= count <= 120 for count in counts[:9])  # 800 draws of 9 places: 89 each
    distances = {after - before for one in found for before, after in itertools.pairwise(one)}
    assert len(distances) > 12
    assert places("another", 1, 10, blocks=20) != found[0]


@settings(max_examples=25)
@given(KEYS, PEOPLE)
def test_the_order_of_checks_is_a_number_the_database_takes(key: str, person: int) -> None:
    assert -(2**63) <= hidden_checks.order_mask(key=key, person=person) < 2**63


SHARES = st.none() | st.integers(1, 100)


@settings(max_examples=25)
@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 10), SHARES, SHARES)
def test_a_consequence_is_the_gravest_threshold_that_is_reached(
    answered: int, failed: int, minimum: int, warn: int | None, suspend: int | None
) -> None:
    failed = min(answered, failed)
    rules = CheckRules(10, minimum, warn, suspend)
    found = hidden_checks.consequence(answered=answered, failed=failed, rules=rules)

    share = 100 * failed / answered if answered >= minimum else -1
    reached = {
        Consequence.SUSPEND: suspend is not None and share >= suspend,
        Consequence.WARN: warn is not None and share >= warn,
    }
    assert found == next((what for what, holds in reached.items() if holds), None)
    more = hidden_checks.consequence(answered=answered, failed=answered, rules=rules)
    assert found is None or more is not None  # failing more is never taken more lightly


def test_nothing_comes_of_checks_that_are_switched_off() -> None:
    assert hidden_checks.consequence(answered=9, failed=9, rules=CheckRules(0, 1, 10, 20)) is None
    assert hidden_checks.consequence(answered=9, failed=9, rules=CheckRules(10, 1, None, None)) is None


def test_rules_that_cannot_be_are_refused_by_field(subtests: pytest.Subtests) -> None:
    for rules, wrong in [
        (CheckRules(0), set()),
        (CheckRules(20, 3, 30, 50), set()),
        (CheckRules(4), {"every"}),
        (CheckRules(1001), {"every"}),
        (CheckRules(20, 0), {"minimum"}),
        (CheckRules(20, 3, 0, 101), {"warn_percent", "suspend_percent"}),
        (CheckRules(20, 3, 50, 50), {"warn_percent"}),
    ]:
        with subtests.test(str(rules)):
            assert set(hidden_checks.problems(rules)) == wrong


def test_a_check_that_most_people_fail_is_suspicious_once_enough_have_answered() -> None:
    assert hidden_checks.looks_wrong(answered=5, failed=3)
    assert not hidden_checks.looks_wrong(answered=4, failed=4)
    assert not hidden_checks.looks_wrong(answered=6, failed=3)


@settings(max_examples=25)
@given(KEYS, PEOPLE, EVERY, st.integers(1, 10), st.integers(0, 20))
def test_what_is_reckoned_with_is_what_comes_in_whole_blocks(
    key: str, person: int, every: int, blocks: int, usable: int
) -> None:
    due = len(places(key, person, every, blocks))
    assert hidden_checks.checks_among(every * blocks, every=every, usable=usable) == min(due, usable)
    assert hidden_checks.checks_among(every * blocks, every=0, usable=usable) == 0
