"""The inspection protocol: three criteria, what should change, and words that questions share with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation.importing.rows import SourceRow, StoryRow
from annotation.protocols import get_protocol
from annotation.protocols.base import IncompleteForm
from annotation.protocols.inspection import names_in
from annotation.protocols.questions import Choice
from dashboard.settings.sample_study import SAMPLES

PROTOCOL = get_protocol("inspection")
ROW = json.loads(PROTOCOL.example.splitlines()[0])
FINE = {"open": "yes", "sense": "yes", "apart": "yes"}


def story(**changes: Any) -> StoryRow:
    (found,) = PROTOCOL.read([SourceRow("narratives.jsonl", 1, {**ROW, **changes})])
    assert isinstance(found, StoryRow), found
    return found


def asked(question: str, *choices: str) -> list[dict[str, Any]]:
    labels = ["a", "b", "c"][: len(choices)]
    return [
        {"id": "q", "kind": "k", "question": question, "choices": {"text": list(choices), "label": labels}}
    ]


def test_a_story_is_shown_with_its_questions_but_without_the_right_answers() -> None:
    item = PROTOCOL.parse(story().content)
    shown, questions = PROTOCOL.parts(item)
    assert (shown.name, shown.text) == ("story", ROW["narrative"].replace("\n", "\n\n"))
    assert questions.text == "1. Where will Lina turn to when it rains? to the entrance / to the curtain"
    assert [cell.field for cell in PROTOCOL.cells(item)] == [
        "open", "open-change", "sense", "sense-change", "apart", "apart-change",
    ]  # fmt: skip


@pytest.mark.parametrize("criterion", FINE)
def test_a_no_counts_against_the_story_and_needs_words(criterion: str) -> None:
    item = PROTOCOL.parse(story().content)
    assert len(PROTOCOL.read_form(item, FINE)) == 3
    assert not any(PROTOCOL.counts_against(item, choice) for choice in PROTOCOL.read_form(item, FINE))
    with pytest.raises(IncompleteForm) as refused:
        PROTOCOL.read_form(item, FINE | {criterion: "no"})
    assert [*refused.value.errors] == [f"{criterion}-change"]
    choices = PROTOCOL.read_form(item, FINE | {criterion: "no", f"{criterion}-change": "Leave it out."})
    against = [choice for choice in choices if PROTOCOL.counts_against(item, choice)]
    assert against == [Choice(criterion, "", "no")]
    assert Choice(f"{criterion}-change", "", "Leave it out.") in choices


def test_a_file_of_one_is_a_file_of_the_other() -> None:
    other = get_protocol("narrative-validation")
    for place in (SAMPLES["inspection"], SAMPLES["narrative-validation"]):
        lines = (place.parent / "narratives.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [SourceRow("narratives.jsonl", line, json.loads(text)) for line, text in enumerate(lines, 1)]
        stories = list(PROTOCOL.read(rows))
        assert stories == list(other.read(rows))
        assert all(isinstance(one, StoryRow) for one in stories)
    assert PROTOCOL.source_row(story()) == other.source_row(story())
    assert not PROTOCOL.scored_rows(story().content)


def test_questions_in_the_words_of_the_story_are_found(subtests: pytest.Subtests) -> None:
    for question, choices, shared in [
        ("Is the old map in the side pocket?", ["Yes", "No"], "“old”, “map”, “side”, “pocket”"),
        ("Where does Juri look?", ["in the side pocket", "in the tin"], "“side”, “pocket”, “tin”"),
        ("Where is the old map at last?", ["here", "elsewhere"], ""),
        ("Where would Juri reach for directions?", ["into his luggage", "into the tin"], ""),
        ("Is Juri there with Carla and Juri?", ["Juri", "Carla"], ""),
        ("Does Carla tell the maps from pockets beside the tins?", ["Yes", "No"], ""),
    ]:
        with subtests.test(str(question)):
            text = "Juri keeps the old map in the side pocket and looks away. Carla puts it in the tin."
            found = list(PROTOCOL.lint(story(narrative=text, questions=asked(question, *choices))))
            if "look" in question:
                shared = shared.replace("“side”", "“look”, “side”")
            assert [one.message for one in found] == (
                [f"The question “q” shares with the story: {shared}."] if shared else []
            )
            assert {one.code for one in found} <= {*PROTOCOL.finding_labels}


def test_names_are_words_that_are_always_capital() -> None:
    assert names_in("Bea met Tom-Ole. The cup is Bea’s; the “Cup” was empty.") >= {"bea", "tom", "ole"}
    assert not names_in("The cup. Cup, cups.") & {"cup"}


def test_the_sample_warns_of_the_story_that_its_truth_faults_for_overlap() -> None:
    place = SAMPLES["inspection"].parent
    lines = (place / "narratives.jsonl").read_text(encoding="utf-8").splitlines()
    stories = PROTOCOL.read(SourceRow("", line, json.loads(text)) for line, text in enumerate(lines, 1))
    found = {one.story_id for one in stories if isinstance(one, StoryRow) and list(PROTOCOL.lint(one))}
    truth = json.loads((place / "truth.json").read_bytes())
    assert found == {name for name, answers in truth.items() if answers["apart"] == "no"} == {"i-map"}
