"""``machine_validation.json`` of small releases whose shortcuts are known, because they were put there."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest

from publishing.errors import BrokenDirectory
from publishing.files import jsonl
from publishing.files.rows import ITEMS_ONLY, THEORY_OF_MIND
from publishing.machine_validation import groups, learner, questions as reading, validate
from publishing.machine_validation.questions import Question
from tests.publishing.machine_validation.support import Made, document, released, write, write_made

PROJECT = Path(__file__).parents[3]
INPUTS = ("choice_only", "question_choice", "story_choice")


def behavior(directory: Path) -> dict[str, Any]:
    config: dict[str, Any] = document(directory, THEORY_OF_MIND)["configs"]["behavior-qa"]
    return config


def stories(
    number: int, choices: Callable[[random.Random], tuple[str, str]], *, per_core: int = 1, seed: int = 3
) -> list[Made]:
    """Stories in five scenarios whose choices are drawn from a seed."""
    generator = random.Random(seed)
    made = []
    for place in range(number):
        right, wrong = choices(generator)
        core = place // per_core
        made.append(Made(right, wrong, core=f"core {core}", scenario=f"scenario {core % 5}"))
    return made


def some_words(generator: random.Random) -> str:
    return " ".join(generator.choice("abcdefghij") * 3 for _ in range(4))


def nothing_to_see(generator: random.Random) -> tuple[str, str]:
    return some_words(generator), some_words(generator)


def with_a_planted_word(generator: random.Random) -> tuple[str, str]:
    right, wrong = nothing_to_see(generator)
    return f"{right} calmly", f"{wrong} loudly"


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The document of sixty stories, each with a word that gives the right answer away."""
    return document(
        write_made(tmp_path_factory.mktemp("planted"), stories(60, with_a_planted_word)), THEORY_OF_MIND
    )


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty stories whose choices say nothing."""
    return write_made(tmp_path_factory.mktemp("plain"), stories(60, nothing_to_see))


def test_a_planted_word_is_found_by_every_way_of_holding_out(planted: dict[str, Any]) -> None:
    config = planted["configs"]["behavior-qa"]
    for grouping in ("core_id", "entities", "scenario"):
        for given in INPUTS:
            score = config["by_group"][grouping][given]
            assert score["accuracy"] > 0.95, (grouping, given)
            assert score["n"] == 60
            low, high = score["interval"] or (1, 1)
            assert 0.9 < low <= score["accuracy"] <= high <= 1
            assert score["interval"] or score["accuracy"] == 1
    assert [config[given] for given in INPUTS] == [config["by_group"]["core_id"][given] for given in INPUTS]
    cues = {cue["text"]: cue for cue in config["cues"]}
    assert len(config["cues"]) == 10
    for word, points_to, right in (("calmly", "right", 60), ("loudly", "wrong", 0)):
        cue = cues[word]
        assert cue["points_to"] == points_to
        assert (cue["questions"], cue["right"], cue["wrong"]) == (60, right, 60 - right)
        assert (cue["weight"] > 0) == (points_to == "right")
    weights = [abs(cue["weight"]) for cue in config["cues"]]
    assert weights == sorted(weights, reverse=True)
    assert {config["cues"][0]["text"], config["cues"][1]["text"]} == {"calmly", "loudly"}


def test_a_planted_word_is_warned_of_without_saying_that_a_model_used_it(planted: dict[str, Any]) -> None:
    (warning,) = [text for text in planted["warnings"] if "linear model" in text]
    assert warning.startswith("behavior-qa: ")
    assert "of the 60 questions" in warning
    assert "does not show that a model took it" in warning


def test_without_a_cue_nothing_is_warned_of_and_every_question_is_hard(plain: Path) -> None:
    found = validate(plain, THEORY_OF_MIND)
    config = found.document["configs"]["behavior-qa"]
    for grouping in ("core_id", "entities", "scenario"):
        for given in INPUTS:
            low, high = config["by_group"][grouping][given]["interval"]
            assert low <= 0.5 <= high, (grouping, given)
    assert not [text for text in found.document["warnings"] if text.startswith("behavior-qa")]
    assert config["shortcuts"] == []
    assert len(found.hard) == 60


def test_over_many_releases_without_a_cue_the_learner_is_at_chance() -> None:
    """A single one can be off by chance; a leak would push all of them up."""
    accuracies = []
    for seed in range(10):
        questions = [
            Question(made.core, made.core, made.scenario, (), "", "", made.right, made.wrong, "A")
            for made in stories(100, nothing_to_see, seed=seed)
        ]
        counts, _ = learner.count(questions, learner.INPUTS["choice_only"])
        accuracies.append(learner.ranked_right(counts, groups.folds_by("core_id", questions)).mean())
    assert 0.44 < mean(accuracies) < 0.56  # one has a standard deviation of 0.06


def test_severities_of_one_core_do_not_teach_one_another(tmp_path: Path) -> None:
    """Each core has a right and a wrong word of its own: known from its other stories, or not at all."""
    made = [
        Made(f"right{core}", f"wrong{core}", core=f"core {core}", scenario=f"scenario {core % 5}")
        for core in range(10)
        for _ in range(3)
    ]
    apart = [Made(story.right, story.wrong, f"{story.core} {place}") for place, story in enumerate(made)]
    together = behavior(write_made(tmp_path / "together", made))
    assert [together[given]["accuracy"] for given in INPUTS] == [0.5, 0.5, 0.5]
    # The control: as stories of different cores, the same texts do teach one another.
    assert behavior(write_made(tmp_path / "apart", apart))["choice_only"]["accuracy"] > 0.9


def test_stories_that_share_an_object_are_held_out_together_by_entities(tmp_path: Path) -> None:
    made = [
        Made(f"right{thing}", f"wrong{thing}", f"core {core}{thing}", entities={"Object Z": f"thing {thing}"})
        for thing in range(10)
        for core in range(4)
    ]
    config = behavior(write_made(tmp_path, made))
    assert config["by_group"]["entities"]["groups"] == 10
    assert config["by_group"]["entities"]["choice_only"]["accuracy"] == 0.5
    assert config["by_group"]["core_id"]["groups"] == 40
    assert config["by_group"]["core_id"]["choice_only"]["accuracy"] > 0.9  # the control


def test_the_shorter_choice_and_the_overlap_by_hand(tmp_path: Path) -> None:
    story = "The tin holds moss."
    made = [
        Made("open it", "throw the tin away", "a", story=story),  # shorter; overlap 0 of 2, 2 of 4
        Made("open the tin", "tin", "b", story=story),  # longer; 2 of 3, 1 of 1
        Made("abc", "xyz", "c", story=story),  # equally long; no overlap
        Made("moss", "see the tin holds", "d", story=story),  # shorter; 1 of 1, 3 of 4
    ]
    config = behavior(write_made(tmp_path, made))
    assert config["shorter_choice"]["accuracy"] == 2.5 / 4
    assert config["shorter_choice"]["median_extra_words"] == 1.0  # 2, -2, 0, 3
    assert config["overlap"]["more"]["accuracy"] == 1.5 / 4
    assert config["overlap"]["less"]["accuracy"] == 2.5 / 4
    assert config["position_majority"] == 0.5


def test_a_rule_that_holds_the_other_way_round_is_warned_of_the_other_way_round(tmp_path: Path) -> None:
    made = [Made(f"{'very ' * 5}long {n}", "short", f"core {n}") for n in range(30)]
    (warning,) = [
        text
        for text in document(write_made(tmp_path, made), THEORY_OF_MIND)["warnings"]
        if "choice is right" in text
    ]
    assert "“the longer choice is right” holds for 100.0 % of the 30 questions" in warning


def test_constant_answers_have_no_score_that_pretends_otherwise(planted: dict[str, Any]) -> None:
    made = planted
    for name, answer in (("mental-state-qa", "No"), ("judgment-qa", "Reasonable")):
        config = made["configs"][name]
        assert (config["constant_answer"], config["answer"]) == (True, answer)
        assert config["position_majority"] == 0.5
        scores = [config[given] for given in (*INPUTS, "shorter_choice")] + list(config["overlap"].values())
        scores += [entry[given] for entry in config["by_group"].values() for given in INPUTS]
        assert all(score["accuracy"] is None and "same in every" in score["undefined"] for score in scores)
        assert config["cues"] == []
        assert (
            sum(text.startswith(f"{name}: the right answer is “{answer}”") for text in made["warnings"]) == 1
        )
    assert made["configs"]["behavior-qa"]["constant_answer"] is False


def test_the_interval_is_by_core(tmp_path: Path) -> None:
    """Thirty copies of two cores are two observations, not sixty."""
    made = [Made(f"go {core}", "stay where you are" if core == "a" else "no", core) for core in "ab" * 30]
    config = behavior(write_made(tmp_path, made))
    assert config["shorter_choice"]["accuracy"] == 0.5
    assert config["shorter_choice"]["interval"] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ([Made("go", "stay")], "same in every question"),
        ([Made("go", "stay"), Made("run", "stay")], "at least 5 groups of stories; here are 1"),
        (
            [Made(f"go {n}", "stay", f"core {n}") for n in range(4)],
            "at least 5 groups of stories; here are 4",
        ),
        ([Made("?" * (n + 1), "! !", f"core {n}") for n in range(6)], "no words"),
        (
            [Made(f"go {n}", "stay", f"core {n}") for n in range(5)] + [Made("a", "b", "core 1")] * 6,
            "holds 63.6 % of the questions",
        ),
    ],
    ids=["one story", "one core", "four cores", "no words", "one large core"],
)
def test_what_cannot_be_computed_is_null_with_the_reason(
    tmp_path: Path, made: list[Made], reason: str
) -> None:
    config = behavior(write_made(tmp_path, made))
    assert config["choice_only"]["accuracy"] is None
    assert reason in config["choice_only"]["undefined"]
    assert config["choice_only"]["n"] == len(made)


def test_one_scenario_cannot_be_left_out(tmp_path: Path) -> None:
    made = [Made(f"go {n}", f"stay {n}", f"core {n}") for n in range(10)]
    by_scenario = behavior(write_made(tmp_path, made))["by_group"]["scenario"]
    assert (by_scenario["groups"], by_scenario["folds"]) == (1, None)
    assert "at least 2 scenarios of stories; here are 1" in by_scenario["choice_only"]["undefined"]


def test_a_fold_without_words_elsewhere_is_a_tie(tmp_path: Path) -> None:
    made = [Made("??" * (n % 2 + 1), "!!!", f"core {n}") for n in range(5)] + [
        Made("go on", "stop it", "core 9")
    ]
    assert behavior(write_made(tmp_path, made))["choice_only"]["accuracy"] == 0.5


def test_no_stories_and_no_question_sets(tmp_path: Path) -> None:
    empty = document(write(tmp_path / "empty", []), THEORY_OF_MIND)
    assert empty["configs"]["behavior-qa"]["choice_only"]["undefined"] == "There are no questions."
    assert empty["warnings"] == []
    place = write(tmp_path / "items", [released("s1", Made("go", "stay"))], ITEMS_ONLY)
    assert document(place, ITEMS_ONLY)["configs"] == {}
    for made in (empty, document(place, ITEMS_ONLY)):
        jsonl.document(made)  # no NaN


def test_choices_that_lean_to_one_side_are_warned_of(tmp_path: Path) -> None:
    place = write_made(tmp_path, [Made(f"go {n}", f"stay {n}", f"core {n}") for n in range(10)])
    path = place / "behavior-qa/test.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_bytes(b"".join(jsonl.line({**row, "answerKey": "A"}) for row in rows))
    made = document(place, THEORY_OF_MIND)
    assert made["configs"]["behavior-qa"]["position_majority"] == 1
    assert [text for text in made["warnings"] if "choice A is right in 100.0 %" in text]


def test_files_that_do_not_belong_together_are_named(tmp_path: Path) -> None:
    place = write_made(tmp_path, [Made(f"go {n}", f"stay {n}", f"core {n}") for n in range(4)])
    path = place / "behavior-qa/test.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], lines[2], lines[1], lines[3]]))
    with pytest.raises(BrokenDirectory, match=r"line 2 of behavior-qa/test\.jsonl is the question s0002"):
        document(place, THEORY_OF_MIND)
    path.write_bytes(b"".join(lines[:3]))
    with pytest.raises(BrokenDirectory, match="3 questions about 4 stories"):
        document(place, THEORY_OF_MIND)


AGAIN = """
import sys
from pathlib import Path
assert "sklearn" not in sys.modules
from publishing.files import jsonl
from publishing.files.rows import THEORY_OF_MIND
from publishing.machine_validation import validate
assert "sklearn" not in sys.modules, "web processes would carry scikit-learn"
sys.stdout.buffer.write(jsonl.document(validate(Path(sys.argv[1]), THEORY_OF_MIND).document))
"""


@pytest.mark.torture
def test_the_same_files_give_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    """Every run has the values and their order: test_verifying recomputes them in another process."""
    place = write_made(tmp_path, stories(30, with_a_planted_word, per_core=3))
    here = jsonl.document(document(place, THEORY_OF_MIND))
    there = subprocess.run(  # this process has another seed, and as many threads as cores
        [sys.executable, "-c", AGAIN, str(place)],
        cwd=PROJECT,
        env={**os.environ, "PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        check=True,
    )
    assert there.stdout == here


def test_hard_questions_are_those_that_no_shortcut_answers(tmp_path: Path) -> None:
    made = stories(60, with_a_planted_word)
    made[10] = Made("mmm loudly", "mmm calmly indeed", "core 10", "scenario 0")  # misleads the learner only
    found = validate(write_made(tmp_path, made), THEORY_OF_MIND)
    config = found.document["configs"]["behavior-qa"]
    assert (config["shortcuts"], config["hard_questions"]) == (["choice_only"], 1)
    assert found.hard == [{"id": "s0010_action", "config": "behavior-qa"}]
    constant = found.document["configs"]["judgment-qa"]
    assert (constant["shortcuts"], constant["hard_questions"]) == (["constant_answer"], 0)


def test_hard_questions_escape_every_rule_that_beats_chance_in_the_direction_in_which_it_does(
    tmp_path: Path,
) -> None:
    """The longer choice is right in 38 of 40, and undecided in one of the others; the rest tells nothing."""
    made = stories(40, lambda draw: (some_words(draw) + " qqq", some_words(draw)))
    for place, (right, wrong) in {7: ("aaa", "bbb ccc"), 9: ("ddd", "eee")}.items():
        made[place] = Made(right, wrong, f"core {place}", "scenario 0")
    found = validate(write_made(tmp_path, made), THEORY_OF_MIND)
    assert "shorter_choice" in found.document["configs"]["behavior-qa"]["shortcuts"]
    assert [row["id"] for row in found.hard] == ["s0007_action", "s0009_action"]


def test_folds_are_dealt_anew_and_the_spread_is_theirs(plain: Path) -> None:
    config = behavior(plain)
    score = config["by_group"]["core_id"]["choice_only"]
    sample = reading.read_stories(plain)
    groups.join_duplicates(sample)
    asked = reading.read_questions(plain, THEORY_OF_MIND.question_sets[1], sample)
    counts, _ = learner.count(asked, learner.INPUTS["choice_only"])
    deals = [groups.folds_by("core_id", asked, number) for number in range(5)]
    assert len({deal.fold_of for deal in deals}) == 5
    found = [learner.ranked_right(counts, deal).mean() for deal in deals]
    assert score["accuracy"] == pytest.approx(found[0], abs=5e-5)
    expected = {"mean": mean(found), "sd": stdev(found), "lowest": min(found), "highest": max(found)}
    assert score["repeated"] == pytest.approx(expected, abs=5e-5)
    assert "repeated" not in config["by_group"]["scenario"]["choice_only"]


def test_the_shorter_choice_is_scored_over_all_questions_of_a_story(tmp_path: Path) -> None:
    """“No” and “Reasonable” are always the shorter ones, so the action decides."""
    made = [Made("go", "stay here", f"core {n}") for n in range(9)] + [Made("stay", "go", "core 9")]
    found = document(write_made(tmp_path, made), THEORY_OF_MIND)
    score = found["all_questions"]["shorter_choice"]
    assert (score["accuracy"], score["n"], score["chance"]) == (0.9, 10, 0.125)
    always = document(write_made(tmp_path / "always", made[:9]), THEORY_OF_MIND)
    for one, words in ((found, "90.0 % of the 10 stories"), (always, "100.0 % of the 9 stories")):
        assert any(f"all questions of a story in {words}" in warning for warning in one["warnings"])


@pytest.mark.parametrize(("cores", "warned"), [(5, False), (6, True)])
def test_a_rule_without_exception_has_no_interval_and_is_warned_of_from_six_cores_on(
    tmp_path: Path, cores: int, warned: bool
) -> None:
    place = write_made(tmp_path, [Made(f"go {n}", f"stay {n}", f"core {n}") for n in range(cores)])
    made = document(place, THEORY_OF_MIND)
    score = made["configs"]["behavior-qa"]["shorter_choice"]
    assert (score["accuracy"], score["interval"]) == (1.0, None)
    found = [
        text for text in made["warnings"] if f"holds for 100.0 % of the {cores} questions (guessing" in text
    ]
    assert bool(found) is warned
