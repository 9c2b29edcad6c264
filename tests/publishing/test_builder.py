"""A whole release directory, built without a database: its bytes, and that others can read it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from annotation.protocols import get_protocol
from annotation.protocols.questions import Choice
from publishing import builder
from publishing.errors import BrokenDirectory, NothingToRelease, TooManyVotes
from publishing.facts import AskedQuestion, People, ReleaseFacts, Statement
from publishing.files import directory, jsonl
from publishing.files.rows import CONTEXT_KEYS, CountedVote, JudgedStory, ReleasedStory
from publishing.filters import get_filter
from publishing.instrument import form_of
from tests.publishing.chunks import chunks_of, question_row
from tests.publishing.test_rows import AWARE, COOKIES, ROW

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
SCALES = {
    "q1": ("yes", "possibly", "no"),
    "q2": ("yes", "possibly", "no"),
    "q3": ("yes", "no"),
    "q4": ("yes", "no"),
}
FORM = form_of(get_protocol("validity"), "en")
INSTRUMENT = {
    "protocol": {"name": "validity", "version": "1"},
    "forms": [FORM, form_of(get_protocol("validity"), "de")],
    "consent": [{"version": 1, "text": "I agree.\n\nIt is paid."}],
    "pay": {"rate": "15.00", "currency": "USD", "before": []},
    "test": None,
}
QUESTIONS = tuple(AskedQuestion(key, f"About {key}", options, ("no",)) for key, options in SCALES.items())
FACTS = ReleaseFacts(
    slug="pilot",
    title="A pilot",
    description="Stories about things\nin boxes.\n\nSecond paragraph.",
    environment="live",
    license="CC-BY-4.0",
    story_language="en",
    protocol_name="validity",
    protocol_version="1",
    protocol_title="Story validity",
    asked=QUESTIONS,
    number=1,
    filter_name="all-agree",
    votes_per_story=3,
    salt="00ff",
    url="https://study.example.org/releases/pilot/1/",
    code_version="0.1.0+abc",
    created=START,
    study_state="closed",
    story_cap=500,
    pay_rate=Decimal("15.00"),
    currency="USD",
    people=People(consented=100, attempted=97, passed=19),
    instrument=INSTRUMENT,
    sources=[
        {"file": "pairs.jsonl", "sha256": "a" * 64, "license": "CC-BY-4.0", "stories": 30},
        {"file": "raw.jsonl", "sha256": "b" * 64, "license": "", "stories": 12},
    ],
)
FILES = [
    "CITATION.cff",
    "README.md",
    "annotation-report.json",
    "annotations/adjudications.jsonl",
    "annotations/dropped-stories.jsonl",
    "annotations/incomplete-stories.jsonl",
    "annotations/skips.jsonl",
    "annotations/votes.jsonl",
    "behavior-qa/test.jsonl",
    "changes.jsonl",
    "croissant.json",
    "figures/agreement.svg",
    "figures/machine-validation.svg",
    "figures/retention.svg",
    "hard-questions.jsonl",
    "instrument/consent-1.md",
    "instrument/form-0-en.md",
    "instrument/instrument.json",
    "judgment-qa/test.jsonl",
    "machine_validation.json",
    "mental-state-qa/test.jsonl",
    "parquet/annotations/skips.parquet",
    "parquet/annotations/votes.parquet",
    "parquet/behavior-qa/test.parquet",
    "parquet/judgment-qa/test.parquet",
    "parquet/mental-state-qa/test.parquet",
    "parquet/story-data/test.parquet",
    "release.json",
    "statistics.json",
    "story-data/test.jsonl",
]
INCOMPLETE = "annotations/incomplete-stories.jsonl"
RATED = [{"predictor_model": "judge-1", "harmfulness": 3}, {"predictor_model": "ü", "harmfulness": 5}]
CONFIGS = ("mental-state-qa", "behavior-qa", "judgment-qa", "story-data")


def judged(number: int, *forms: str, **changes: Any) -> JudgedStory:
    """Story ``number`` with one vote per form; a form is the initials of four options ("ypyn")."""
    story = ReleasedStory(
        story_id=f"s{number:04d}",
        core_id=f"c{number // 3:04d}",
        scenario_name=f"scenario {number % 2}",
        story_prompt_example=None,
        severity_original=number % 3 + 1,
        story_generator_model="model|one" if number % 2 else "model two",
        content={
            "entities": {"Person X": f"Mary {number}", "Object Z": "tin"},
            "key_information": f"Tin {number} has “moss” in it.",
            "story_sentence": "Mary carries it home.",
            "story": f"Tin {number} has “moss” in it. Mary carries it home.",
            "question": "What will Mary likely do next?",
            "action_unaware": f"open tin {number}",
            "action_aware": f"throw tin {number} away",
        },
    )
    options = {"y": "yes", "p": "possibly", "n": "no"}
    votes = tuple(
        CountedVote(
            annotator=f"annotator-{person}a",
            answers=tuple(Choice(key, "", options[letter]) for key, letter in zip(SCALES, form, strict=True)),
            submitted_at=jsonl.timestamp(START + timedelta(minutes=number, seconds=person)),
            seconds_on_task=20.5 + person,
        )
        for person, form in enumerate(forms)
    )
    against = frozenset(c for vote in votes for c in vote.answers if c.option == "no")
    return JudgedStory(dataclasses.replace(story, **changes), votes, against)


def crowd(stories: int) -> list[JudgedStory]:
    """Every third story dropped (by q2, or by q1 and q3), every seventh incomplete, the others kept."""
    made = []
    for number in range(stories):
        if number % 7 == 0:
            made.append(judged(number, "ynyy", "yyyy"))
        elif number % 3 == 0:
            made.append(judged(number, "yyyy", "nyny" if number % 2 else "ynyy", "yyyy"))
        else:
            made.append(judged(number, "yyyy", "ppyy", "ypyy"))
    return made


def build(
    place: Path,
    stories: Iterable[JudgedStory],
    *,
    previous: Path | None = None,
    skips: Iterable[dict[str, Any]] = (),
    revisions: Iterable[dict[str, Any]] = (),
    **changes: Any,
) -> builder.BuiltRelease:
    facts, chunks = dataclasses.replace(FACTS, **changes), chunks_of(stories)
    return builder.build(
        place, facts=facts, chunks=chunks, skips=skips, revisions=revisions, previous=previous
    )


def rows(place: Path, path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place / path).read_text(encoding="utf-8").splitlines()]


def contents(place: Path) -> dict[str, bytes]:
    return {str(p.relative_to(place)): p.read_bytes() for p in place.rglob("*") if p.is_file()}


def test_files_and_rows(tmp_path: Path) -> None:
    place = tmp_path / "1"
    built = build(place, crowd(42))
    assert sorted(contents(place)) == sorted([*FILES, "MANIFEST"])
    assert [file.path for file in sorted(built.files, key=lambda file: file.path)] == FILES
    stories, dropped = rows(place, "story-data/test.jsonl"), rows(place, "annotations/dropped-stories.jsonl")
    votes = rows(place, "annotations/votes.jsonl")
    assert [row["story_id"] for row in stories] == [f"s{n:04d}" for n in range(42) if n % 7 and n % 3]
    assert {row["story_id"]: row["reason"] for row in dropped} == {
        f"s{n:04d}": "q1,q3" if n % 2 else "q2" for n in range(42) if n % 7 and n % 3 == 0
    }
    assert len(votes) == 42 * 3 - 6
    assert list(votes[0]) == ["story_id", "annotator", *SCALES, *CONTEXT_KEYS]
    for config in CONFIGS[:3]:
        asked = rows(place, f"{config}/test.jsonl")
        assert [row["id"].rpartition("_")[0] for row in asked] == [row["story_id"] for row in stories]
        assert abs(2 * sum(row["answerKey"] == "A" for row in asked) - len(asked)) <= 1
    right = {"mental-state-qa": "No", "judgment-qa": "Reasonable"}
    for config, answer in right.items():
        for row in rows(place, f"{config}/test.jsonl"):
            assert (
                dict(zip(row["choices"]["label"], row["choices"]["text"], strict=True))[row["answerKey"]]
                == answer
            )


def test_release_json(tmp_path: Path) -> None:
    built = build(tmp_path / "1", crowd(42))
    description = json.loads((tmp_path / "1" / "release.json").read_bytes())
    assert description == built.description == {
        "study": "pilot",
        "title": "A pilot",
        "description": FACTS.description,
        "statement": dict.fromkeys(
            (item.name for item in dataclasses.fields(Statement)), ""
        ) | {"creators": []},
        "number": 1,
        "environment": "live",
        "study_state": "closed",
        "license": "CC-BY-4.0",
        "url": FACTS.url,
        "story_language": "en",
        "protocol": {"name": "validity", "version": "1"},
        "questions": [
            {"key": key, "title": f"About {key}", "options": list(options), "against": ["no"]}
            for key, options in SCALES.items()
        ],
        "filter": {
            "name": "all-agree",
            "rule": get_filter("all-agree").sentence(3),
            "parameters": {"votes_per_story": 3, "votes_needed": 3},
        },
        "salt": "00ff",
        "medians": description["medians"],
        "counts": {
            "stories": 42,
            "kept": 24,
            "dropped": 12,
            "incomplete": 6,
            "votes": 120,
            "annotators": 3,
            "dropped_by_question": {"q1": 6, "q2": 6, "q3": 6},
            "dropped_by_reason": {"q1,q3": 6, "q2": 6},
        },
        "sources": FACTS.sources,
        "plan": None,
        "previous": None,
        "code_version": "0.1.0+abc",
        "created": "2026-03-01T09:00:00.000Z",
    }  # fmt: skip


def test_two_builds_are_byte_identical(tmp_path: Path) -> None:
    first, second = build(tmp_path / "1", crowd(30)), build(tmp_path / "2", crowd(30))
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert first.manifest_sha256 == second.manifest_sha256


def test_votes_are_in_the_order_of_their_time_and_pseudonym_however_they_come(tmp_path: Path) -> None:
    (story,) = [judged(1, "yyyy", "yyyy", "ypyy")]
    first, second, third = story.votes
    third = third._replace(submitted_at=second.submitted_at)
    for place, votes in enumerate(((first, second, third), (third, second, first))):
        build(tmp_path / str(place), [dataclasses.replace(story, votes=votes)])
    written = rows(tmp_path / "0", "annotations/votes.jsonl")
    assert [row["annotator"] for row in written] == ["annotator-0a", "annotator-1a", "annotator-2a"]
    assert contents(tmp_path / "0") == contents(tmp_path / "1")


def test_an_incomplete_story_is_published_with_its_votes_and_not_among_the_kept(tmp_path: Path) -> None:
    build(tmp_path / "1", crowd(8))
    assert {row["story_id"] for row in rows(tmp_path / "1", "annotations/votes.jsonl")} >= {"s0000", "s0007"}
    lacking = {row["story_id"]: row["reason"] for row in rows(tmp_path / "1", INCOMPLETE)}
    assert lacking == {"s0000": "2 of 3 votes", "s0007": "2 of 3 votes"}
    for path in FILES:
        if (
            "annotations/votes" not in path
            and path != INCOMPLETE
            and path not in ("README.md", "release.json")
        ):
            assert b"s0000" not in (tmp_path / "1" / path).read_bytes()


def test_too_many_votes_stop_the_build(tmp_path: Path) -> None:
    with pytest.raises(TooManyVotes):
        build(tmp_path / "1", [judged(1, "yyyy", "yyyy", "yyyy", "yyyy")])


def test_manifest_is_checked_by_sha256sum(tmp_path: Path) -> None:
    built = build(tmp_path / "1", crowd(30))
    done = subprocess.run(
        ["sha256sum", "-c", "MANIFEST"], cwd=tmp_path / "1", capture_output=True, text=True, check=True
    )
    assert done.stdout.count(": OK") == len(FILES)
    manifest = (tmp_path / "1" / "MANIFEST").read_bytes()
    assert hashlib.sha256(manifest).hexdigest() == built.manifest_sha256
    assert [line.split("  ")[1] for line in manifest.decode().splitlines()] == FILES
    files, sha256 = directory.verify(tmp_path / "1")
    assert (files, sha256) == (sorted(built.files, key=lambda file: file.path), built.manifest_sha256)


def _replace_by_link(file: Path) -> None:
    elsewhere = file.parent.parent / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)


@pytest.mark.parametrize(
    "damage",
    [
        lambda place: (place / "README.md").write_bytes(b""),
        lambda place: (place / "README.md").unlink(),
        lambda place: (place / "extra.txt").write_text("x"),
        lambda place: (place / "MANIFEST").unlink(),
        lambda place: (place / "MANIFEST").write_text("nonsense\n"),
        lambda place: (place / "MANIFEST").write_bytes(b"\xff"),
        lambda place: _replace_by_link(place / "README.md"),
        lambda place: (place / "link").symlink_to(place.parent),
    ],
    ids=["changed", "missing", "extra", "no manifest", "bad line", "not text", "link", "folder"],
)  # fmt: skip
def test_a_damaged_directory_is_not_whole(tmp_path: Path, damage: Any) -> None:
    build(tmp_path / "1", crowd(6))
    damage(tmp_path / "1")
    with pytest.raises(BrokenDirectory):
        directory.verify(tmp_path / "1")


def test_a_release_that_keeps_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NothingToRelease, match="1 complete"):
        build(tmp_path / "1", [judged(1, "nyyy", "yyyy", "yyyy"), judged(2, "yyyy")])


def test_timestamp_is_utc_with_milliseconds() -> None:
    assert jsonl.timestamp(datetime(2026, 1, 2, 3, 4, 5, 6789, tzinfo=UTC)) == "2026-01-02T03:04:05.006Z"


def test_the_published_example_row_comes_out_of_a_release(tmp_path: Path) -> None:
    kept = judged(1, "yyyy", "yyyy", "yyyy")
    build(tmp_path / "1", [dataclasses.replace(kept, story=COOKIES)])
    (row,) = rows(tmp_path / "1", "mental-state-qa/test.jsonl")
    published = question_row(AWARE, ROW, right_answer_first=row["answerKey"] == "A")
    assert json.dumps(row) == json.dumps(published)  # the order of the keys too
    assert row["choices"]["text"][row["choices"]["label"].index(row["answerKey"])] == "No"
    assert sorted(row["choices"]["text"]) == ["No", "Yes"]
