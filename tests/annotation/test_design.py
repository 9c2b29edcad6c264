"""Designs: exact loads per stratum, reserved when somebody begins and given back when they leave."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.db import DatabaseError, IntegrityError, ProgrammingError, connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings, strategies as st

from annotation import actions, design, queries, strata
from annotation.errors import ImportRefused, InvalidStudy, StudyNotReady
from annotation.models import Assignment, Enrollment, Story, Stratum, Study, Vote
from annotation.rules import Reason, Refusal
from integrity.catalogue import CHECKS, run
from tests import builders
from tests.annotation.serving import NOW, ask, refused, send, send_and_ask

SEALED, OPEN = "inside_reuse_labeled_containers", "inside_containers_for_personal_belongings"
NEW = "food_item_in_grocery_store"
LOAD = {SEALED: 2, OPEN: 1}
ITEMS = {SEALED: 6, OPEN: 3}
VOTES = 2
PEOPLE = 6
"""6 x 2 = 2 x 6 and 3 x 2 = 1 x 6."""


def rows(items: dict[str, int] = ITEMS) -> list[dict[str, object]]:
    names = [name for name, count in items.items() for _ in range(count)]
    return [builders.story_row(number, scenario_name=name) for number, name in enumerate(names)]


def designed(
    *, load: dict[str, int] = LOAD, items: dict[str, int] = ITEMS, opened: bool = True, **changes: object
) -> Study:
    study = builders.make_study(
        stories=rows(items),
        opened=False,
        **{"votes_per_story": VOTES, **changes},  # type: ignore[arg-type]
    )
    actions.set_design(study=study, by_column="scenario_name", load=load, by=None, now=NOW)
    if opened:
        actions.open_study(study=study, by=None, now=NOW)
    study.refresh_from_db()
    return study


def given_to(person: Enrollment) -> Counter[str]:
    """Count a person's living assignments by stratum."""
    theirs = Assignment.objects.living().filter(enrollment=person)
    return Counter(theirs.values_list("stratum__name", flat=True))


def everything_holds() -> bool:
    return all(outcome.holds for outcome in run(CHECKS))


def complete(person: Enrollment, *, now: datetime = NOW) -> None:
    outcome = ask(person, now=now)
    while isinstance(outcome, Assignment):
        _receipt, outcome = send_and_ask(outcome, now=now)
    assert refused(outcome) in (Reason.CAP_REACHED, Reason.ALL_DONE)


@pytest.mark.django_db
def test_everybody_gets_their_load_and_every_item_its_votes() -> None:
    study = designed()
    people = builders.qualified(study, PEOPLE)
    at_work = [(person, ask(person)) for person in people]
    assert {tuple(sorted(given_to(person).items())) for person in people} == {tuple(sorted(LOAD.items()))}
    assert not study.stories.filter(has_free_slot=True).exists()
    for person, _held in reversed(at_work):  # in any order
        complete(person)
    counted = Counter(Vote.objects.counted().values_list("assignment__story__story_id", flat=True))
    assert sorted(counted.values()) == [VOTES] * 9
    assert everything_holds()
    (late,) = builders.qualified(study)
    assert refused(ask(late)) == Reason.ALL_DONE


@pytest.mark.django_db
def test_a_set_is_served_in_an_order_of_the_persons_own() -> None:
    study = designed(load={SEALED: 5, OPEN: 3}, votes_per_story=20)
    people = builders.qualified(study, 8)
    orders = []
    for person in people:
        ask(person)
        theirs = Assignment.objects.living().filter(enrollment=person).order_by("order_position")
        assert list(theirs.values_list("order_position", flat=True)) == list(range(1, 9))
        orders.append([one.stratum and one.stratum.name for one in theirs.select_related("stratum")])
    assert len(set(map(tuple, orders))) > 4, "strata are mixed, for everybody differently"


@pytest.mark.django_db
def test_who_leaves_gives_the_rest_back_at_once() -> None:
    study = designed()
    gone, *others = builders.qualified(study, PEOPLE)
    for person in (gone, *others):
        ask(person)
    send(ask(gone))  # type: ignore[arg-type]
    actions.withdraw(enrollment=gone, now=NOW)
    assert Assignment.objects.living().filter(enrollment=gone).count() == 1
    assert study.stories.filter(has_free_slot=True).count() == 2
    assert everything_holds()
    (instead,) = builders.qualified(study)
    ask(instead)
    assert not study.stories.filter(has_free_slot=True).exists()
    for person in (*others, instead):
        complete(person)
    assert Vote.objects.counted().count() == 9 * VOTES


@pytest.mark.django_db
def test_whose_lease_runs_out_is_taken_to_have_left_and_may_come_back() -> None:
    study = designed()
    away, other = builders.qualified(study, 2)
    held = ask(away)
    assert isinstance(held, Assignment)
    later = NOW + timedelta(minutes=31)
    actions.release_expired_leases(now=later)
    actions.release_expired_leases(now=later)
    assert not given_to(away)
    assert study.stories.filter(has_free_slot=True).count() == 9
    complete(other, now=later)
    receipt = send(held, now=later)
    assert not receipt.vote.surplus_reason, "the slot was free, so the late answer counts"
    complete(away, now=later)
    assert given_to(away) == LOAD
    assert everything_holds()


@pytest.mark.django_db
def test_an_answer_frees_reserved_items_that_others_let_lie() -> None:
    gone, other = builders.qualified(designed(), 2)
    send(ask(gone))  # type: ignore[arg-type]
    held = ask(other)
    assert sum(given_to(gone).values()) == 3
    send_and_ask(held, now=NOW + timedelta(hours=9))  # type: ignore[arg-type]
    assert sum(given_to(gone).values()) == 1


@pytest.mark.django_db
def test_a_late_answer_beyond_the_load_is_surplus() -> None:
    study = designed(load={SEALED: 1, OPEN: 1}, votes_per_story=20)
    (person,) = builders.qualified(study)
    held = ask(person)
    assert isinstance(held, Assignment)
    later = NOW + timedelta(minutes=31)
    actions.release_expired_leases(now=later)
    actions.release_expired_leases(now=later)
    stratum = study.stories.filter(scenario_name=held.story.scenario_name)
    least = taken = 0
    while taken <= least:  # until another item of the stratum has fewer slots taken
        ask(builders.qualified(study)[0], now=later)
        living = Counter(Assignment.objects.living().values_list("story_id", flat=True))
        least, taken = min(living[story.pk] for story in stratum), living[held.story_id]
    complete(person, now=later)
    held.refresh_from_db()
    assert held.state == Assignment.State.EXPIRED, "the person was given another item of the stratum"
    receipt = send(held, now=later)
    assert receipt.vote.surplus_reason == "late"
    assert given_to(person) == {SEALED: 1, OPEN: 1}
    assert everything_holds()


@pytest.mark.django_db
def test_a_skipped_item_is_replaced_by_another_of_its_stratum() -> None:
    study = designed(votes_per_story=20)
    (person,) = builders.qualified(study)
    held = ask(person)
    assert isinstance(held, Assignment)
    actions.skip_story(assignment_id=held.pk, enrollment=person, reason="unclear", now=NOW)
    complete(person)
    assert given_to(person) == LOAD
    assert everything_holds()


@pytest.mark.django_db
def test_an_excluded_persons_items_go_to_others_and_come_back_only_where_free() -> None:
    study = designed()
    bad, *others = builders.qualified(study, PEOPLE)
    for person in (bad, *others):
        complete(person)
    actions.exclude_annotator(enrollment=bad, reason="Careless", told="Careless", by=None, now=NOW)
    assert study.stories.filter(has_free_slot=True).count() == 3
    (instead,) = builders.qualified(study)
    complete(instead)
    outcome = actions.readmit_annotator(enrollment=bad, reason="A mistake", by=None, now=NOW)
    assert (outcome.counting, outcome.displaced) == (0, 3)
    assert everything_holds()


@pytest.mark.django_db
def test_a_suspended_persons_reserved_items_are_free_for_others() -> None:
    study = designed()
    (person,) = builders.qualified(study)
    held = ask(person)
    actions.suspend(enrollment=person, by=None, now=NOW, reason="Please wait.")
    assert list(Assignment.objects.living()) == [held]
    assert everything_holds()


@dataclass
class Comings:
    """Random arrivals, answers, leavers, absences, late answers and skips in one study."""

    study: Study
    chance: random.Random
    now: datetime = NOW
    people: list[Enrollment] = field(default_factory=list)
    forms: list[Assignment] = field(default_factory=list)

    def go_on(self) -> None:
        self.now += timedelta(seconds=1)
        step = self.chance.choice(["arrive", "answer", "answer", "answer", "leave", "away", "late", "skip"])
        if step == "arrive" and len(self.people) < PEOPLE:
            self.people += builders.qualified(self.study)
        elif step == "away":
            self.now += timedelta(minutes=31)
            actions.release_expired_leases(now=self.now)
        elif step == "late" and self.forms:
            send(self.chance.choice(self.forms), now=self.now)
        elif self.people:
            self._work(self.chance.choice(self.people), step)

    def _work(self, person: Enrollment, step: str) -> None:
        held = ask(person, now=self.now)
        if not isinstance(held, Assignment):
            return
        self.forms.append(held)
        if step == "answer":
            send(held, now=self.now)
        elif step == "skip":
            actions.skip_story(assignment_id=held.pk, enrollment=person, reason="unclear", now=self.now)
        elif step == "leave":
            actions.withdraw(enrollment=person, now=self.now)
            self.people.remove(person)


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(6))
def test_whoever_comes_and_goes_no_item_and_nobody_has_too_many(seed: int) -> None:
    world = Comings(designed(), random.Random(seed))
    for _ in range(60):
        world.go_on()
        for person in Enrollment.objects.filter(study=world.study):
            assert not given_to(person) - Counter(LOAD)
        taken = Counter(Assignment.objects.living().values_list("story", flat=True))
        assert max(taken.values(), default=0) <= VOTES
    now = world.now + timedelta(minutes=31)
    for person in world.people:
        complete_or_wait(person, now=now)
    for _ in range(3 * PEOPLE):  # newcomers fill what is left
        if Story.objects.filter(has_free_slot=True).exists():
            complete_or_wait(builders.qualified(world.study)[0], now=now)
    counted = Counter(Vote.objects.counted().values_list("assignment__story", flat=True))
    assert sorted(counted.values()) == [VOTES] * 9
    assert everything_holds()


def complete_or_wait(person: Enrollment, *, now: datetime) -> None:
    outcome = ask(person, now=now)
    while isinstance(outcome, Assignment):
        _receipt, outcome = send_and_ask(outcome, now=now)


@settings(max_examples=200, deadline=None)
@given(
    items=st.integers(1, 12),
    votes=st.integers(1, 6),
    seed=st.integers(0, 999),
    leavers=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 12)), max_size=5),
    data=st.data(),
)
def test_newcomers_needed_are_enough_and_none_is_needed_more(
    items: int, votes: int, seed: int, leavers: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Whatever leavers left undone, ``people_needed`` newcomers fill every item, and no fewer could."""
    load = data.draw(st.integers(1, items))
    taken = Counter[int]()

    def arrive(person: str) -> list[design.Candidate]:
        open_items = [
            design.Candidate(pk, f"item-{pk}", taken[pk]) for pk in range(items) if taken[pk] < votes
        ]
        chosen = design.choose(open_items, load, seed=seed, person=person)
        taken.update(item.pk for item in chosen)
        return chosen

    for number, (_, answered) in enumerate(leavers):
        for item in arrive(f"leaver-{number}")[answered:]:
            taken[item.pk] -= 1
    free = [votes - taken[pk] for pk in range(items)]
    needed = design.people_needed(most=max(free), free=sum(free), load=load)
    for number in range(needed):
        assert any(votes - taken[pk] for pk in range(items)), "one fewer would have been enough"
        arrive(f"newcomer-{number}")
    assert all(taken[pk] == votes for pk in range(items))


@settings(max_examples=100, deadline=None)
@given(items=st.integers(1, 15), load=st.integers(1, 15), rounds=st.integers(1, 6), seed=st.integers(0, 99))
def test_without_leavers_loads_are_exact_and_items_even(
    items: int, load: int, rounds: int, seed: int
) -> None:
    load = min(items, load)
    votes = load * rounds  # so that items x votes is a multiple of the load
    people = items * rounds
    assert design.fills_exactly([Decimal(items * votes) / load])
    taken = Counter[int]()
    for number in range(people):
        found = [design.Candidate(pk, f"item-{pk}", taken[pk]) for pk in range(items) if taken[pk] < votes]
        chosen = design.choose(found, load, seed=seed, person=f"person-{number}")
        assert len(chosen) == load
        taken.update(item.pk for item in chosen)
        counts = [taken[pk] for pk in range(items)]
        assert max(counts) - min(counts) <= 1
    assert set(taken.values()) == {votes}


@pytest.mark.django_db
def test_a_study_that_the_design_cannot_serve_does_not_open() -> None:
    study = designed(load={SEALED: 7}, opened=False)
    with pytest.raises(StudyNotReady) as refusal:
        actions.open_study(study=study, by=None, now=NOW)
    assert strata.unserved_strata(study) == [(OPEN, 3, 0, ""), (SEALED, 6, 7, "")]
    assert str(refusal.value).count("Its design asks for") == 2
    assert f"of “{OPEN}” per participant; it has 3. Add a load for it" in str(refusal.value)


@pytest.mark.django_db
def test_items_without_a_value_belong_to_no_stratum() -> None:
    named = ["story-a", "story-b"]
    lacking = [
        builders.story_row(number, story_id=name, severity_original=None) for number, name in enumerate(named)
    ]
    study = builders.make_study(
        stories=[*lacking, builders.story_row(2), builders.story_row(3)], opened=False
    )
    load = {"None": 2, "1": 1}
    study = actions.set_design(study=study, by_column="severity_original", load=load, by=None, now=NOW)
    assert strata.unserved_strata(study) == [("", 2, 0, ", ".join(named)), ("None", 0, 2, "")]
    with pytest.raises(StudyNotReady, match="2 items have no value in the design") as refusal:
        actions.open_study(study=study, by=None, now=NOW)
    assert named[1] in str(refusal.value)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("row", "said"), [({"scenario_name": NEW}, NEW), ({}, None)], ids=["unknown", "known"]
)
def test_items_that_nobody_would_get_are_not_imported(row: dict[str, str], said: str | None) -> None:
    study = designed(items={SEALED: 6, OPEN: 3})
    rows_given = [
        builders.story_row(46, scenario_name=OPEN),
        builders.story_row(47, **{"scenario_name": OPEN} | row),
    ]
    if said is None:
        assert builders.import_rows(study, rows_given)[1].has_free_slot
        return
    with pytest.raises(ImportRefused) as refusal:
        builders.import_rows(study, rows_given)
    (problem,) = refusal.value.problems
    assert (problem.line, problem.field) == (2, "scenario_name")
    assert said in problem.message
    assert "load" in problem.remedy
    assert study.stories.count() == 9


@pytest.mark.django_db
def test_a_draft_takes_items_of_any_value_and_does_not_open_with_them() -> None:
    study = designed(opened=False)
    builders.import_rows(study, [builders.story_row(47, scenario_name=NEW)])
    assert [name for name, *_ in strata.unserved_strata(study)] == [NEW]


@pytest.mark.django_db
def test_whoever_lacks_an_item_of_a_full_stratum_has_nothing_left() -> None:
    study = designed(load={SEALED: 1, OPEN: 1}, items={SEALED: 9, OPEN: 1})
    *others, third = builders.qualified(study, 3)
    for person in others:
        complete(person)
    assert queries.stories_left(third, at_most=9) == 1
    _receipt, outcome = send_and_ask(ask(third))  # type: ignore[arg-type]
    assert refused(outcome) == Reason.ALL_DONE
    assert queries.stories_left(third, at_most=9) == 0


@pytest.mark.django_db
def test_who_comes_while_all_is_reserved_may_come_back() -> None:
    study = designed()
    for person in builders.qualified(study, PEOPLE):
        send(ask(person))  # type: ignore[arg-type]
    (late,) = builders.qualified(study)
    outcome = ask(late)
    assert refused(outcome) == Reason.NOTHING_FREE
    assert isinstance(outcome, Refusal)
    assert outcome.retry_at is not None
    done = Enrollment.objects.filter(study=study).order_by("pk")[0]
    complete(done)
    assert refused(ask(done)) == Reason.CAP_REACHED


@pytest.mark.django_db
def test_hidden_checks_come_until_the_end_of_a_set_and_not_after_it() -> None:
    study = designed(load={SEALED: 16, OPEN: 4}, items={SEALED: 17, OPEN: 4}, votes_per_story=5)
    builders.add_checks(study, 9, every=5)
    for person in builders.qualified(Study.objects.get(pk=study.pk), 4):
        roles, outcome = "", ask(person)
        while isinstance(outcome, Assignment):
            roles += outcome.story.role[0]
            _receipt, outcome = send_and_ask(outcome)
        assert [roles[block : block + 5].count("c") for block in range(0, 25, 5)] == [1] * 5
        assert len(roles) == strata.stories_of_design(person.study) == 25
        assert (given_to(person)[SEALED], given_to(person)[OPEN]) == (16, 4)


@pytest.mark.django_db
def test_whole_sets_have_equally_many_checks_where_the_last_block_is_short() -> None:
    study = designed(load={SEALED: 2, OPEN: 1}, items={SEALED: 6, OPEN: 6})
    builders.add_checks(study, 9, every=5)
    for person in builders.qualified(Study.objects.get(pk=study.pk), 4):
        roles, outcome = "", ask(person)
        while isinstance(outcome, Assignment):
            roles += outcome.story.role[0]
            _receipt, outcome = send_and_ask(outcome)
        assert sorted(roles) == ["c", "m", "m", "m"]
        assert len(roles) == strata.stories_of_design(person.study)


@pytest.mark.django_db
def test_checks_that_would_cut_sets_short_are_refused() -> None:
    study = designed(story_cap=3)
    with pytest.raises(InvalidStudy, match="4 stories, but the limit is 3"):
        builders.add_checks(study, 1, every=5)


@pytest.mark.django_db
def test_a_limit_that_cuts_sets_short_is_refused() -> None:
    draft = designed(opened=False, story_cap=2)
    with pytest.raises(StudyNotReady, match="3 stories, but the limit is 2"):
        actions.open_study(study=draft, by=None, now=NOW)
    actions.change_study(study=draft, changes={"story_cap": 3}, by=None, now=NOW)
    actions.open_study(study=draft, by=None, now=NOW)
    with pytest.raises(InvalidStudy, match="3 stories, but the limit is 2"):
        actions.change_study(study=draft, changes={"story_cap": 2}, by=None, now=NOW)


@pytest.mark.django_db
def test_a_design_is_settled_in_the_draft() -> None:
    study = designed()
    with pytest.raises(InvalidStudy):
        actions.set_design(study=study, by_column="scenario_name", load={SEALED: 1}, by=None, now=NOW)
    stratum = study.strata.get(name=OPEN)
    with pytest.raises(ProgrammingError), transaction.atomic():
        Stratum.objects.filter(pk=stratum.pk).update(load=9)


@pytest.mark.django_db
def test_column_and_loads_are_kept_by_the_database_once_opened() -> None:
    study = designed()
    with pytest.raises(ProgrammingError, match="pgtrigger"), transaction.atomic():
        Study.objects.filter(pk=study.pk).update(stratum_field="")
    (person,) = builders.qualified(study)
    ask(person)
    with pytest.raises(DatabaseError, match="load of an assignment"), transaction.atomic():
        Assignment.objects.filter(stratum__name=SEALED).update(load=9)
    with connection.cursor() as cursor:
        cursor.execute(
            "SET CONSTRAINTS ALL IMMEDIATE; ALTER TABLE annotation_assignment DISABLE TRIGGER USER"
        )
    with pytest.raises(IntegrityError, match="place_is_one_of_the_load"), transaction.atomic():
        Assignment.objects.filter(stratum__name=SEALED).update(load=None)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("load", "said"),
    [({SEALED: 0}, "a load from 1 to 999"), ({SEALED: 1000}, "a load"), ({"": 1}, "a name of 1")],
)
def test_a_load_that_is_none_is_refused(load: dict[str, int], said: str) -> None:
    with pytest.raises(InvalidStudy, match=said):
        designed(load=load, opened=False)


@pytest.mark.django_db
def test_an_unknown_column_is_refused() -> None:
    study = builders.make_study(opened=False)
    with pytest.raises(InvalidStudy, match="not a column"):
        actions.set_design(study=study, by_column="content", load={"a": 1}, by=None, now=NOW)


@pytest.mark.django_db
@pytest.mark.parametrize("change", [{"place": 3}, {"place": 0}, {"place": None}, {"stratum": None}])
def test_the_database_keeps_places_within_the_load(change: dict[str, object]) -> None:
    study = designed()
    (person,) = builders.qualified(study)
    ask(person)
    sealed = Assignment.objects.filter(enrollment=person, stratum__name=SEALED)
    with pytest.raises(IntegrityError), transaction.atomic():
        sealed.filter(place=2).update(**change)
    with pytest.raises(IntegrityError), transaction.atomic():
        sealed.filter(place=2).update(place=1)


@pytest.mark.django_db
def test_the_next_item_costs_no_more_than_without_a_design() -> None:
    plain, study = builders.make_study("plain", stories=9), designed(votes_per_story=20)
    spent = []
    for each in (plain, study):
        (person,) = builders.qualified(each)
        held = ask(person)
        assert isinstance(held, Assignment)
        send_and_ask(held)
        held = ask(person)
        with CaptureQueriesContext(connection) as queries_made:
            _receipt, outcome = send_and_ask(held)  # type: ignore[arg-type]
        assert isinstance(outcome, Assignment)
        assert not isinstance(outcome, Refusal)
        spent.append(len(queries_made))
    assert spent[1] <= spent[0]
