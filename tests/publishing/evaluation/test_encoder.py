"""The encoder baseline: skipped with a clear word where something is missing, trained where nothing is."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from publishing.evaluation import encoder
from publishing.machine_validation.questions import Question
from tests.publishing.evaluation.reference import SETS, read
from tests.publishing.test_builder import build, crowd
from tests.publishing.verification.support import pseudonymous


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("release") / "1"
    build(place, [pseudonymous(judged) for judged in crowd(60)])
    return place


def evaluated(place: Path, *files: Path, **options: Any) -> tuple[dict[str, Any], str]:
    out, err = StringIO(), StringIO()
    call_command("evaluate_release", place, *files, stdout=out, stderr=err, json=True, **options)
    return json.loads(out.getvalue()), err.getvalue()


def a_model(place: Path, path: Path) -> Path:
    rows = [{"id": row["id"], "answer": "A"} for name in SETS for row in read(place / name / "test.jsonl")]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def weights_without_a_model(place: Path) -> Path:
    place.mkdir()
    for name in encoder.FILES:
        (place / name).touch()
    return place


def test_without_pytorch_the_other_models_are_evaluated(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    model, weights = a_model(place, tmp_path / "always_a.jsonl"), weights_without_a_model(tmp_path / "w")
    found, told = evaluated(place, model, encoder=weights)
    assert told == ("The encoder was skipped. torch is not installed: pip install torch transformers.\n")
    assert list(found["models"]) == ["always_a"]
    with pytest.raises(CommandError, match="torch is not installed"):
        evaluated(place, encoder=weights)
    with pytest.raises(CommandError, match="Name a file of answers or votes, or an encoder"):
        evaluated(place)
    model.write_text('{"id": "nowhere", "answer": "A"}\n')
    with pytest.raises(CommandError, match="nowhere"):  # before anything is trained
        evaluated(place, model, encoder=weights)


def test_no_question_is_answered_by_what_was_learned_from_its_core() -> None:
    questions = [
        Question(f"q{n}", f"core-{n // 3}", "s", (), "", "", f"right {n}", f"wrong {n}", "A")
        for n in range(36)
    ]
    learned: dict[int, set[str]] = {}

    def learn(fold: int, known: Sequence[Question]) -> encoder.Scorer:
        learned[fold] = {question.core for question in known}

        def scored(held_out: Sequence[Question]) -> list[tuple[float, float]]:
            assert not {question.core for question in held_out} & learned[fold]
            return [(int(one.id[1:]) % 3, 1.0) for one in held_out]

        return scored

    rows = {row["id"]: row["answer"] for row in encoder.held_out_answers(questions, learn)}
    assert len(learned) == 5
    assert rows == {f"q{n}": {0: f"wrong {n}", 1: None, 2: f"right {n}"}[n % 3] for n in range(36)}
    with pytest.raises(encoder.EncoderSkipped, match="at least 5 groups"):
        list(encoder.held_out_answers(questions[:6], learn))


def test_a_folder_without_weights_is_named(place: Path, tmp_path: Path) -> None:
    _, told = evaluated(place, a_model(place, tmp_path / "a.jsonl"), encoder=tmp_path)
    assert f"{tmp_path} has no config.json" in told
    with pytest.raises(CommandError, match="nowhere is no folder"):
        evaluated(place, encoder=tmp_path / "nowhere", output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def tiny(place: Path, words: set[str]) -> Path:
    """Weights that know nothing, of a BERT with one small layer and these words."""
    transformers = pytest.importorskip("transformers")
    place.mkdir()
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(words)]
    tokenizer = transformers.BertTokenizerFast(vocab={word: number for number, word in enumerate(known)})
    tokenizer.save_pretrained(place)
    config = transformers.BertConfig(
        vocab_size=len(known),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        hidden_dropout_prob=0.0,
    )
    transformers.BertModel(config).save_pretrained(place)
    return place


@pytest.mark.encoder
def test_an_encoder_learns_the_cue_of_the_choices_and_answers_every_question_once(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(encoder, "LEARNING_RATE", 1e-2)
    monkeypatch.setattr(encoder, "EPOCHS", 10)
    rows = [row for name in SETS for row in read(place / name / "test.jsonl")]
    words = {
        word for row in rows for text in row["choices"]["text"] for word in re.findall(r"\w+", text.lower())
    }
    options = {"encoder": tiny(tmp_path / "weights", words), "output": tmp_path / "results"}
    found, told = evaluated(place, **options)
    assert told == ""
    made = (tmp_path / "results/encoder.jsonl").read_bytes()
    given = {row["id"]: row["answer"] for row in map(json.loads, made.splitlines())}
    assert given.keys() == {row["id"] for row in rows}
    assert len(made.splitlines()) == len(rows)
    assert {
        row["id"]: given[row["id"]] for row in rows if given[row["id"]] not in row["choices"]["text"]
    } == {}
    accuracy = {name: found["models"]["encoder"]["configs"][name]["accuracy"] for name in SETS}
    assert accuracy["behavior-qa"] > 0.9, accuracy
    assert evaluated(place, **options | {"output": tmp_path / "again"})[0] == found
