"""Configurations, rounds and answer keys: read, or refused with every problem in words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given

from dashboard.settings.configuration import InvalidConfiguration, Reader, parse_configuration
from tests import builders
from tests.fuzz.near_valid import as_json, changed, fuzzed, wounded

KEY = {
    "stories": {"test_00000_sev1": builders.ACCEPTED},
    "reasons": {"test_00000_sev1": {"q1": "It happens."}},
    "notes": {"test_00000_sev1": "A note."},
    "note": "About all of them.",
    "enough": 1,
    "must_pass": ["test_00000_sev1"],
}
ROUND = {
    "title": "The test",
    "kind": "test",
    "attempts": 2,
    "stories": [builders.story_row(0, prefix="test")],
    "key": KEY,
    "pays_on_fail": True,
}
STUDY: dict[str, Any] = {
    "title": "A study",
    "contact": "study@example.org",
    "consent": "We store your answers.",
    "description": "About stories.",
    "pay_rate": "15.00",
    "currency": "GBP",
    "votes_per_story": 3,
    "story_cap": 20,
    "lease_minutes": 30,
    "serving_seed": 7,
    "story_language": "en",
    "qualification": [ROUND],
    "checks": {
        "every": 5,
        "stories": [builders.story_row(1, prefix="check")],
        "key": {"check_00001_sev1": builders.ACCEPTED},
    },
    "design": {"by": "severity", "load": {"1": 2}},
    "instructions": {"page": "Read.", "examples": {"q1": "Like this."}},
    "statement": {"creators": ["Ada"], "purpose": "Science"},
    "join_link": {"parameter": "participant", "return_url": "https://example.org/?c={code}"},
}
GOOD = as_json(STUDY)


def refused_or_read(content: bytes) -> None:
    for read in (
        lambda: parse_configuration(content, name="study.json"),
        lambda: Reader("round.json", None).read_round(content),
    ):
        try:
            read()
        except InvalidConfiguration as error:
            problems = str(error)
            problems.encode()


@given(content=wounded(GOOD))
@fuzzed(30)
def test_no_wound_of_a_configuration_is_too_much(content: bytes) -> None:
    refused_or_read(content)


@given(document=changed(STUDY))
@example(document={})
@fuzzed(30)
def test_no_value_in_a_configuration_is_too_much(document: Any) -> None:
    refused_or_read(as_json(document))


def test_every_problem_is_told_once() -> None:
    with pytest.raises(InvalidConfiguration) as refused:
        parse_configuration(b"{}", name="study.json")
    assert refused.value.problems == [f"{name}: is missing." for name in ("title", "contact", "consent")]


@given(document=changed(ROUND))
@fuzzed(20)
def test_no_value_in_a_round_is_too_much(document: Any) -> None:
    refused_or_read(as_json(document))
