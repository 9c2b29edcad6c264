"""Two releases that differ in one answer differ exactly where that answer shows."""

from __future__ import annotations

from pathlib import Path

from publishing.files.rows import JudgedStory
from tests.publishing.test_builder import CONFIGS, FILES, build, contents, crowd, judged, rows

VOTES = "annotations/votes.jsonl"
CHART = "figures/agreement.svg"
"""Rounded to what can be drawn: it need not change by one answer."""
OF_OTHERS = {
    "annotations/adjudications.jsonl",
    "annotations/incomplete-stories.jsonl",
    "annotations/skips.jsonl",
    "changes.jsonl",
    "parquet/annotations/skips.parquet",
}
"""A complete story that nobody skipped or adjudicated is in none of these in a first release."""


def both(tmp_path: Path, *forms: str) -> set[str]:
    """Builds the release of a crowd, and the one in which story 1 got these votes: the paths that differ."""
    before = crowd(30)
    after: list[JudgedStory] = [before[0], judged(1, *forms), *before[2:]]
    build(tmp_path / "before", before)
    build(tmp_path / "after", after)
    old, new = contents(tmp_path / "before"), contents(tmp_path / "after")
    assert set(old) == set(new) == {*FILES, "MANIFEST"}
    return {path for path in old if old[path] != new[path]}


def different_rows(tmp_path: Path, path: str) -> list[tuple[object, object]]:
    old, new = rows(tmp_path / "before", path), rows(tmp_path / "after", path)
    return [(first, second) for first, second in zip(old, new, strict=True) if first != second]


def test_an_answer_that_changes_no_verdict(tmp_path: Path) -> None:
    changed = both(tmp_path, "yyyy", "pyyy", "ypyy")  # q2 of the second vote was "possibly"
    hashes_and_agreement = {"MANIFEST", "croissant.json", "statistics.json", "README.md"}
    hashes_and_agreement |= {"annotation-report.json"}
    assert changed - {CHART} == {VOTES, "parquet/annotations/votes.parquet", *hashes_and_agreement}
    ((old, new),) = different_rows(tmp_path, VOTES)
    assert old | {"q2": "yes"} == new  # type: ignore[operator]
    assert old["q2"] == "possibly"  # type: ignore[index]


def test_a_no_takes_its_story_out_of_exactly_the_files_it_was_in(tmp_path: Path) -> None:
    changed = both(tmp_path, "yyyy", "npyy", "ypyy")
    same = {*FILES, "MANIFEST"} - changed
    # What annotators were shown, and the charts of what machines guess, need not change by one story.
    shown = {path for path in FILES if path.startswith("instrument/")}
    assert (
        OF_OTHERS
        <= same
        <= {*OF_OTHERS, *shown, "CITATION.cff", "figures/machine-validation.svg", "hard-questions.jsonl"}
    )
    ((old, new),) = different_rows(tmp_path, VOTES)
    assert (old["story_id"], old | {"q1": "no"}) == ("s0001", new)  # type: ignore[index, operator]
    for config in CONFIGS:
        key = "story_id" if config == "story-data" else "id"
        before, after = (
            {row[key]: row for row in rows(tmp_path / place, f"{config}/test.jsonl")}
            for place in ("before", "after")
        )
        (gone,) = set(before) - set(after)
        assert gone.startswith("s0001")
        assert list(after) == [name for name in before if name != gone]
        turned = [name for name, row in after.items() if row != before[name]]
        assert len(turned) <= 1  # what keeps the sides even
        assert all(after[name]["answerKey"] != before[name]["answerKey"] for name in turned)
    dropped = rows(tmp_path / "after", "annotations/dropped-stories.jsonl")
    kept_then = rows(tmp_path / "before", "story-data/test.jsonl")[0]
    assert [row for row in dropped if row["story_id"] == "s0001"] == [kept_then | {"reason": "q1"}]
    assert [row for row in dropped if row["story_id"] != "s0001"] == rows(
        tmp_path / "before", "annotations/dropped-stories.jsonl"
    )
