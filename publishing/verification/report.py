"""All checks of a release, in order of dependency."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from publishing.card.contents import copied
from publishing.files import rows
from publishing.files.features import Type
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
from publishing.verification.decisions import Recomputation
from publishing.verification.release import CheckedRelease, Description
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


def check_release(directory: Path, *, with_machine_validation: bool = True) -> CheckedRelease:
    """Check every file of a release, without stopping at the first finding.

    ``with_machine_validation`` recomputes ``machine_validation.json``, which takes seconds. Raise ``OSError``
    if the directory cannot be read.
    """
    release = CheckedRelease(directory)
    release.listed = hashes.check(release)
    described = release.description = description.read(release) if release.listed else None
    if described:
        hashes.check_files(release, described)
        description.check_questions(release, described)
        _check_data(release, described, with_machine_validation)
    else:
        release.skip(_DESCRIPTION_UNUSABLE, decisions.CHECK, *_RECOMPUTED)
    identifiers.check(release)
    return release


def _check_data(release: CheckedRelease, described: Description, with_machine_validation: bool) -> None:
    for _ in sound_skips(release):
        pass
    found = Recomputation(release, described)
    if not found.run():
        release.skip(_ROWS_UNSOUND, *_RECOMPUTED)
        return
    if not described.decides_by_itself:
        release.skip(_DEPENDS_ON_STORY)
    for question_set in described.layout.question_sets:
        sides = found.totals.sides[question_set.config]
        derived.check_question_set(release, described.layout, question_set, sides)
    changed: list[rows.Row] = []
    if release.count(SCHEMA) or release.count(derived.QUESTIONS):
        release.skip(_CHANGES_UNCHECKED, derived.CHANGES)
    else:
        changed = derived.check_changes(release, described)
    study.check_instrument(release, described, found.tally)
    statistics.check_counts(release, found)
    statistics.check_statistics(release, found)
    intake = study.check_report(release, described.facts, found.tally)
    facts = replace(described.facts, intake=intake)
    if not with_machine_validation:
        release.skip("machine_validation.json was not recomputed, as requested.", statistics.MACHINE)
    elif release.count(SCHEMA) or release.count(derived.QUESTIONS):
        release.skip(_QUESTIONS_UNSOUND, statistics.MACHINE)
    else:
        statistics.check_machine_validation(release, described)
    people = statistics.check_baseline(release, described)
    columns = _check_copies(release, found)
    if any(map(release.count, (SCHEMA, *_FIGURES))):
        release.skip(_FIGURES_UNSOUND, *_PRESENTATION)
        return
    card.check(found, facts, columns, people, changed)
    if any(map(release.count, _PRESENTATION)):
        release.skip(_OTHER_VERSION.format(described.document["code_version"]))


def _check_copies(release: CheckedRelease, found: Recomputation) -> dict[str, Mapping[str, Type]]:
    """Check the Parquet copies. Return the columns of every file."""
    revised = release.has(rows.REVISIONS_PATH)
    columns = found.totals.columns(found.votes.columns(), revised=revised)
    also = {rows.REVISIONS_PATH} if revised else set()
    for path in copied(found.description.layout, found.per_item, also=also):
        derived.check_copy(release, path, columns[path])
    return columns
