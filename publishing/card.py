"""The dataset card (README.md) of a release, written from its facts. Pure.

Titles, names and descriptions come from people: YAML is written by a library, and text that goes into
Markdown is escaped, so that none of it can add a heading, a link or a column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from publishing.facts import ReleaseFacts, Share, Tally
from publishing.files.rows import DROPPED_PATH, VOTES_PATH, Layout, config_path

REHEARSAL_WARNING = (
    "> **THIS IS A REHEARSAL. THESE ARE NOT HUMAN JUDGEMENTS.** The votes come from test or simulated "
    "people. "
    "Nothing in this directory is evidence about the stories; do not cite it and do not train or evaluate "
    "on it."
)
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#!|~&$])")
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))

CONFIG_SUMMARIES: Mapping[str, str] = {
    "mental-state-qa": "one question per story: is the main character likely to be aware of the key "
    "information?",
    "behavior-qa": "one question per story: what happens next, the action if unaware or the action if aware?",
    "judgment-qa": "one question per story: is behaving as if unaware reasonable?",
    "story-data": "the kept stories with their provenance",
}


def text(value: str) -> str:
    """A person's text as one line of plain Markdown text."""
    escaped = _MARKDOWN.sub(r"\\\1", " ".join(value.split()))
    return f"\\{escaped}" if escaped[:1] in ("-", "+", "=", ":") else escaped


def code(value: str) -> str:
    """A name as a code span that is safe inside a table."""
    return f"`{' '.join(value.split()).replace('`', chr(39)).replace('|', '/') or '-'}`"


def dataset_card(
    facts: ReleaseFacts,
    tally: Tally,
    layout: Layout,
    features: Mapping[str, Sequence[Mapping[str, Any]] | None],
) -> bytes:
    """The whole card. ``features`` are the columns of every config (None: left to the reader)."""
    sections = [
        front_matter(facts, tally, layout, features),
        f"# {text(facts.title)}",
        *([REHEARSAL_WARNING] if facts.is_rehearsal else []),
        *(text(paragraph) for paragraph in re.split(r"\n\s*\n", facts.description) if paragraph.strip()),
        *_numbers(facts, tally),
        *_procedure(facts, tally),
        *_retention(tally),
        *_selection(facts, tally),
        *_files(layout),
        *_use(layout),
        *_rights(facts),
    ]
    return ("\n\n".join(sections) + "\n").encode()


def front_matter(
    facts: ReleaseFacts,
    tally: Tally,
    layout: Layout,
    features: Mapping[str, Sequence[Mapping[str, Any]] | None],
) -> str:
    """The YAML block that tells ``datasets`` which files are which config and what their columns are.

    It declares no sizes: a wrong number of examples would keep the data from loading.
    """
    kept = tally.counts()["kept"]
    has_questions = bool(layout.question_sets)
    header: dict[str, Any] = {
        "license": facts.license.lower(),
        "language": ["en"],
        "pretty_name": " ".join(facts.title.split()),
        **({"task_categories": ["question-answering", "multiple-choice"]} if has_questions else {}),
        "size_categories": [next((name for limit, name in _SIZES if kept < limit), "1M<n<10M")],
        **({"tags": ["theory-of-mind"]} if has_questions else {}),
        "configs": [
            {
                "config_name": config,
                # `datasets` caches by the directory's name and this entry, not by the files: without
                # something that differs, it would answer with another release loaded before.
                "description": f"{facts.slug}, release {facts.number}, {facts.salt}",
                "data_files": [{"split": "test", "path": config_path(config)}],
            }
            for config in layout.configs
        ],
    }
    declared = [
        {"config_name": config, "features": [dict(column) for column in columns]}
        for config in layout.configs
        if (columns := features[config]) is not None
    ]
    if declared:
        header["dataset_info"] = declared
    dumped = yaml.safe_dump(header, allow_unicode=True, sort_keys=False, width=110)
    return f"---\n{dumped}---"


def _numbers(facts: ReleaseFacts, tally: Tally) -> list[str]:
    counts = tally.counts()
    rows = [
        ("stories generated", counts["stories"]),
        (f"stories with {facts.votes_per_story} votes", counts["kept"] + counts["dropped"]),
        ("stories kept", counts["kept"]),
        ("stories dropped", counts["dropped"]),
        ("stories without all their votes, not released", counts["incomplete"]),
        ("counted votes", counts["votes"]),
        ("people whose votes count", counts["annotators"]),
    ]
    return [
        f"Release {facts.number} of the study {code(facts.slug)}, {facts.created:%-d %B %Y}.",
        "## In numbers",
        _table(("", "number"), [(name, f"{number:,}") for name, number in rows]),
    ]


def _procedure(facts: ReleaseFacts, tally: Tally) -> list[str]:
    asked = "\n".join(
        f"{place}. {text(question.title)} ({code(question.key)})"
        for place, question in enumerate(facts.asked, 1)
    )
    pay = (
        "The study names no pay rate."
        if facts.pay_rate is None
        else f"The study's pay rate is {facts.pay_rate:,.2f} {text(facts.currency)} per hour."
    )
    opened = f" The study opened on {facts.opened_at:%-d %B %Y}." if facts.opened_at else ""
    return [
        "## How the stories were judged",
        f"People answered one form about each story (protocol {code(facts.protocol_name)}, version "
        f"{code(facts.protocol_version)}: {text(facts.protocol_title)}). It asks:",
        asked,
        _qualification(facts),
        f"Every story was to get exactly {facts.votes_per_story} votes, each by another person. Nobody was "
        "served another story after answering "
        f"{facts.story_cap:,}. A vote that came after its time had run out and its place "
        "had "
        "been taken, or from somebody no longer qualified, is stored and credited but does not count and "
        "is not "
        f"in this release.{opened} {pay}",
        f"The filter is {code(facts.filter_name)}: a story is kept if and only if it has exactly "
        f"{facts.votes_per_story} counted votes and none of their answers counts against it.",
    ]


def _qualification(facts: ReleaseFacts) -> str:
    people = facts.people
    if people.attempted is None or people.passed is None:
        return (
            f"{people.consented:,} people consented to take part. The study asked for no qualification test: "
            "everybody who consented could vote."
        )
    return (
        f"{people.consented:,} people consented to take part. Before voting they took a qualification test: "
        f"{people.attempted:,} completed it, {people.passed:,} passed. Only those who passed could vote."
    )


def _retention(tally: Tally) -> list[str]:
    dropped = tally.dropped_by_question()
    sections = ["## What was kept"]
    if dropped:
        sections += [
            "Stories dropped by each question (a story that two questions drop counts for both):",
            _table(("question", "stories dropped"), [(code(key), f"{n:,}") for key, n in dropped.items()]),
        ]
    sections += [
        "By scenario (kept % is of the stories that have all their votes):",
        _shares("scenario", tally.by_scenario),
        "By generator model:",
        _shares("generator model", tally.by_generator),
    ]
    return sections


def _shares(name: str, shares: Mapping[str, Share]) -> str:
    return _table(
        (name, "generated", "with all votes", "kept", "kept %"),
        [
            (
                code(key),
                f"{share.generated:,}",
                f"{share.complete:,}",
                f"{share.kept:,}",
                "-" if share.retention is None else f"{100 * share.retention:.1f}",
            )
            for key, share in sorted(shares.items())
        ],
    )


def _selection(facts: ReleaseFacts, tally: Tally) -> list[str]:
    return [
        "## Limits",
        "The filter selects. The kept stories are those about which everybody asked was of one mind, so "
        "they are "
        "clearer than the stories that were generated, the kept share may differ between scenarios and "
        "generators "
        "(tables above), and agreement among the kept stories says nothing about how much people agreed: "
        "compute "
        f"agreement from {code(VOTES_PATH)}, which has the votes on every story, kept or not. What was "
        "dropped is "
        f"in {code(DROPPED_PATH)}.",
        f"{facts.votes_per_story} votes cannot show that a story is valid for everybody, and the people "
        "who voted "
        "are not a sample of any population. The stories were written by the generators named above; their "
        "texts, "
        "and what is likely in them, carry the habits of those generators.",
    ]


def _files(layout: Layout) -> list[str]:
    rows = [(code(config_path(config)), CONFIG_SUMMARIES[config]) for config in layout.configs]
    rows += [
        (
            code(VOTES_PATH),
            "every counted vote: story, annotator (a pseudonym of this study only), the answers in the order "
            "of the form, time of submission, seconds on task",
        ),
        (code(DROPPED_PATH), "the dropped stories, with the questions that dropped them as reason"),
        (code("release.json"), "study, protocol, filter, salt, counts, code version"),
        (code("MANIFEST"), "the SHA-256 of every other file"),
    ]
    sections = ["## Files", _table(("file", "content"), rows)]
    if layout.question_sets:
        sections.append(
            "On which side the right answer of a question stands is a shuffle that can be recomputed. A "
            "question's "
            "number is the first eight bytes of the SHA-256 of the salt (in release.json), a colon and the "
            "question's "
            "id; in each file, the questions with a number below the median have their right answer as "
            "choice A."
        )
    return sections


def load_snippet(layout: Layout) -> str:
    """Python that loads every config of a release, one line each."""
    loads = [f'load_dataset("path/to/this/directory", "{config}", split="test")' for config in layout.configs]
    return "\n".join(["from datasets import load_dataset", "", *loads])


def _use(layout: Layout) -> list[str]:
    return [
        "## Loading and checking",
        f"```python\n{load_snippet(layout)}\n```",
        "To check that the files are the published ones, in this directory:",
        "```sh\nsha256sum -c MANIFEST\n```",
    ]


def _rights(facts: ReleaseFacts) -> list[str]:
    return [
        "## Licence",
        f"{text(facts.license)}.",
        "## Citation",
        f"```bibtex\n{citation(facts.slug, facts.title, facts.number, facts.created.year)}\n```",
        "The procedure follows that of Gu et al., SimpleToM: "
        "Exposing the "
        "Gap between Explicit ToM Inference and Implicit ToM Application in LLMs, appendix G."
        if facts.protocol_name == "validity"
        else "Please also name the study and the number of the release.",
    ]


def citation(slug: str, title: str, number: int, year: int) -> str:
    """A BibTeX entry for a release. Characters that BibTeX or the card would act on are left out."""
    plain = " ".join(re.sub(r"[\\{}`%#$&~^_]", " ", title).split())
    return (
        f"@misc{{{slug}-{number},\n"
        f"  title = {{{{{plain}}}}},\n"
        f"  year = {{{year}}},\n"
        f"  note = {{Dataset, study {slug}, release {number}}}\n"
        "}"
    )


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
