"""Words, several options, optional and dependent questions, and tables to which people add rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.protocols import get_protocol
from annotation.protocols.base import IncompleteForm, Instructions, Part, Protocol
from annotation.protocols.questions import Choice, Option, Question, SeveralOf, Text

YES_NO = (Option("yes", "yes"), Option("no", "no"))


class Inspection(Protocol):
    """A form with every kind of answer."""

    name, version, title = "form", "1", "Form"
    questions = (
        Question("fits", "Fits", "Does it fit?", YES_NO),
        Text("why", "Why", "Why not?", longest=20, only_after=("fits", ("no",))),
        SeveralOf("seen", "Seen", "What is there?", choices=(Option("cat", "a cat"), Option("dog", "a dog"))),
        Question("mood", "Mood", "Which mood?", YES_NO, optional=True),
        Text("note", "Note", "Anything else?", optional=True),
    )
    instructions = Instructions((), ())

    def parse(self, content: Mapping[str, Any]) -> Any:
        return content

    def parts(self, item: Any) -> tuple[Part, ...]:
        return ()

    def read(self, rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
        return iter(())


FORM, LISTS = Inspection(), get_protocol("belief-extraction")
SEEN = [Choice("seen", "cat", "no"), Choice("seen", "dog", "no")]


def read(**given: str) -> list[Choice]:
    return list(FORM.read_form({}, {name.replace("_", "."): value for name, value in given.items()}))


def refused(protocol: Protocol, form: dict[str, str]) -> dict[str, str]:
    item = protocol.parse({"story": "Bo sees it."})
    with pytest.raises(IncompleteForm) as caught:
        protocol.read_form(item, form)
    return caught.value.errors


def test_what_is_optional_or_not_asked_may_be_left_open() -> None:
    assert read(fits="yes") == [Choice("fits", "", "yes"), *SEEN]


def test_a_question_is_asked_after_an_answer_only() -> None:
    assert read(fits="yes", why="it was sent all the same") == [Choice("fits", "", "yes"), *SEEN]
    assert [*refused(FORM, {"fits": "no"})] == ["why"]
    assert Choice("why", "", "too odd") in read(fits="no", why="  too \n odd ")


def test_words_are_kept_on_one_line_and_have_a_limit() -> None:
    assert Choice("note", "", "a b") in read(fits="yes", note="a\x00\tb\u2028")
    assert "20 characters" in refused(FORM, {"fits": "no", "why": "x" * 21})["why"]
    assert not [one for one in read(fits="yes", note=" \t ") if one.question == "note"]


def test_several_options_are_a_yes_or_a_no_each() -> None:
    assert read(fits="yes", seen_dog="yes")[1:] == [Choice("seen", "cat", "no"), Choice("seen", "dog", "yes")]
    assert [*refused(FORM, {"fits": "yes", "seen.dog": "maybe"})] == ["seen.dog"]


def test_words_never_count_against_an_item() -> None:
    assert not FORM.counts_against({}, Choice("note", "", "yes"))


@pytest.mark.parametrize("longest", [0, 1001])
def test_words_have_a_sensible_limit(longest: int) -> None:
    with pytest.raises(ValueError, match="1 to 1000"):
        Text("note", "Note", "Anything?", longest=longest)


def test_a_begun_row_is_filled_and_a_list_is_not_empty() -> None:
    assert {*refused(LISTS, {})} == {"actor.01", "belief.01"}
    begun = {"actor.01": "Bo", "belief.01": "It is here.", "belief.03": "It rains."}
    assert {*refused(LISTS, begun)} == {"actor.03"}


@settings(max_examples=25)
@given(st.sets(st.integers(2, 40), max_size=12))
def test_rows_may_be_left_out_between_others(numbers: set[int]) -> None:
    rows = {f"{number:02}" for number in numbers} | {"01"}
    form = {f"{question}.{row}": f"{question} {row}" for row in rows for question in ("actor", "belief")}
    choices = LISTS.read_form(LISTS.parse({"story": "Bo sees it."}), form)
    assert {choice.field: choice.option for choice in choices} == form
