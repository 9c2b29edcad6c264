"""What follows from what both sides say, case by case and over all cases."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from recruitment.marketplace import HANDED_IN, NEVER_APPROVED, MismatchKind, Status
from recruitment.reconciliation.plan import (
    Decision,
    ListedWork,
    LocalVisit,
    Rules,
    Step,
    Steps,
    plan,
    polls_of,
)

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
DONE = LocalVisit(
    session="open", receipt="R-1", may_hand_in=True, answers=3, expires_at=NOW + timedelta(hours=1)
)
RULES = Rules(returns_receipt=True, auto_approves=True, polls_since_expiry=0)
MONEY = {Step.APPROVE}
COUNTING = {Step.CONFIRM}


def steps(
    here: LocalVisit | None, there: ListedWork | None, rules: Rules = RULES, decision: Decision | None = None
) -> Steps:
    return plan(here, there, rules, decision=decision, now=NOW)


def test_work_of_whoever_left_before_it_was_done_counts_and_is_paid_by_a_researcher_alone() -> None:
    partial, there = replace(DONE, answers=1, is_partial=True), ListedWork(Status.SUBMITTED, "R-1")
    assert steps(partial, there) == [Step.CONFIRM, MismatchKind.PARTIAL]
    assert steps(partial, there, replace(RULES, auto_approves=False)) == [Step.CONFIRM, MismatchKind.PARTIAL]
    decided = steps(partial, ListedWork(Status.APPROVED, "R-1"), decision=Decision.APPROVED)
    assert decided == [Step.CONFIRM]


def test_work_that_both_sides_know_is_confirmed_and_approved() -> None:
    assert steps(DONE, ListedWork(Status.SUBMITTED, "R-1")) == [Step.CONFIRM, Step.APPROVE]


def test_what_is_confirmed_and_paid_needs_nothing_more() -> None:
    assert (
        steps(
            replace(DONE, session="confirmed"), ListedWork(Status.APPROVED, "R-1"), decision=Decision.APPROVED
        )
        == []
    )


def test_whoever_passed_the_test_is_let_in_on_the_platform_once_it_is_confirmed() -> None:
    passed = replace(DONE, answers=1, passed_test=True)
    assert Step.GRANT_QUALIFIED in steps(passed, ListedWork(Status.SUBMITTED, "R-1"))
    assert Step.GRANT_QUALIFIED not in steps(passed, None)


@pytest.mark.parametrize("here", [None, replace(DONE, answers=0, may_hand_in=False)])
def test_work_handed_in_of_which_nothing_is_here_is_shown_and_not_paid(here: LocalVisit | None) -> None:
    assert steps(here, ListedWork(Status.SUBMITTED, "R-1")) == [MismatchKind.NO_DATA]


def test_empty_work_is_given_up_once_its_time_is_over_and_never_approved() -> None:
    empty = replace(DONE, answers=0, may_hand_in=False, expires_at=NOW)
    there = ListedWork(Status.SUBMITTED, "R-1")
    assert steps(empty, there) == [Step.DOUBT, MismatchKind.NO_DATA]
    assert steps(replace(empty, session="doubted"), there) == [MismatchKind.NO_DATA]


def test_work_without_our_receipt_is_shown_and_neither_counted_nor_paid() -> None:
    assert steps(DONE, ListedWork(Status.SUBMITTED, "forged")) == [MismatchKind.WRONG_RECEIPT]
    assert steps(DONE, ListedWork(Status.SUBMITTED)) == [MismatchKind.WRONG_RECEIPT]


def test_where_no_receipt_comes_back_the_page_that_was_reached_is_the_proof() -> None:
    rules = replace(RULES, returns_receipt=False)
    assert Step.CONFIRM in steps(DONE, ListedWork(Status.SUBMITTED), rules)
    half = replace(DONE, may_hand_in=False, answers=1)
    assert steps(half, ListedWork(Status.SUBMITTED), rules) == [MismatchKind.WRONG_RECEIPT]


def test_nobody_is_given_up_before_their_time_is_over_and_two_looks_found_nothing() -> None:
    late = replace(DONE, expires_at=NOW - timedelta(minutes=1))
    assert steps(DONE, None, replace(RULES, polls_since_expiry=2)) == []
    assert steps(late, None, replace(RULES, polls_since_expiry=1)) == []
    found = steps(late, None, replace(RULES, polls_since_expiry=2))
    assert found == [Step.DOUBT, MismatchKind.NOT_HANDED_IN]
    known = replace(late, is_known=True)
    assert steps(known, None, replace(RULES, polls_since_expiry=2))[-1] == Step.NOTE_UNFINISHED


def test_whoever_is_only_claimed_to_be_somebody_shuts_nobody_out() -> None:
    forged = replace(DONE, answers=1, may_hand_in=False, expires_at=NOW, is_known=False)
    assert steps(forged, None, replace(RULES, polls_since_expiry=9)) == [Step.DOUBT]


def test_what_is_said_to_be_worked_on_long_after_its_time_is_given_up() -> None:
    late = replace(DONE, answers=1, may_hand_in=False, expires_at=NOW - timedelta(hours=1))
    for status in (Status.ACTIVE, Status.UNKNOWN):
        assert steps(late, ListedWork(status), replace(RULES, polls_since_expiry=2)) == [Step.DOUBT]
        assert steps(DONE, ListedWork(status), replace(RULES, polls_since_expiry=2)) == []


def test_what_is_taken_back_after_it_was_confirmed_does_not_count_and_is_shown() -> None:
    confirmed = replace(DONE, session="confirmed")
    found = steps(confirmed, ListedWork(Status.RETURNED))
    assert found[:2] == [Step.DOUBT, MismatchKind.DECIDED_BY_PLATFORM]
    assert steps(replace(DONE, session="doubted"), ListedWork(Status.RETURNED)) == []


def test_whoever_found_nothing_to_do_is_not_among_those_who_left_work() -> None:
    gone = replace(DONE, answers=0, may_hand_in=False, was_given_work=False, expires_at=NOW)
    assert steps(gone, None, replace(RULES, polls_since_expiry=2)) == [Step.DOUBT]
    assert steps(gone, ListedWork(Status.RETURNED)) == [Step.DOUBT]


@pytest.mark.parametrize("status", sorted(NEVER_APPROVED | {Status.SCREENED_OUT}))
def test_what_the_platform_says_is_given_up_frees_the_slots_at_once(status: Status) -> None:
    begun = replace(DONE, may_hand_in=False)
    assert steps(begun, ListedWork(status)) == [Step.DOUBT, Step.NOTE_UNFINISHED]


FAILED = replace(DONE, answers=1)
SCREENING = replace(RULES, returns_receipt=False, screens_out=True)


def test_whoever_did_not_pass_is_paid_by_the_platform_and_counts_as_done() -> None:
    paid = ListedWork(Status.SCREENED_OUT)
    assert steps(FAILED, paid, SCREENING) == [Step.CONFIRM, Step.RECORD_PLATFORM_PAYMENT]
    recorded = steps(replace(FAILED, session="confirmed"), paid, SCREENING, Decision.APPROVED)
    assert recorded == []


def test_the_code_of_the_others_brings_nobody_another_reward_unseen() -> None:
    assert steps(FAILED, ListedWork(Status.SUBMITTED), SCREENING) == [MismatchKind.WRONG_RECEIPT]
    passed = replace(FAILED, passed_test=True)
    assert Step.APPROVE in steps(passed, ListedWork(Status.SUBMITTED), SCREENING)
    underpaid = steps(passed, ListedWork(Status.SCREENED_OUT), SCREENING)
    assert MismatchKind.DECIDED_BY_PLATFORM in underpaid
    assert Step.GRANT_QUALIFIED in underpaid
    nothing = replace(FAILED, answers=0, may_hand_in=False)
    assert MismatchKind.NO_DATA in steps(nothing, ListedWork(Status.SCREENED_OUT), SCREENING)


def test_whoever_did_it_all_and_ran_out_of_time_is_shown() -> None:
    assert MismatchKind.NOT_HANDED_IN in steps(DONE, ListedWork(Status.TIMED_OUT))
    assert MismatchKind.NOT_HANDED_IN not in steps(DONE, ListedWork(Status.RETURNED))


def test_somebody_given_up_who_hands_in_after_all_is_confirmed_paid_and_shown() -> None:
    doubted = replace(DONE, session="doubted")
    assert steps(doubted, ListedWork(Status.SUBMITTED, "R-1")) == [
        MismatchKind.SUBMITTED_LATE,
        Step.CONFIRM,
        Step.APPROVE,
    ]


def test_what_was_decided_on_the_platforms_own_pages_is_shown() -> None:
    assert MismatchKind.DECIDED_BY_PLATFORM in steps(DONE, ListedWork(Status.REJECTED, "R-1"))
    assert MismatchKind.DECIDED_BY_PLATFORM in steps(
        DONE, ListedWork(Status.REJECTED, "R-1"), decision=Decision.APPROVED
    )
    confirmed = replace(DONE, session="confirmed")
    for ours in (Decision.PAID_OTHERWISE, Decision.REJECTED):
        assert steps(confirmed, ListedWork(Status.APPROVED, "R-1"), decision=ours) == [
            Step.RECORD_PLATFORM_PAYMENT,
            MismatchKind.DECIDED_BY_PLATFORM,
        ]
    assert MismatchKind.DECIDED_BY_PLATFORM not in steps(
        DONE, ListedWork(Status.REJECTED, "R-1"), decision=Decision.REJECTED
    )


def test_what_was_paid_there_as_it_would_have_been_from_here_is_noted_and_needs_nobody() -> None:
    paid = ListedWork(Status.APPROVED, "R-1")
    assert steps(DONE, paid) == [Step.CONFIRM, Step.RECORD_PLATFORM_PAYMENT]
    confirmed = replace(DONE, session="confirmed")
    assert steps(confirmed, paid, decision=Decision.REFUSED) == [Step.RECORD_PLATFORM_PAYMENT]
    assert steps(replace(confirmed, decided_manually=True, receipt="lost"), paid) == [
        Step.RECORD_PLATFORM_PAYMENT
    ]
    judged = [Step.RECORD_PLATFORM_PAYMENT, MismatchKind.DECIDED_BY_PLATFORM]
    assert steps(replace(confirmed, is_partial=True), paid) == judged
    assert steps(replace(DONE, session="doubted", decided_manually=True), paid) == judged
    assert steps(DONE, ListedWork(Status.APPROVED, "forged")) == [MismatchKind.WRONG_RECEIPT, *judged]
    assert steps(None, paid) == [MismatchKind.NO_DATA, *judged]


def test_what_is_not_paid_is_not_used() -> None:
    rejected = ListedWork(Status.REJECTED, "R-1")
    for session in ("open", "confirmed"):
        here = replace(DONE, session=session)
        assert steps(here, rejected, decision=Decision.REJECTED) == [Step.DOUBT]
    assert steps(replace(DONE, session="doubted"), rejected, decision=Decision.REJECTED) == []


def test_what_a_researcher_has_said_about_the_votes_is_not_said_again() -> None:
    """Whatever the platform says afterwards; money and the group still follow."""
    kept = replace(DONE, session="confirmed", decided_manually=True, receipt="lost", passed_test=True)
    for there in (None, ListedWork(Status.RETURNED), ListedWork(Status.TIMED_OUT), ListedWork(Status.ACTIVE)):
        assert steps(kept, there, replace(RULES, polls_since_expiry=9)) == []
    assert steps(kept, ListedWork(Status.SUBMITTED, "R-1")) == [Step.GRANT_QUALIFIED, Step.APPROVE]
    out = replace(DONE, session="doubted", decided_manually=True)
    assert steps(out, ListedWork(Status.SUBMITTED, "R-1")) == [MismatchKind.SUBMITTED_LATE], "to be looked at"
    assert steps(out, ListedWork(Status.SUBMITTED, "forged")) == []
    assert steps(out, ListedWork(Status.SUBMITTED, "R-1"), decision=Decision.REJECTED) == []


def test_who_was_paid_in_another_way_is_not_paid_again_by_itself() -> None:
    found = steps(DONE, ListedWork(Status.SUBMITTED, "R-1"), decision=Decision.PAID_OTHERWISE)
    assert found == [Step.CONFIRM, MismatchKind.PAID_OTHERWISE]


def test_two_looks_within_a_moment_are_one() -> None:
    before = NOW - timedelta(minutes=5)
    assert polls_of(None, NOW) == [NOW]
    assert polls_of(before, NOW) == [before, NOW]
    assert polls_of(NOW - timedelta(seconds=2), NOW) == [NOW - timedelta(seconds=2)]


def test_where_researchers_want_the_last_word_nothing_is_approved() -> None:
    rules = replace(RULES, auto_approves=False)
    assert steps(DONE, ListedWork(Status.SUBMITTED, "R-1"), rules) == [Step.CONFIRM]


heres = st.none() | st.builds(
    LocalVisit,
    session=st.sampled_from(["open", "confirmed", "doubted"]),
    receipt=st.sampled_from(["R-1", "R-2"]),
    may_hand_in=st.booleans(),
    answers=st.integers(0, 3),
    expires_at=st.sampled_from([NOW - timedelta(hours=1), NOW + timedelta(hours=1)]),
    passed_test=st.booleans(),
    is_partial=st.booleans(),
    decided_manually=st.booleans(),
).map(lambda here: replace(here, decided_manually=here.decided_manually and here.session != "open"))
theres = st.none() | st.builds(
    ListedWork, status=st.sampled_from(list(Status)), receipt=st.sampled_from(["", "R-1", "R-2"])
)
all_rules = st.builds(
    Rules,
    returns_receipt=st.booleans(),
    auto_approves=st.booleans(),
    polls_since_expiry=st.integers(0, 3),
    screens_out=st.booleans(),
)
decisions = st.sampled_from([None, *Decision])


@given(heres, theres, all_rules, decisions)
def test_money_and_votes_follow_only_from_what_the_platform_lists_and_we_have(
    here: LocalVisit | None, there: ListedWork | None, rules: Rules, decision: Decision | None
) -> None:
    found = set(steps(here, there, rules, decision))
    if found & (MONEY | COUNTING):
        assert here is not None
        assert there is not None
        assert there.status in HANDED_IN - {Status.REJECTED}
        proven = not rules.returns_receipt or here.receipt == there.receipt
        assert proven or (here.decided_manually and here.session == "confirmed")
    if found & MONEY:
        assert here is not None
        assert not here.is_partial
        assert decision is None
        assert there is not None
        assert there.status == Status.SUBMITTED
    assert not (Step.CONFIRM in found and Step.DOUBT in found)
    if here is not None and here.decided_manually:
        assert not found & {Step.CONFIRM, Step.DOUBT}, "a researcher's word stands"
    if Step.DOUBT in found:
        assert here is not None
        assert here.session != "doubted"


@given(heres, st.sampled_from(list(Status)), all_rules, decisions)
def test_no_visit_stays_open_for_ever_unseen(
    here: LocalVisit | None, status: Status, rules: Rules, decision: Decision | None
) -> None:
    """Long after its time, what the platform lists leaves a settled visit, or a mismatch that is shown."""
    if here is None or here.session != "open":
        return
    here = replace(here, expires_at=NOW - timedelta(days=1))
    rules = replace(rules, polls_since_expiry=2)
    found = set(steps(here, ListedWork(status, "R-1"), rules, decision))
    shown = {step for step in found if isinstance(step, MismatchKind)}
    assert found & {Step.CONFIRM, Step.DOUBT} or shown
