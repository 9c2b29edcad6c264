"""What follows from what both sides say, case by case and over all cases."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recruitment.marketplace import Status
from recruitment.reconciliation.plan import (
    GIVEN_UP,
    HANDED_IN,
    Decision,
    Here,
    Rules,
    Step,
    There,
    looks,
    plan,
)

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
DONE = Here(
    session="open",
    receipt="R-1",
    may_hand_in=True,
    answers=3,
    expires_at=NOW + timedelta(hours=1),
)
RULES = Rules(returns_receipt=True, approves_by_itself=True, polls_since_expiry=0)
MONEY = {Step.APPROVE}
COUNTING = {Step.CONFIRM}


def steps(
    here: Here | None, there: There | None, rules: Rules = RULES, decision: Decision | None = None
) -> list[Step]:
    return plan(here, there, rules, decision=decision, now=NOW)


def test_work_of_whoever_left_before_it_was_done_counts_and_is_paid_by_a_researcher_alone() -> None:
    partial, there = replace(DONE, answers=1, is_partial=True), There(Status.SUBMITTED, "R-1")
    assert steps(partial, there) == [Step.CONFIRM, Step.FLAG_PARTIAL]
    assert steps(partial, there, replace(RULES, approves_by_itself=False)) == [
        Step.CONFIRM,
        Step.FLAG_PARTIAL,
    ]
    decided = steps(partial, There(Status.APPROVED, "R-1"), decision=Decision.APPROVED)
    assert decided == [Step.CONFIRM]


def test_work_that_both_sides_know_is_confirmed_and_approved() -> None:
    assert steps(DONE, There(Status.SUBMITTED, "R-1")) == [Step.CONFIRM, Step.APPROVE]


def test_what_is_confirmed_and_paid_needs_nothing_more() -> None:
    assert (
        steps(replace(DONE, session="confirmed"), There(Status.APPROVED, "R-1"), decision=Decision.APPROVED)
        == []
    )


def test_whoever_passed_the_test_is_let_in_on_the_platform_once_it_is_confirmed() -> None:
    passed = replace(DONE, answers=1, passed_test=True)
    assert Step.GRANT_QUALIFIED in steps(passed, There(Status.SUBMITTED, "R-1"))
    assert Step.GRANT_QUALIFIED not in steps(passed, None)


@pytest.mark.parametrize("here", [None, replace(DONE, answers=0, may_hand_in=False)])
def test_work_handed_in_of_which_nothing_is_here_is_shown_and_not_paid(here: Here | None) -> None:
    assert steps(here, There(Status.SUBMITTED, "R-1")) == [Step.FLAG_NO_DATA]


def test_work_without_our_receipt_is_shown_and_neither_counted_nor_paid() -> None:
    assert steps(DONE, There(Status.SUBMITTED, "forged")) == [Step.FLAG_WRONG_RECEIPT]
    assert steps(DONE, There(Status.SUBMITTED)) == [Step.FLAG_WRONG_RECEIPT]


def test_where_no_receipt_comes_back_the_page_that_was_reached_is_the_proof() -> None:
    rules = replace(RULES, returns_receipt=False)
    assert Step.CONFIRM in steps(DONE, There(Status.SUBMITTED), rules)
    half = replace(DONE, may_hand_in=False, answers=1)
    assert steps(half, There(Status.SUBMITTED), rules) == [Step.FLAG_WRONG_RECEIPT]


def test_nobody_is_given_up_before_their_time_is_over_and_two_looks_found_nothing() -> None:
    late = replace(DONE, expires_at=NOW - timedelta(minutes=1))
    assert steps(DONE, None, replace(RULES, polls_since_expiry=2)) == []
    assert steps(late, None, replace(RULES, polls_since_expiry=1)) == []
    found = steps(late, None, replace(RULES, polls_since_expiry=2))
    assert found == [Step.DOUBT, Step.FLAG_NOT_HANDED_IN]
    known = replace(late, is_known=True)
    assert steps(known, None, replace(RULES, polls_since_expiry=2))[-1] == Step.GRANT_INCOMPLETE


def test_whoever_is_only_claimed_to_be_somebody_shuts_nobody_out() -> None:
    forged = replace(DONE, answers=1, may_hand_in=False, expires_at=NOW, is_known=False)
    assert steps(forged, None, replace(RULES, polls_since_expiry=9)) == [Step.DOUBT]


def test_what_is_said_to_be_worked_on_long_after_its_time_is_given_up() -> None:
    late = replace(DONE, answers=1, may_hand_in=False, expires_at=NOW - timedelta(hours=1))
    for status in (Status.ACTIVE, Status.UNKNOWN):
        assert steps(late, There(status), replace(RULES, polls_since_expiry=2)) == [Step.DOUBT]
        assert steps(DONE, There(status), replace(RULES, polls_since_expiry=2)) == []


def test_what_is_taken_back_after_it_was_confirmed_does_not_count_and_is_shown() -> None:
    confirmed = replace(DONE, session="confirmed")
    found = steps(confirmed, There(Status.RETURNED))
    assert found[:2] == [Step.DOUBT, Step.FLAG_DECIDED_THERE]
    assert steps(replace(DONE, session="doubted"), There(Status.RETURNED)) == []


def test_whoever_found_nothing_to_do_is_not_among_those_who_left_work() -> None:
    gone = replace(DONE, answers=0, may_hand_in=False, was_given_work=False, expires_at=NOW)
    assert steps(gone, None, replace(RULES, polls_since_expiry=2)) == [Step.DOUBT]
    assert steps(gone, There(Status.RETURNED)) == [Step.DOUBT]


@pytest.mark.parametrize("status", sorted(GIVEN_UP))
def test_what_the_platform_says_is_given_up_frees_the_slots_at_once(status: Status) -> None:
    begun = replace(DONE, may_hand_in=False)
    assert steps(begun, There(status)) == [Step.DOUBT, Step.GRANT_INCOMPLETE]


def test_whoever_did_it_all_and_ran_out_of_time_is_shown() -> None:
    assert Step.FLAG_NOT_HANDED_IN in steps(DONE, There(Status.TIMED_OUT))
    assert Step.FLAG_NOT_HANDED_IN not in steps(DONE, There(Status.RETURNED))


def test_somebody_given_up_who_hands_in_after_all_is_confirmed_paid_and_shown() -> None:
    doubted = replace(DONE, session="doubted")
    assert steps(doubted, There(Status.SUBMITTED, "R-1")) == [
        Step.FLAG_DOUBTED_BUT_THERE,
        Step.REVOKE_INCOMPLETE,
        Step.CONFIRM,
        Step.APPROVE,
    ]


def test_what_was_decided_on_the_platforms_own_pages_is_shown() -> None:
    assert Step.FLAG_DECIDED_THERE in steps(DONE, There(Status.REJECTED, "R-1"))
    assert Step.FLAG_DECIDED_THERE in steps(DONE, There(Status.REJECTED, "R-1"), decision=Decision.APPROVED)
    confirmed = replace(DONE, session="confirmed")
    for ours in (Decision.PAID_OTHERWISE, Decision.REJECTED):
        assert steps(confirmed, There(Status.APPROVED, "R-1"), decision=ours) == [
            Step.NOTE_PAID_THERE,
            Step.FLAG_DECIDED_THERE,
        ]
    assert Step.FLAG_DECIDED_THERE not in steps(
        DONE, There(Status.REJECTED, "R-1"), decision=Decision.REJECTED
    )


def test_what_was_paid_there_as_it_would_have_been_from_here_is_noted_and_needs_nobody() -> None:
    paid = There(Status.APPROVED, "R-1")
    assert steps(DONE, paid) == [Step.CONFIRM, Step.NOTE_PAID_THERE]
    confirmed = replace(DONE, session="confirmed")
    assert steps(confirmed, paid, decision=Decision.REFUSED) == [Step.NOTE_PAID_THERE]
    assert steps(replace(confirmed, decided_by_hand=True, receipt="lost"), paid) == [Step.NOTE_PAID_THERE]
    judged = [Step.NOTE_PAID_THERE, Step.FLAG_DECIDED_THERE]
    assert steps(replace(confirmed, is_partial=True), paid) == judged
    assert steps(replace(DONE, session="doubted", decided_by_hand=True), paid) == judged
    assert steps(DONE, There(Status.APPROVED, "forged")) == [Step.FLAG_WRONG_RECEIPT, *judged]
    assert steps(None, paid) == [Step.FLAG_NO_DATA, *judged]


def test_what_is_not_paid_is_not_used() -> None:
    rejected = There(Status.REJECTED, "R-1")
    for session in ("open", "confirmed"):
        here = replace(DONE, session=session)
        assert steps(here, rejected, decision=Decision.REJECTED) == [Step.DOUBT]
    assert steps(replace(DONE, session="doubted"), rejected, decision=Decision.REJECTED) == []


def test_what_a_researcher_has_said_about_the_votes_is_not_said_again() -> None:
    """Whatever the platform says afterwards; money and the group still follow."""
    kept = replace(DONE, session="confirmed", decided_by_hand=True, receipt="lost", passed_test=True)
    for there in (None, There(Status.RETURNED), There(Status.TIMED_OUT), There(Status.ACTIVE)):
        assert steps(kept, there, replace(RULES, polls_since_expiry=9)) == []
    assert steps(kept, There(Status.SUBMITTED, "R-1")) == [Step.GRANT_QUALIFIED, Step.APPROVE]
    out = replace(DONE, session="doubted", decided_by_hand=True)
    assert steps(out, There(Status.SUBMITTED, "R-1")) == [Step.FLAG_DOUBTED_BUT_THERE], "to be looked at"
    assert steps(out, There(Status.SUBMITTED, "forged")) == []
    assert steps(out, There(Status.SUBMITTED, "R-1"), decision=Decision.REJECTED) == []


def test_who_was_paid_in_another_way_is_not_paid_again_by_itself() -> None:
    found = steps(DONE, There(Status.SUBMITTED, "R-1"), decision=Decision.PAID_OTHERWISE)
    assert found == [Step.CONFIRM, Step.FLAG_PAID_OTHERWISE]


def test_two_looks_within_a_moment_are_one() -> None:
    before = NOW - timedelta(minutes=5)
    assert looks(None, NOW) == [NOW]
    assert looks(before, NOW) == [before, NOW]
    assert looks(NOW - timedelta(seconds=2), NOW) == [NOW - timedelta(seconds=2)]


def test_where_researchers_want_the_last_word_nothing_is_approved() -> None:
    rules = replace(RULES, approves_by_itself=False)
    assert steps(DONE, There(Status.SUBMITTED, "R-1"), rules) == [Step.CONFIRM]


heres = st.none() | st.builds(
    Here,
    session=st.sampled_from(["open", "confirmed", "doubted"]),
    receipt=st.sampled_from(["R-1", "R-2"]),
    may_hand_in=st.booleans(),
    answers=st.integers(0, 3),
    expires_at=st.sampled_from([NOW - timedelta(hours=1), NOW + timedelta(hours=1)]),
    passed_test=st.booleans(),
    is_partial=st.booleans(),
    decided_by_hand=st.booleans(),
).map(lambda here: replace(here, decided_by_hand=here.decided_by_hand and here.session != "open"))
theres = st.none() | st.builds(
    There, status=st.sampled_from(list(Status)), receipt=st.sampled_from(["", "R-1", "R-2"])
)
all_rules = st.builds(
    Rules,
    returns_receipt=st.booleans(),
    approves_by_itself=st.booleans(),
    polls_since_expiry=st.integers(0, 3),
)
decisions = st.sampled_from([None, *Decision])


@given(heres, theres, all_rules, decisions)
def test_money_and_votes_follow_only_from_what_the_platform_lists_and_we_have(
    here: Here | None, there: There | None, rules: Rules, decision: Decision | None
) -> None:
    found = set(steps(here, there, rules, decision))
    if found & (MONEY | COUNTING):
        assert here is not None
        assert there is not None
        assert there.status in HANDED_IN - {Status.REJECTED}
        proven = not rules.returns_receipt or here.receipt == there.receipt
        assert proven or (here.decided_by_hand and here.session == "confirmed")
    if found & MONEY:
        assert here is not None
        assert not here.is_partial
        assert decision is None
        assert there is not None
        assert there.status == Status.SUBMITTED
    assert not (Step.CONFIRM in found and Step.DOUBT in found)
    if here is not None and here.decided_by_hand:
        assert not found & {Step.CONFIRM, Step.DOUBT}, "a researcher's word stands"
    if Step.DOUBT in found:
        assert here is not None
        assert here.session != "doubted"


@given(heres, st.sampled_from(list(Status)), all_rules, decisions)
def test_no_visit_stays_open_for_ever_unseen(
    here: Here | None, status: Status, rules: Rules, decision: Decision | None
) -> None:
    """Long after its time, what the platform lists leaves a settled visit, or a difference that is shown."""
    if here is None or here.session != "open":
        return
    here = replace(here, expires_at=NOW - timedelta(days=1))
    rules = replace(rules, polls_since_expiry=2)
    found = set(steps(here, There(status, "R-1"), rules, decision))
    shown = {step for step in found if step.value.startswith("flag_")}
    assert found & {Step.CONFIRM, Step.DOUBT} or shown
