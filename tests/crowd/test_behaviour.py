"""Who the simulated people are and what they hold to be true: pure, and the same for the same seed."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from crowd.behaviour import Behaviour, Decision, DoubleSubmit, Options, Population, Profile, decide, profile
from crowd.truth import Truth, text_key

OPTIONS = {
    "q1": ("yes", "possibly", "no"),
    "q2": ("yes", "possibly", "no"),
    "q3": ("yes", "no"),
    "q4": ("yes", "no"),
}
RIGHT = {"q1": ("possibly",), "q2": ("no",), "q3": ("yes",), "q4": ("no",)}
AGAINST = {question: frozenset({"no"}) for question in OPTIONS}
PLAIN = Behaviour(leaves=0, submits_twice=0, comes_late=0, submits_incomplete=0)


def person(skill: float = 1.0, number: int = 0) -> Profile:
    return Profile(number=number, skill=skill, javascript=True, declines=False)


def decision(
    who: Profile, story: str, *, seed: int = 1, behaviour: Behaviour = PLAIN, right: Options = RIGHT
) -> Decision:
    return decide(
        who,
        seed=seed,
        story=story,
        options=OPTIONS,
        right=right,
        population=Population(),
        behaviour=behaviour,
    )


def test_the_same_seed_gives_the_same_people_and_another_seed_others() -> None:
    population = Population()
    first = [profile(seed=3, number=number, population=population) for number in range(50)]
    assert first == [profile(seed=3, number=number, population=population) for number in range(50)]
    assert first != [profile(seed=4, number=number, population=population) for number in range(50)]


def test_a_person_decides_the_same_about_a_story_whenever_they_are_given_it() -> None:
    who = person(skill=0.5)
    behaviour = Behaviour(leaves=0.3, submits_twice=0.3, comes_late=0.3, submits_incomplete=0.3)
    stories = [f"story {number}" for number in range(40)]
    forwards = {story: decision(who, story, behaviour=behaviour) for story in stories}
    backwards = {story: decision(who, story, behaviour=behaviour) for story in reversed(stories)}
    assert forwards == backwards
    assert len({repr(made) for made in forwards.values()}) > 30
    assert forwards != {story: decision(who, story, seed=2, behaviour=behaviour) for story in stories}


def test_people_with_full_skill_answer_by_the_truth_and_without_any_never() -> None:
    for number in range(30):
        assert decision(person(1.0), f"{number}").answers == {name: right[0] for name, right in RIGHT.items()}
        mistaken = decision(person(0.0), f"{number}").answers
        assert all(mistaken[name] not in RIGHT[name] and mistaken[name] in OPTIONS[name] for name in OPTIONS)


def test_skill_is_the_share_of_right_answers() -> None:
    answers = [decision(person(0.7, number), "s").answers for number in range(2000)]
    right = sum(given[name] in RIGHT[name] for given in answers for name in OPTIONS)
    assert right / (len(answers) * len(OPTIONS)) == pytest.approx(0.7, abs=0.02)


def test_what_is_right_in_several_ways_is_never_answered_wrongly_by_the_skilled() -> None:
    right = RIGHT | {"q1": ("yes", "possibly"), "q3": ("yes", "no")}
    given = [decision(person(1.0, number), "s", right=right) for number in range(200)]
    assert {made.answers["q1"] for made in given} == {"yes", "possibly"}
    assert decision(person(0.0), "s", right=right).answers["q3"] in ("yes", "no"), "nothing offered is wrong"


@pytest.mark.parametrize("name", ["leaves", "submits_twice", "comes_late", "submits_incomplete"])
def test_each_probability_moves_its_own_behaviour_and_no_other(name: str) -> None:
    one: dict[str, Any] = {name: 1.0}
    always = decision(person(), "s", behaviour=dataclasses.replace(PLAIN, **one))
    happens = {
        "leaves": always.leave,
        "submits_twice": always.double is not DoubleSubmit.NO,
        "comes_late": always.late,
        "submits_incomplete": always.forget != "",
    }
    assert [which for which, so in happens.items() if so] == [name]


def test_the_population_has_the_stated_shares() -> None:
    population = Population(careful=0.6, without_javascript=0.2, declines=0.1)
    people = [profile(seed=9, number=number, population=population) for number in range(2000)]
    shares = [
        sum(one.skill >= 0.97 for one in people) / len(people),
        sum(not one.javascript for one in people) / len(people),
        sum(one.declines for one in people) / len(people),
    ]
    assert shares == pytest.approx([0.6, 0.2, 0.1], abs=0.03)


def test_a_story_is_known_by_its_texts_however_a_page_lays_them_out() -> None:
    assert text_key(["A  tin.", "Noor", "A tin."]) == text_key(["Noor", "A\n tin."])
    assert text_key(["A tin.", "Noor"]) != text_key(["A tin", "Noor"])


def test_known_truth_comes_first_and_the_rest_is_invented_alike_for_everybody() -> None:
    truth = Truth(known={"known": {"q1": ("no",), "q2": ("maybe",)}}, against=AGAINST, seed=5)
    right = truth.right("known", OPTIONS)
    assert right["q1"] == ["no"]
    assert right["q2"][0] in OPTIONS["q2"], "an option that the form does not offer cannot be right"
    assert truth.right("new", OPTIONS) == Truth(known={}, against=AGAINST, seed=5).right("new", OPTIONS)
    other = Truth(known={}, against=AGAINST, seed=6)
    assert any(truth.right(f"{n}", OPTIONS) != other.right(f"{n}", OPTIONS) for n in range(9))


@pytest.mark.parametrize("valid", [0.0, 0.6, 1.0])
def test_invented_truths_are_sound_in_the_stated_share(valid: float) -> None:
    truth = Truth(known={}, against=AGAINST, valid=valid)
    sound = sum(
        all(right[0] != "no" for right in truth.right(f"story {number}", OPTIONS).values())
        for number in range(2000)
    )
    assert sound / 2000 == pytest.approx(valid, abs=0.03)
