"""Stories given to people by name: who gets them, what is refused, and what frees them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.actions import recognise
from accounts.models import PlatformIdentity
from annotation import actions, queries
from annotation.actions import GivenRow
from annotation.errors import InvalidInput, InvalidStudy
from annotation.hidden_checks import CheckRules
from annotation.models import Assignment, Enrollment, Event, Story, Study
from annotation.rules import Reason
from tests import builders
from tests.annotation.invariants import broken
from tests.annotation.serving import LATER, NOW, ask, refused, send, send_and_ask

pytestmark = pytest.mark.django_db
State = Assignment.State


def ids(*numbers: int) -> list[str]:
    return [f"story_{number:05d}_sev1" for number in numbers]


def give(study: Study, person: Enrollment | str, story_ids: Iterable[str]) -> int:
    name = person if isinstance(person, str) else person.pseudonym
    rows = [GivenRow(line, story_id, name) for line, story_id in enumerate(story_ids, start=1)]
    return actions.give_items(study=study, rows=rows, by=None, now=NOW)


def served_to(person: Enrollment, *, now: object = NOW) -> list[str]:
    """Answer everything they get; return its ids in order."""
    served, outcome = [], ask(person, now=now)
    while isinstance(outcome, Assignment):
        served.append(outcome.story.story_id)
        _receipt, outcome = send_and_ask(outcome, now=now)
    assert refused(outcome) == Reason.ALL_DONE
    return served


def waiting_for(person: Enrollment) -> set[str]:
    theirs = person.assignments.filter(given=True, state=State.RESERVED)
    return set(theirs.values_list("story__story_id", flat=True))


def test_given_stories_come_first_in_an_order_of_their_own_then_what_is_free() -> None:
    study = builders.make_study(stories=9, votes_per_story=2)
    one, two = builders.qualified(study, 2)
    named, others = ids(*range(2, 9)), ids(0, 1)
    for person in (one, two):
        assert give(study, person, named) == 1
    assert not study.stories.filter(story_id__in=named, has_free_slot=True).exists()
    orders = [served_to(person) for person in (one, two)]
    for order in orders:
        assert (set(order[:7]), set(order[7:])) == (set(named), set(others))
    assert orders[0][:7] != orders[1][:7]
    assert not broken("slots")
    given = Event.objects.filter(type=Event.Type.ITEMS_GIVEN, enrollment=one).get()
    assert given.note.split(", ") == named


def test_a_slot_given_by_name_is_nobody_elses() -> None:
    study = builders.make_study(stories=2, votes_per_story=1)
    one, two = builders.qualified(study, 2)
    give(study, one, ids(0, 1))
    assert refused(ask(two)) == Reason.ALL_DONE, "nothing becomes free by waiting"
    assert queries.stories_left(one, at_most=9) == 2
    assert queries.stories_left(two, at_most=9) == 0


def test_whoever_has_no_given_stories_costs_no_further_statement() -> None:
    study = builders.make_study(stories=9, votes_per_story=3)
    one, two = builders.qualified(study, 2)

    def statements(person: Enrollment) -> int:
        held = ask(person)
        assert isinstance(held, Assignment)
        with CaptureQueriesContext(connection) as seen:
            send_and_ask(held)
        return len(seen)

    before = statements(two)
    give(study, one, ids(7, 8))
    assert statements(two) == before
    assert statements(one) <= before


def test_several_lists_reach_those_who_have_not_agreed_yet() -> None:
    study = builders.make_study(stories=4, votes_per_story=1, opened=False)
    one, two = actions.invite(study=study, count=2, by=None, now=NOW)
    names = [one.pseudonym, two.pseudonym] * 2
    rows = [GivenRow(1, *pair) for pair in zip(ids(0, 1, 2, 3), names, strict=True)]
    assert actions.give_items(study=study, rows=rows, by=None, now=NOW) == 2
    assert waiting_for(one) == set(ids(0, 2))
    assert waiting_for(two) == set(ids(1, 3))
    with pytest.raises(InvalidStudy, match="Withdraw the assigned"):
        actions.change_study(study=study, changes={"votes_per_story": 2}, by=None, now=NOW)
    with pytest.raises(InvalidStudy, match="given by name"):
        actions.set_design(
            study=study, by_column="scenario_name",
            load={"inside_reuse_labeled_containers": 1}, by=None, now=NOW,
        )  # fmt: skip


def test_an_address_names_a_person_too() -> None:
    study = builders.make_study(stories=2)
    annotator = recognise(
        platform=PlatformIdentity.Platform.EMAIL,
        environment=study.environment,
        person="ada@example.org",
        now=NOW,
    )
    PlatformIdentity.objects.filter(annotator=annotator).update(confirmed_at=NOW)
    person = actions.enroll(study=study, annotator=annotator, now=NOW)
    give(study, "ada@example.org", ids(1))
    assert waiting_for(person) == set(ids(1))
    PlatformIdentity.objects.filter(annotator=annotator).update(confirmed_at=None)
    shown = Event.objects.filter(type=Event.Type.IDENTITY_SHOWN, enrollment=person)
    assert shown.count() == 1
    with pytest.raises(InvalidInput, match="nor a confirmed address"):
        give(study, "ada@example.org", ids(0))
    PlatformIdentity.objects.filter(annotator=annotator).update(confirmed_at=NOW)
    with pytest.raises(InvalidInput, match="unknown"):
        give(study, "ada@example.org", ["unknown"])
    assert shown.count() == 2, "the log says so although the list was refused"


def test_every_wrong_line_is_named_and_nothing_is_given() -> None:
    study = builders.make_study(stories=4, votes_per_story=1)
    builders.add_round(study)
    one, two, gone = builders.qualified(study, 3)
    actions.withdraw(enrollment=gone, now=NOW)
    give(study, two, ids(3))
    test_story = study.stories.filter(role=Story.Role.QUALIFICATION)[0]
    rows = [
        GivenRow(1, ids(0)[0], one.pseudonym),
        GivenRow(2, "unknown", one.pseudonym),
        GivenRow(3, test_story.story_id, one.pseudonym),
        GivenRow(4, ids(1)[0], "annotator-0000000000000000"),
        GivenRow(5, ids(1)[0], gone.pseudonym),
        GivenRow(6, ids(0)[0], one.pseudonym),
        GivenRow(7, ids(3)[0], one.pseudonym),
        GivenRow(8, ids(3)[0], two.pseudonym),
    ]
    with pytest.raises(InvalidInput) as caught:
        actions.give_items(study=study, rows=rows, by=None, now=NOW)
    said = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in said] == [f"Line {number}" for number in range(2, 9)]
    reasons = ("“unknown”", "annotate", "pseudonym", "withdrawn", "already", "no free slot", "already")
    for line, part in zip(said, reasons, strict=True):
        assert part in line
    assert waiting_for(one) == set()
    assert not broken("slots")


def test_more_than_the_limit_with_hidden_checks_is_refused() -> None:
    study = builders.make_study(stories=9, story_cap=11)
    builders.add_checks(study, every=5)
    (person,) = builders.qualified(study)
    with pytest.raises(InvalidInput, match=r"Line 9: .* more stories than the limit"):
        give(study, person, ids(*range(9)))
    actions.change_study(study=study, changes={"story_cap": 12}, by=None, now=NOW)
    give(study, person, ids(*range(9)))


def test_nothing_is_given_in_a_closed_study_or_one_with_a_design() -> None:
    study = builders.make_study(stories=3, opened=False)
    actions.set_design(
        study=study, by_column="scenario_name", load={"inside_reuse_labeled_containers": 1}, by=None, now=NOW
    )
    (person,) = actions.invite(study=study, count=1, by=None, now=NOW)
    with pytest.raises(InvalidInput, match="design"):
        give(study, person, ids(0))
    with pytest.raises(InvalidStudy, match="design"):
        actions.change_study(study=study, changes={"serving_order": "given"}, by=None, now=NOW)
    other = builders.make_study("other", stories=3)
    (person,) = builders.qualified(other)
    actions.close_study(study=other, by=None, now=NOW)
    with pytest.raises(InvalidInput, match="closed"):
        give(other, person, ids(0))
    with pytest.raises(InvalidInput, match="at least one"):
        give(builders.make_study("third"), person, [])


def test_the_clock_frees_none_of_it_and_a_late_answer_counts() -> None:
    study = builders.make_study(stories=2, votes_per_story=1)
    one, two = builders.qualified(study, 2)
    give(study, one, ids(0, 1))
    held = ask(one)
    assert isinstance(held, Assignment)
    assert actions.release_expired_leases(now=LATER) == 1
    assert actions.release_expired_leases(now=NOW + timedelta(days=3000)) == 0
    assert waiting_for(one) == set(ids(0, 1))
    assert refused(ask(two, now=LATER)) == Reason.ALL_DONE
    assert not send(held, now=LATER).vote.surplus_reason
    assert len(served_to(one, now=LATER)) == 1
    assert not broken("slots")


def test_stopping_or_a_released_lease_keeps_it() -> None:
    study = builders.make_study(stories=2, votes_per_story=1)
    (person,) = builders.qualified(study)
    give(study, person, ids(0, 1))
    held = ask(person)
    assert isinstance(held, Assignment)
    actions.give_back_story(enrollment=person, assignment_id=held.pk)
    assert waiting_for(person) == set(ids(0, 1))
    again = ask(person)
    assert isinstance(again, Assignment)
    assert again == held, "the one they had begun comes first"
    actions.release_lease(study=study, assignment_id=held.pk, by=None, now=NOW)
    assert waiting_for(person) == set(ids(0, 1))
    assert not broken("slots")


def suspend(person: Enrollment) -> None:
    actions.suspend(enrollment=person, by=None, now=NOW, reason="Please wait.")


def exclude(person: Enrollment) -> None:
    actions.exclude_annotator(enrollment=person, reason="Spam.", shown_reason="Stopped.", by=None, now=NOW)


def forget(person: Enrollment) -> None:
    actions.forget(annotator=person.annotator, now=NOW)


def take_back(person: Enrollment) -> None:
    assert actions.take_items_back(enrollment=person, by=None, now=NOW) == 2


@pytest.mark.parametrize("leave", [suspend, exclude, forget, take_back])
def test_whoever_leaves_gives_back_what_is_left(leave: object) -> None:
    study = builders.make_study(stories=4, votes_per_story=1)
    one, two = builders.qualified(study, 2)
    give(study, one, ids(0, 1, 2, 3))
    send_and_ask(ask(one))  # type: ignore[arg-type]
    leave(one)  # type: ignore[operator]
    assert waiting_for(one) == set()
    actions.release_expired_leases(now=LATER)  # of what was on their screen
    if leave is take_back:
        assert len(waiting_for(one)) == 1, "it was not taken back"
        assert actions.take_items_back(enrollment=one, by=None, now=LATER) == 1
    assert waiting_for(one) == set(), "not even that comes back to them"
    left = {"exclude": 4}.get(leave.__name__, 3)  # type: ignore[attr-defined]
    assert len(served_to(two, now=LATER)) == left
    assert not broken("slots")


def test_a_skip_frees_a_given_story_and_a_hidden_check_let_lie_none() -> None:
    study = builders.make_study(stories=8, votes_per_story=1, skip_allowance=0)
    builders.add_checks(study, 2, every=5)
    (one,) = builders.qualified(study)
    give(study, one, ids(*range(8)))
    held = ask(one)
    while isinstance(held, Assignment) and held.story.role != Story.Role.CHECK:
        actions.skip_story(assignment_id=held.pk, enrollment=one, reason="unclear", now=NOW)
        assert Story.objects.get(pk=held.story_id).has_free_slot
        held = ask(one)
        if len(waiting_for(one)) < 4:
            break
    while isinstance(held, Assignment) and held.story.role != Story.Role.CHECK:
        _receipt, held = send_and_ask(held)
    assert isinstance(held, Assignment), "a check comes although no other story is free"
    before = waiting_for(one)
    assert before
    actions.release_expired_leases(now=LATER)
    actions.release_expired_leases(now=LATER + timedelta(days=1))
    assert waiting_for(one) == before
    assert not broken("slots")


def test_in_a_study_for_named_people_nobody_gets_anything_else() -> None:
    study = builders.make_study(stories=8, votes_per_story=1, serving_order=Study.ServingOrder.GIVEN)
    builders.add_checks(study, 2, every=5)
    one, two = builders.qualified(study, 2)
    give(study, one, ids(2, 5))
    assert refused(ask(two)) == Reason.NOTHING_GIVEN
    assert queries.stories_left(one, at_most=9) == 2
    assert queries.stories_left(two, at_most=9) == 0
    served = [story_id for story_id in served_to(one) if not story_id.startswith("known")]
    assert set(served) == set(ids(2, 5))
    give(study, two, ids(0, 1))
    assert len([one for one in served_to(two) if not one.startswith("known")]) == 2
    assert not broken("slots")


def test_more_can_be_given_later_and_what_was_taken_back_given_again() -> None:
    study = builders.make_study(stories=6, votes_per_story=1, story_cap=6, skip_allowance=0)
    (person,) = builders.qualified(study)
    give(study, person, ids(0, 1, 2))
    held = ask(person)
    assert isinstance(held, Assignment)
    actions.skip_story(assignment_id=held.pk, enrollment=person, reason="unclear", now=NOW)
    give(study, person, ids(3, 4))
    actions.take_items_back(enrollment=person, by=None, now=NOW)
    assert waiting_for(person) == set()
    left = set(ids(0, 1, 2, 3, 4)) - {held.story.story_id}
    give(study, person, sorted(left))
    assert waiting_for(person) == left
    assert len(served_to(person)) == 5


def test_the_story_on_the_screen_stays_given_when_the_rest_is_taken_back() -> None:
    study = builders.make_study(stories=4, votes_per_story=1)
    (person,) = builders.qualified(study)
    give(study, person, ids(0, 1, 2, 3))
    held = ask(person)
    assert isinstance(held, Assignment)
    assert actions.take_items_back(enrollment=person, by=None, now=NOW) == 3
    assert actions.take_items_back(enrollment=person, by=None, now=NOW) == 0
    send(held)
    assert Assignment.objects.get(state=State.SUBMITTED).given
    (event,) = Event.objects.filter(type=Event.Type.ITEMS_TAKEN_BACK)
    assert event.subject == "stories: 3"
    assert set(event.note.split(", ")) == set(ids(0, 1, 2, 3)) - {held.story.story_id}
    assert not broken("slots")


@pytest.mark.parametrize("outcome", ["declines", "fails"])
def test_whoever_declines_or_fails_the_test_gives_back_what_was_given(outcome: str) -> None:
    settings: dict[str, Any] = {"votes_per_story": 1, "qualification_required": True}
    study = builders.make_study(stories=2, opened=False, **settings)
    one, two = actions.invite(study=study, count=2, by=None, now=NOW)
    give(study, one, ids(0, 1))
    if outcome == "fails":
        actions.give_consent(enrollment=one, consent=study.consent_texts.get(), now=NOW)
        actions.set_qualified(enrollment=one, passed=False, now=NOW)
    else:
        actions.decline_consent(enrollment=one, now=NOW)
    assert waiting_for(one) == set()
    assert study.stories.main().filter(has_free_slot=True).count() == 2
    with pytest.raises(InvalidInput, match="can’t get stories"):
        give(study, one, ids(0))
    give(study, two, ids(0, 1))


def test_a_line_names_a_participant_who_may_join() -> None:
    study = builders.make_study(stories=4, votes_per_story=1, opened=False)
    known, other = actions.invite(study=study, count=2, by=None, now=NOW)
    actions.keep_out(study=study, annotators=[known.annotator_id], reason="Knows them.", by=None, now=NOW)
    rows = [GivenRow(1, ids(0)[0], ""), GivenRow(2, ids(0)[0], known.pseudonym)]
    with pytest.raises(InvalidInput) as caught:
        actions.give_items(study=study, rows=rows, by=None, now=NOW)
    said = str(caught.value).splitlines()
    for line, part in zip(said, ("names no participant", "may not join"), strict=True):
        assert part in line
    with pytest.raises(InvalidInput, match=r"More wrong lines: 5\.$"):
        give(study, other, [f"unknown {number}" for number in range(25)])


def test_a_list_that_is_sent_twice_gives_once() -> None:
    study = builders.make_study(stories=2, votes_per_story=1)
    (person,) = builders.qualified(study)
    rows, token = [GivenRow(1, ids(0)[0], person.pseudonym)], uuid4()
    for _ in range(2):
        assert actions.give_items(study=study, rows=rows, by=None, now=NOW, token=token) == 1
    assert waiting_for(person) == set(ids(0))
    assert Event.objects.filter(type=Event.Type.ITEMS_GIVEN).count() == 1


def test_votes_until_a_story_is_decided_and_stories_given_by_name_exclude_each_other() -> None:
    named: dict[str, Any] = {"serving_order": "given", "votes_per_story": 2, "most_votes": None}
    study = builders.make_study(stories=2, opened=False, **named)
    with pytest.raises(InvalidStudy, match="given by name"):
        actions.change_study(study=study, changes={"most_votes": 5}, by=None, now=NOW)
    other = builders.make_study("other", stories=2, opened=False, votes_per_story=2, most_votes=5)
    with pytest.raises(InvalidStudy, match="given by name"):
        actions.change_study(study=other, changes={"serving_order": "given"}, by=None, now=NOW)
    with pytest.raises(InvalidStudy, match="given by name"):
        builders.make_study("third", **(named | {"most_votes": 5}))


def test_a_limit_below_what_was_given_is_refused() -> None:
    study = builders.make_study(stories=9, story_cap=12)
    (person,) = builders.qualified(study)
    give(study, person, ids(*range(9)))
    with pytest.raises(InvalidStudy, match="a limit of 9"):
        actions.change_study(study=study, changes={"story_cap": 8}, by=None, now=NOW)
    actions.change_study(study=study, changes={"story_cap": 9}, by=None, now=NOW)
    with pytest.raises(InvalidStudy, match="a limit of 12"):
        actions.change_check_rules(study=study, rules=CheckRules(every=5), by=None, now=NOW)
