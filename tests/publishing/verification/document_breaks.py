"""Ways to break the instrument, release.json, statistics.json, and what no release may hold."""

from __future__ import annotations

import json
from pathlib import Path

from publishing.instrument import readable
from tests.publishing.verification.breaks import (
    DECISIONS,
    FORM,
    INSTRUMENT,
    VOTES,
    Break,
    bytes_added,
    instrument,
    put,
    release,
    row_by_row,
    together,
)
from tests.publishing.verification.support import Row, edit_document, edit_rows, edit_text


def instrument_rewritten(place: Path) -> None:
    """Another hint in both of its forms, as one who wants to hide it would write it."""
    edit_document(INSTRUMENT, lambda d: d["forms"][0]["questions"][0].update(help="Say yes."))(place)
    for path, text in readable(json.loads((place / INSTRUMENT).read_bytes())).items():
        (place / path).write_bytes(text)


INSTRUMENTS = (
    instrument("an instrument rewritten", "installed protocol", instrument_rewritten),
    Break(
        "a page rewritten, one that no vote names, and one away",
        together(
            bytes_added(FORM, b"Say yes."),
            bytes_added("instrument/form-7-en.md", b"x"),
            lambda place: (place / "instrument/consent-1.md").unlink(),
        ),
        "instrument",
        dict.fromkeys((FORM, "instrument/form-7-en.md", "instrument/consent-1.md"), ("does not match",)),
    ),
    instrument("a form is away", "each version", edit_document(INSTRUMENT, lambda d: d["forms"].clear())),
    instrument(
        "an instrument that is none",
        "not of the form",
        edit_document(INSTRUMENT, lambda d: d.update(forms=[7])),
    ),
    instrument(
        "an option of their own",
        "not those of release.json",
        edit_document(INSTRUMENT, lambda d: d["forms"][0]["questions"][0]["options"].pop()),
    ),
    instrument("a version that nobody wrote", "each version", row_by_row(VOTES, put("instructions", 4))),
)


# release.json and statistics.json


def without_filter_rule(document: Row) -> None:
    document["filter"]["rule"] = "a story is kept"


def nothing_counts(document: Row) -> None:
    for asked in document["questions"]:
        asked["against"] = []


def options_left_to_the_story(document: Row) -> None:
    document["questions"][2].update(options=[], against=[])


def other_counts(document: Row) -> None:
    document["counts"].update(stories=99, kept=99, incomplete=1, votes=1, annotators=4)
    document["counts"]["dropped_by_reason"].update(q2=1)


def other_figures(document: Row) -> None:
    document["stories"].update(generated=1, retention=0.9, unique_x=1)
    document["agreement"]["q1"]["percent"] = 0.5
    document["agreement_on_validity"]["intervals"]["percent"][0] -= 1e-6
    document["by_scenario"]["scenario 0"]["kept"] += 1
    document["by_scenario"]["scenario 2"] = document["by_scenario"].pop("scenario 1")
    del document["bootstrap"]


DOCUMENTS = (
    release("no questions", "older version", lambda d: d.pop("questions")),
    release("a key more in release.json", "keys", lambda d: d.update(contact="x")),
    release("a source without a licence's place", "sources", lambda d: d["sources"][0].pop("license")),
    release("medians of another kind", "16 hexadecimal", lambda d: d.update(medians={"behavior-qa": 1})),
    release("a filter nobody knows", "filter.name is not one of", lambda d: d["filter"].update(name="some")),
    release("a rule in other words", "does not match the definition", without_filter_rule),
    release(
        "a question that counts an unknown option",
        "questions",
        lambda d: d["questions"][0].update(against=["never"]),
    ),
    release("nothing counts against a story", "(against a story: none)", nothing_counts, "decisions"),
    release(
        "a question nobody was asked",
        "questions are not those of",
        lambda d: d["questions"].pop(),
        "decisions",
    ),
    release(
        "options that depend on the story", "has the options none", options_left_to_the_story, "decisions"
    ),
    Break(
        "other counts",
        edit_document("release.json", other_counts),
        "counts",
        {
            "release.json": (
                *[f"counts.{name} is" for name in ("stories", "kept", "incomplete", "votes", "annotators")],
                "counts.dropped_by_reason.q2 is",
            )
        },
    ),
    Break(
        "other figures",
        edit_document("statistics.json", other_figures),
        "statistics",
        {
            "statistics.json": (
                "The document: the keys are not what they should be (bootstrap)",
                "stories.generated is 1",
                "stories.retention is 0.9",
                "stories.unique_x is 1",
                "agreement.q1.percent is 0.5",
                "agreement_on_validity.intervals.percent[0] is",
                "by_scenario.scenario 0.kept is",
                "by_scenario: the keys",
            )
        },
    ),
)


# Files and identifiers


def files_added_and_removed(place: Path) -> None:
    (place / "annotations" / "people.csv").write_text("id\n", encoding="utf-8")
    (place / "judgment-qa" / "test.jsonl").unlink()
    (place / "extra").mkdir()


SOMEBODY = "ann@example.org, A1B2C3D4E5F6G7, 5f3c0a1b2c3d4e5f60718293"
KINDS_OF_ID = ("e-mail address", "Mechanical Turk", "Prolific")

FILES = (
    Break(
        "files that nobody knows, and one away",
        files_added_and_removed,
        "hashes",
        {
            "annotations/people.csv": ("No release has",),
            "judgment-qa/test.jsonl": ("does not list",),
            "extra": ("empty",),
        },
    ),
    Break(
        "identifiers of people",
        together(
            edit_document("release.json", lambda d: d.update(title=f"By {SOMEBODY}")),
            edit_rows(DECISIONS, lambda rows: rows[0].update(reason=f"{SOMEBODY} says so")),
            bytes_added("README.md", f"\nThanks to {SOMEBODY}.\n".encode()),
            bytes_added("CITATION.cff", f"contact: {SOMEBODY}\n".encode()),
            edit_text("figures/retention.svg", "</svg>", f"<!-- {SOMEBODY} --></svg>"),
            edit_document("croissant.json", lambda d: d.update(description="By A1B2C3D4E5F6G7.")),
        ),
        "identifiers",
        {
            "release.json": KINDS_OF_ID,
            DECISIONS: KINDS_OF_ID,
            "README.md": KINDS_OF_ID,
            "CITATION.cff": KINDS_OF_ID,
            "figures/retention.svg": KINDS_OF_ID,
            "croissant.json": ("Mechanical Turk",),
        },
    ),
)
DOCUMENT_BREAKS = (*INSTRUMENTS, *DOCUMENTS, *FILES)
