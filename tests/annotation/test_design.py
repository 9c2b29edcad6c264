"""Designs: exact loads per stratum, reserved when somebody begins and given back when they leave."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings, strategies as st

from annotation import actions, design
from annotation.models import Assignment, Enrollment, Story, Study, Vote
from annotation.rules import Reason
from tests import builders
from tests.annotation.invariants import broken
from tests.annotation.serving import NOW, ask, refused, send, send_and_ask
from tests.worlds import built_once

SEALED, OPEN = "inside_reuse_labeled_containers", "inside_containers_for_personal_belongings"
NEW = "food_item_in_grocery_store"
LOAD = {SEALED: 2, OPEN: 1}
ITEMS = {SEALED: 6, OPEN: 3}
VOTES = 2
FEW, PEOPLE = {SEALED: 4, OPEN: 2}, 4
"""So many people fill so few items exactly: 4 x 2 = 2 x 4 and 2 x 2 = 1 x 4."""


def rows(items: dict[str, int] = ITEMS) -> list[dict[str, object]]:
    names = [name for name, count in items.items() for _ in range(count)]
    return [builders.story_row(number, scenario_name=name) for number, name in enumerate(names)]


@built_once
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


def complete(person: Enrollment, *, now: datetime = NOW) -> None:
    outcome = ask(person, now=now)
    while isinstance(outcome, Assignment):
        _receipt, outcome = send_and_ask(outcome, now=now)
    assert refused(outcome) in (Reason.CAP_REACHED, Reason.ALL_DONE)


@pytest.mark.django_db
def test_everybody_gets_their_load_and_every_item_its_votes() -> None:
    study = designed(items=FEW)
    people = builders.qualified(study, PEOPLE)
    at_work = [(person, ask(person)) for person in people]
    assert {tuple(sorted(given_to(person).items())) for person in people} == {tuple(sorted(LOAD.items()))}
    assert not study.stories.filter(has_free_slot=True).exists()
    for person, _held in reversed(at_work):  # in any order
        complete(person)
    counted = Counter(Vote.objects.counted().values_list("assignment__story__story_id", flat=True))
    assert sorted(counted.values()) == [VOTES] * 6
    assert not broken("slots")
    (late,) = builders.qualified(study)
    assert refused(ask(late)) == Reason.ALL_DONE


@pytest.mark.django_db
def test_a_set_is_served_in_an_order_of_the_persons_own() -> None:
    study = designed(load={SEALED: 5, OPEN: 3}, votes_per_story=20)
    people = builders.qualified(study, 5)
    orders = []
    for person in people:
        ask(person)
        theirs = Assignment.objects.living().filter(enrollment=person).order_by("order_position")
        assert list(theirs.values_list("order_position", flat=True)) == list(range(1, 9))
        orders.append([one.stratum and one.stratum.name for one in theirs.select_related("stratum")])
    assert len(set(map(tuple, orders))) > 2, "strata are mixed, for everybody differently"


@pytest.mark.django_db
def test_who_leaves_gives_the_rest_back_at_once() -> None:
    study = designed(items=FEW)
    gone, *others = builders.qualified(study, PEOPLE)
    for person in (gone, *others):
        ask(person)
    send(ask(gone))  # type: ignore[arg-type]
    actions.withdraw(enrollment=gone, now=NOW)
    assert Assignment.objects.living().filter(enrollment=gone).count() == 1
    assert study.stories.filter(has_free_slot=True).count() == 2
    assert not broken("slots")
    (instead,) = builders.qualified(study)
    ask(instead)
    assert not study.stories.filter(has_free_slot=True).exists()
    for person in (*others, instead):
        complete(person)
    assert Vote.objects.counted().count() == 6 * VOTES


@pytest.mark.django_db
def test_whose_lease_runs_out_is_taken_to_have_left_and_may_come_back() -> None:
    study = designed(items=FEW)
    away, other = builders.qualified(study, 2)
    held = ask(away)
    assert isinstance(held, Assignment)
    later = NOW + timedelta(minutes=31)
    actions.release_expired_leases(now=later)
    actions.release_expired_leases(now=later)
    assert not given_to(away)
    assert study.stories.filter(has_free_slot=True).count() == 6
    complete(other, now=later)
    receipt = send(held, now=later)
    assert not receipt.vote.surplus_reason, "the slot was free, so the late answer counts"
    complete(away, now=later)
    assert given_to(away) == LOAD
    assert not broken("slots")


@pytest.mark.django_db
def test_an_answer_frees_reserved_items_that_others_let_lie() -> None:
    gone, other = builders.qualified(designed(items=FEW), 2)
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
    assert not broken("slots")


@pytest.mark.django_db
def test_a_skipped_item_is_replaced_by_another_of_its_stratum() -> None:
    study = designed(votes_per_story=20)
    (person,) = builders.qualified(study)
    held = ask(person)
    assert isinstance(held, Assignment)
    actions.skip_story(assignment_id=held.pk, enrollment=person, reason="unclear", now=NOW)
    complete(person)
    assert given_to(person) == LOAD
    assert not broken("slots")


@pytest.mark.django_db
def test_an_excluded_persons_items_go_to_others_and_come_back_only_where_free() -> None:
    study = designed(items=FEW)
    bad, *others = builders.qualified(study, PEOPLE)
    for person in (bad, *others):
        complete(person)
    actions.exclude_annotator(enrollment=bad, reason="Careless", shown_reason="Careless", by=None, now=NOW)
    assert study.stories.filter(has_free_slot=True).count() == 3
    (instead,) = builders.qualified(study)
    complete(instead)
    outcome = actions.readmit_annotator(enrollment=bad, reason="A mistake", by=None, now=NOW)
    assert (outcome.counting, outcome.displaced) == (0, 3)
    assert not broken("slots")


@pytest.mark.django_db
def test_a_suspended_persons_reserved_items_are_free_for_others() -> None:
    study = designed(items=FEW)
    (person,) = builders.qualified(study)
    held = ask(person)
    actions.suspend(enrollment=person, by=None, now=NOW, reason="Please wait.")
    assert list(Assignment.objects.living()) == [held]
    assert not broken("slots")


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
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.torture) for seed in range(1, 6))]
)
def test_whoever_comes_and_goes_no_item_and_nobody_has_too_many(seed: int) -> None:
    world = Comings(designed(items=FEW), random.Random(seed))
    for _ in range(60):
        world.go_on()
        living = Assignment.objects.living().values_list("story", "enrollment", "stratum__name")
        assert max(Counter(story for story, *_ in living).values(), default=0) <= VOTES
        served = Counter((person, stratum) for _, person, stratum in living)
        assert all(count <= LOAD[stratum or ""] for (_, stratum), count in served.items())
    now = world.now + timedelta(minutes=31)
    for person in world.people:
        complete_or_wait(person, now=now)
    for _ in range(3 * PEOPLE):  # newcomers fill what is left
        if Story.objects.filter(has_free_slot=True).exists():
            complete_or_wait(builders.qualified(world.study)[0], now=now)
    counted = Counter(Vote.objects.counted().values_list("assignment__story", flat=True))
    assert sorted(counted.values()) == [VOTES] * 6
    assert not broken("slots")


def complete_or_wait(person: Enrollment, *, now: datetime) -> None:
    outcome = ask(person, now=now)
    while isinstance(outcome, Assignment):
        _receipt, outcome = send_and_ask(outcome, now=now)


@settings(max_examples=25)
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


@settings(max_examples=15)
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
