"""How a release is cited: BibTeX, CITATION.cff and a line of text agree, whatever people are called."""

from __future__ import annotations

import dataclasses
import re

import jsonschema
import pytest
import yaml
from hypothesis import given, settings

from publishing.card.citation import Citation, citation, citation_cff, read_citation, split_name
from publishing.card.markdown import one_line
from publishing.facts import Statement
from tests.publishing.test_builder import FACTS
from tests.publishing.test_card import SAID
from tests.publishing.test_card_texts import SAVABLE

CFF = {
    "type": "object",
    "additionalProperties": False,
    "required": ["authors", "cff-version", "message", "title"],
    "properties": {
        "cff-version": {"const": "1.2.0"},
        "message": {"type": "string", "minLength": 1},
        "type": {"enum": ["dataset", "software"]},
        "title": {"type": "string", "minLength": 1},
        "version": {"type": "string", "minLength": 1},
        "abstract": {"type": "string", "minLength": 1},
        "date-released": {"type": "string", "pattern": "^[0-9]{4}-(0[1-9]|1[012])-(0[1-9]|[12][0-9]|3[01])$"},
        "license": {"enum": ["CC-BY-4.0", "CC0-1.0"]},
        "doi": {"type": "string", "pattern": r"^10\.\d{4,9}(\.\d+)?/[A-Za-z0-9:/_;\-\.\(\)\[\]\\]+$"},
        "url": {"type": "string", "pattern": "^(https|http|ftp|sftp)://.+"},
        "authors": {
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {
                "anyOf": [
                    {
                        "additionalProperties": False,
                        "required": ["name"],
                        "properties": {"name": {"type": "string", "minLength": 1}},
                    },
                    {
                        "additionalProperties": False,
                        "properties": {
                            "family-names": {"type": "string", "minLength": 1},
                            "given-names": {"type": "string", "minLength": 1},
                        },
                    },
                ]
            },
        },
    },
}
"""The part of the schema of CFF 1.2.0 that our files use."""

facts = dataclasses.replace(FACTS, statement=SAID)


def test_the_three_forms() -> None:
    made = citation(facts)
    assert made.bibtex() == (
        "@misc{pilot-1,\n"
        "  author = {Lovelace, Ada and {The Boxes Group}},\n"
        "  title = {{A pilot}},\n"
        "  year = {2026},\n"
        "  doi = {10.5281/zenodo.1234},\n"
        "  url = {https://example.org/boxes},\n"
        "  note = {Dataset, study pilot, release 1}\n"
        "}"
    )
    assert made.apa() == (
        "Lovelace, A., & The Boxes Group. (2026). A pilot (Release 1) [Data set]. "
        "https://doi.org/10.5281/zenodo.1234"
    )
    document = yaml.safe_load(citation_cff(facts))
    jsonschema.validate(document, CFF)
    assert document["authors"] == [
        {"family-names": "Lovelace", "given-names": "Ada"},
        {"name": "The Boxes Group"},
    ]
    assert document["license"] == "CC-BY-4.0"


def test_a_study_without_creators_stands_for_itself() -> None:
    made = citation(FACTS)
    assert made.apa() == "The study pilot. (2026). A pilot (Release 1) [Data set]."
    jsonschema.validate(yaml.safe_load(citation_cff(FACTS)), CFF)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Lovelace, Ada", ("Lovelace", "Ada")),
        ("  Lovelace ,  Ada  M. ", ("Lovelace", "Ada M.")),
        ("The Group", ("The Group", "")),
        ("Smith,", ("Smith,", "")),
        (", Ada", (", Ada", "")),
    ],
)
def test_names(name: str, parts: tuple[str, str]) -> None:
    assert split_name(name) == parts


@pytest.mark.parametrize(
    "doi", ["10.1/x", "https://doi.org/10.5281/zenodo.1", "10.5281/a b", "10.5281/a\n", "x"]
)
def test_what_is_no_doi_is_left_out(doi: str) -> None:
    assert citation(dataclasses.replace(FACTS, statement=Statement(doi=doi))).doi == ""


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "example.org", "https://e.org/a b", 'https://e.org/"', "http://{"]
)
def test_what_is_no_web_address_is_left_out(url: str) -> None:
    assert citation(dataclasses.replace(FACTS, statement=Statement(url=url))).url == ""


@settings(max_examples=20)
@given(title=SAVABLE, said=SAVABLE, name=SAVABLE, other=SAVABLE)
def test_no_text_of_people_breaks_a_citation(title: str, said: str, name: str, other: str) -> None:
    odd = dataclasses.replace(
        FACTS,
        title=title,
        description=said,
        license=other,
        statement=Statement(creators=(name, f"{name}, {other}", other), url=said, doi=other),
    )
    written = citation_cff(odd)
    document = yaml.safe_load(written)
    jsonschema.validate(
        {**document, "authors": [*map(dict, {tuple(a.items()) for a in document["authors"]})]}, CFF
    )
    assert document["title"] == (one_line(title) or "pilot")
    made = citation(odd)
    assert read_citation(written, slug="pilot") == made
    _assert_one_entry(made)


def _assert_one_entry(made: Citation) -> None:
    entry = made.bibtex()
    depth = 0
    for place, sign in enumerate(entry):
        depth += (sign == "{") - (sign == "}")
        assert depth > 0 or place in (*range(5), len(entry) - 1)
    assert depth == 0
    assert "`" not in entry
    fields = re.findall(r"^  (\w+) = \{", entry, re.MULTILINE)
    assert [name for name in fields if name not in ("doi", "url")] == ["author", "title", "year", "note"]
    assert len(entry.splitlines()) == len(fields) + 2
    assert "\n" not in made.apa()


def test_a_line_is_the_same_whatever_python_knows_of_unicode_and_turns_no_text_around() -> None:
    assert one_line("a\u202e\u2066b\u2069 \x00\x1b\ufffe\U0010ffff\ud800 c\x85\n\td") == "ab c d"
    new, unassigned = "\U0001fae9", "\U000e0fff"  # Unicode 16, and nothing yet
    assert one_line(f"{new}{unassigned}") == f"{new}{unassigned}"
    assert one_line("שלום\u200f!") == "שלום\u200f!"  # a mark belongs to the text
