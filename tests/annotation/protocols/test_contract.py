"""What a protocol states is enough: no other code asks which protocol it is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from annotation.protocols import all_protocols, stated_by
from annotation.protocols.base import Protocol
from publishing.files.rows import ITEMS_ONLY, LAYOUTS, THEORY_OF_MIND, layout_for

ROOT = Path(__file__).resolve().parents[3]
ROOMS = (
    "accounts", "annotation", "qualification", "recruitment", "publishing", "dashboard", "api", "integrity",
    "crowd", "operations",
)  # fmt: skip


@pytest.mark.parametrize("protocol", all_protocols().values(), ids=all_protocols())
def test_every_protocol_states_a_layout_that_releases_have(protocol: Protocol) -> None:
    assert protocol.layout in LAYOUTS
    assert all(str(word) for word in (protocol.words.one, protocol.words.introduction))


def test_a_layout_follows_from_what_the_protocol_states() -> None:
    assert layout_for("validity") is THEORY_OF_MIND
    assert layout_for("multiple-choice") is layout_for("not-installed") is ITEMS_ONLY
    assert stated_by("not-installed") is Protocol


def test_a_scored_question_is_one_of_the_questions_and_its_right_option_is_offered() -> None:
    scored = [protocol for protocol in all_protocols().values() if protocol.scored]
    assert scored
    for protocol in scored:
        question = protocol.question(protocol.scored)
        content = {
            "config": "qa",
            "story": "A tin. A lid.",
            "question": "What next?",
            "choices": {"text": ["open it", "wait"], "label": ["A", "B"]},
            "answerKey": "B",
        }
        offered = [option.key for option in question.options_for(protocol.parse(content))]
        assert protocol.right_option(content) == "b"
        assert "b" in offered
    with pytest.raises(LookupError, match="no right answers"):
        all_protocols()["validity"].right_option({})


def names_compared(source: str, names: set[str]) -> list[str]:
    """Return the comparisons in a module with the name of a protocol, as text."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            listed = [one for side in sides for one in getattr(side, "elts", [])]
            has_key = any(isinstance(operator, ast.In | ast.NotIn) for operator in node.ops)
            compared = listed if has_key else sides
        else:
            compared = [node.value] if isinstance(node, ast.MatchValue) else []
        for side in compared:
            is_name = isinstance(side, ast.Constant) and side.value in names
            if is_name or ast.unparse(side).endswith(".NAME"):
                found.append(ast.unparse(node))
    return found


def test_no_code_outside_the_protocols_tests_for_a_protocols_name() -> None:
    names = set(all_protocols())
    assert names_compared("layout = 1 if name == 'validity' else 2", names)
    assert names_compared("protocol_name != multiple_choice.NAME", names)
    assert names_compared("name in ('validity', 'other')", names)
    assert not names_compared("'ratings' in statistics", names)
    tests = {
        f"{path.relative_to(ROOT)}: {compared}"
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if "protocols" not in path.parts
        for compared in names_compared(path.read_text(encoding="utf-8"), names)
    }
    assert not tests
