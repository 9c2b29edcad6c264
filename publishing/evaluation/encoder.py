"""An optional baseline: a small encoder that is fine-tuned on the choices alone.

It needs PyTorch, transformers and a folder of weights, none of which comes with tomannot. It learns what the
n-grams of :mod:`publishing.machine_validation.learner` cannot see; like them it never reads the story, so all
that it gets right beyond chance is a shortcut.
"""

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from publishing.errors import NotEvaluable
from publishing.evaluation.reading import EvaluatedRelease
from publishing.files import jsonl
from publishing.files.rows import Row
from publishing.machine_validation import groups
from publishing.machine_validation.questions import (
    MOST_BYTES,
    MOST_STORIES,
    Question,
    read_questions,
    read_stories,
)

EPOCHS = 3
BATCH = 16
"""Questions per step, each with two choices."""
LEARNING_RATE = 5e-5
LONGEST = 128
"""Tokens of a choice; the rest is cut off."""
NEEDED = ("torch", "transformers")
FILES = ("config.json", "tokenizer_config.json", "model.safetensors")


class EncoderSkipped(NotEvaluable):
    """The encoder cannot be trained here; the message says what is missing."""


Scorer = Callable[[Sequence[Question]], Iterable[tuple[float, float]]]
"""Returns the scores of the right and of the wrong choice of each question."""


def write_answers(path: Path, release: EvaluatedRelease, weights: Path) -> None:
    """Write the encoder's answers to the questions of a release, in the form that ``evaluate`` reads.

    Each question is answered by a model that was trained on the other folds of whole cores, beginning from
    the ``weights`` (a folder of Hugging Face's, with ``model.safetensors``). Nothing is downloaded. Another
    processor or version of PyTorch may give slightly different answers. Raise :class:`EncoderSkipped`.
    """
    if not weights.is_dir():
        raise EncoderSkipped(f"{weights} is no folder.")
    if missing := [name for name in FILES if not (weights / name).is_file()]:
        raise EncoderSkipped(f"{weights} has no {missing[0]}: give a folder with a saved model.")
    try:
        torch, transformers = map(importlib.import_module, NEEDED)
    except ImportError as error:
        what = f"{error.name} is not installed: pip install {' '.join(NEEDED)}."
        raise EncoderSkipped(what) from error
    sample = read_stories(release.directory)
    if not sample.is_whole:
        raise EncoderSkipped(
            f"It learns from at most {MOST_STORIES:,} stories and {MOST_BYTES:,} bytes of them."
        )
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()

    def learn(fold: int, questions: Sequence[Question]) -> Scorer:
        torch.manual_seed(fold)
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(weights, local_files_only=True)
            model = transformers.AutoModelForSequenceClassification.from_pretrained(
                weights, num_labels=1, local_files_only=True, use_safetensors=True
            )
        except (OSError, ValueError) as error:
            raise EncoderSkipped(f"{weights} cannot be read: {str(error)[:300]}") from error
        return _train(torch, model, tokenizer, questions)

    groups.join_duplicates(sample)
    with path.open("wb") as file:
        for one in release.described.layout.question_sets:
            if one.config in release.questions:
                for row in held_out_answers(read_questions(release.directory, one, sample), learn):
                    file.write(jsonl.line(row))


def held_out_answers(
    questions: Sequence[Question], learn: Callable[[int, Sequence[Question]], Scorer]
) -> Iterator[Row]:
    """Yield an answer to every question, by what was learned from the questions about other cores.

    Raise :class:`EncoderSkipped` if there are too few cores.
    """
    folds = groups.folds_by("core_id", questions)
    if folds.undefined:
        raise EncoderSkipped(folds.undefined)
    placed = list(zip(questions, folds.fold_of, strict=True))
    for fold in range(folds.count or 0):
        scores = learn(fold, [question for question, its in placed if its != fold])
        held_out = [question for question, its in placed if its == fold]
        for question, (right, wrong) in zip(held_out, scores(held_out), strict=True):
            answer = question.right if right > wrong else question.wrong if wrong > right else None
            yield {"id": question.id, "answer": answer}


def _scores(model: Any, tokenizer: Any, questions: Sequence[Question]) -> Any:
    """Return a tensor of two scores per question: of the right choice and of the wrong one."""
    texts = [choice for question in questions for choice in question.choices]
    tokens = tokenizer(texts, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt")
    return model(**tokens).logits.view(-1, 2)


def _train(torch: Any, model: Any, tokenizer: Any, questions: Sequence[Question]) -> Scorer:
    """Raise the score of right choices above that of wrong ones (the logistic loss of their difference)."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    model.train()
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(questions)).split(BATCH):
            right, wrong = _scores(model, tokenizer, [questions[place] for place in batch.tolist()]).unbind(1)
            torch.nn.functional.softplus(wrong - right).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    model.eval()

    def scored(held_out: Sequence[Question]) -> Iterator[tuple[float, float]]:
        with torch.no_grad():
            for start in range(0, len(held_out), BATCH):
                yield from _scores(model, tokenizer, held_out[start : start + BATCH]).tolist()

    return scored
