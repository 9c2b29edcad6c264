"""Compare card, charts, ``croissant.json`` and ``CITATION.cff`` with ones made again from the other files.

Facts known only to the study (recruitment, test results, pay) are in no other file. They are accepted as they
are; everything else is compared.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from publishing.builder import first_row, record_sets
from publishing.card import CARD_PATH, changes, citation, croissant, front_matter, sections
from publishing.card.croissant import CROISSANT_PATH
from publishing.card.figures import figures
from publishing.comparison.changes import moves_of
from publishing.facts import People, ReleaseFacts, Tally
from publishing.files.directory import MANIFEST, FileFacts
from publishing.files.features import Type
from publishing.files.rows import Row
from publishing.verification.description import Description, read_document
from publishing.verification.findings import Findings
from publishing.verification.statistics import MACHINE_JSON, differences

CARD, CROISSANT, CITATION, FIGURES = "card", "croissant", "citation", "figures"
_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError)
_AS_STATED = (
    "title", "description", "environment", "license", "url", "story_language", "number", "code_version",
    "study_state", "sources", "plan",
)  # fmt: skip
_HOW = "## How the stories were judged"


@dataclass(frozen=True, slots=True)
class CardInputs:
    """The inputs of the card, as far as the release's files provide them."""

    facts: ReleaseFacts
    tally: Tally
    description: Description
    columns: Mapping[str, Mapping[str, Type]]
    statistics: Mapping[str, Any]
    machine_validation: Mapping[str, Any]
    people: Mapping[str, Any] | None
    changed: Sequence[Row]

    def documents(self, example: Row) -> sections.Documents:
        """Return the documents beside the card; ``example`` is the first row of the first config."""
        before = self.description.document["previous"]
        previous = changes.Changes(before, moves_of(self.changed)) if before else None
        layout, guessed = self.description.layout, self.machine_validation
        return sections.Documents(
            layout, self.columns, example, self.statistics, guessed, self.people, previous
        )


def known_facts(description: Description) -> ReleaseFacts:
    """Return the facts that the files provide; all others are empty."""
    document = description.document
    return ReleaseFacts(
        **{name: document[name] for name in _AS_STATED},
        slug=document["study"],
        protocol_name=document["protocol"]["name"],
        protocol_version=document["protocol"]["version"],
        protocol_title="",
        asked=description.asked,
        filter_name=description.rule.name,
        votes_per_story=description.votes_per_story,
        salt=description.salt,
        medians=description.medians,
        created=datetime.fromisoformat(document["created"]),
        story_cap=0,
        pay_rate=None,
        currency="",
        people=People(consented=0, attempted=None, passed=None),
        statement=description.statement,
    )


def check_citation(directory: Path, inputs: CardInputs, findings: Findings) -> None:
    """Compare the citation with the one made from release.json."""
    path = directory / citation.CITATION_PATH
    if not path.is_file() or path.read_bytes() != citation.citation_cff(inputs.facts):
        problem = "It does not match release.json."
        findings.add(CITATION, citation.CITATION_PATH, problem)


def check_card(directory: Path, inputs: CardInputs, findings: Findings) -> None:
    """Check the parts of the card that follow from other files, and their order."""
    try:
        card = (directory / CARD_PATH).read_bytes().decode()
        parts = list(_parts(inputs, first_row(directory, inputs.description.layout)))
    except (*_UNREADABLE, FileNotFoundError) as error:
        findings.add(CARD, CARD_PATH, f"It cannot be generated again: {error!r:.200}")
        return
    place = 0
    for heading, part in parts:
        found = card.find(part, place)
        if found < 0:
            odd = next((one for one in part.split("\n\n") if one not in card[place:]), part)
            findings.add(CARD, CARD_PATH, f"It does not say what follows from the other files: “{odd[:60]}…”")
            return
        for line in card[place:found].splitlines():
            if line.startswith("|") or (line.startswith("#") and line != heading):
                problem = f"There is a heading or a table that does not belong there: “{line[:60]}”."
                findings.add(CARD, CARD_PATH, problem)
        place = found + len(part)
    if card[place:] != "\n":
        findings.add(CARD, CARD_PATH, "There is text after its last section.")


def _parts(inputs: CardInputs, example: Row) -> Iterator[tuple[str, str]]:
    """Yield the known parts, each with the one heading that may stand before it."""
    facts, tally, layout = inputs.facts, inputs.tally, inputs.description.layout
    head = front_matter.front_matter(facts, tally, layout, inputs.columns)
    yield "", f"{head}\n\n{sections.opening(facts, tally)}"
    yield _HOW, sections.closing(facts, tally, inputs.documents(example))


def check_croissant(
    directory: Path, listed: Mapping[str, str], inputs: CardInputs, findings: Findings
) -> None:
    """Check everything in ``croissant.json`` except what only the study or its researchers knew."""
    stated = read_document(directory, CROISSANT_PATH, findings)
    if stated is None:
        return
    files = [
        FileFacts(path, (directory / path).stat().st_size, sha256)
        for path, sha256 in listed.items()
        if path not in (CROISSANT_PATH, MANIFEST) and (directory / path).is_file()
    ]
    filled = {file.path for file in files if file.size}
    selects = inputs.description.rule.selects
    records = record_sets(
        inputs.description.layout, filled, inputs.columns, inputs.facts.asked, selects=selects
    )
    warnings = inputs.machine_validation.get("warnings")
    expected = croissant.document(
        inputs.facts, inputs.tally, records, files, warnings if isinstance(warnings, list) else ()
    )
    for problem in differences({**stated, **_only_known_there(stated, expected)}, expected):
        findings.add(CROISSANT, CROISSANT_PATH, problem)


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


def check_figures(directory: Path, listed: Collection[str], inputs: CardInputs, findings: Findings) -> None:
    """Compare the charts, byte by byte, with those drawn from the documents."""
    try:
        selects = inputs.description.rule.selects
        drawn = figures(inputs.statistics, inputs.machine_validation, inputs.people, selects=selects)
    except _UNREADABLE as error:
        findings.add(FIGURES, MACHINE_JSON, f"No chart can be drawn from it: {error!r:.200}.")
        return
    for path in sorted(path for path in listed if path.startswith("figures/") and path not in drawn):
        findings.add(FIGURES, path, "This release has no such chart.")
    for path, chart in drawn.items():
        if path not in listed or not (directory / path).is_file():
            findings.add(FIGURES, path, "The chart is missing.")
        elif (directory / path).read_bytes() != chart:
            findings.add(FIGURES, path, "The chart is not the one drawn from the figures.")
