"""Questions answered on a scale: their options, keys and boxes on the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest
from django.template.loader import render_to_string
from lxml import html

from annotation.forms import question_fields
from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.protocols.base import Instructions, Part, Protocol, Section
from annotation.protocols.questions import Option, Question, Scale

CLARITY = Scale(
    key="clarity",
    title="Clarity",
    text="How clear is it?",
    lowest="not at all",
    highest="fully",
    option_order="scale",
)


class Notes(Protocol):
    name, version, title = "notes", "1", "Notes"
    resolution = "mean"
    questions = (CLARITY,)
    instructions = Instructions((Section("Why", ("Because.",)),), ())

    def parse(self, content: Mapping[str, Any]) -> str:
        return str(content["text"])

    def parts(self, item: str) -> tuple[Part, ...]:
        return (Part("text", "Text", item),)

    def read(self, rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
        raise NotImplementedError


def shown(seed: int | None = None, **given: str) -> html.HtmlElement:
    (field,) = question_fields(Notes(), "A note.", option_seed=seed, answered=given)
    return html.fromstring(render_to_string("annotation/_question.html", {"field": field}))


def test_the_options_of_a_scale_are_its_numbers_with_words_at_both_ends() -> None:
    assert [(option.key, option.label, option.hint) for option in CLARITY.options] == [
        ("1", "1", "not at all"), ("2", "2", ""), ("3", "3", ""), ("4", "4", ""), ("5", "5", "fully"),
    ]  # fmt: skip
    assert [option.key for option in Scale("k", "K", "?", low=0, high=3).options] == ["0", "1", "2", "3"]
    assert not any(option.counts_against for option in CLARITY.options)


@pytest.mark.parametrize(("low", "high"), [(-1, 3), (1, 1), (5, 1), (0, 10)])
def test_a_scale_has_two_numbers_or_more_of_one_digit_each(low: int, high: int) -> None:
    with pytest.raises(ValueError, match="a scale goes from"):
        Scale("k", "K", "?", low=low, high=high)


@pytest.mark.parametrize(("seed", "order"), [(None, "12345"), (2, "12345"), (3, "54321")])
def test_the_digit_chooses_the_number_also_where_the_scale_is_turned_round(
    seed: int | None, order: str
) -> None:
    page = shown(seed)
    boxes = page.xpath("//input")
    assert "".join(box.get("value") for box in boxes) == order
    assert all(box.get("data-key") == box.get("value") for box in boxes)
    assert not page.xpath("//kbd")  # the label says it
    ends = [end.text for end in page.xpath("//*[contains(@class,'ends')]/span")]
    assert ends == (["not at all", "fully"] if order == "12345" else ["fully", "not at all"])


@pytest.mark.parametrize(
    ("options", "keys"),
    [(("0", "7"), ["0", "7"]), (("12", "3"), ["1", "2"]), ("abcdefghijk", [*"123456789", "", ""])],
)
def test_a_key_that_chooses_an_option_is_one_digit(options: Iterable[str], keys: list[str]) -> None:
    class Codes(Notes):
        questions = (Question("code", "", "", tuple(Option(key, key) for key in options)),)  # type: ignore[assignment]

    (field,) = question_fields(Codes(), "A note.")
    assert [option.key for option in field.rows[0].options] == keys


def test_the_ends_are_read_out_with_their_numbers() -> None:
    labels = [" ".join(label.text_content().split()) for label in shown().xpath("//label")]
    assert labels == ["1, not at all", "2", "3", "4", "5, fully"]
    assert shown(clarity="4").xpath("//input[@checked]/@value") == ["4"]
