"""The files of a release, how to load them and how to check them; and what the researchers state. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from publishing.card.citing import CITATION_PATH
from publishing.card.markdown import code, fenced, paragraphs, table
from publishing.facts import Statement
from publishing.files.rows import DROPPED_PATH, VOTES_PATH, Layout, config_path

CONFIG_SUMMARIES: Mapping[str, str] = {
    "mental-state-qa": "one question per story: is the main character likely to be aware of the key "
    "information?",
    "behavior-qa": "one question per story: what happens next, the action if unaware or the action if aware?",
    "judgment-qa": "one question per story: is behaving as if unaware reasonable?",
    "story-data": "the kept stories with their provenance",
}
_STATED = {
    "demographics": "The people who voted",
    "sensitive_information": "Sensitive information",
    "biases": "Known biases",
    "limits": "Known limits",
    "intended_use": "Intended use",
}
"""The items of a data statement with a heading of their own, in the card's order."""


def files(layout: Layout) -> list[str]:
    """What is in the directory."""
    rows = [(code(config_path(config)), CONFIG_SUMMARIES[config]) for config in layout.configs]
    rows += [
        (
            code(VOTES_PATH),
            "every counted vote: story, annotator (a pseudonym of this study only), the answers in the order "
            "of the form, time of submission, seconds on task",
        ),
        (code(DROPPED_PATH), "the dropped stories, with the questions that dropped them as reason"),
        (code("parquet/"), "the same rows as Parquet files"),
        (code("statistics.json"), "retention and agreement, with intervals"),
        (code("machine_validation.json"), "what a machine can guess, and how that was found out"),
        (code("figures/"), "the charts of this card"),
        (code("croissant.json"), "the files and their columns, as Croissant metadata"),
        (code("release.json"), "study, protocol, filter, salt, counts, code version"),
        (code(CITATION_PATH), "how to cite it"),
        (code("MANIFEST"), "the SHA-256 of every other file"),
    ]
    sections = [
        "## Files and splits",
        table(("file", "content"), rows),
        f"Every configuration has one split, {code('test')}: the data are made for evaluation. Do not train "
        "on them what you evaluate with them.",
    ]
    if layout.question_sets:
        sections.append(
            "On which side the right answer of a question stands is a shuffle that can be recomputed. A "
            "question's number is the first eight bytes of the SHA-256 of the salt (in release.json), a "
            "colon and the question's id; in each file, the questions with a number below the median have "
            "their right answer as choice A."
        )
    return sections


def load_snippet(layout: Layout, *, directory: str = "path/to/this/directory") -> str:
    """Python that loads every config of a release from its directory, one line each."""
    loads = [f'load_dataset("{directory}", "{config}", split="test")' for config in layout.configs]
    return "\n".join(["from datasets import load_dataset", "", *loads])


def other_snippets(layout: Layout) -> str:
    """Python that loads the first config by other ways: Hugging Face, Parquet, Croissant."""
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
    """How to load and check the release."""
    return [
        "## Loading and checking",
        fenced("python", load_snippet(layout)),
        "Other ways:",
        fenced("python", other_snippets(layout)),
        "To check that the files are the published ones, in this directory:",
        fenced("sh", "sha256sum -c MANIFEST"),
    ]


def stated(statement: Statement) -> list[str]:
    """What only the researchers can say, and what they have not said."""
    sections = []
    silent = []
    for name, heading in _STATED.items():
        said = paragraphs(getattr(statement, name))
        if said:
            sections += [f"### {heading}", *said]
        else:
            silent.append(heading.lower())
    if silent:
        sections.append(f"The researchers have stated nothing about: {', '.join(silent)}.")
    return ["## What the researchers state", *sections]
