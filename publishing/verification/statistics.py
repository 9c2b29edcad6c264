"""Recompute counts, ``statistics.json``, ``machine_validation.json``, and accuracy of the human baseline."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from annotation.protocols.multiple_choice import QUESTION
from publishing import machine_validation
from publishing.errors import BrokenDirectory
from publishing.facts import AskedQuestion
from publishing.files.rows import HARD_PATH, MACHINE_VALIDATION_JSON, RELEASE_JSON, STATISTICS_JSON
from publishing.human_baseline.release_files import ACCURACY, VOTES, document
from publishing.statistics.tally import AGREED, RETAINED, WITHOUT_FLAGGED
from publishing.verification.decisions import Recomputation
from publishing.verification.release import CheckedRelease, Description
from publishing.verification.schema import (
    CHECK as SCHEMA,
    COUNT,
    OBJECT,
    TEXT,
    Kind,
    Shape,
    VoteReader,
    misfit,
)

COUNTS, STATISTICS, MACHINE, BASELINE = "counts", "statistics", "machine-validation", "baseline"
_NOT_RECOMPUTED = (
    f"No file says which votes are flagged, so {WITHOUT_FLAGGED} in {STATISTICS_JSON} was checked only for "
    "its shape and bounds."
)
_FIGURE = Kind("a number or null", lambda value: value is None or type(value) in (int, float))
TOLERANCE, FITTED = 1e-9, 2e-4
"""Figures have ten decimals at most; another processor may add in another order and change the last. Those of
a model that is fitted step by step have four, and may end at another last one."""


def check_counts(release: CheckedRelease, found: Recomputation) -> None:
    for problem in differences(found.description.document["counts"], found.tally.counts(), "counts"):
        release.report(COUNTS, RELEASE_JSON, problem)


def check_statistics(release: CheckedRelease, found: Recomputation) -> None:
    """Check all of ``statistics.json``; what it says without flagged votes only for its shape and bounds."""
    stated = release.document(STATISTICS_JSON)
    if stated is None:
        return
    expected = found.totals.statistics.document()
    if WITHOUT_FLAGGED in stated:
        release.skip(_NOT_RECOMPUTED)
        again, bootstrap = stated[WITHOUT_FLAGGED], expected.pop("bootstrap")
        if problem := _wrong_without_flagged(again, expected, found.tally.votes):
            release.report(STATISTICS, STATISTICS_JSON, problem)
        expected |= {WITHOUT_FLAGGED: again, "bootstrap": bootstrap}
    for problem in differences(stated, expected):
        release.report(STATISTICS, STATISTICS_JSON, problem)


def _wrong_without_flagged(again: Any, whole: Mapping[str, Any], votes: int) -> str:
    """Return why these cannot be figures over a part of the stories, or an empty text."""
    counted = {name: whole["stories"][name] for name in RETAINED}
    parts = {name: whole[name] for name in AGREED if name in whole}
    if problem := misfit(again, _at_most({"votes": votes, "stories": counted, **parts}), WITHOUT_FLAGGED):
        return problem
    total, *outcomes = again["stories"].values()
    return "" if sum(outcomes) == total else f"{WITHOUT_FLAGGED}.stories do not add up."


def _at_most(whole: Any) -> Shape:
    """Return the shape of the same figures over fewer stories."""
    if isinstance(whole, dict):
        free = ("undefined", "intervals", "by_")
        return {name: OBJECT if name.startswith(free) else _at_most(value) for name, value in whole.items()}
    if isinstance(whole, int):
        most = f"a whole number up to {whole}"
        return Kind(most, lambda value: COUNT.fits(value) and value <= whole)
    return TEXT if isinstance(whole, str) else _FIGURE


def check_machine_validation(release: CheckedRelease, description: Description) -> None:
    """Check all of ``machine_validation.json`` by computing it again, which takes seconds."""
    stated = release.document(MACHINE_VALIDATION_JSON)
    if stated is None:
        return
    try:
        validation = machine_validation.validate(release.directory, description.layout)
    except (BrokenDirectory, ValueError) as error:
        release.report(MACHINE, MACHINE_VALIDATION_JSON, f"It cannot be recomputed: {str(error)[:300]}")
        return
    expected = validation.document
    library = expected["design"].pop("library")
    design = stated.get("design")
    made_with = design.pop("library", None) if isinstance(design, dict) else None
    other = "" if made_with == library else f" (made with {made_with}, recomputed with {library})"
    for problem in differences(stated, expected):
        release.report(MACHINE, MACHINE_VALIDATION_JSON, f"{problem}{other}")
    hard = [line.row for line in release.lines(HARD_PATH)]
    if hard != validation.hard:
        problem = f"It has {len(hard)} questions, but not the {len(validation.hard)} recomputed ones{other}."
        release.report(MACHINE, HARD_PATH, problem)


def differences(found: Any, expected: Any, path: str = "") -> Iterator[str]:
    """Yield each place where a document differs from what is expected, as a sentence."""
    where = path or "The document"
    if isinstance(found, dict) and isinstance(expected, dict):
        if list(found) != list(expected):
            odd = sorted(set(found) ^ set(expected))
            yield f"{where}: the keys are not what they should be ({', '.join(odd) or 'their order'})."
        for key in (key for key in expected if key in found):
            yield from differences(found[key], expected[key], f"{path}.{key}" if path else key)
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            yield from differences(one, other, f"{path}[{place}]")
    elif not same(found, expected, FITTED if path.startswith("contrasts.") else TOLERANCE):
        yield f"{where} is {_short(found)}; recomputed it is {_short(expected)}."


def same(found: Any, expected: Any, tolerance: float) -> bool:
    """Return True for equal values; numbers may differ by rounding."""
    if type(found) in (int, float) and type(expected) in (int, float):
        return math.isclose(found, expected, rel_tol=0, abs_tol=tolerance)
    return type(found) is type(expected) and bool(found == expected)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def check_baseline(release: CheckedRelease, description: Description) -> dict[str, Any] | None:
    """Recompute people's accuracy. Return the stated one; None if there is no baseline or it is unsound."""
    if not {VOTES, ACCURACY} & release.listed.keys():
        return None
    reader = VoteReader((AskedQuestion(QUESTION, ""),))
    for line in release.lines(VOTES):
        if isinstance(problem := reader.read(line.row), str):
            release.report(SCHEMA, VOTES, problem, line.number)
    stated = release.document(ACCURACY)
    if stated is None or release.count(SCHEMA):
        return None
    try:
        expected = document(release.directory, description.layout, stated["source"])
    except (KeyError, TypeError, ValueError) as error:
        release.report(BASELINE, VOTES, f"The accuracy cannot be recomputed: {str(error)[:300]}")
        return None
    found = list(differences(stated, expected))
    for problem in found:
        release.report(BASELINE, ACCURACY, problem)
    return None if found else stated
