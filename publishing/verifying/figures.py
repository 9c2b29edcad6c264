"""Are the counts of ``release.json`` and the figures of ``statistics.json`` those of the files?

How many incomplete stories there are of each scenario is in no file. They are checked by their sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from publishing import machine_validation
from publishing.errors import BrokenDirectory
from publishing.statistics.patterns import rounded
from publishing.verifying.comparing import differences, same
from publishing.verifying.decisions import Recount
from publishing.verifying.description import RELEASE_JSON, Description, is_count, read_document
from publishing.verifying.findings import Findings

COUNTS, STATISTICS, MACHINE = "counts", "statistics", "machine-validation"
STATISTICS_JSON, MACHINE_JSON = "statistics.json", "machine_validation.json"
_UNIQUE = ("unique_x", "unique_y", "unique_z")


def check_counts(description: Description, found: Recount, findings: Findings) -> None:
    """The counts of ``release.json``."""
    said, counted = description.counts, found.tally.counts()
    incomplete = said["incomplete"]
    if not is_count(incomplete) or incomplete < found.incomplete:
        problem = (
            f"counts.incomplete is {incomplete}, but {found.incomplete} stories have some of their votes."
        )
        findings.add(COUNTS, RELEASE_JSON, problem)
        return
    expected = counted | {
        "incomplete": incomplete,
        "stories": counted["kept"] + counted["dropped"] + incomplete,
    }
    for problem in differences(said, expected, "counts"):
        findings.add(COUNTS, RELEASE_JSON, problem)


def check_statistics(directory: Path, description: Description, found: Recount, findings: Findings) -> None:
    """All of ``statistics.json``."""
    said = read_document(directory, STATISTICS_JSON, findings)
    if said is None:
        return
    for problem in _wrong_statistics(said, found.statistics.document(), description.counts["incomplete"]):
        findings.add(STATISTICS, STATISTICS_JSON, problem)


def _wrong_statistics(said: dict[str, Any], expected: dict[str, Any], incomplete: int) -> Iterator[str]:
    if list(said) != list(expected):
        yield f"The keys are {', '.join(said)}; they should be {', '.join(expected)}."
        return
    yield from _wrong_group("stories", said["stories"], expected["stories"])
    if _incomplete(said["stories"]) != incomplete:
        yield f"stories.incomplete is not {incomplete}, as in {RELEASE_JSON}."
    for name in ("by_scenario", "by_generator_model"):
        if not isinstance(said[name], dict):
            yield f"{name} is not an object."
            continue
        if list(said[name]) != sorted(said[name]):
            yield f"{name} is not in order."
        nothing = dict.fromkeys(expected["stories"], 0) | {
            key: None if expected["stories"][key] is None else 0 for key in _UNIQUE
        }
        for group in sorted(said[name].keys() | expected[name].keys()):
            wanted = expected[name].get(group, nothing)
            yield from _wrong_group(f"{name}.{group}", said[name].get(group), wanted)
        if sum(_incomplete(group) for group in said[name].values()) != incomplete:
            yield f"The incomplete stories of {name} are not {incomplete} together, as in {RELEASE_JSON}."
    for name in ("agreement", "agreement_on_validity", "bootstrap"):
        yield from differences(said[name], expected[name], name)


def _wrong_group(where: str, said: Any, expected: Mapping[str, Any]) -> Iterator[str]:
    """One entry: what is counted from the files must be so, the rest must follow from it."""
    if not isinstance(said, dict) or list(said) != list(expected):
        yield f"{where} should have {', '.join(expected)}."
        return
    if not all(is_count(said[name]) for name in ("generated", "kept", "dropped", "incomplete")):
        yield f"{where}: a count is not a whole number."
        return
    for name in ("kept", "dropped", *_UNIQUE):
        if not same(said[name], expected[name]):
            yield f"{where}.{name} is {said[name]}; recomputed it is {expected[name]}."
    generated = said["kept"] + said["dropped"] + said["incomplete"]
    if said["generated"] != generated:
        yield f"{where}.generated is {said['generated']}; kept, dropped and incomplete make {generated}."
    retention = rounded(said["kept"] / generated) if generated else None
    if not same(said["retention"], retention):
        yield f"{where}.retention is {said['retention']}; recomputed it is {retention}."


def _incomplete(group: Any) -> int:
    return group["incomplete"] if isinstance(group, dict) and is_count(group.get("incomplete")) else 0


def check_machine_validation(directory: Path, description: Description, findings: Findings) -> None:
    """All of ``machine_validation.json``, by doing it again. Takes seconds."""
    said = read_document(directory, MACHINE_JSON, findings)
    if said is None:
        return
    try:
        expected = machine_validation.document(directory, description.layout)
    except (BrokenDirectory, ValueError) as error:
        findings.add(MACHINE, MACHINE_JSON, f"It cannot be recomputed: {str(error)[:300]}")
        return
    library = expected["design"].pop("library")
    design = said.get("design")
    made_with = design.pop("library", None) if isinstance(design, dict) else None
    other = "" if made_with == library else f" (made with {made_with}, recomputed with {library})"
    for problem in differences(said, expected):
        findings.add(MACHINE, MACHINE_JSON, f"{problem}{other}")
