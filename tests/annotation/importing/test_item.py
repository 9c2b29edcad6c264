"""The typed item, and the rule that joins its two sentences."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from annotation.protocols.validity.item import is_story_of, join_story, parse
from tests.annotation.importing.samples import STORY_ROW, with_, without

JOINED = {
    "both-have-full-stops": ("A jar.", "Ann waits.", "A jar. Ann waits."),
    "neither-has": ("A jar", "Ann waits", "A jar. Ann waits."),
    "other-ends-stay": ("A jar!", "Does Ann wait?", "A jar! Does Ann wait?"),
    "comma-and-semicolon-stay": ("A jar,", "Ann waits;", "A jar, Ann waits;"),
    "a-quote-mark-is-no-end": ('A sign "sale."', "Ann waits.", 'A sign "sale.". Ann waits.'),
    "a-colon-is-no-end": ("A jar:", "Ann waits.", "A jar:. Ann waits."),
    "space-around": (" A jar ", "\nAnn waits. ", "A jar. Ann waits."),
}


def test_join_story(subtests: pytest.Subtests) -> None:
    for case in JOINED:
        with subtests.test(case):
            first, second, story = JOINED[case]
            assert join_story(first, second) == story


PARTS = st.text(min_size=1, max_size=30).map(str.strip).filter(bool)


@settings(max_examples=25)
@given(PARTS, PARTS)
def test_a_joined_story_is_always_recognized(first: str, second: str) -> None:
    story = join_story(first, second)
    assert story.startswith(first)
    assert story.rstrip(".").endswith(second.rstrip("."))
    assert is_story_of(story, first, second)
    assert is_story_of(f"{first} {second}", first, second)
    assert join_story(*(part + "." for part in (first, second))) == f"{first}. {second}."
    assert not is_story_of(f"{story} More.", first, second)


def test_an_item_that_is_parsed_and_written_is_the_same() -> None:
    content = without(STORY_ROW, "story_id", "core_id")
    item = parse(content)
    assert {name: getattr(item, name) for name in item.__slots__} == {
        name: content[name] for name in item.__slots__
    }
    assert item.person_x == "Nadia"


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no-entities": ({"entities": None}, "entities"),
    "entities-of-numbers": ({"entities": {"Person X": 1}}, "entities"),
    "no-person-x": ({"entities": {"Person Y": "Ann"}}, "Person X"),
    "empty-text": ({"question": ""}, "question"),
    "number": ({"action_aware": 3}, "action_aware"),
    "null": ({"story": None}, "story"),
}


def test_content_that_is_no_item_is_refused_by_the_field(subtests: pytest.Subtests) -> None:
    for case in BAD:
        with subtests.test(case):
            changes, field = BAD[case]
            with pytest.raises(ValueError, match=field):
                parse(with_(STORY_ROW, **changes))
