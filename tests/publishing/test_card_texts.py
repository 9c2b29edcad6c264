"""No text of people can reshape a card, a chart or the page that shows them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings, strategies as st
from markdown_it import MarkdownIt

from publishing.card.figures import Bar, Group, bar_chart, figures
from publishing.card.html import rendered
from publishing.card.markdown import decimal, listed, one_line, paragraphs
from publishing.facts import Statement
from tests.publishing.test_builder import FACTS
from tests.publishing.test_card import front_matter, known

# Texts of people --------------------------------------------------------------------------------------

PIECES = (
    "# ", "\n", "\n\n", "---\n", "| a | b |\n", "`", "```\n", "<b>", "&amp;", "[x](http://e.example)",
    "![x](y)", "1. ", "- ", "> ", "    ", "\\", "{", "}", "%", '"', "'", "$x$", "*", "_", "~", "]]>",
    "</svg>", "<!--", ": ", "!!python", "\x0b", "\x85", "\u2028", "\ufeff", "\x07", "\U0001f600", "é",
    "@misc{a,", " and ", ",",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=12).map("".join)
"""Whatever the database can hold, and above all what means something to a format."""
SAVABLE = TEXTS.filter(lambda value: "\x00" not in value)


def shape(card: str) -> list[tuple[str, str]]:
    """The blocks and spans of a card, without what they say."""
    body = card.split("\n---\n", 1)[1]
    tokens = MarkdownIt("commonmark").enable("table").enable("strikethrough").parse(body)
    return [*_shape(tokens)]


def _shape(tokens: list[Any]) -> Iterator[tuple[str, str]]:
    for token in tokens:
        if token.type not in ("text", "text_special"):
            yield token.type, token.tag
        yield from _shape(token.children or [])


@settings(max_examples=12)
@given(title=SAVABLE, said=SAVABLE, name=SAVABLE)
def test_no_text_of_people_reshapes_the_card(title: str, said: str, name: str) -> None:
    made, plain = deepcopy(known()), known()
    statement = Statement(creators=(f"x{name}",), url=said, doi=name, **dict.fromkeys(_PROSE, f"x{said}"))
    for document in (made.statistics["by_scenario"], made.statistics["by_generator_model"]):
        for key in [*document]:
            document[f"{key}{name}"] = document.pop(key)
    made.guesses["configs"]["behavior-qa"]["cues"][0]["text"] = name
    facts = dataclasses.replace(
        FACTS, title=f"x{title}", description=said, license=f"x{name}", statement=statement
    )
    card = made.written(facts)
    same = {key: "\n\n".join(["x"] * len(paragraphs(f"x{said}"))) for key in _PROSE}
    ordinary = plain.written(
        dataclasses.replace(
            FACTS,
            description="\n\n".join(["x"] * len(paragraphs(said))),
            license="x",
            statement=Statement(creators=("x",), **same),
        )
    )
    assert shape(card) == shape(ordinary)
    assert front_matter(card)["pretty_name"] == one_line(f"x{title}")
    assert front_matter(card).keys() == front_matter(ordinary).keys()


_PROSE = (
    "motivation", "platform", "demographics", "sensitive_information", "biases", "limits", "intended_use",
    "social_impact",
)  # fmt: skip


@settings(max_examples=12)
@given(title=SAVABLE, label=SAVABLE, figure=SAVABLE)
def test_no_text_of_people_reshapes_a_chart(title: str, label: str, figure: str) -> None:
    chart = bar_chart(title, [Group(label, (Bar(label, 0.5, figure, (0.4, 0.6)),))], mark=0.5)
    root = ElementTree.fromstring(chart)  # noqa: S314 (written by us a line above)
    assert [element.tag.rpartition("}")[2] for element in root.iter()] == [
        "svg", "title", "desc", "style", "rect",
        "text", "text", "text", "rect", "rect", "path", "path", "text",
    ]  # fmt: skip
    assert (root[0].text or "") == one_line(title)


NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@settings(max_examples=12)
@given(card=SAVABLE)
def test_no_card_brings_markup_into_the_page(card: str) -> None:
    html = NOT_IN_XML.sub("", rendered(card, lambda path: None).html)
    root = ElementTree.fromstring(f"<body>{html}</body>")  # noqa: S314 (well-formed, or the test fails)
    allowed = {
        "body", "p", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em",
        "strong", "a", "hr", "br", "table", "thead", "tbody", "tr", "th", "td", "div",
    }  # fmt: skip
    for element in root.iter():
        assert element.tag in allowed
        assert not {name for name in element.attrib if name.startswith("on") or name == "style"}
        assert not element.get("href", "").lower().startswith(("javascript:", "data:", "vbscript:", "file:"))


# Charts -----------------------------------------------------------------------------------------------


def test_charts_show_the_figures_of_the_documents_and_tell_them() -> None:
    drawn = figures(known().statistics, known().guesses, None)
    assert sorted(drawn) == [
        "figures/agreement.svg",
        "figures/machine-validation.svg",
        "figures/retention.svg",
    ]
    root = ElementTree.fromstring(drawn["figures/retention.svg"])  # noqa: S314 (our own)
    texts = ["".join(element.itertext()) for element in root.iter() if element.tag.endswith("text")]
    assert "12 of 21, 57 %" in texts
    assert "scenario 0, 12 of 21, 57 %" in (root[1].text or "")
    assert figures(known().statistics, known().guesses, None) == drawn


def test_a_bar_is_as_long_as_its_share() -> None:
    whole, half, none = (bar_chart("", [Group("", (Bar("", share, ""),))]) for share in (1.0, 0.5, None))
    lengths = [
        [float(element.get("width", "0")) for element in ElementTree.fromstring(chart).iter()  # noqa: S314 (our own)
         if element.get("class") == "bar"]
        for chart in (whole, half, none)
    ]  # fmt: skip
    assert lengths[0][0] == 2 * lengths[1][0] > 0
    assert lengths[2] == []


def test_charts_with_many_groups_show_the_largest() -> None:
    group = known().statistics["stories"]
    many = {f"scenario {number:03d}": {**group, "generated": 100 + number} for number in range(40)}
    drawn = figures({**known().statistics, "by_scenario": many}, {"configs": {}}, None)[
        "figures/retention.svg"
    ].decode()
    assert "the 24 largest of 40" in drawn
    assert ">scenario 039<" in drawn
    assert ">scenario 000<" not in drawn


def test_rendering_shows_the_releases_own_pictures_only() -> None:
    card = "---\na: b\n---\n\n# T\n\n## One\n\n![chart](figures/a.svg) ![far](https://e.example/x.svg)\n"
    made = rendered(card, {"figures/a.svg": "/files/a.svg"}.get)
    assert 'src="/files/a.svg"' in made.html
    assert "e.example" not in made.html
    assert made.sections == (("card-1", "One"),)
    assert '<h3 id="card-1">One</h3>' in made.html
    assert "<h1" not in made.html


def test_a_number_that_rounds_to_zero_has_no_sign() -> None:
    assert [decimal(value) for value in (-0.004, 0.004, -0.006, 1)] == ["0.00", "0.00", "-0.01", "1.00"]


@pytest.mark.parametrize(
    ("items", "sentence"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_listed(items: list[str], sentence: str) -> None:
    assert listed(items) == sentence
