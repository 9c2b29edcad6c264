"""What a protocol states is enough: no other code asks which protocol it is."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from annotation.importing.rows import SourceRow, StoryRow
from annotation.protocols import all_protocols, stated_by
from annotation.protocols.base import Protocol
from publishing.files.rows import ITEMS_ONLY, LAYOUTS, THEORY_OF_MIND, layout_for
from publishing.statistics.tables import TABLES

ROOT = Path(__file__).resolve().parents[3]
ROOMS = (
    "accounts", "annotation", "qualification", "recruitment", "publishing", "dashboard", "api", "integrity",
    "crowd", "operations",
)  # fmt: skip


def test_every_protocol_states_a_layout_that_releases_have(subtests: pytest.Subtests) -> None:
    for protocol in all_protocols().values():
        with subtests.test(protocol.name):
            assert protocol.layout in LAYOUTS
            assert all(str(word) for word in (protocol.words.one, protocol.words.introduction))


def test_a_layout_follows_from_what_the_protocol_states() -> None:
    assert layout_for("validity") is THEORY_OF_MIND
    assert layout_for("multiple-choice") is layout_for("not-installed") is ITEMS_ONLY
    assert stated_by("not-installed") is Protocol


@pytest.mark.parametrize(
    "protocol",
    [protocol for protocol in all_protocols().values() if protocol.scored],
    ids=lambda one: one.name,
)
def test_right_answers_are_of_rows_and_options_that_the_form_has(protocol: Protocol) -> None:
    rows = [SourceRow("example", 1, json.loads(line)) for line in protocol.example.splitlines()]
    for story in protocol.read(rows):
        assert isinstance(story, StoryRow)
        asked = [
            cell
            for cell in protocol.cells(protocol.parse(story.content))
            if cell.question.key == protocol.scored
        ]
        scored = protocol.scored_rows(story.content)
        assert [row.row for row in scored] == [cell.row.key for cell in asked]
        assert [row.options for row in scored] == [len(cell.options) for cell in asked]
        assert all(row.right in cell.labels and row.kind for row, cell in zip(scored, asked, strict=True))


def test_statistics_are_known_and_of_rows_and_options_that_the_form_has(subtests: pytest.Subtests) -> None:
    for protocol in all_protocols().values():
        with subtests.test(protocol.name):
            assert {*protocol.statistics} <= {*TABLES, "accuracy"}
            lines = protocol.example.splitlines() if protocol.statistics else []
            for story in protocol.read(SourceRow("example", 1, json.loads(line)) for line in lines):
                assert isinstance(story, StoryRow)
                item = protocol.parse(story.content)
                asked = {cell.key: cell for cell in protocol.cells(item)}
                for row in protocol.scored_rows(story.content):
                    cell = asked[row.question or protocol.scored, row.row]
                    assert row.options == len(cell.options)
                    assert row.right in ("", *cell.labels)
                assert {*protocol.suggested(item)} <= {cell.field for cell in asked.values()}


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
    named = re.compile("|".join((r"\.NAME\b", *(f"[\"']{name}[\"']" for name in names))))
    tests = {
        f"{path.relative_to(ROOT)}: {compared}"
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if "protocols" not in path.parts and named.search(source := path.read_text(encoding="utf-8"))
        for compared in names_compared(source, names)
    }
    assert not tests
