"""All checks of a release, in order of dependency."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from publishing.facts import ReleaseFacts
from publishing.files.directory import MANIFEST, file_facts
from publishing.files.features import Type
from publishing.files.rows import (
    ADJUDICATIONS_PATH,
    DECISION_COLUMNS,
    HARD_COLUMNS,
    HARD_PATH,
    SKIP_COLUMNS,
    SKIPS_PATH,
    VOTES_PATH,
    Row,
    config_path,
)
from publishing.results import per_item
from publishing.verification import (
    card,
    decisions,
    derived,
    description,
    hashes,
    identifiers,
    statistics,
    study,
)
from publishing.verification.decisions import Recomputed
from publishing.verification.description import Description
from publishing.verification.findings import Finding, Findings
from publishing.verification.schema import CHECK as SCHEMA, sound_skips

_PRESENTATION = (card.CROISSANT, card.CARD, card.FIGURES, card.CITATION)
_FIGURES = (
    study.REPORT, statistics.COUNTS, statistics.STATISTICS, statistics.MACHINE,
    statistics.BASELINE,
)  # fmt: skip
_RECOMPUTED = (
    derived.QUESTIONS, derived.CHANGES, study.INSTRUMENT, *_FIGURES, derived.PARQUET, *_PRESENTATION,
)  # fmt: skip
CHECKS = (hashes.CHECK, SCHEMA, decisions.CHECK, *_RECOMPUTED, identifiers.CHECK)
_ROWS_UNSOUND = (
    "Rows are not sound, so nothing has been recomputed from them: questions, counts, statistics, machine "
    "validation, Parquet copies, the card and the charts."
)
_DESCRIPTION_UNUSABLE = (
    "release.json does not say what the other files should hold, so they were not checked."
)
_QUESTIONS_UNSOUND = "Questions or documents are not sound, so machine_validation.json was not recomputed."
_CHANGES_UNCHECKED = "Rows or questions are not sound, so changes.jsonl was not compared with them."
_FIGURES_UNSOUND = "Counts or figures are not sound, so charts and texts were not generated again."
_OTHER_VERSION = (
    "Charts and texts are compared with those of this version of tomannot; the release was built with {}, "
    "whose wording may differ."
)
_DEPENDS_ON_STORY = (
    "What counts against a story depends on the story here, so the verdicts were not recomputed."
)


@dataclass(frozen=True, slots=True)
class Report:
    """The result of checking a directory. ``description`` is None if ``release.json`` is unusable."""

    directory: Path
    manifest_sha256: str
    description: Description | None
    findings: Findings

    @property
    def is_sound(self) -> bool:
        """True if there are no findings. ``findings.unchecked`` notes what was not checked."""
        return not self.findings.total

    @property
    def shown(self) -> list[Finding]:
        return self.findings.shown


def check_release(directory: Path, *, with_machine_validation: bool = True) -> Report:
    """Check every file of a release, without stopping at the first finding.

    ``with_machine_validation`` recomputes ``machine_validation.json``, which takes seconds. Raise ``OSError``
    if the directory cannot be read.
    """
    findings = Findings()
    listed = hashes.check(directory, findings)
    described = description.read(directory, findings) if listed else None
    if described:
        hashes.check_files(listed, described, findings)
        description.check_questions(described, findings)
        _check_data(directory, described, listed, findings, with_machine_validation)
    else:
        findings.skip(_DESCRIPTION_UNUSABLE, decisions.CHECK, *_RECOMPUTED)
    identifiers.check(directory, findings)
    manifest = file_facts(directory, MANIFEST).sha256 if (directory / MANIFEST).is_file() else ""
    return Report(directory, manifest, described, findings)


def _check_data(
    directory: Path,
    described: Description,
    listed: dict[str, str],
    findings: Findings,
    with_machine_validation: bool,
) -> None:
    for _ in sound_skips(directory, findings):
        pass
    found = decisions.recompute(directory, described, findings)
    if found is None:
        findings.skip(_ROWS_UNSOUND, *_RECOMPUTED)
        return
    if not described.decides_by_itself:
        findings.skip(_DEPENDS_ON_STORY)
    for question_set in described.layout.question_sets:
        sides = found.sides[question_set.config]
        derived.check_question_set(directory, described.layout, question_set, sides, findings)
    changed: list[Row] = []
    if findings.of(SCHEMA) or findings.of(derived.QUESTIONS):
        findings.skip(_CHANGES_UNCHECKED, derived.CHANGES)
    else:
        changed = derived.check_changes(directory, described, findings)
    study.check_instrument(directory, listed, described, found.tally, findings)
    statistics.check_counts(described, found, findings)
    statistics.check_statistics(directory, found, findings)
    facts = card.known_facts(described)
    facts = replace(facts, intake=study.check_report(directory, facts, found.tally, findings))
    if not with_machine_validation:
        findings.skip("machine_validation.json was not recomputed, as requested.", statistics.MACHINE)
    elif findings.of(SCHEMA) or findings.of(derived.QUESTIONS):
        findings.skip(_QUESTIONS_UNSOUND, statistics.MACHINE)
    else:
        statistics.check_machine_validation(directory, described, findings)
    people = statistics.check_baseline(directory, described, listed, findings)
    columns = _check_copies(directory, described, found, findings)
    _check_presentation(directory, described, listed, facts, found, changed, people, columns, findings)


def _check_presentation(
    directory: Path,
    described: Description,
    listed: dict[str, str],
    facts: ReleaseFacts,
    found: Recomputed,
    changed: list[Row],
    people: dict[str, Any] | None,
    columns: dict[str, Mapping[str, Type]],
    findings: Findings,
) -> None:
    """Check charts and texts that are generated from the documents, if those are sound."""
    if any(findings.of(name) for name in (SCHEMA, *_FIGURES)):
        findings.skip(_FIGURES_UNSOUND, *_PRESENTATION)
        return
    stated, guesses = (
        description.read_document(directory, path, findings)
        for path in (statistics.STATISTICS_JSON, statistics.MACHINE_JSON)
    )
    if stated is None or guesses is None:
        return
    known = card.CardInputs(facts, found.tally, described, columns, stated, guesses, people, changed)
    card.check_figures(directory, listed, known, findings)
    card.check_citation(directory, known, findings)
    card.check_card(directory, known, findings)
    card.check_croissant(directory, listed, known, findings)
    if any(findings.of(name) for name in _PRESENTATION):
        findings.skip(_OTHER_VERSION.format(described.document["code_version"]))


def _check_copies(
    directory: Path, described: Description, found: Recomputed, findings: Findings
) -> dict[str, Mapping[str, Type]]:
    """Check the Parquet copies. Return the columns of every file."""
    columns = {config_path(config): described.layout.columns(config) for config in described.layout.configs}
    columns[decisions.KEPT_PATH] = found.columns[decisions.KEPT_PATH].types
    columns[VOTES_PATH] = found.votes.columns()
    columns[SKIPS_PATH] = SKIP_COLUMNS
    if results := per_item(described.document["protocol"]["name"], described.asked):
        columns[results.path] = results.columns
    for path, types in columns.items():
        derived.check_copy(directory, path, types, findings)
    columns |= {ADJUDICATIONS_PATH: DECISION_COLUMNS, HARD_PATH: HARD_COLUMNS}
    columns |= results.types if results else {}
    return columns | {path: one.types for path, one in found.columns.items()}
