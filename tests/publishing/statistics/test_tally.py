"""statistics.json from stories, one by one: what it counts, over which stories, and that it is plain JSON."""

from __future__ import annotations

import json
import math
import random
import tracemalloc
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest

from annotation.protocols.questions import Choice
from publishing.facts import AskedQuestion
from publishing.files import jsonl
from publishing.files.rows import CountedVote, ReleasedStory
from publishing.filters import Outcome, Verdict
from publishing.statistics.agreement import NO_STORY, Pattern, agreement_of
from publishing.statistics.distinct import DistinctStrings, count_together
from publishing.statistics.intervals import rounded
from publishing.statistics.tally import DEPENDS_ON_THE_STORY, StatisticsTally
from tests.publishing.statistics.support import gwet_ac1, percent_agreement

SCALES = {
    "q1": ("yes", "possibly", "no"),
    "q2": ("yes", "possibly", "no"),
    "q3": ("yes", "no"),
    "q4": ("yes", "no"),
}
ASKED = tuple(AskedQuestion(key, f"About {key}", options, ("no",)) for key, options in SCALES.items())
KEPT, DROPPED = Verdict(Outcome.KEPT), Verdict(Outcome.DROPPED, "q1")
INCOMPLETE = Verdict(Outcome.INCOMPLETE, "1 of 3 votes")
NOW = "2026-03-01T00:00:00.000Z"
COEFFICIENTS = ("percent", "fleiss_kappa", "krippendorff_alpha", "gwet_ac1")

Form = Mapping[str, str]
Seen = tuple[ReleasedStory, Sequence[CountedVote], Verdict]


def story(number: int, scenario: str = "food", model: str = "m1", **entities: str) -> ReleasedStory:
    named = {name.replace("_", " "): text for name, text in entities.items()} or {"Person X": "Ann"}
    return ReleasedStory(f"s{number}", "c", scenario, None, None, model, {"entities": named})


def vote(form: Form) -> CountedVote:
    return CountedVote(
        "annotator-a", tuple(Choice(key, "", option) for key, option in form.items()), NOW, 1.0
    )


def forms(*, seed: int, stories: int, no: float = 0.1) -> list[list[Form]]:
    draw = random.Random(seed)
    return [
        [
            {
                key: "no"
                if draw.random() < no
                else draw.choice([option for option in scale if option != "no"])
                for key, scale in SCALES.items()
            }
            for _ in range(3)
        ]
        for _ in range(stories)
    ]


def judged(given: Iterable[Sequence[Form]]) -> list[Seen]:
    seen: list[Seen] = []
    for number, votes in enumerate(given):
        dropped = any("no" in form.values() for form in votes)
        where = story(number, f"scenario {number % 3}", f"model {number % 2}", Person_X=f"X{number % 7}")
        seen.append((where, [vote(form) for form in votes], DROPPED if dropped else KEPT))
    return seen


def document(seen: Iterable[Seen], asked: Sequence[AskedQuestion] = ASKED) -> dict[str, Any]:
    tally = StatisticsTally(asked)
    for where, votes, verdict in seen:
        tally.add(where, votes, verdict)
    return tally.document()


def test_agreement_is_that_of_other_implementations_on_the_same_votes() -> None:
    from statsmodels.stats.inter_rater import fleiss_kappa  # loaded here: every worker imports this module

    given = forms(seed=1, stories=400)
    found = document(judged(given))["agreement"]
    assert list(found) == list(SCALES)
    for key, scale in SCALES.items():
        counts = np.array(
            [[sum(form[key] == option for form in votes) for option in scale] for votes in given]
        )
        alpha = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
        assert found[key]["percent"] == pytest.approx(percent_agreement(counts).value, abs=1e-9)
        assert found[key]["fleiss_kappa"] == pytest.approx(fleiss_kappa(counts), abs=1e-9)
        assert found[key]["krippendorff_alpha"] == pytest.approx(alpha, abs=1e-9)
        assert found[key]["gwet_ac1"] == pytest.approx(gwet_ac1(counts).value, abs=1e-9)
        assert (found[key]["categories"], found[key]["categories_are"]) == (len(scale), "offered")
        assert (found[key]["stories"], found[key]["units"]) == (400, 400)
        for name in COEFFICIENTS:
            low, high = found[key]["intervals"][name]
            assert low < found[key][name] < high


def test_the_joint_verdict_of_a_vote_is_valid_without_any_answer_against() -> None:
    from statsmodels.stats.inter_rater import fleiss_kappa  # loaded here: every worker imports this module

    given = forms(seed=2, stories=300)
    found = document(judged(given))["agreement_on_validity"]
    valid = [sum("no" not in form.values() for form in votes) for votes in given]
    counts = np.array([[number, 3 - number] for number in valid])
    assert found["fleiss_kappa"] == pytest.approx(fleiss_kappa(counts), abs=1e-9)
    assert found["gwet_ac1"] == pytest.approx(gwet_ac1(counts).value, abs=1e-9)
    assert found["categories"] == 2


def test_agreement_is_over_complete_stories_kept_or_not() -> None:
    yes, no = dict.fromkeys(SCALES, "yes"), dict.fromkeys(SCALES, "no")
    seen: list[Seen] = [
        (story(1), [vote(yes)] * 3, KEPT),
        (story(2), [vote(yes), vote(yes), vote(no)], DROPPED),
        (story(3), [vote(no)], INCOMPLETE),
    ]
    found = document(seen)
    assert found["agreement"]["q1"]["stories"] == 2
    assert found["agreement"]["q1"]["percent"] == pytest.approx(2 / 3, abs=1e-9)
    assert found["agreement"]["q3"]["gwet_ac1"] == pytest.approx(7 / 13, abs=1e-9)


def test_how_stories_fared_by_scenario_and_generator_model() -> None:
    votes = [vote(dict.fromkeys(SCALES, "yes"))] * 3
    people = {"Person_X": "Ann", "Person_Y": "Bob"}
    seen: list[Seen] = [
        (story(1, "food", "m1", **people, Object_Z="a can"), votes, KEPT),
        (story(2, "food", "m2", **people, Action_Z="to run"), votes, KEPT),
        (story(3, "care", "m2", Person_X="Ann ", Person_Z="a can"), votes, KEPT),
        (story(4, "care", "m2", Person_X="Eve", Object_Z="a bag"), votes, DROPPED),
        (story(5, "work", "m2", Person_X="Una", Object_Z="a pen"), [], INCOMPLETE),
    ]
    found = document(seen)
    assert found["stories"] == {
        "generated": 5, "kept": 3, "dropped": 1, "incomplete": 1, "retention": 0.6, "unique_texts": 3,
        "unique_x": 2, "unique_y": 1, "unique_z": 2,
    }  # fmt: skip
    assert list(found["by_scenario"]) == ["care", "food", "work"]
    assert found["by_scenario"]["food"]["unique_z"] == 2
    assert found["by_scenario"]["care"] == {
        "generated": 2, "kept": 1, "dropped": 1, "incomplete": 0, "retention": 0.5, "unique_texts": 1,
        "unique_x": 1, "unique_y": 0, "unique_z": 1,
    }  # fmt: skip
    assert found["by_scenario"]["work"]["unique_x"] == 0
    assert found["by_generator_model"]["m2"]["retention"] == 0.5
    assert found["by_generator_model"]["m2"]["unique_x"] == 2


def test_items_without_entities_have_no_number_of_different_ones() -> None:
    asked = (AskedQuestion("rating", "Rating", ("1", "2", "3"), ("1",)),)
    item = ReleasedStory("t1", "t1", "texts", None, None, "m", {"text": "A text."})
    found = document([(item, [vote({"rating": "3"}), vote({"rating": "2"})], KEPT)], asked)
    assert found["stories"]["unique_x"] is None
    assert found["agreement"]["rating"]["percent"] == 0


def test_entities_that_are_no_texts_are_not_counted() -> None:
    item = ReleasedStory("t1", "t1", "texts", None, None, "m", {"entities": {"Person X": ["Ann", "Bob"]}})
    assert document([(item, [vote({"q1": "yes"})] * 3, KEPT)])["stories"]["unique_x"] == 0


@pytest.mark.parametrize("votes", [1, 2, 5])
def test_any_number_of_votes(votes: int) -> None:
    from statsmodels.stats.inter_rater import fleiss_kappa  # loaded here: every worker imports this module

    given = [[form for copy in range(2) for form in three][:votes] for three in forms(seed=3, stories=50)]
    found = document(judged(given))["agreement"]["q1"]
    if votes == 1:
        assert found["percent"] is None
        assert set(found["undefined"]) == set(found["undefined_intervals"]) == set(COEFFICIENTS)
        assert found["intervals"] == dict.fromkeys(COEFFICIENTS)
    else:
        counts = [[sum(form["q1"] == option for form in story) for option in SCALES["q1"]] for story in given]
        assert found["fleiss_kappa"] == pytest.approx(fleiss_kappa(np.array(counts)), abs=1e-9)


def test_rows_of_a_table_are_units_and_seen_options_the_categories() -> None:
    asked = (AskedQuestion("labels", "Label each line"),)

    def labels(*options: str) -> CountedVote:
        answers = tuple(Choice("labels", f"line-{row}", option) for row, option in enumerate(options))
        return CountedVote("annotator-a", answers, NOW, 1.0)

    seen: list[Seen] = [
        (story(1), [labels("belief", "desire"), labels("belief", "other")], KEPT),
        (story(2), [labels("desire"), labels("desire")], KEPT),
    ]
    found = document(seen, asked)
    table = found["agreement"]["labels"]
    counts = [[2, 0, 0], [0, 1, 1], [0, 2, 0]]
    assert (table["stories"], table["units"]) == (2, 3)
    assert (table["categories"], table["categories_are"]) == (3, "seen")
    assert table["percent"] == pytest.approx(2 / 3, abs=1e-9)
    assert table["gwet_ac1"] == pytest.approx(gwet_ac1(counts).value, abs=1e-9)
    joint = found["agreement_on_validity"]
    assert joint["undefined"] == dict.fromkeys(COEFFICIENTS, DEPENDS_ON_THE_STORY)
    assert [joint[name] for name in COEFFICIENTS] == [None] * 4


def test_a_story_without_a_row_to_label_is_no_story_of_that_question() -> None:
    asked = (AskedQuestion("labels", "Label each line"),)
    answer = Choice("labels", "line-1", "belief")
    seen: list[Seen] = [
        (story(1), [CountedVote("annotator-a", (answer,), NOW, 1.0)] * 2, KEPT),
        (story(2), [CountedVote("annotator-a", (), NOW, 1.0)] * 2, KEPT),
    ]
    assert document(seen, asked)["agreement"]["labels"]["stories"] == 1


def test_answers_to_other_questions_are_left_out_and_an_option_off_the_scale_is_a_category() -> None:
    asked = (AskedQuestion("q3", "Third", ("yes", "no"), ("no",)),)
    seen: list[Seen] = [
        (story(1), [vote({"q3": "yes", "old": "a"}), vote({"q3": "maybe", "old": "b"})], KEPT),
        (story(2), [vote({"q3": "yes"}), vote({"q3": "yes"})], KEPT),
    ]
    found = document(seen, asked)["agreement"]
    assert list(found) == ["q3"]
    assert found["q3"]["categories"] == 3


def test_without_a_complete_story_everything_says_why() -> None:
    found = document([(story(1), [], INCOMPLETE)])
    assert found["agreement"]["q1"]["undefined"] == dict.fromkeys(COEFFICIENTS, NO_STORY)
    assert found["agreement"]["q1"]["categories"] == 3
    assert found["stories"]["retention"] == 0
    assert document([])["stories"]["retention"] is None


def test_the_order_of_stories_votes_and_answers_changes_no_byte() -> None:
    seen = judged(forms(seed=4, stories=200))
    first = jsonl.document(document(seen))
    random.Random(5).shuffle(seen)
    turned = [
        (
            where,
            [
                CountedVote(v.annotator, v.answers[::-1], v.submitted_at, v.seconds_on_task)
                for v in votes[::-1]
            ],
            verdict,
        )
        for where, votes, verdict in seen
    ]
    assert jsonl.document(document(turned)) == first


def test_one_other_answer_changes_its_question_and_the_joint_verdict_only() -> None:
    given = forms(seed=6, stories=200, no=0.0)
    before = document(judged(given))
    given[10][1] = {**given[10][1], "q3": "no"}
    after = document(judged(given))
    changed = {key for key in SCALES if before["agreement"][key] != after["agreement"][key]}
    assert changed == {"q3"}
    assert before["agreement_on_validity"] != after["agreement_on_validity"]


def test_it_is_plain_json_without_nan_and_with_at_most_ten_decimals() -> None:
    found = document(judged(forms(seed=7, stories=60)))

    def numbers(value: Any) -> Iterable[float]:
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            for inner in value:
                yield from numbers(inner)
        elif not isinstance(value, str) and value is not None:
            assert type(value) in (int, float)
            yield value

    assert json.loads(jsonl.document(found)) == found
    for number in numbers(found):
        assert math.isfinite(number)
        assert number == round(number, 10)


def test_patterns_alone_give_the_same_as_the_tally() -> None:
    given = forms(seed=8, stories=150)
    patterns: Counter[Pattern] = Counter((tuple(form["q1"] for form in votes),) for votes in given)
    assert agreement_of(patterns, SCALES["q1"]) == document(judged(given))["agreement"]["q1"]


def test_unanimous_stories_have_no_kappa_and_no_interval() -> None:
    found = agreement_of({(("yes", "yes", "yes"),): 20}, ("yes", "no"))
    assert (found["percent"], found["gwet_ac1"]) == (1, 1)
    assert (found["fleiss_kappa"], found["krippendorff_alpha"]) == (None, None)
    assert set(found["undefined"]) == {"fleiss_kappa", "krippendorff_alpha"}
    assert found["intervals"] == dict.fromkeys(COEFFICIENTS)
    assert set(found["undefined_intervals"]) == set(COEFFICIENTS)


def test_a_rare_disagreement_counts_the_resamples_without_it() -> None:
    found = agreement_of({(("yes", "yes", "yes"),): 99, (("no", "yes", "yes"),): 1}, ("yes", "no"))
    assert found["fleiss_kappa"] is not None
    assert found["intervals"]["fleiss_kappa"] is None
    assert 300 < found["undefined_resamples"]["fleiss_kappa"] < 430  # (99/100)^100 = 0.366
    assert "resamples" in found["undefined_intervals"]["fleiss_kappa"]
    assert found["intervals"]["percent"] is not None


def test_different_strings_are_counted_once_also_between_sets() -> None:
    first, second = DistinctStrings(), DistinctStrings()
    for number in range(20_000):
        first.add(f"name {number % 9000}")
        second.add(f"name {number % 500}")
    second.add("another")
    assert len(first.hashes()) == 9000
    assert len(second.hashes()) == 501
    assert count_together([first, second]) == 9001
    assert count_together([]) == 0


def test_seeing_a_string_again_takes_no_memory() -> None:
    names = DistinctStrings()
    tracemalloc.start()
    for _ in range(50_000):
        names.add("Ann")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000  # 50,000 hashes of 8 bytes would be 400,000


def test_a_value_just_below_zero_is_written_as_zero() -> None:
    assert str(rounded(-1e-12)) == "0.0"
    assert rounded(None) is None


def test_every_entity_of_the_real_stories_is_x_y_or_z(shared_data: Path | None) -> None:
    if shared_data is None:
        return
    lines = (shared_data / "seed_stories.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    votes = [vote(dict.fromkeys(SCALES, "yes"))] * 3
    seen: list[Seen] = [
        (ReleasedStory(str(n), "c", "s", None, None, "m", {"entities": row["entities"]}), votes, KEPT)
        for n, row in enumerate(rows)
    ]
    found = document(seen)["stories"]
    named = [
        {text for row in rows for name, text in row["entities"].items() if name.endswith(letter)}
        for letter in "XYZ"
    ]
    assert [found["unique_x"], found["unique_y"], found["unique_z"]] == [len(texts) for texts in named]
    assert all(named)
