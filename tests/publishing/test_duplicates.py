"""Stories with the same text: named at import, counted, listed where verdicts differ, and kept once."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from django.utils import timezone

from annotation import actions
from annotation.models import LintFinding, Story, Study
from dashboard.stories.queries import DISAGREE, Search, story_page
from publishing.files.rows import JudgedStory
from publishing.machine_validation import groups, questions
from publishing.verification import check_release
from tests import builders
from tests.builders import ALL_YES, answers
from tests.publishing.test_builder import build, crowd, judged, rows
from tests.publishing.verification.support import edit_document, edit_rows, pseudonymous, seal

KEEPS_ONE = "all-agree+one-of-each"
KEPT, DROPPED = "story-data/test.jsonl", "annotations/dropped-stories.jsonl"


def repeated(number: int, of: JudgedStory, *forms: str) -> JudgedStory:
    """A story of another core, with the text of another one."""
    return pseudonymous(judged(number, *forms, content=of.story.content, core_id=f"c9{number}"))


def twins() -> list[JudgedStory]:
    """Story 2 is kept; 50 is the same and kept, 51 the same and dropped; 52 repeats 3, which is dropped."""
    stories = [pseudonymous(one) for one in crowd(24)]
    return [
        *stories,
        repeated(50, stories[2], "yyyy", "yyyy", "yyyy"),
        repeated(51, stories[2], "yyyy", "ynyy", "yyyy"),
        repeated(52, stories[3], "yyyy", "yyyy", "yyyy"),
    ]


def document(place: Path, path: str) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads((place / path).read_bytes())
    return found


def test_different_texts_are_counted(tmp_path: Path) -> None:
    build(tmp_path / "1", twins())
    said = document(tmp_path / "1", "statistics.json")["stories"]
    assert (said["kept"], said["unique_texts"]) == (len(rows(tmp_path / "1", KEPT)), said["kept"] - 1)  # type: ignore[operator]
    card = (tmp_path / "1" / "README.md").read_text(encoding="utf-8")
    assert f"The {said['kept']} kept stories have {said['unique_texts']} different texts." in card
    assert "Votes disagree about 2 of them: other stories with the same text were dropped." in " ".join(
        card.split()
    )
    assert "duplicate" not in card.split("## Columns")[0]
    edit_document("statistics.json", lambda d: d["stories"].update(unique_texts=said["kept"]))(tmp_path / "1")
    seal(tmp_path / "1")
    report = check_release(tmp_path / "1", with_machine_validation=False)
    assert [one.problem for one in report.shown if "unique_texts" in one.problem]


def test_a_filter_keeps_the_first_of_each_and_says_so(tmp_path: Path) -> None:
    place = tmp_path / "1"
    build(place, twins(), filter_name=KEEPS_ONE)
    kept = {row["story_id"] for row in rows(place, KEPT)}
    reasons = {row["story_id"]: row["reason"] for row in rows(place, DROPPED)}
    assert {"s0002", "s0052"} <= kept, "the story that 52 repeats was dropped by its votes"
    assert (reasons["s0050"], reasons["s0051"]) == ("duplicate", "q2")
    said = document(place, "statistics.json")["stories"]
    assert said["kept"] == said["unique_texts"] == len(kept)
    card = (place / "README.md").read_text(encoding="utf-8")
    assert card.count("of kept stories with the same text, only the first by id stays") == 2, (
        "procedure, table"
    )
    assert "not validated" not in card
    assert check_release(place, with_machine_validation=False).shown == []


@pytest.mark.parametrize(("name", "other"), [("all-agree", KEEPS_ONE), (KEEPS_ONE, "all-agree")])
def test_a_duplicate_that_is_none_and_one_that_was_kept_are_found(
    tmp_path: Path, name: str, other: str
) -> None:
    place = tmp_path / "1"
    build(place, twins(), filter_name=name)
    edit_document("release.json", lambda d: d["filter"].update(name=other))(place)
    seal(place)
    found = [str(one) for one in check_release(place, with_machine_validation=False).shown]
    assert any("s" in one and "duplicate" in one for one in found), found


def test_a_made_up_duplicate_is_found(tmp_path: Path) -> None:
    place = tmp_path / "1"
    build(place, twins(), filter_name=KEEPS_ONE)
    edit_rows(DROPPED, lambda dropped: dropped[0].update(reason="duplicate"))(place)
    seal(place)
    found = [one.problem for one in check_release(place, with_machine_validation=False).shown]
    assert any(one.startswith("The story is dropped (duplicate); by its votes it is") for one in found)


def test_machine_validation_never_parts_stories_that_are_the_same_or_nearly_so(tmp_path: Path) -> None:
    stories = twins()
    near = {**stories[4].story.content, "entities": {"Person X": "Mary"}}
    long = near["story"] + " The tin stands on the shelf beside the door of the shed until the evening comes."
    stories[4] = dataclasses.replace(
        stories[4], story=dataclasses.replace(stories[4].story, content={**near, "story": long})
    )
    other = {
        **near,
        "story": long.replace("Mary", "Tom"),
        "entities": {**near["entities"], "Person X": "Tom"},
    }
    other["story"] = other["story"].replace("evening", "morning")
    stories += [pseudonymous(judged(60, "yyyy", "yyyy", "yyyy", content=other, core_id="far"))]
    build(tmp_path / "1", stories)
    sample = questions.read_stories(tmp_path / "1")
    before = {row["core_id"] for row in sample.stories.values()}
    groups.join_duplicates(sample)
    core = {row["story_id"]: row["core_id"] for row in sample.stories.values()}
    assert core["s0002"] == core["s0050"] == "c0000"
    assert core["s0060"] == core["s0004"] == "c0001"
    assert len(set(core.values())) < len(before)
    assert check_release(tmp_path / "1").shown == []


@pytest.mark.django_db(transaction=True)
def test_an_import_names_them_with_their_lines(tmp_path: Path) -> None:
    study = builders.make_study("named", stories=[builders.story_row(1, story_id="old")], opened=False)
    same = builders.story_row(1, story_id="new", core_id="other")
    again = builders.story_row(2, story_id="b", core_id="c")
    path = builders.write_rows(tmp_path / "f.jsonl", [same, builders.story_row(2, story_id="a"), again])
    job = actions.import_stories(study=study, path=path, by=None, now=timezone.now())
    found = dict(LintFinding.objects.filter(code="same_text").values_list("story__story_id", "message"))
    assert found == {"new": "The same text as old.", "b": "The same text as a (line 2)."}
    assert job.findings_by_code["same_text"]["examples"][1]["line"] == 3
    assert Story.objects.filter(study=study).count() == 4, "nothing is refused"


@pytest.mark.django_db(transaction=True)
def test_the_same_text_with_another_verdict_is_listed() -> None:
    texts = {"a": 1, "b": 1, "c": 2, "d": 2, "e": 3}
    study = builders.make_study(
        "listed", votes_per_story=1, stories=[builders.story_row(n, story_id=one) for one, n in texts.items()]
    )
    person = builders.qualified(study)[0]
    for _ in texts:
        held = builders.claim(person)
        form = answers(q3="no") if held.story.story_id == "b" else ALL_YES
        actions.record_vote(assignment_id=held.pk, enrollment=person, submitted=form, now=timezone.now())
    assert shown(study) == ["a", "b"]


def shown(study: Study) -> list[str]:
    return [row.story.story_id for row in story_page(study, Search(verdict=DISAGREE)).rows]
