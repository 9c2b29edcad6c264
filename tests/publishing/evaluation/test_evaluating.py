"""Evaluating models on a release: toy models of known accuracy, recomputed a second time; and refusals."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.management import CommandError, call_command

from publishing.files import jsonl
from publishing.files.directory import file_facts
from tests.publishing.evaluation.reference import SETS, Reference, Row, read
from tests.publishing.test_builder import build, crowd
from tests.publishing.verification.support import items_release, pseudonymous, write_manifest
from tomannot.embedded import PROJECT

CLOSE = partial(pytest.approx, abs=1e-9)
EASIER = [(SETS[0], SETS[1]), (SETS[0], SETS[2]), (SETS[1], SETS[2])]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with 34 kept stories of 20 cores, and 17 dropped ones. Three swap actions."""
    place = tmp_path_factory.mktemp("release") / "1"
    stories = [pseudonymous(judged) for judged in crowd(60)]
    for number in (4, 5, 40):
        story, content = stories[number].story, stories[number].story.content
        actions = {"action_unaware": content["action_aware"], "action_aware": content["action_unaware"]}
        stories[number] = replace(stories[number], story=replace(story, content={**content, **actions}))
    build(place, stories)
    return place


def wrong(row: Row) -> str:
    return "B" if row["answerKey"] == "A" else "A"


def answers(place: Path, path: Path, is_right: Callable[[str, int], bool]) -> Path:
    """A model's answers, right where ``is_right`` of set and place says so."""
    rows = [
        {"id": row["id"], "answer": row["answerKey"] if is_right(name, number) else wrong(row)}
        for name in SETS
        for number, row in enumerate(read(place / name / "test.jsonl"))
    ]
    path.write_bytes(b"".join(map(jsonl.line, reversed(rows))))
    return path


@pytest.fixture
def models(place: Path, tmp_path: Path) -> list[Path]:
    """One that is always right; one that knows what people know, but seldom applies it; one always wrong."""
    step = dict(zip(SETS, (1, 2, 4), strict=True))
    return [
        answers(place, tmp_path / "perfect.jsonl", lambda name, number: True),
        answers(place, tmp_path / "explicit_only.jsonl", lambda name, number: number % step[name] == 0),
        answers(place, tmp_path / "wrong.jsonl", lambda name, number: False),
    ]


def evaluated(place: Path, *files: Path, **options: Any) -> Any:
    out = StringIO()
    call_command("evaluate_release", place, *files, stdout=out, json=True, **options)
    return json.loads(out.getvalue())


def test_toy_models_have_the_accuracy_that_was_put_into_them(place: Path, models: list[Path]) -> None:
    found = evaluated(place, *models)
    assert found["release"]["manifest_sha256"] == file_facts(place, "MANIFEST").sha256
    accuracy = {
        name: [model["configs"][config]["accuracy"] for config in SETS] + [model["all_questions"]["accuracy"]]
        for name, model in found["models"].items()
    }
    assert accuracy == {
        "perfect": [1, 1, 1, 1],
        "explicit_only": [1, 17 / 34, CLOSE(9 / 34), CLOSE(9 / 34)],
        "wrong": [0, 0, 0, 0],
    }
    explicit = found["models"]["explicit_only"]
    assert [one["accuracy"] for one in explicit["if_easier_is_right"]] == [
        0.5, CLOSE(9 / 34), CLOSE(9 / 17),
    ]  # fmt: skip
    assert [one["difference"] for one in explicit["gaps"]] == [
        0.5, CLOSE(25 / 34), CLOSE(8 / 34),
    ]  # fmt: skip
    hard = {
        name: model["configs"]["behavior-qa"]["hard_questions"] for name, model in found["models"].items()
    }
    assert [(one["accuracy"], one["n"]) for one in hard.values()] == [(1, 3), (CLOSE(2 / 3), 3), (0, 3)]
    unsure = found["models"]["wrong"]["if_easier_is_right"]
    assert [(one["accuracy"], one["n"], one["interval"]) for one in unsure] == [(None, 0, None)] * 3


def test_every_figure_is_that_of_a_second_implementation(place: Path, models: list[Path]) -> None:
    found, reference = evaluated(place, *models), Reference(place)
    right = {path.stem: reference.right(path) for path in models}
    every = [True] * len(reference.stories)
    compared = 0

    def check(score: Row, name: str, expected: tuple[float, list[float] | None]) -> None:
        nonlocal compared
        assert score[name] == CLOSE(expected[0])
        assert score["interval"] == (expected[1] and CLOSE(expected[1]))
        compared += 1

    for name, model in found["models"].items():
        mine = right[name]
        together = [all(of_story) for of_story in zip(*mine.values(), strict=True)]
        check(model["all_questions"], "accuracy", reference.share(together, every))
        for config in SETS:
            score = model["configs"][config]
            check(score, "accuracy", reference.share(mine[config], every))
            if config == "behavior-qa":
                check(score["hard_questions"], "accuracy", reference.share(mine[config], reference.hard))
            for group, key in (("by_scenario", "scenario_name"), ("by_severity", "severity_original")):
                values = [str(story[key]) for story in reference.stories]
                assert set(score[group]) == set(values)
                for value, part in score[group].items():
                    check(part, "accuracy", reference.share(mine[config], [one == value for one in values]))
        for (easier, config), given, gap in zip(
            EASIER, model["if_easier_is_right"], model["gaps"], strict=True
        ):
            assert (given["config"], given["easier"]) == (gap["config"], gap["easier"]) == (config, easier)
            if any(mine[easier]):
                check(given, "accuracy", reference.share(mine[config], mine[easier]))
            check(gap, "difference", reference.difference(mine[easier], mine[config]))
    for one in found["comparisons"]:
        first, second = (right[name][one["config"]] for name in one["models"])
        check(one, "difference", reference.difference(first, second))
    assert len(found["comparisons"]) == 9
    assert compared == 3 * (1 + 3 * (1 + 2 + 2) + 1) + 6 + 9 + 9


def votes(place: Path, path: Path) -> Path:
    """A model that agrees with the first person on every third story, and says yes everywhere else."""
    first: dict[str, Row] = {}
    for vote in read(place / "annotations/votes.jsonl"):
        first.setdefault(vote["story_id"], vote)
    rows = [
        {
            "story_id": name,
            **{key: vote[key] if number % 3 == 0 else "yes" for key in ("q1", "q2", "q3", "q4")},
        }
        for number, (name, vote) in enumerate(first.items())
    ]
    path.write_bytes(b"".join(map(jsonl.line, rows)))
    return path


def test_a_model_that_votes_is_compared_with_the_people_one_left_out(place: Path, tmp_path: Path) -> None:
    file = votes(place, tmp_path / "judge.jsonl")
    found, reference = evaluated(place, file)["votes"]["judge"], Reference(place)
    for key in ("q1", "q2", "q3", "q4"):
        for name, (share, bounds) in reference.votes(file, key).items():
            score = found[key] if name == "difference" else found[key][name]
            value = score["difference"] if name == "difference" else score["share"]
            assert value == CLOSE(share), (key, name)
            assert score["interval"] == (bounds and CLOSE(bounds)), (key, name)
    stated = json.loads((place / "statistics.json").read_bytes())["agreement"]
    for key in ("q1", "q2"):  # the mean agreement of people is the one that the release states
        assert found[key]["annotators"]["share"] == CLOSE(stated[key]["percent"])
    assert found["q1"]["model"]["share"] != found["q1"]["annotators"]["share"]
    assert "the story as a whole" in found


def test_the_files_hold_the_same_figures(place: Path, models: list[Path], tmp_path: Path) -> None:
    files = [*models, votes(place, tmp_path / "judge.jsonl")]
    for name in ("first", "second"):
        call_command("evaluate_release", place, *files, output=tmp_path / name, stdout=StringIO())
    made = {path.name: path.read_bytes() for path in (tmp_path / "first").iterdir()}
    assert sorted(made) == [f"evaluation.{end}" for end in ("json", "md", "svg", "tex")]
    assert made == {path.name: path.read_bytes() for path in (tmp_path / "second").iterdir()}
    found, sha256 = json.loads(made["evaluation.json"]), file_facts(place, "MANIFEST").sha256
    score = found["models"]["explicit_only"]["configs"]["behavior-qa"]
    shown = "50.0 [{:.1f}, {:.1f}]".format(*(100 * bound for bound in score["interval"]))
    for ending, name in (("md", r"explicit\_only"), ("tex", r"explicit\_only")):
        text = made[f"evaluation.{ending}"].decode()
        assert all(part in text for part in (sha256, shown, name, "judge as one more", "hard questions"))
    assert "| perfect | 100.0" in made["evaluation.md"].decode()
    ElementTree.fromstring(made["evaluation.svg"])  # noqa: S314 - our own
    assert b"explicit_only, 50.0 %" in made["evaluation.svg"]
    with pytest.raises(CommandError, match="not an empty directory"):
        call_command("evaluate_release", place, *files, output=tmp_path / "first", stdout=StringIO())


@pytest.mark.latex
@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
def test_latex_sets_the_tables_of_any_names_no_wider_than_the_page(
    place: Path, models: list[Path], tmp_path: Path
) -> None:
    odd = models[0].rename(tmp_path / r"_%&$#~^{}\.jsonl")
    longest = shutil.copy(odd, tmp_path / f"{'a-model-with-a-long-name-' * 4}.jsonl")
    files = [odd, longest, *models[1:], votes(place, tmp_path / "judge.jsonl")]
    call_command("evaluate_release", place, *files, output=tmp_path / "made", stdout=StringIO())
    (tmp_path / "paper.tex").write_text(
        r"\documentclass[twocolumn]{article}\usepackage{booktabs,graphicx}"
        r"\begin{document}\input{made/evaluation.tex}\end{document}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"]
    log = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert log.returncode == 0, log.stdout
    assert "Overfull" not in log.stdout
    assert (tmp_path / "paper.pdf").stat().st_size > 10_000


def test_texts_and_null_are_answers_and_other_sets_are_passed_over(place: Path, models: list[Path]) -> None:
    rows = read(models[0])
    texts = {
        row["id"]: dict(zip(row["choices"]["label"], row["choices"]["text"], strict=True))
        for name in SETS
        for row in read(place / name / "test.jsonl")
    }
    worded = [{"id": row["id"], "answer": texts[row["id"]][row["answer"]]} for row in rows]
    worded[0]["answer"] = None  # of judgment-qa, since the rows are in reverse
    models[0].write_bytes(b"".join(map(jsonl.line, worded)))
    found = evaluated(place, models[0])["models"]["perfect"]
    assert found["unanswered"] == 1
    assert [found["configs"][name]["accuracy"] for name in SETS] == [1, 1, CLOSE(33 / 34)]
    alone = evaluated(place, models[0], config=["behavior-qa"])
    assert list(alone["models"]["perfect"]["configs"]) == ["behavior-qa"]
    assert alone["models"]["perfect"]["if_easier_is_right"] == []


@pytest.mark.parametrize(
    ("line", "change", "words"),
    [
        (3, lambda rows: rows[2].update(id="s9999_action"), "s9999_action is not in the release"),
        (0, lambda rows: rows.pop(), "1 of 102 answers are missing; add: s0001_aware"),
        (2, lambda rows: rows[1].update(rows[0]), "was answered on line 1 already: remove one of the two"),
        (2, lambda rows: rows[1].update(answer="C"), "answer is not a choice: write “A” (“"),
        (2, lambda rows: rows[1].pop("answer"), "answer is not a choice"),
        (2, lambda rows: rows[1].update(answer=["A"]), "answer is not a choice"),
        (1, lambda rows: rows[0].update(id=7), "not a JSON object with the text id"),
    ],
    ids=["unknown", "missing", "twice", "no option", "no answer", "a list", "no id"],
)
def test_unsound_answers_are_refused_with_file_line_and_remedy(
    place: Path, models: list[Path], line: int, change: Callable[[list[Row]], object], words: str
) -> None:
    rows = read(models[0])
    change(rows)
    models[0].write_bytes(b"".join(map(jsonl.line, rows)))
    with pytest.raises(CommandError) as refused:
        evaluated(place, *models)
    assert refused.value.returncode == 1
    where = f"{models[0]}:{line}: " if line else f"{models[0]}: "
    assert any(said.startswith(where) and words in said for said in str(refused.value).splitlines())


def test_unsound_votes_are_refused(place: Path, tmp_path: Path) -> None:
    file = votes(place, tmp_path / "judge.jsonl")
    rows = read(file)
    rows[1].update(q3="possibly")
    rows.pop()
    file.write_bytes(b"".join(map(jsonl.line, rows)))
    with pytest.raises(CommandError) as refused:
        evaluated(place, file)
    assert f"{file}:2: s0001: q3 is not one of yes, no." in str(refused.value)
    assert "answers are missing; add: s0059" in str(refused.value)


def test_releases_and_names_that_cannot_be_evaluated_are_refused(
    place: Path, models: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    twin = tmp_path / "other" / "perfect.jsonl"
    twin.write_bytes(models[0].read_bytes())
    items = items_release(tmp_path / "items")
    for release, files, options, words in (
        (place, [models[0], twin], {}, "Two files are called perfect"),
        (place, models, {"config": ["story-qa"]}, "no question set story-qa; it has: mental-state-qa"),
        (items, models[:1], {}, "no question sets"),
        (items, [votes(place, tmp_path / "judge.jsonl")], {}, "The options depend on the story"),
        (tmp_path, models, {}, "release.json: The file is missing"),
    ):
        with pytest.raises(CommandError, match=words):
            evaluated(release, *files, **options)


def test_questions_that_are_not_those_of_manifest_are_refused(tmp_path: Path) -> None:
    place = tmp_path / "1"
    build(place, [pseudonymous(judged) for judged in crowd(8)])
    file = answers(place, tmp_path / "model.jsonl", lambda name, number: True)
    path = place / "behavior-qa/test.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"answerKey":"A"', b'"answerKey":"B"', 1))
    with pytest.raises(CommandError, match=r"behavior-qa/test\.jsonl does not have the SHA-256 in MANIFEST"):
        evaluated(place, file)
    write_manifest(place)
    assert evaluated(place, file)["models"]["model"]["configs"]["behavior-qa"]["accuracy"] < 1


def test_results_on_a_test_run_say_so(tmp_path: Path) -> None:
    place = tmp_path / "1"
    build(place, [pseudonymous(judged) for judged in crowd(8)], environment="rehearsal")
    file, out = answers(place, tmp_path / "model.jsonl", lambda name, number: True), StringIO()
    call_command("evaluate_release", place, file, stdout=out)
    assert out.getvalue().startswith("> **THIS IS A TEST RUN.")


def test_a_release_without_hard_questions_has_no_such_figures(tmp_path: Path) -> None:
    place = tmp_path / "1"
    build(place, [pseudonymous(judged) for judged in crowd(8)])
    (place / "hard-questions.jsonl").unlink()
    write_manifest(place)
    file = answers(place, tmp_path / "model.jsonl", lambda name, number: True)
    found = evaluated(place, file)["models"]["model"]["configs"]["behavior-qa"]
    assert (found["accuracy"], found["hard_questions"]["n"]) == (1, 0)
    out = StringIO()
    call_command("evaluate_release", place, file, stdout=out)
    assert "Right answers**" in out.getvalue()
    assert "hard questions" not in out.getvalue()


def test_it_needs_no_database_and_no_network(place: Path, models: list[Path]) -> None:
    environment = os.environ | {
        "DATABASE_URL": "postgresql://absent.invalid/none",
        "REDIS_URL": "redis://absent.invalid/0",
    }
    done = subprocess.run(
        [sys.executable, "manage.py", "evaluate_release", place, *models],
        cwd=PROJECT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "**Right answers**" in done.stdout
