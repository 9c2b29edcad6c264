"""The rule, as a property of all votes there can be."""

from __future__ import annotations

import itertools
from functools import partial

import pytest
from django.template import Context, Template
from hypothesis import given, settings, strategies as st

from annotation.protocols import get_protocol
from annotation.protocols.questions import Choice
from publishing.errors import TooManyVotes, UnknownFilter
from publishing.filters import FILTERS, Outcome, all_agree, get_filter
from publishing.models import Release
from tests.publishing.support import verdict_of

OPTIONS = {
    "q1": ("yes", "possibly", "no"),
    "q2": ("yes", "possibly", "no"),
    "q3": ("yes", "no"),
    "q4": ("yes", "no"),
}

forms = st.tuples(*(st.sampled_from(options) for options in OPTIONS.values())).map(
    lambda chosen: tuple(
        Choice(question, "", option) for question, option in zip(OPTIONS, chosen, strict=True)
    )
)
wanted_votes = st.integers(1, 5)


def is_no(choice: Choice) -> bool:
    return choice.option == "no"


@settings(max_examples=50)
@given(votes=st.lists(forms, max_size=5), wanted=wanted_votes, data=st.data())
def test_verdict_does_not_depend_on_any_order(
    votes: list[tuple[Choice, ...]], wanted: int, data: st.DataObject
) -> None:
    votes = votes[:wanted]
    shuffled = [tuple(data.draw(st.permutations(vote))) for vote in data.draw(st.permutations(votes))]
    verdicts = [
        verdict_of(all_agree, given, votes_per_story=wanted, counts_against=is_no)
        for given in (votes, shuffled)
    ]
    assert verdicts[0] == verdicts[1]


@settings(max_examples=50)
@given(votes=st.lists(forms, min_size=1, max_size=5), data=st.data())
def test_one_more_no_never_keeps_a_story(votes: list[tuple[Choice, ...]], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(votes) - 1))
    question = data.draw(st.sampled_from(list(OPTIONS)))
    worse = list(votes)
    worse[place] = tuple(
        choice._replace(option="no") if choice.question == question else choice for choice in votes[place]
    )
    before = verdict_of(all_agree, votes, votes_per_story=len(votes), counts_against=is_no)
    after = verdict_of(all_agree, worse, votes_per_story=len(votes), counts_against=is_no)
    assert after.outcome is Outcome.DROPPED
    assert question in after.reason.split(",")
    assert set(filter(None, before.reason.split(","))) <= set(after.reason.split(","))


@settings(max_examples=50)
@given(votes=st.lists(forms, max_size=5), wanted=wanted_votes)
def test_agrees_with_the_rule_stated_by_brute_force(votes: list[tuple[Choice, ...]], wanted: int) -> None:
    votes = votes[:wanted]
    verdict = verdict_of(all_agree, votes, votes_per_story=wanted, counts_against=is_no)
    noes = {question for vote in votes for question, _, option in vote if option == "no"}
    if len(votes) != wanted:
        assert (verdict.outcome, verdict.reason) == (Outcome.INCOMPLETE, f"{len(votes)} of {wanted} votes")
    elif noes:
        assert (verdict.outcome, verdict.reason) == (Outcome.DROPPED, ",".join(sorted(noes)))
    else:
        assert (verdict.outcome, verdict.reason) == (Outcome.KEPT, "")


def test_every_single_no_of_the_validity_protocol_drops_and_possibly_does_not() -> None:
    protocol = get_protocol("validity")
    kept = [
        Choice("q1", "", "possibly"),
        Choice("q2", "", "possibly"),
        Choice("q3", "", "yes"),
        Choice("q4", "", "yes"),
    ]
    for person, question in itertools.product(range(3), range(4)):
        votes = [list(kept) for _ in range(3)]
        assert (
            verdict_of(
                all_agree, votes, votes_per_story=3, counts_against=partial(protocol.counts_against, None)
            ).outcome
            is Outcome.KEPT
        )
        votes[person][question] = votes[person][question]._replace(option="no")
        verdict = verdict_of(
            all_agree, votes, votes_per_story=3, counts_against=partial(protocol.counts_against, None)
        )
        assert (verdict.outcome, verdict.reason) == (Outcome.DROPPED, f"q{question + 1}")


def test_a_no_does_not_complete_a_story() -> None:
    verdict = verdict_of(all_agree, [[Choice("q1", "", "no")]], votes_per_story=3, counts_against=is_no)
    assert (verdict.outcome, verdict.reason) == (Outcome.INCOMPLETE, "1 of 3 votes")


def test_too_many_votes_are_never_explained_away() -> None:
    with pytest.raises(TooManyVotes, match="4 counted votes"):
        verdict_of(all_agree, [[]] * 4, votes_per_story=3, counts_against=is_no)


def test_filters_have_names() -> None:
    assert get_filter("all-agree") is all_agree
    assert next(iter(FILTERS.values())) is all_agree
    with pytest.raises(UnknownFilter, match="all-agree"):
        get_filter("most-agree")


def judged(name: str, *against: str) -> tuple[Outcome, str]:
    """The verdict on a story whose votes are written as what they say no to: ``q1q3``."""
    votes = [
        [Choice(question, "", "no" if question in noes else "yes") for question in OPTIONS]
        for noes in against
    ]
    verdict = verdict_of(get_filter(name), votes, votes_per_story=len(votes), counts_against=is_no)
    return verdict.outcome, verdict.reason


@pytest.mark.parametrize(
    ("against", "two_of_three", "majority"),
    [
        (("", "", ""), "", ""),
        (("q1", "", ""), "", ""),
        (("q1q2q3q4", "", ""), "", ""),
        (("q1", "q1", ""), "q1", "q1"),
        (("q1", "q2", ""), "q1,q2", ""),
        (("q1", "q2", "q3"), "q1,q2,q3", ""),
        (("q1q4", "q2", "q4"), "q1,q2,q4", "q4"),
        # two votes: two thirds of two are both, and one of two is a tie
        (("q3", ""), "q3", "q3"),
        # four votes: three must be behind a story; two of four is a tie
        (("q3", "", "", ""), "", ""),
        (("q1", "q2", "", ""), "q1,q2", ""),
        (("q1", "q1", "", ""), "q1", "q1"),
    ],
)
def test_the_other_filters_by_hand(against: tuple[str, ...], two_of_three: str, majority: str) -> None:
    for name, reason in (("two-of-three", two_of_three), ("majority", majority)):
        assert judged(name, *against) == (Outcome.DROPPED if reason else Outcome.KEPT, reason), name


@pytest.mark.parametrize(
    ("against", "decision", "kept", "by_expert"),
    [
        (("", "", ""), "invalid", True, False),  # nobody is against it: no split
        (("q1", "q2", "q3"), "valid", False, False),  # everybody is against it
        (("q1", "", ""), "", False, False),
        (("q1", "", ""), "valid", True, True),
        (("q1", "q2", ""), "valid", True, True),
        (("q1", "", ""), "invalid", False, True),
    ],
)
def test_experts_decide_only_splits(
    against: tuple[str, ...], decision: str, kept: bool, by_expert: bool
) -> None:
    votes = [[Choice(q, "", "no" if q in noes else "yes") for q in OPTIONS] for noes in against]
    for name in FILTERS:
        verdict = verdict_of(
            get_filter(name), votes, votes_per_story=3, counts_against=is_no, decision=decision
        )
        if name == "experts-decide-splits":
            assert (verdict.outcome is Outcome.KEPT, verdict.by_expert) == (kept, by_expert)
            assert verdict.reason == ("" if kept else ",".join(sorted(filter(None, against))))
        else:
            assert verdict == verdict_of(get_filter(name), votes, votes_per_story=3, counts_against=is_no)


@settings(max_examples=50)
@given(votes=st.lists(forms, min_size=1, max_size=5))
def test_stricter_filters_keep_a_part_of_what_laxer_ones_keep(votes: list[tuple[Choice, ...]]) -> None:
    kept = [
        verdict_of(get_filter(name), votes, votes_per_story=len(votes), counts_against=is_no).outcome
        is Outcome.KEPT
        for name in ("all-agree", "two-of-three", "majority")
    ]
    assert kept == sorted(kept)


@pytest.mark.parametrize("name", sorted(FILTERS))
def test_every_filter_states_its_rule_and_its_numbers(name: str) -> None:
    rule = get_filter(name)
    assert rule.name == name
    assert "3" in rule.sentence(3)
    assert "{" not in rule.sentence(3)
    assert rule.parameters(3)["votes_per_story"] == 3
    assert rule.parameters(3)["votes_needed"] == (3 if rule.validates else 1 if rule.experts_decide else 2)


def test_only_the_unanimous_filter_validates() -> None:
    assert [name for name, rule in FILTERS.items() if rule.validates] == ["all-agree"]


def test_a_filter_that_this_version_lacks_is_shown_by_its_name() -> None:
    release = Release(filter_name="gone")
    assert release.filter_title == "gone"
    shown = Template("{{ release.filter_title }}{{ release.rule.validates }}").render(
        Context({"release": release})
    )
    assert shown == "gone"
