"""Warnings: each is given for what it names, and not for what only looks like it."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.protocols.base import Finding
from annotation.protocols.validity.item import join_story
from annotation.protocols.validity.lint import lint, text_for_duplicates
from tests.annotation.importing.samples import STORY_ROW, stories_in, with_


def findings(**changes: Any) -> list[Finding]:
    row = with_(STORY_ROW, **changes)
    return lint(stories_in(with_(row, story=join_story(row["key_information"], row["story_sentence"])))[0])


def test_a_plain_story_has_no_warning() -> None:
    assert findings() == []


WARNED: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "three-sentences": (
        {"key_information": "The jar is old. It holds syrup."},
        "not_two_sentences",
        "key_information",
        "starts at “It holds syrup.”",
    ),
    "sentence-after-a-quote": (
        {"story_sentence": "Nadia says “thanks.” Then she pays."},
        "not_two_sentences",
        "story_sentence",
        "starts at “Then she pays.”",
    ),
    "sentence-after-an-abbreviation": (
        {"story_sentence": "Dr. Nadia Ali buys the jar. She pays."},
        "not_two_sentences",
        "story_sentence",
        "starts at “She pays.”",
    ),
    "open-end": (
        {"story_sentence": "Nadia takes the jar,"},
        "not_two_sentences",
        "story_sentence",
        "ends in “,”",
    ),
    "believes": (
        {"story_sentence": "Nadia believes the label and goes to the till."},
        "mental_state_word",
        "story_sentence",
        "“believes”",
    ),
    "thinks": ({"story_sentence": "Nadia thinks of tea."}, "mental_state_word", "story_sentence", "“thinks”"),
    "knew": ({"story_sentence": "Nadia knew the shop."}, "mental_state_word", "story_sentence", "“knew”"),
    "knows-in-the-key-information": (
        {"key_information": "The grocer knows that the jar holds syrup."},
        "mental_state_word",
        "key_information",
        "“knows”",
    ),
    "unaware": (
        {"story_sentence": "Unaware, Nadia pays."},
        "mental_state_word",
        "story_sentence",
        "“unaware”",
    ),
    "sees": ({"story_sentence": "Nadia sees the jar."}, "percept_word", "story_sentence", "“sees”"),
    "notices": ({"story_sentence": "Nadia notices the jar."}, "percept_word", "story_sentence", "“notices”"),
    "spots-something": (
        {"story_sentence": "Nadia spots the jar."},
        "percept_word",
        "story_sentence",
        "“spots”",
    ),
    "secretly-and-hidden": (
        {"key_information": "The grocer secretly added a hidden syrup."},
        "give_away_word",
        "key_information",
        "“secretly”, “hidden”",
    ),
    "actually": (
        {"key_information": "It is actually syrup."},
        "give_away_word",
        "key_information",
        "“actually”",
    ),
    "in-fact": (
        {"key_information": "It is, in fact, syrup."},
        "give_away_word",
        "key_information",
        "“in fact”",
    ),
    "unknown-to": (
        {"key_information": "Unknown to Nadia, it is syrup."},
        "give_away_word",
        "key_information",
        "“unknown to”",
    ),
    "person-x-not-named": (
        {"story_sentence": "A customer takes the jar to the till."},
        "person_x_not_named",
        "story_sentence",
        "“Nadia”",
    ),
    "owner-of-person-x": (
        {"entities": {"Person X": "Nadia's sister"}},
        "person_x_not_named",
        "story_sentence",
        "“Nadia's sister”",
    ),
    "part-of-a-longer-word": (
        {"entities": {"Person X": "Al"}, "story_sentence": "All walk to the till."},
        "person_x_not_named",
        "story_sentence",
        "“Al”",
    ),
    "action-in-the-story": (
        {"story_sentence": "Nadia pays for the jar of honey at the till."},
        "action_in_story",
        "action_unaware",
        "“pay”, “honey”",
    ),
    "other-action-in-the-story": (
        {"story_sentence": "Nadia is asking for money back."},
        "action_in_story",
        "action_aware",
        "“ask”, “money”",
    ),
    "lengths": (
        {"action_unaware": "pay", "action_aware": "ask for her money back"},
        "action_lengths_differ",
        "action_aware",
        "Action A has 1 words and action B 5",
    ),
    "lengths-the-other-way": (
        {"action_unaware": "pay for the honey and leave the shop", "action_aware": "shout"},
        "action_lengths_differ",
        "action_unaware",
        "Action A has 8 words",
    ),
}


def test_a_warning_names_the_field_and_quotes_the_words(subtests: pytest.Subtests) -> None:
    for case in WARNED:
        with subtests.test(case):
            changes, code, field, words = WARNED[case]
            [finding] = findings(**changes)
            assert (finding.code, finding.field) == (code, field)
            assert words in finding.message


FINE: dict[str, dict[str, Any]] = {
    "abbreviations": {"story_sentence": "Nadia meets Dr. Smith of St. Mary at 5 p.m. Monday at the till."},
    "initials": {"story_sentence": "Nadia passes J. Smith on her way to the till."},
    "decimal": {"key_information": "The jar holds 0.5 litres of syrup"},
    "ellipsis-in-the-middle": {"story_sentence": "Nadia stops ... then walks to the till."},
    "a-notice": {"key_information": "There is a notice under the jar"},
    "the-saw": {"key_information": "The saw is rusty"},
    "rust-spots": {"key_information": "Wax covers rust spots on the lid"},
    "hearing-aid": {"key_information": "The hearing aid is empty"},
    "well-known": {"key_information": "The well known honey is syrup"},
    "known-for": {"key_information": "The shop is known for its syrup"},
    "seesaw": {"key_information": "The seesaw is broken"},
    "first-name": {"entities": {"Person X": "Nadia Ali, a cook"}},
    "bracketed": {"entities": {"Person X": "the cook (Nadia)"}},
    "group": {"entities": {"Person X": "potential buyers"}, "story_sentence": "The grocer calls the buyers."},
    "relation": {"entities": {"Person X": "Tom's sister"}, "story_sentence": "His sister takes the jar."},
    "possessive": {"story_sentence": "Nadia's trolley is at the till."},
    "same-object-other-deed": {
        "entities": {"Person X": "Nadia", "Object Z": "anti-aging cream"},
        "story_sentence": "Nadia picks up the anti-aging cream.",
        "action_unaware": "buy the anti-aging cream",
    },
    "three-words-longer": {"action_unaware": "pay", "action_aware": "ask the grocer why"},
}


def test_what_only_looks_like_a_fault_is_not_warned_of(subtests: pytest.Subtests) -> None:
    for case in FINE:
        with subtests.test(case):
            assert findings(**FINE[case]) == []


def duplicate_text(**changes: Any) -> str:
    row = with_(STORY_ROW, **changes)
    return text_for_duplicates(stories_in(with_(row, story=None))[0])


def test_names_and_pronouns_do_not_count_for_duplicates() -> None:
    other = duplicate_text(
        entities={"Person X": "Tom Reed", "Object Z": "a jar of honey"},
        story_sentence="Tom Reed puts the jar in his trolley and walks to the till.",
    )
    assert other == duplicate_text()
    assert "person puts the jar in their trolley" in other


def test_things_do_count_for_duplicates() -> None:
    assert duplicate_text(key_information="The jam jar holds coloured syrup") != duplicate_text()


def test_a_name_inside_a_longer_word_stays() -> None:
    text = duplicate_text(
        entities={"Person X": "Al"}, story_sentence="Al also takes the aluminium jar to John's stall."
    )
    assert "person also takes the aluminium jar to john s stall" in text


def test_longer_names_go_first() -> None:
    text = duplicate_text(
        entities={"Person X": "John's classmate", "Person Y": "John"},
        story_sentence="John's classmate greets John.",
    )
    assert text.endswith("person greets person")
