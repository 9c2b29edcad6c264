"""The sections on files, loading and checking, and the researchers' statement. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from publishing.card.citation import CITATION_PATH
from publishing.card.markdown import cell, code, fenced, paragraphs, table, text
from publishing.card.meanings import meaning_of
from publishing.comparison.changes import CHANGES_PATH
from publishing.facts import AskedQuestion, ReleaseFacts, Statement, scales_of
from publishing.files import jsonl
from publishing.files.features import Type
from publishing.files.rows import (
    ADJUDICATIONS_PATH,
    BASELINE,
    DROPPED_PATH,
    HARD_PATH,
    INCOMPLETE_PATH,
    RATINGS_PATH,
    SKIPS_PATH,
    VOTES_PATH,
    Layout,
    config_path,
)
from publishing.filters import get_filter

CONFIG_SUMMARIES: Mapping[str, str] = {
    "mental-state-qa": "one question per story: is the main character likely to be aware of the key "
    "information?",
    "behavior-qa": "one question per story: what happens next, the action if unaware or the action if aware?",
    "judgment-qa": "one question per story: is behaving as if unaware reasonable?",
    "story-data": "the kept stories with their provenance",
}
FILES: Mapping[str, str] = {
    VOTES_PATH: "every counted vote, on kept and dropped stories alike",
    RATINGS_PATH: "the mean rating of every complete item on each question, with its interval",
    SKIPS_PATH: "stories that annotators said they could not judge, with their reason; these are no votes",
    DROPPED_PATH: "the dropped stories, with the questions that dropped them as reason",
    INCOMPLETE_PATH: "the stories that lack votes, with the number they have as reason",
    ADJUDICATIONS_PATH: "the experts' standing decisions: story, verdict, reason, time; they are not votes",
    CHANGES_PATH: "what changed since the previous release: stories, votes, answer keys, why",
    "parquet/": "the same rows as Parquet files",
    "statistics.json": "retention and agreement, with intervals",
    "machine_validation.json": "what a machine can guess, and the method",
    HARD_PATH: "the ids of the questions that no shortcut of machine_validation.json answers",
    BASELINE: "people's answers to a sample of the questions, and their accuracy",
    "figures/": "the charts of this card",
    "croissant.json": "the files and their columns, as Croissant metadata",
    "instrument/": "what annotators were shown: questions, instructions, examples, consent, pay",
    "release.json": "study, statement, protocol, filter, salt, medians, counts, sources, plan, code version",
    CITATION_PATH: "how to cite it",
    "README.md": "this card",
    "MANIFEST": "the SHA-256 of every other file",
}
"""Files and folders beside the configurations."""
WITHOUT_SELECTION: Mapping[str, str] = {
    "story-data": "the items with all their votes, with their provenance",
    VOTES_PATH: "every counted vote",
    "statistics.json": "ratings and agreement, with intervals",
}
"""What these hold instead where no story is dropped."""
_STATED = {
    "demographics": "Annotators",
    "sensitive_information": "Sensitive information",
    "biases": "Known biases",
    "limits": "Known limits",
    "intended_use": "Intended use",
    "social_impact": "Social impact",
}
"""Statement items with their own heading, in order."""


def name_of(path: str) -> str:
    """Return the name of a file of rows: ``story-data``, ``votes``."""
    return path.removesuffix(".jsonl").removesuffix("/test").rpartition("/")[2]


def summary_of(path: str, *, selects: bool) -> str:
    """Return what a file holds. ``selects``: whether the release's filter can drop stories."""
    folder = path.partition("/")[0]
    usual = CONFIG_SUMMARIES.get(folder) or FILES.get(path) or FILES.get(f"{folder}/", "")
    return usual if selects else WITHOUT_SELECTION.get(path) or WITHOUT_SELECTION.get(folder, usual)


def files(facts: ReleaseFacts, layout: Layout, *, with_baseline: bool) -> list[str]:
    """Return the section on files."""
    selects = get_filter(facts.filter_name).selects
    there = {BASELINE: with_baseline, DROPPED_PATH: selects, RATINGS_PATH: bool(scales_of(facts.asked))}
    paths = [*map(config_path, layout.configs), *(path for path in FILES if there.get(path, True))]
    rows = [(code(path), summary_of(path, selects=selects)) for path in paths]
    sections = [
        "## Files and splits",
        table(("file", "content"), rows),
        f"Every configuration has one split, {code('test')}: the data are for evaluation. Do not evaluate a "
        "model that was trained on them.",
    ]
    if layout.question_sets:
        sections.append(
            "The order of a question's choices is a shuffle that can be recomputed. A question's number is "
            "the first eight bytes of the SHA-256 of the salt (in release.json), a colon and the question's "
            "id. In each file, the questions with a number below the median (in release.json: that of the "
            "study's first release, so that no question changes sides) have their right answer as choice A."
        )
    return sections


def columns(
    layout: Layout,
    asked: Sequence[AskedQuestion],
    types: Mapping[str, Mapping[str, Type]],
    example: Mapping[str, Any],
) -> list[str]:
    """Return an example of a row, and every column's meaning; ``types`` are the columns of every file."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in sorted(types):
        file = name_of(path)
        for column in types[path]:
            found.setdefault((cell(column), text(meaning_of(column, asked))), []).append(file)
    return [
        f"An example, the first row of {code(config_path(layout.configs[0]))}:",
        fenced("json", jsonl.document(example).decode().rstrip().replace("`", "\\u0060")),
        "## Columns",
        table(
            ("column", "meaning", "files"), [(*column, ", ".join(files)) for column, files in found.items()]
        ),
    ]


def load_snippet(layout: Layout, *, directory: str = "path/to/this/directory") -> str:
    """Return Python that loads every config from the directory, one line each."""
    loads = [f'load_dataset("{directory}", "{config}", split="test")' for config in layout.configs]
    return "\n".join(["from datasets import load_dataset", "", *loads])


def other_snippets(layout: Layout) -> str:
    """Return Python that loads the first config in other ways: Hugging Face, Parquet, Croissant."""
    config = layout.configs[0]
    return "\n".join(
        [
            "# from Hugging Face, if it has been uploaded there, under its name",
            f'load_dataset("OWNER/NAME", "{config}", split="test")',
            "",
            "# in this directory",
            "import pandas",
            f'pandas.read_parquet("parquet/{config}/test.parquet")',
            "",
            "import mlcroissant",
            f'mlcroissant.Dataset("croissant.json").records("{config}")',
        ]
    )


def use(layout: Layout) -> list[str]:
    """Return the section on loading and checking."""
    return [
        "## Loading and checking",
        fenced("python", load_snippet(layout)),
        "Other ways:",
        fenced("python", other_snippets(layout)),
        "To check that the files are unchanged, run this in the directory:",
        fenced("sh", "sha256sum -c MANIFEST"),
    ]


def stated(statement: Statement) -> list[str]:
    """Return the researchers' statement, and the items they left empty."""
    sections = []
    silent = []
    for name, heading in _STATED.items():
        written = paragraphs(getattr(statement, name))
        if written:
            sections += [f"### {heading}", *written]
        else:
            silent.append(heading.lower())
    if silent:
        sections.append(f"The researchers have stated nothing about: {', '.join(silent)}.")
    return ["## What the researchers state", *sections]
