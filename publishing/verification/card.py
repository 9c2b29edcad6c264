"""Compare card, charts, ``croissant.json`` and ``CITATION.cff`` with ones made again from the other files.

Facts known only to the study (recruitment, test results, pay) are in no other file. They are accepted as they
are; everything else is compared.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from publishing.builder import first_row
from publishing.card import CARD_PATH, croissant, front_matter, sections
from publishing.card.citation import CITATION_PATH, citation_cff
from publishing.card.croissant import CROISSANT_PATH
from publishing.card.figures import figures
from publishing.comparison.changes import Changes, moves_of
from publishing.facts import ReleaseFacts
from publishing.files.directory import MANIFEST, FileFacts
from publishing.files.features import Type
from publishing.files.rows import MACHINE_VALIDATION_JSON, STATISTICS_JSON, Row
from publishing.totals import Tally
from publishing.verification.decisions import Recomputation
from publishing.verification.release import CheckedRelease
from publishing.verification.statistics import differences

CARD, CROISSANT, CITATION, FIGURES = "card", "croissant", "citation", "figures"
_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError)
_HOW = "## How the stories were judged"


def check(
    found: Recomputation,
    facts: ReleaseFacts,
    columns: Mapping[str, Mapping[str, Type]],
    people: Mapping[str, Any] | None,
    changed: Sequence[Row],
) -> None:
    """Check the card, the citation, the charts and ``croissant.json``.

    ``columns`` are those of every file, ``people`` the results of the human baseline, ``changed`` the rows
    of ``changes.jsonl``.
    """
    release, description = found.release, found.description
    stated, guesses = map(release.document, (STATISTICS_JSON, MACHINE_VALIDATION_JSON))
    if stated is None or guesses is None:
        return
    before = description.document["previous"]
    previous = Changes(before, moves_of(changed)) if before else None
    made = sections.Documents(description.layout, columns, {}, stated, guesses, people, previous)
    _check_figures(release, facts, made)
    if not release.has(CITATION_PATH) or _content(release, CITATION_PATH) != citation_cff(facts):
        release.report(CITATION, CITATION_PATH, "It does not match release.json.")
    _check_card(release, facts, found.tally, made)
    _check_croissant(release, facts, found.tally, made)


def _content(release: CheckedRelease, path: str) -> bytes:
    return (release.directory / path).read_bytes()


def _check_card(release: CheckedRelease, facts: ReleaseFacts, tally: Tally, made: sections.Documents) -> None:
    """Check the parts of the card that follow from other files, and their order."""
    try:
        card = _content(release, CARD_PATH).decode()
        made = replace(made, example=first_row(release.directory, made.layout))
        parts = list(_parts(facts, tally, made))
    except (*_UNREADABLE, FileNotFoundError) as error:
        release.report(CARD, CARD_PATH, f"It cannot be generated again: {error!r:.200}")
        return
    place = 0
    for heading, part in parts:
        found = card.find(part, place)
        if found < 0:
            odd = next((one for one in part.split("\n\n") if one not in card[place:]), part)
            problem = f"It does not say what follows from the other files: “{odd[:60]}…”"
            release.report(CARD, CARD_PATH, problem)
            return
        for line in card[place:found].splitlines():
            if line.startswith("|") or (line.startswith("#") and line != heading):
                problem = f"There is a heading or a table that does not belong there: “{line[:60]}”."
                release.report(CARD, CARD_PATH, problem)
        place = found + len(part)
    if card[place:] != "\n":
        release.report(CARD, CARD_PATH, "There is text after its last section.")


def _parts(facts: ReleaseFacts, tally: Tally, made: sections.Documents) -> Iterator[tuple[str, str]]:
    """Yield the known parts, each with the one heading that may stand before it."""
    head = front_matter.front_matter(facts, tally, made.layout, made.columns)
    yield "", f"{head}\n\n{sections.opening(facts, tally)}"
    yield _HOW, sections.closing(facts, tally, made)


def _check_croissant(
    release: CheckedRelease, facts: ReleaseFacts, tally: Tally, made: sections.Documents
) -> None:
    """Check everything in ``croissant.json`` except what only the study or its researchers knew."""
    stated = release.document(CROISSANT_PATH)
    if stated is None:
        return
    files = [
        FileFacts(path, (release.directory / path).stat().st_size, sha256)
        for path, sha256 in release.listed.items()
        if path not in (CROISSANT_PATH, MANIFEST) and release.has(path)
    ]
    warnings = made.guessed.get("warnings")
    warned = warnings if isinstance(warnings, list) else ()
    expected = croissant.document(facts, tally, made.columns, files, warned)
    for problem in differences({**stated, **_only_known_there(stated, expected)}, expected):
        release.report(CROISSANT, CROISSANT_PATH, problem)


def _only_known_there(stated: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return the expected items that may say more in ``croissant.json``: the test, the protocol's title."""
    found = {}
    collected, protocol = stated.get("rai:dataCollection"), stated.get("rai:dataAnnotationProtocol")
    known = expected["rai:dataCollection"].removesuffix(croissant.NO_TEST)
    if isinstance(collected, str) and collected.startswith(known):
        found["rai:dataCollection"] = expected["rai:dataCollection"]
    if isinstance(protocol, list) and protocol[1:] == expected["rai:dataAnnotationProtocol"][1:]:
        found["rai:dataAnnotationProtocol"] = expected["rai:dataAnnotationProtocol"]
    return found


def _check_figures(release: CheckedRelease, facts: ReleaseFacts, made: sections.Documents) -> None:
    """Compare the charts, byte by byte, with those drawn from the documents."""
    try:
        selects = facts.rule.selects
        drawn = figures(made.statistics, made.guessed, made.people, selects=selects)
    except _UNREADABLE as error:
        release.report(FIGURES, MACHINE_VALIDATION_JSON, f"No chart can be drawn from it: {error!r:.200}.")
        return
    for path in sorted(path for path in release.listed if path.startswith("figures/") and path not in drawn):
        release.report(FIGURES, path, "This release has no such chart.")
    for path, chart in drawn.items():
        if not release.has(path):
            release.report(FIGURES, path, "The chart is missing.")
        elif _content(release, path) != chart:
            release.report(FIGURES, path, "The chart is not the one drawn from the figures.")
