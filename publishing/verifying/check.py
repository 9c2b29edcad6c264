"""All checks of a release, in the order in which they build on one another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from publishing.files.directory import MANIFEST, file_facts
from publishing.files.features import Type
from publishing.files.rows import DROPPED_PATH, STORY_CONFIG, VOTES_PATH, config_path
from publishing.verifying import (
    copies,
    decisions,
    description,
    drawings,
    figures,
    hashes,
    identifiers,
    metadata,
    questions,
    retelling,
    rule,
)
from publishing.verifying.decisions import Recount
from publishing.verifying.description import Description
from publishing.verifying.findings import Finding, Findings
from publishing.verifying.schema import CHECK as SCHEMA

CHECKS = (
    hashes.CHECK,
    SCHEMA,
    decisions.CHECK,
    questions.CHECK,
    figures.COUNTS,
    figures.STATISTICS,
    figures.MACHINE,
    copies.CHECK,
    metadata.CROISSANT,
    metadata.CARD,
    drawings.CHECK,
    retelling.CITATION,
    identifiers.CHECK,
)
_ALWAYS = (hashes.CHECK, SCHEMA, identifiers.CHECK)
_RECOMPUTED = (
    questions.CHECK,
    figures.COUNTS,
    figures.STATISTICS,
    figures.MACHINE,
    copies.CHECK,
    metadata.CARD,
    drawings.CHECK,
    retelling.CITATION,
)
_NOT_COUNTED = (
    "Rows are not sound, so nothing has been recomputed from them: questions, counts, statistics, machine "
    "validation, Parquet copies, the card and the charts."
)
_NOT_DESCRIBED = (
    "release.json does not say what the other files should hold, so they have not been looked into."
)
_NOT_GUESSED = "Questions or documents are not sound, so machine_validation.json has not been recomputed."
_NOT_DRAWN = "Counts or figures are not sound, so charts and texts have not been made again."
_OF_A_VERSION = (
    "Charts and texts are compared with those that this version of tomannot makes; the release says that it "
    "was made with {}."
)
_BY_STORY = "What counts against a story depends on the story here, so the verdicts have not been recomputed."


@dataclass(frozen=True, slots=True)
class Report:
    """What came of checking a directory. ``description`` is None when ``release.json`` is of no use."""

    directory: Path
    manifest_sha256: str
    description: Description | None
    findings: Findings

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong. What could not be checked is in ``findings.unchecked``."""
        return not self.findings.total

    @property
    def shown(self) -> list[Finding]:
        return self.findings.shown


def check_release(directory: Path, *, with_machine_validation: bool = True) -> Report:
    """Check every file of a release. Raises ``OSError`` when the directory cannot be read.

    Never stops at the first finding. ``with_machine_validation`` recomputes ``machine_validation.json``,
    which takes seconds.
    """
    findings = Findings()
    listed = hashes.check(directory, findings)
    told = description.read(directory, findings) if listed else None
    if told:
        hashes.check_files(listed, told.layout, findings)
        rule.check(told, findings)
        _check_data(directory, told, listed, findings, with_machine_validation)
    else:
        findings.skip(_NOT_DESCRIBED, *(name for name in CHECKS if name not in _ALWAYS))
    identifiers.check(directory, findings)
    manifest = file_facts(directory, MANIFEST).sha256 if (directory / MANIFEST).is_file() else ""
    return Report(directory, manifest, told, findings)


def _check_data(
    directory: Path,
    told: Description,
    listed: dict[str, str],
    findings: Findings,
    with_machine_validation: bool,
) -> None:
    metadata.check_croissant(directory, listed, told.layout, findings)
    found = decisions.recount(directory, told, findings)
    if found is None:
        findings.skip(_NOT_COUNTED, *_RECOMPUTED)
        return
    if not told.decides_by_itself:
        findings.skip(_BY_STORY)
    for question_set in told.layout.question_sets:
        questions.check(directory, question_set, found.sides[question_set.config], findings)
    figures.check_counts(told, found, findings)
    figures.check_statistics(directory, told, found, findings)
    if not with_machine_validation:
        findings.skip("machine_validation.json has not been recomputed, as asked.", figures.MACHINE)
    elif findings.of(SCHEMA) or findings.of(questions.CHECK):
        findings.skip(_NOT_GUESSED, figures.MACHINE)
    else:
        figures.check_machine_validation(directory, told, findings)
    columns = _check_columns(directory, told, found, findings)
    _check_presentation(directory, told, listed, found, columns, findings)


def _check_presentation(
    directory: Path,
    told: Description,
    listed: dict[str, str],
    found: Recount,
    columns: dict[str, Mapping[str, Type]],
    findings: Findings,
) -> None:
    """What is drawn and told from the documents, if they are sound."""
    if any(findings.of(name) for name in (SCHEMA, figures.COUNTS, figures.STATISTICS, figures.MACHINE)):
        findings.skip(_NOT_DRAWN, drawings.CHECK, retelling.CITATION)
        return
    statistics, guesses = (
        description.read_document(directory, path, findings) or {}
        for path in (figures.STATISTICS_JSON, figures.MACHINE_JSON)
    )
    if not statistics or not guesses:
        return
    drawings.check(directory, listed, statistics, guesses, findings)
    known = retelling.retold(directory, told, found.tally, columns, (statistics, guesses), findings)
    if known is None:
        return
    retelling.check_citation(directory, known, findings)
    if not findings.of(metadata.CARD):
        retelling.check_card(directory, known, findings)
    if not findings.of(metadata.CROISSANT):
        retelling.check_croissant(directory, listed, known, findings)
    made_again = (drawings.CHECK, retelling.CITATION, metadata.CARD, metadata.CROISSANT)
    if any(findings.of(name) for name in made_again):
        findings.skip(_OF_A_VERSION.format(told.document["code_version"]))


def _check_columns(
    directory: Path, told: Description, found: Recount, findings: Findings
) -> dict[str, Mapping[str, Type]]:
    """The columns of every file."""
    columns = {config_path(config): told.layout.columns(config) for config in told.layout.configs}
    columns[config_path(STORY_CONFIG)] = found.columns[decisions.KEPT_PATH].types
    columns[VOTES_PATH] = found.votes.columns()
    for path, types in columns.items():
        copies.check(directory, path, types, findings)
    metadata.check_card(directory, told.layout, columns, findings)
    columns[DROPPED_PATH] = found.columns[DROPPED_PATH].types
    return columns
