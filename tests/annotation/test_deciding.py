"""The rule of an adaptive number of votes, against brute force over all votes that could still come."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

from annotation.deciding import TITLES, is_decided, span, votes_wanted
from publishing.filters import FILTERS, ONE_OF_EACH, Outcome, StoryFilter, Verdict, get_filter

QUESTIONS = ("q1", "q2")
KINDS = tuple(frozenset(chosen) for chosen in ((), ("q1",), ("q2",), ("q1", "q2")))
"""All votes that there can be on two questions: what they object to."""

objections = st.lists(st.sampled_from(KINDS), max_size=4)
rules = st.sampled_from(sorted(TITLES))


def verdicts(rule: StoryFilter, votes: tuple[frozenset[str], ...]) -> list[Verdict]:
    """Return the outcomes of a complete story: without an expert, and with one who keeps it."""
    return [rule.decide(votes, votes_per_story=len(votes), decision=decision) for decision in ("", "valid")]


def outcomes(name: str, votes: tuple[frozenset[str], ...]) -> list[Outcome]:
    return [verdict.outcome for verdict in verdicts(FILTERS[name], votes)]


def test_every_filter_that_can_decide_is_a_filter_and_has_its_title() -> None:
    assert list(TITLES) == list(FILTERS)
    assert [str(title) for title in TITLES.values()] == [rule.title for rule in FILTERS.values()]


@settings(max_examples=80)
@given(rule=rules, votes=objections, left=st.integers(0, 3))
def test_decided_is_what_no_continuation_can_change(
    rule: str, votes: list[frozenset[str]], left: int
) -> None:
    """Also none that ends before the most votes: then the story would be judged by those."""
    if not votes:
        return
    given = tuple(votes)
    now = outcomes(rule, given)
    changed = any(
        outcomes(rule, (*given, *more)) != now
        for count in range(1, left + 1)
        for more in product(KINDS, repeat=count)
    )
    at_the_end = {tuple(outcomes(rule, (*given, *more))) for more in product(KINDS, repeat=left)}
    assert is_decided(rule, given, most=len(given) + left) is (len(at_the_end) == 1)
    if len(at_the_end) == 1:
        assert not changed, "decided, and yet the outcome changes on the way"
        assert at_the_end == {tuple(now)}, "what is stopped early is judged as it would be in the end"


@settings(max_examples=80)
@given(rule=rules, votes=objections, least=st.integers(1, 3), beyond=st.integers(1, 3))
def test_votes_are_wanted_one_by_one_until_the_outcome_is_decided(
    rule: str, votes: list[frozenset[str]], least: int, beyond: int
) -> None:
    most = least + beyond
    votes = votes[:most]
    wanted = votes_wanted(rule, votes, least=least, most=most)
    assert least <= wanted <= most
    if len(votes) < least:
        assert wanted == least
    elif wanted == len(votes):
        assert len(votes) == most or is_decided(rule, votes, most=most)
    else:
        assert wanted == len(votes) + 1
        assert not is_decided(rule, votes, most=most), "decided, and still asking"


@settings(max_examples=25)
@given(rule=rules, votes=objections, one_of_each=st.booleans())
def test_filter_calls_a_story_complete_exactly_when_it_wants_no_more_votes(
    rule: str, votes: list[frozenset[str]], one_of_each: bool
) -> None:
    adaptive = get_filter(rule + (ONE_OF_EACH if one_of_each else ""), 4)
    verdict = adaptive.decide(votes, votes_per_story=2)
    complete = votes_wanted(rule, votes, least=2, most=4) == len(votes)
    assert (verdict.outcome is not Outcome.INCOMPLETE) is complete
    if not complete:
        assert verdict.reason == f"{len(votes)} of at most 4 votes"


def test_examples_of_two_to_five_votes(subtests: pytest.Subtests) -> None:
    for rule, votes, wanted in [
        ("all-agree", [""], 2),
        ("all-agree", ["", "q1"], 2),
        ("all-agree", ["", ""], 3),
        ("all-agree", [""] * 4, 5),
        ("all-agree", [""] * 5, 5),
        ("majority", ["", ""], 3),
        ("majority", ["", "", ""], 3),
        ("majority", ["q1", "q2", ""], 4),
        ("majority", ["q1", "q1", "q1"], 3),
        ("two-of-three", ["q1", "q2"], 2),
        ("two-of-three", ["", "", "", "q1"], 5),
        ("two-of-three", ["", "", "", ""], 4),
        ("experts-decide-splits", ["", "q1"], 2),
        ("experts-decide-splits", ["q1", "q1"], 3),
    ]:
        with subtests.test(str(rule)):
            against = [frozenset(filter(None, [vote])) for vote in votes]
            assert votes_wanted(rule, against, least=2, most=5) == wanted


def test_a_text_says_one_number_or_both() -> None:
    assert [span(3, None), span(3, 3), span(2, 5)] == ["3", "3", "2–5"]


def test_sentences_and_parameters_name_both_numbers() -> None:
    rule = get_filter("two-of-three", 5)
    assert rule.sentence(2) == (
        "a story is kept if and only if it has as many counted votes as it needed (2–5) and at least "
        "two thirds of them have no answer that counts against it; every story gets 2 votes or more, one at "
        "a time and up to 5 in all, until no vote that could still come would change its outcome"
    )
    assert rule.parameters(2) == {"votes_per_story": 2, "most_votes": 5}
    assert get_filter("majority", 5).parameters(2)["ties"] == "dropped"
