"""Orders of each person's own: of stories and of options."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.test import Client
from hypothesis import given, settings, strategies as st
from lxml import html

from annotation import actions, ordering
from annotation.errors import InvalidStudy
from annotation.forms import question_fields
from annotation.models import Assignment, Enrollment, Story, Study, Vote
from annotation.protocols import get_protocol
from annotation.protocols.questions import Option, Question
from tests import builders
from tests.annotation.pages import arrive

NOW = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
SEEDS = st.integers(0, 2**31 - 1)
FREE = Question("q", "", "", tuple(Option(key, key) for key in "abcdef"), option_order="free")
SCALE = Question("s", "", "", tuple(Option(key, key) for key in "12345"), option_order="scale")
FIXED = Question("f", "", "", SCALE.options)


@settings(max_examples=25)
@given(SEEDS)
def test_every_seed_gives_the_same_options_in_an_allowed_order(seed: int) -> None:
    free, scale = (ordering.ordered(question.options, question, seed) for question in (FREE, SCALE))
    assert sorted(free, key=lambda option: option.key) == list(FREE.options)
    assert free == ordering.ordered(FREE.options[::-1], FREE, seed)
    assert scale in (SCALE.options, SCALE.options[::-1])
    assert ordering.ordered(FIXED.options, FIXED, seed) == FIXED.options
    assert ordering.ordered(FREE.options, FREE, None) == FREE.options


def test_seeds_spread_options_and_starts() -> None:
    seeds = [ordering.option_seed("a key", person) for person in range(300)]
    first = [ordering.ordered(FREE.options, FREE, seed)[0].key for seed in seeds]
    turned = sum(ordering.ordered(SCALE.options, SCALE, seed) != SCALE.options for seed in seeds)
    assert all(25 < first.count(key) < 75 for key in "abcdef")
    assert 110 < turned < 190
    starts = [ordering.start_key(ordering.order_seed("a key", person)) for person in range(300)]
    assert 110 < sum(start < 0 for start in starts) < 190
    assert -(2**63) <= min(starts) <= max(starts) < 2**63
    assert seeds != [ordering.order_seed("a key", person) for person in range(300)]


@settings(max_examples=25)
@given(st.integers(1, 5000), st.integers(1, 9), st.floats(0, 1), st.integers(1, 50))
def test_unfinished_stories_are_within_what_is_possible(
    stories: int, per_story: int, share: float, at_once: int
) -> None:
    votes = round(stories * per_story * share)
    shared, own = (
        ordering.unfinished_stories(
            stories=stories, votes_per_story=per_story, votes=votes, own_order=own, at_once=at_once
        )
        for own in (False, True)
    )
    for number in (shared, own):
        assert 0 <= number <= min(stories, votes)
        if votes in (0, stories * per_story):
            assert number == 0
    assert shared <= max(1, at_once)


def everything(person: Enrollment) -> list[str]:
    met = []
    while isinstance(held := actions.assign_next_story(enrollment=person, now=NOW), Assignment):
        actions.record_vote(assignment_id=held.pk, enrollment=person, submitted=builders.ALL_YES, now=NOW)
        met.append(held.story.story_id)
    return met


@pytest.mark.django_db
def test_in_an_order_of_their_own_people_start_elsewhere_and_meet_every_story_once() -> None:
    study = builders.make_study(stories=6, serving_order=Study.ServingOrder.OWN)
    circle = list(Story.objects.order_by("order_key").values_list("story_id", flat=True))
    people = builders.qualified(study, 2)
    orders = [everything(person) for person in people]

    for person, order in zip(people, orders, strict=True):
        start = ordering.start_key(ordering.order_seed(study.pseudonym_key, person.pk))
        behind = Story.objects.filter(order_key__lte=start).count() % 6
        assert order == circle[behind:] + circle[:behind]
    assert len({ordering.start_key(ordering.order_seed(study.pseudonym_key, n)) for n in range(50)}) == 50
    seeds = {person.pk: ordering.order_seed(study.pseudonym_key, person.pk) for person in people}
    assert all(
        vote.order_seed == vote.assignment.order_seed == seeds[vote.assignment.enrollment_id]
        for vote in Vote.objects.select_related("assignment")
    )


@pytest.mark.django_db
def test_a_story_that_becomes_free_behind_somebody_is_served_to_them_in_the_end() -> None:
    study = builders.make_study(stories=3, votes_per_story=1, serving_order=Study.ServingOrder.OWN)
    anna, bela = builders.qualified(study, 2)
    held = builders.claim(bela, now=NOW)
    met = everything(anna)
    assert (len(met), held.story.story_id in met) == (2, False)
    actions.skip_story(assignment_id=held.pk, enrollment=bela, reason="unclear", now=NOW)
    assert everything(anna) == [held.story.story_id]


@pytest.mark.django_db
def test_the_order_may_change_while_the_study_is_open_and_votes_say_which_it_was() -> None:
    study = builders.make_study(stories=6, serving_order=Study.ServingOrder.OWN)
    (anna,) = builders.qualified(study)
    held = builders.claim(anna, now=NOW)
    actions.change_study(study=study, changes={"serving_order": Study.ServingOrder.STARTED}, by=None, now=NOW)
    first = actions.record_vote(
        assignment_id=held.pk, enrollment=anna, submitted=builders.ALL_YES, now=NOW
    ).vote
    second = builders.vote(anna, now=NOW).vote
    assert first.order_seed is not None
    assert (second.order_seed, second.option_seed) == (None, None)


@pytest.mark.django_db
def test_options_keys_and_right_answers_follow_the_drawn_order(client: Client) -> None:
    study = builders.make_study(
        stories=2, qualification=1, option_order=Study.OptionOrder.PERSON, serving_order="started"
    )
    people = builders.invite(study, 8)
    odd = next(person for person in people if (person.option_seed or 0) % 2)
    browser = arrive(odd)
    browser.press("I agree")
    browser.open(browser.url.replace("instructions/", ""))
    browser.press("Start the test")
    assert shown(browser.document) == [("no", "1"), ("possibly", "2"), ("yes", "3")]
    browser.press("Save", **builders.ALL_YES)
    browser.press("Hand in")
    assert browser.heading == "You passed"
    browser.open(browser.document.xpath("//a[contains(@class, 'button')]/@href")[0])
    assert shown(browser.document) == [("no", "1"), ("possibly", "2"), ("yes", "3")]
    browser.press("Save", **builders.ALL_YES)
    vote = Vote.objects.get()
    assert vote.option_seed == odd.option_seed
    assert set(vote.answers.values_list("option", flat=True)) == {"yes"}

    even = next(person for person in people if not (person.option_seed or 0) % 2)
    builders.take_test(builders.consent(even))
    assert shown(arrive(even).document) == [("yes", "1"), ("possibly", "2"), ("no", "3")]


def shown(document: html.HtmlElement) -> list[tuple[str, str]]:
    return [(one.get("value"), one.get("data-key")) for one in document.xpath("//input[@name='q1']")]


def test_a_questions_own_choices_take_any_order() -> None:
    protocol = get_protocol("multiple-choice")
    item = protocol.parse(
        {
            "config": "c",
            "story": "s",
            "question": "q?",
            "choices": {"text": ["one", "two", "three"], "label": ["A", "B", "C"]},
            "answerKey": "A",
        }
    )
    orders = {
        tuple(
            option.option.key
            for option in question_fields(protocol, item, option_seed=seed)[0].rows[0].options
        )
        for seed in range(200)
    }
    assert len(orders) == 6


@pytest.mark.django_db
def test_the_order_of_options_is_settled_in_the_draft() -> None:
    study = builders.make_study(opened=False)
    actions.change_study(study=study, changes={"option_order": "person"}, by=None, now=NOW)
    actions.open_study(study=study, by=None, now=NOW)
    with pytest.raises(InvalidStudy, match="opened"):
        actions.change_study(study=study, changes={"option_order": "fixed"}, by=None, now=NOW)
