"""An adaptive number of votes: what a story wants after each change of its votes and of who holds a slot."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings, strategies as st

from annotation import actions, queries
from annotation.actions.skips import skip_story
from annotation.actions.slots import settle_slots
from annotation.deciding import adaptive_problem
from annotation.errors import InvalidInput, InvalidStudy
from annotation.models import Assignment, Enrollment, Event, Story, Study
from annotation.protocols import all_protocols
from annotation.rules import Reason, Refusal
from tests import builders
from tests.annotation.invariants import broken

NOW = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=2)
NO = builders.answers(q3="no")
YES = builders.ALL_YES
State = Assignment.State
UNDECIDED = "story_wants_votes_until_it_is_decided"

pytestmark = pytest.mark.django_db


def make(*, stories: int = 1, votes_per_story: int = 2, most_votes: int = 5, **more: Any) -> Study:
    chosen: dict[str, Any] = {
        "votes_per_story": votes_per_story,
        "most_votes": most_votes,
        "decided_by": "majority",
    } | more
    return builders.make_study(stories=stories, **chosen)


def send(held: Assignment, submitted: Mapping[str, str] = YES, *, now: datetime = NOW) -> actions.Receipt:
    receipt, _ = actions.record_vote_and_assign_next(
        assignment_id=held.pk, enrollment=held.enrollment, submitted=submitted, now=now
    )
    return receipt


def answer(person: Enrollment, submitted: Mapping[str, str] = YES) -> Assignment:
    """The person is given a story, and answers it."""
    return send(builders.claim(person, now=NOW), submitted).vote.assignment


def stands(wanted: int, *, free: bool) -> bool:
    """Assert how many votes the only story wants, if it is offered, and that the invariants of slots hold."""
    story = Story.objects.main().select_related("study").get()
    found = (story.study.votes_per_story + story.extra_votes, story.has_free_slot, broken("slots", UNDECIDED))
    assert found == (wanted, free, set())
    return True


def test_story_gets_more_votes_while_people_disagree_and_no_more_once_it_is_decided() -> None:
    study = make()
    people = builders.qualified(study, 5)
    answer(people[0])
    assert stands(2, free=True)
    answer(people[1], NO)
    assert stands(3, free=True), "one against one"
    answer(people[2])
    assert stands(4, free=True), "the two that may still come could both object"
    answer(people[3])
    assert stands(4, free=False)
    assert actions.assign_next_story(enrollment=people[4], now=NOW) == Refusal(Reason.ALL_DONE)
    assert queries.votes_wanted(study) == 4


def test_votes_of_the_least_number_decide_a_story_where_all_agree() -> None:
    study = make(most_votes=3)
    for person in builders.qualified(study, 2):
        answer(person)
    assert stands(2, free=False)


def test_one_objection_decides_where_all_have_to_agree_and_nothing_else_does() -> None:
    study = make(votes_per_story=1, most_votes=3, decided_by="all-agree", stories=2)
    anna, bela = builders.qualified(study, 2)
    answer(anna, NO)
    answer(anna)
    assert sorted(Story.objects.values_list("extra_votes", "has_free_slot")) == [(0, False), (1, True)]
    answer(bela)
    assert sorted(Story.objects.values_list("extra_votes", "has_free_slot")) == [(0, False), (2, True)]


def test_one_more_vote_is_asked_for_at_a_time() -> None:
    study = make()
    people = builders.qualified(study, 4)
    answer(people[0])
    answer(people[1], NO)
    held = builders.claim(people[2], now=NOW)
    assert isinstance(actions.assign_next_story(enrollment=people[3], now=NOW), Refusal)
    send(held)
    assert stands(4, free=True)


def test_change_can_ask_for_a_vote_and_can_end_asking() -> None:
    study = make(most_votes=3)
    people = builders.qualified(study, 3)
    first, _second = (answer(person) for person in people[:2])
    assert stands(2, free=False)

    def change(submitted: Mapping[str, str]) -> None:
        actions.change_vote(
            assignment_id=first.pk, enrollment=first.enrollment, submitted=submitted, now=LATER
        )

    change(NO)
    assert stands(3, free=True)
    change(YES)
    assert stands(2, free=False)
    change(NO)
    held = builders.claim(people[2], now=LATER)
    change(YES)
    assert stands(3, free=False), "whoever holds a slot keeps it"
    send(held, now=LATER)
    assert stands(3, free=False)


def test_lease_that_ends_after_the_story_was_decided_is_offered_to_nobody() -> None:
    for end in ("expire", "skip", "withdraw"):
        study = make(most_votes=3, slug=end)
        people = builders.qualified(study, 3)
        first = answer(people[0])
        answer(people[1], NO)
        held = builders.claim(people[2], now=NOW)
        actions.change_vote(assignment_id=first.pk, enrollment=people[0], submitted=NO, now=NOW)
        story = Story.objects.get(study=study)
        assert (story.extra_votes, story.has_free_slot) == (1, False)
        if end == "expire":
            assert actions.release_expired_leases(now=LATER) == 1
        elif end == "skip":
            skip_story(assignment_id=held.pk, enrollment=people[2], reason="unclear", now=NOW)
        else:
            actions.withdraw(enrollment=people[2], now=NOW)
        story.refresh_from_db()
        assert (story.extra_votes, story.has_free_slot) == (0, False), end
    assert not broken("slots", UNDECIDED)


def test_late_answer_counts_if_the_story_wants_it_and_else_is_surplus() -> None:
    study = make(most_votes=3)
    people = builders.qualified(study, 4)
    late = builders.claim(people[0], now=NOW)
    other = builders.claim(people[1], now=NOW)
    actions.release_expired_leases(now=LATER)
    answer(people[2])
    assert stands(2, free=True)
    assert send(late, NO, now=LATER).vote.surplus_reason == ""
    assert stands(3, free=True)
    assert send(other, NO, now=LATER).vote.surplus_reason == ""
    assert stands(3, free=False)

    another = make(most_votes=3, slug="another")
    people = builders.qualified(another, 3)
    late = builders.claim(people[0], now=NOW)
    actions.release_expired_leases(now=LATER)
    for person in people[1:]:
        answer(person)
    assert send(late, now=LATER).vote.surplus_reason == "late"
    assert Story.objects.get(study=another).extra_votes == 0


def test_exclusion_and_readmission_change_what_is_wanted() -> None:
    study = make(most_votes=3)
    people = builders.qualified(study, 4)
    answer(people[0])
    answer(people[1], NO)
    answer(people[2])
    assert stands(3, free=False)
    actions.exclude_annotator(enrollment=people[1], reason="random", shown_reason="Thanks.", by=None, now=NOW)
    assert stands(2, free=False), "the two others agree"
    assert actions.readmit_annotator(enrollment=people[1], reason="a mistake", by=None, now=NOW) == (0, 1)
    assert stands(2, free=False)
    held = Assignment.objects.get(enrollment=people[0])
    actions.exclude_vote(assignment=held, reason="slip", by=None, now=NOW)
    assert stands(2, free=True)
    assert actions.readmit_vote(assignment=held, reason="no slip", by=None, now=NOW) == (1, 0)
    assert stands(2, free=False)


def test_slot_beyond_those_wanted_is_kept_and_no_further_one_is_given() -> None:
    """Somebody has the third slot while the first is free again: two are wanted, and two are held."""
    study = make(most_votes=3)
    people = builders.qualified(study, 5)
    first = answer(people[0])
    answer(people[1], NO)
    held = builders.claim(people[2], now=NOW)
    assert held.slot == 3
    late = actions.exclude_vote(assignment=first, reason="slip", by=None, now=NOW)
    assert late is not None
    assert stands(2, free=False)
    assert isinstance(actions.assign_next_story(enrollment=people[3], now=NOW), Refusal)
    assert actions.readmit_vote(assignment=first, reason="no slip", by=None, now=NOW) == (0, 1)
    send(held, NO)
    assert stands(2, free=False)


def test_vote_that_waits_for_its_platform_decides_already_and_is_asked_for_again_if_doubted() -> None:
    study = make(most_votes=3)
    people = builders.qualified(study, 3)
    sessions = [
        actions.open_session(
            enrollment=person,
            story_limit=1,
            counts_unconfirmed=False,
            identity_claimed=True,
            framed=True,
            expires_at=LATER,
            now=NOW,
        )
        for person in people
    ]

    def work(place: int, submitted: Mapping[str, str]) -> None:
        held = actions.assign_next_story(enrollment=people[place], now=NOW, session_id=sessions[place].pk)
        assert isinstance(held, Assignment)
        actions.record_vote(
            assignment_id=held.pk,
            enrollment=people[place],
            submitted=submitted,
            now=NOW,
            session_id=sessions[place].pk,
        )

    work(0, YES)
    work(1, NO)
    assert stands(3, free=True)
    actions.confirm_session(session=sessions[0], by=None, now=NOW)
    actions.doubt_session(session=sessions[1], reason="returned", by=None, now=NOW)
    assert stands(2, free=True)
    work(2, YES)
    assert stands(2, free=False)
    actions.confirm_session(session=sessions[1], by=None, now=NOW)
    assert Assignment.objects.get(enrollment=people[1]).state == State.DISPLACED
    assert stands(2, free=False)


steps = st.lists(
    st.tuples(
        st.sampled_from(["claim", "yes", "no", "change", "expire", "skip", "exclude", "readmit"]),
        st.integers(0, 4),
    ),
    max_size=16,
)


@settings(max_examples=5)
@given(taken=steps, decided_by=st.sampled_from(["all-agree", "majority", "two-of-three"]))
def test_what_is_wanted_follows_the_rule_whatever_happens(
    taken: list[tuple[str, int]], decided_by: str
) -> None:
    with transaction.atomic():
        study = make(most_votes=4, decided_by=decided_by, stories=2, skip_allowance=0)
        people = builders.qualified(study, 5)
        for step, place in taken:
            person = Enrollment.objects.select_related("study").get(pk=people[place].pk)
            held = Assignment.objects.filter(enrollment=person, state=State.LEASED).first()
            voted = Assignment.objects.filter(enrollment=person, votes__isnull=False).first()
            excluded = person.vote_exclusions.in_force().exists()
            if step == "claim":
                actions.assign_next_story(enrollment=person, now=NOW)
            elif step in ("yes", "no") and held:
                held.enrollment = person
                send(held, YES if step == "yes" else NO)
            elif step == "change" and voted and person.state == "qualified":
                newest = voted.votes.order_by("-revision")[0]
                kept = newest.answers.filter(counts_against=True).exists()
                actions.change_vote(
                    assignment_id=voted.pk, enrollment=person, submitted=YES if kept else NO, now=NOW
                )
            elif step == "expire":
                actions.release_expired_leases(now=NOW + timedelta(days=1))
            elif step == "skip" and held:
                skip_story(assignment_id=held.pk, enrollment=person, reason="unclear", now=NOW)
            elif step == "exclude" and not excluded:
                actions.exclude_annotator(enrollment=person, reason="x", shown_reason="y", by=None, now=NOW)
            elif step == "readmit" and excluded:
                actions.readmit_annotator(enrollment=person, reason="x", by=None, now=NOW)
        assert not broken("slots", "votes", UNDECIDED)
        transaction.set_rollback(True)


def test_check_finds_what_the_rule_does_not_say() -> None:
    study = make(most_votes=3)
    for person, submitted in zip(builders.qualified(study, 2), (YES, NO), strict=True):
        answer(person, submitted)
    Story.objects.filter(study=study).update(extra_votes=0, has_free_slot=False)
    assert broken("slots", UNDECIDED) == {UNDECIDED}
    settle_slots(study=study, stories=Story.objects.values_list("pk", flat=True))
    assert stands(3, free=True)


def test_nothing_is_asked_of_the_database_where_every_story_gets_the_same() -> None:
    study = builders.make_study(stories=1)
    with CaptureQueriesContext(connection) as captured:
        settle_slots(study=study, stories=[Story.objects.only("pk").get().pk])
    assert len(captured) == 1


@pytest.mark.parametrize("most", [2, 100])
def test_most_votes_are_more_than_the_least(most: int) -> None:
    with pytest.raises(InvalidStudy) as refused:
        make(most_votes=most)
    assert set(refused.value.problems) == {"most_votes"}


def test_only_protocols_whose_answers_alone_decide_can_stop_early() -> None:
    said = {
        name: adaptive_problem(protocol, least=2, most=5, has_design=False)
        for name, protocol in all_protocols().items()
    }
    assert {name for name, problem in said.items() if not problem} == {"validity", "inspection"}
    with pytest.raises(InvalidStudy, match="No filter decides"):
        make(protocol="ratings", stories=0)


def test_numbers_and_rule_stay_once_the_study_was_opened() -> None:
    study = make()
    for change in ({"most_votes": 4}, {"most_votes": None}, {"decided_by": "all-agree"}):
        with pytest.raises(InvalidStudy, match="by the same rule"):
            actions.change_study(study=study, changes=change, by=None, now=NOW)
    draft = builders.make_study("draft", opened=False)
    actions.change_study(study=draft, changes={"most_votes": 5}, by=None, now=NOW)
    event = Event.objects.filter(study=draft, type=Event.Type.STUDY_CHANGED).get()
    assert event.note == "most_votes: none → 5"
    with pytest.raises(InvalidStudy, match="must be more"):
        actions.change_study(study=draft, changes={"votes_per_story": 5}, by=None, now=NOW)


def test_design_and_adaptive_number_refuse_each_other_with_a_remedy() -> None:
    study = builders.make_study(opened=False, most_votes=5)
    with pytest.raises(InvalidStudy, match="Empty “Votes per story at most”"):
        actions.set_design(study=study, by_column="scenario_name", load={"x": 1}, by=None, now=NOW)
    actions.change_study(study=study, changes={"most_votes": None}, by=None, now=NOW)
    scenario = Story.objects.values_list("scenario_name", flat=True)[0]
    actions.set_design(study=study, by_column="scenario_name", load={scenario: 1}, by=None, now=NOW)
    with pytest.raises(InvalidStudy, match="Remove the design"):
        actions.change_study(study=study, changes={"most_votes": 5}, by=None, now=NOW)


def test_no_story_is_given_by_name_where_the_number_is_adaptive() -> None:
    study = make()
    person = builders.qualified(study)[0]
    row = actions.GivenRow(1, Story.objects.get().story_id, person.pseudonym)
    with pytest.raises(InvalidInput, match="none can be given by name"):
        actions.give_items(study=study, rows=[row], by=None, now=NOW)
    draft = builders.make_study("draft", opened=False)
    person = builders.qualified(draft)[0]
    row = actions.GivenRow(1, Story.objects.filter(study=draft)[0].story_id, person.pseudonym)
    actions.give_items(study=draft, rows=[row], by=None, now=NOW)
    with pytest.raises(InvalidStudy, match="Withdraw the assigned stories"):
        actions.change_study(study=draft, changes={"most_votes": 5}, by=None, now=NOW)


def test_database_refuses_what_the_settings_refuse() -> None:
    study = builders.make_study(opened=False)
    for wrong in ({"most_votes": 3}, {"most_votes": 5, "decided_by": "every-item"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Study.objects.filter(pk=study.pk).update(**wrong)
