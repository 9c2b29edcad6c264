"""Completion codes: the same for the same person and outcome, another for anybody else."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, strategies as st

from recruitment.codes import ALPHABET, CompletionOutcome, completion_code, find_code, normal_form, outcome_of

KEY = "a" * 64
COMPLETED, SCREENED_OUT = CompletionOutcome.COMPLETED, CompletionOutcome.SCREENED_OUT


def test_a_code_is_the_same_whenever_it_is_shown() -> None:
    """Codes that were handed in before an upgrade must still be found after it."""
    assert completion_code(KEY, 7, COMPLETED) == completion_code(KEY, 7, COMPLETED) == "TR3JK-PLHVQ"


def test_nobody_takes_its_letters_for_one_another() -> None:
    assert len(set(ALPHABET)) == len(ALPHABET) == 25
    assert set(ALPHABET) <= set(string.ascii_uppercase + string.digits)
    for alike in ("B8", "I1", "O0", "S5", "UV", "Z2"):
        assert len(set(alike) & set(ALPHABET)) <= 1, alike


def test_another_person_outcome_or_study_gives_another_code() -> None:
    codes = {
        completion_code(key, person, outcome)
        for key in (KEY, "b" * 64)
        for person in range(500)
        for outcome in CompletionOutcome
    }
    assert len(codes) == 2 * 500 * len(CompletionOutcome)


@pytest.mark.parametrize(("stories", "outcome"), [(0, SCREENED_OUT), (1, COMPLETED), (500, COMPLETED)])
def test_whoever_answered_a_story_has_completed(stories: int, outcome: CompletionOutcome) -> None:
    assert outcome_of(stories) == outcome


@given(st.integers(1, 10**9), st.sampled_from(CompletionOutcome))
def test_a_pasted_code_is_read_however_it_was_typed(person: int, outcome: CompletionOutcome) -> None:
    code = completion_code(KEY, person, outcome)
    for pasted in (code, code.lower(), code.replace("-", ""), f"  {code[:3]} {code[3:]}\n"):
        assert normal_form(pasted) == code
        assert find_code(KEY, [person - 1, person, person + 1], pasted) == (person, outcome)


@given(st.text(max_size=30))
def test_no_text_upsets_the_reading(text: str) -> None:
    normal = normal_form(text)
    assert normal == "" or normal_form(normal) == normal


@pytest.mark.parametrize("text", ["", "completed", "AAAAA-AAAAA", "AAAAA-AAAA0", "KXM4Q"])
def test_what_is_no_code_of_anybody_is_not_found(text: str) -> None:
    assert find_code(KEY, range(1, 200), text) is None


def test_somebody_of_another_study_is_not_found() -> None:
    assert find_code("b" * 64, [7], completion_code(KEY, 7, COMPLETED)) is None
