"""Do the card, ``croissant.json`` and ``CITATION.cff`` say what the other files give? They are told again.

What only the study or its researchers knew when the release was made is in no other file: how people came
to it, what they were paid, what the researchers state. That is taken as it is; everything else is compared.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from publishing.builder import record_sets
from publishing.card import citing, contents, front_matter, kept, machine, overview
from publishing.card.markdown import one_line, text
from publishing.facts import People, ReleaseFacts, Statement, Tally
from publishing.files import croissant
from publishing.files.croissant import CROISSANT_PATH
from publishing.files.directory import MANIFEST, FileFacts
from publishing.files.features import Type, declared
from publishing.files.rows import config_path
from publishing.filters import Outcome
from publishing.verifying.description import Description, read_document
from publishing.verifying.findings import Findings
from publishing.verifying.metadata import CARD, CARD_PATH, CROISSANT

CITATION = "citation"
_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, IndexError, yaml.YAMLError)
_SAID = {"rai:dataUseCases", "rai:annotatorDemographics"}
"""What only the researchers say."""
_ADDED = {
    "rai:dataAnnotationPlatform", "rai:personalSensitiveInformation", "rai:dataBiases", "rai:dataLimitations",
}  # fmt: skip
"""To what is known, the researchers may have added one statement."""
_NO_TEST = "No qualification test was asked for."
_WHY, _HOW, _CHANGES, _STATED = (
    "## Why", "## How the stories were judged", "## Changes since the previous release",
    "## What the researchers state",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Retold:
    """What the files say of the release, as the builder knew it."""

    facts: ReleaseFacts
    tally: Tally
    description: Description
    columns: Mapping[str, Mapping[str, Type]]
    statistics: Mapping[str, Any]
    machine_validation: Mapping[str, Any]


def retold(
    directory: Path,
    description: Description,
    tally: Tally,
    columns: Mapping[str, Mapping[str, Type]],
    documents: tuple[Mapping[str, Any], Mapping[str, Any]],
    findings: Findings,
) -> Retold | None:
    """The release as far as its files tell it; ``documents`` are the statistics and the machine validation.

    None, with a finding, where the citation cannot be read.
    """
    try:
        facts = _facts(description, (directory / citing.CITATION_PATH).read_bytes())
    except (*_UNREADABLE, FileNotFoundError) as error:
        findings.add(CITATION, citing.CITATION_PATH, f"It cannot be read beside release.json: {error!r:.200}")
        return None
    outcomes = Counter(tally.outcomes)
    outcomes[Outcome.INCOMPLETE] = description.counts["incomplete"]
    whole = dataclasses.replace(tally, outcomes=outcomes)
    return Retold(facts, whole, description, columns, *documents)


def _facts(description: Description, cff: bytes) -> ReleaseFacts:
    """What is known; of what the files do not tell, nothing."""
    told = description.document
    cited = citing.read_citation(cff, slug=told["study"])
    creators = tuple(f"{family}, {given}" if given else family for family, given in cited.creators)
    return ReleaseFacts(
        slug=told["study"],
        title=told["title"],
        description=str(yaml.safe_load(cff).get("abstract", "")),
        environment=told["environment"],
        license=told["license"],
        protocol_name=told["protocol"]["name"],
        protocol_version=told["protocol"]["version"],
        protocol_title="",
        asked=description.asked,
        number=told["number"],
        filter_name=description.rule.name,
        votes_per_story=description.votes_per_story,
        salt=description.salt,
        code_version=told["code_version"],
        created=datetime.fromisoformat(told["created"]),
        study_state=told["study_state"],
        story_cap=0,
        pay_rate=None,
        currency="",
        opened_at=None,
        people=People(consented=0, attempted=None, passed=None),
        statement=Statement(creators=creators, url=cited.url, doi=cited.doi),
    )


def check_citation(directory: Path, told: Retold, findings: Findings) -> None:
    """Title, number, date and licence are those of the release; names and addresses are taken as they are."""
    expected = citing.citation_cff(told.facts)
    if (directory / citing.CITATION_PATH).read_bytes() != expected:
        problem = "It is not written as the title, number, date and licence of release.json give."
        findings.add(CITATION, citing.CITATION_PATH, problem)


def check_card(directory: Path, told: Retold, findings: Findings) -> None:
    """The parts of the card that follow from other files, each where it belongs."""
    try:
        card = (directory / CARD_PATH).read_bytes().decode()
        parts = list(_parts(told))
    except (*_UNREADABLE, FileNotFoundError) as error:
        findings.add(CARD, CARD_PATH, f"It cannot be told again: {error!r:.200}")
        return
    place = 0
    for heading, sections in parts:
        part = "\n\n".join(section for section in sections if section)
        found = card.find(part, place)
        if found < 0:
            odd = next((one for one in sections if one and one not in card[place:]), part)
            findings.add(CARD, CARD_PATH, f"It does not say what the other files give: “{odd[:60]}…”")
            return
        for problem in _wrong_between(card[place:found], heading):
            findings.add(CARD, CARD_PATH, problem)
        place = found + len(part)
    if card[place:] != "\n":
        findings.add(CARD, CARD_PATH, "There is more behind its last section.")


def _parts(told: Retold) -> Iterator[tuple[str, list[str]]]:
    """Runs of sections that are known whole, each with the heading that may stand before it."""
    facts, tally, layout = told.facts, told.tally, told.description.layout
    features = {config: declared(told.columns[config_path(config)]) for config in layout.configs}
    which, *numbers = overview.overview(dataclasses.replace(facts, description=""), tally)
    head = front_matter.front_matter(facts, tally, layout, features)
    yield "", [head, f"# {text(facts.title)}", *overview.warnings(facts), which]
    yield _WHY, numbers
    yield (
        _HOW,
        [
            *kept.retention(tally, told.statistics),
            *kept.agreement(facts, told.statistics),
            *kept.selection(facts, tally),
            *machine.machine_validation(told.machine_validation),
        ],
    )
    yield _CHANGES, [*contents.files(layout), *contents.use(layout)]
    yield _STATED, citing.rights(facts)


def _wrong_between(said: str, heading: str) -> Iterator[str]:
    """What stands between two known parts has one heading at most and no table: texts are escaped."""
    for line in said.splitlines():
        if line.startswith("|") or (line.startswith("#") and line != heading and heading != _STATED):
            yield f"It has a heading or a table that no card has there: “{line[:60]}”."
        elif line.startswith(("# ", "## ")) and line != heading:
            yield f"It has a heading that no card has there: “{line[:60]}”."


def check_croissant(directory: Path, listed: Mapping[str, str], told: Retold, findings: Findings) -> None:
    """Everything in ``croissant.json`` but what only the study or its researchers knew."""
    said = read_document(directory, CROISSANT_PATH, Findings())
    if said is None:
        return
    files = [
        FileFacts(path, (directory / path).stat().st_size, sha256)
        for path, sha256 in listed.items()
        if path not in (CROISSANT_PATH, MANIFEST) and (directory / path).is_file()
    ]
    records = record_sets(told.description.layout, told.tally, told.columns)
    warnings = told.machine_validation.get("warnings")
    expected = croissant.document(
        told.facts, told.tally, records, files, warnings if isinstance(warnings, list) else ()
    )
    if [key for key in said if key not in _SAID] != [key for key in expected if key not in _SAID]:
        findings.add(CROISSANT, CROISSANT_PATH, "The keys are not those that such a release has.")
        return
    for key, known in expected.items():
        if key not in _SAID and not _says(key, said[key], known):
            findings.add(CROISSANT, CROISSANT_PATH, f"{key} is not what the other files give.")


def _says(key: str, said: Any, known: Any) -> bool:
    if key == "description":
        return isinstance(said, str) and one_line(said) == one_line(known)
    if key == "rai:dataCollection":  # then how people were qualified
        return isinstance(said, str) and said.startswith(known.removesuffix(_NO_TEST))
    if key == "rai:dataAnnotationProtocol":  # first the protocol's title
        return isinstance(said, list) and said[1:] == known[1:]
    if key in _ADDED:
        return isinstance(said, list) and said[: len(known)] == known and len(said) <= len(known) + 1
    return bool(said == known)
