"""The figures per person: against brute force, in any order of the stories, and the flags at their edges."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from typing import Any

import pytest
from django.template.loader import render_to_string
from hypothesis import given, settings, strategies as st

from annotation.protocols.questions import Choice
from dashboard.figures import flags
from dashboard.figures.people import SHOWN, PeopleTally
from publishing.files.rows import CountedVote

MOMENT = "2026-03-01T00:00:00.000Z"
AGAINST = frozenset({Choice("q1", "", "no"), Choice("q2", "", "no")})
Story = tuple[str, list[CountedVote], bool]

vote_sets = st.lists(
    st.tuples(
        st.lists(
            st.tuples(
                st.sampled_from(["ann", "bob", "cleo", "dan"]),
                st.sampled_from(["yes", "possibly", "no"]),
                st.sampled_from(["yes", "no"]),
                st.integers(1, 90),
            ),
            max_size=3,
            unique_by=lambda vote: vote[0],
        ),
        st.booleans(),
    ),
    max_size=12,
)


def vote(person: str, q1: str = "yes", q2: str = "yes", seconds: float = 30) -> CountedVote:
    return CountedVote(person, (Choice("q1", "", q1), Choice("q2", "", q2)), MOMENT, seconds)


def tallied(stories: list[Story]) -> dict[str, Any]:
    tally = PeopleTally()
    for story_id, votes, complete in stories:
        tally.see(story_id, votes, AGAINST, complete=complete)
    return tally.document()


def test_only_the_first_votes_are_compared_where_their_number_is_adaptive() -> None:
    tally = PeopleTally(first=2)
    tally.see("s1", [vote("ann", q1="no"), vote("bob"), vote("cat", q1="no")], AGAINST, complete=True)
    tally.see("s2", [vote("ann"), vote("bob"), vote("cat")], AGAINST, complete=False)
    tally.see("s3", [vote("ann")], AGAINST, complete=False)
    ann, bob, cat = tally.document()["people"]
    assert [person["compared"] for person in (ann, bob, cat)] == [2, 2, 0]
    assert [person["alone"] for person in (ann, bob, cat)] == [1, 0, 0]


def objects(given: CountedVote) -> bool:
    return bool(AGAINST.intersection(given.answers))


def expected(name: str, stories: list[Story]) -> dict[str, Any]:
    """The same figures, straight from their definitions."""
    own = [given for _, votes, _ in stories for given in votes if given.annotator == name]
    everything = [given for _, votes, _ in stories for given in votes]
    beside = [
        (given, [other for other in votes if other.annotator != given.annotator])
        for _, votes, complete in stories
        for given in votes
        if complete and len(votes) > 1
    ]
    mine = [entry for entry in beside if entry[0].annotator == name]
    pairs = [
        (a.option, b.option)
        for given, others in mine
        for other in others
        for a in given.answers
        for b in other.answers
        if (a.question, a.row) == (b.question, b.row)
    ]

    def alone(entries: list[tuple[CountedVote, list[CountedVote]]]) -> int:
        return sum(objects(given) and not any(map(objects, others)) for given, others in entries)

    rest = [entry for entry in beside if entry[0].annotator != name]
    form = min(Counter(given.answers for given in own).items(), key=lambda found: (-found[1], found[0]))[0]
    strangers = [given for given in everything if given.annotator != name]
    return {
        "votes": len(own),
        "median_seconds": statistics.median(given.seconds_on_task for given in own),
        "compared": len(mine),
        "agreement": sum(a == b for a, b in pairs) / len(pairs) if pairs else None,
        "alone": alone(mine),
        "alone_share": alone(mine) / len(mine) if mine else None,
        "alone_share_others": alone(rest) / len(rest) if rest else None,
        "same_share": sum(given.answers == form for given in own) / len(own),
        "same_share_others": sum(given.answers == form for given in strangers) / len(strangers)
        if strangers
        else None,
        "q1": {
            option: count / len(own) for option, count in Counter(v.answers[0].option for v in own).items()
        },
    }


@settings(max_examples=25)
@given(vote_sets, st.randoms(use_true_random=False))
def test_every_figure_is_what_its_definition_says_in_any_order(
    found: list[tuple[list[tuple[str, str, str, int]], bool]], chance: random.Random
) -> None:
    stories: list[Story] = [
        (f"s{number}", [vote(*given) for given in votes], complete)
        for number, (votes, complete) in enumerate(found)
    ]
    document = tallied(stories)
    for person in document["people"]:
        wanted = expected(person["pseudonym"], stories)
        assert person["options"]["q1"] == pytest.approx(wanted.pop("q1"))
        assert {name: person[name] for name in wanted} == pytest.approx(wanted)
    everything = [given for _, votes, _ in stories for given in votes]
    chosen = Counter(v.answers[0].option for v in everything)
    shares = document["everybody"].pop("options")
    assert shares.get("q1", {}) == {option: count / len(everything) for option, count in chosen.items()}
    assert document["everybody"] == {
        "people": len({given.annotator for given in everything}),
        "votes": len(everything),
        "median_seconds": statistics.median(v.seconds_on_task for v in everything) if everything else None,
    }
    shuffled = list(stories)
    chance.shuffle(shuffled)
    for person, again in zip(document["people"], tallied(shuffled)["people"], strict=True):
        assert {**person, "evidence": None} == {**again, "evidence": None}


def crowd(count: int) -> list[Story]:
    """Stories on which fast is fast, lone objects alone, same never varies; the others vary."""
    stories: list[Story] = []
    for number in range(count):
        varied = "possibly" if number % 2 else "yes"
        votes = [
            vote("fast", varied, seconds=5 + number % 3),
            vote("lone", "no" if number % 4 == 0 else varied),
            vote("usual", varied),
            vote("same", "possibly", "yes"),
        ]
        stories.append((f"s{number:02d}", votes, True))
    return stories


def test_flags_name_the_people_they_are_about_and_show_the_evidence() -> None:
    document = tallied(crowd(40))
    people = {person["pseudonym"]: person for person in document["people"]}
    assert {name: person["flags"] for name, person in people.items()} == {
        "fast": [flags.TOO_FAST],
        "lone": [flags.ALWAYS_ALONE],
        "same": [flags.STRAIGHT_LINING],
        "usual": [],
    }
    assert people["lone"]["evidence"] == {
        flags.ALWAYS_ALONE: [f"s{number:02d}" for number in range(0, 40, 4)][:SHOWN]
    }
    assert people["same"]["evidence"] == {
        flags.STRAIGHT_LINING: [f"s{number:02d}" for number in range(SHOWN)]
    }
    fastest = people["fast"]["evidence"][flags.TOO_FAST]
    assert len(fastest) == SHOWN
    assert all(int(story_id[1:]) % 3 == 0 for story_id in fastest), "those of five seconds"
    told = {
        name: render_to_string(
            "dashboard/people/_flag.html",
            {"flag": name, "person": person, "everybody": document["everybody"], "rules": flags},
        ).strip()
        for person in people.values()
        for name in person["flags"]
    }
    assert told[flags.TOO_FAST].startswith(
        "Half of their votes took less than 6.0 seconds; over all votes the median is 30.0."
    )
    assert told[flags.ALWAYS_ALONE] == (
        "They alone objected to 10 of 40 complete stories they answered (25 %); in everybody else’s votes it "
        "is 0.0 %. The flag is raised from 10 % on, if that is 3 times the others’, from 20 stories on."
    )
    assert "100 % of their votes have exactly the same answers" in told[flags.STRAIGHT_LINING]
    assert all(flags.title(name) for person in people.values() for name in person["flags"])


def test_of_few_votes_nothing_is_said() -> None:
    assert not any(person["flags"] for person in tallied(crowd(flags.FEWEST_VOTES - 1))["people"])
    assert any(person["flags"] for person in tallied(crowd(flags.FEWEST_VOTES))["people"])


@pytest.mark.parametrize(("seconds", "raised"), [(9.9, True), (10.0, False)])
def test_the_edge_of_too_fast(seconds: float, raised: bool) -> None:
    assert flags.is_too_fast({"votes": 20, "median_seconds": seconds}, 30.0) is raised


@pytest.mark.parametrize(
    ("own", "others", "raised"),
    [(0.9, 0.7, True), (0.89, 0.1, False), (0.95, 0.8, False), (1.0, None, False)],
)
def test_the_edges_of_straight_lining(own: float, others: float | None, raised: bool) -> None:
    person = {"votes": 20, "same_share": own, "same_share_others": others}
    assert flags.is_straight_lining(person) is raised


@pytest.mark.parametrize(
    ("own", "others", "raised"),
    [(0.1, 0.03, True), (0.09, 0.0, False), (0.2, 0.08, False), (0.2, None, False)],
)
def test_the_edges_of_always_alone(own: float, others: float | None, raised: bool) -> None:
    person = {"compared": 20, "alone_share": own, "alone_share_others": others}
    assert flags.is_always_alone(person) is raised
