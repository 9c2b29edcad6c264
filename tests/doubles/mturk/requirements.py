"""Qualification requirements: which are valid, which a worker meets, and what they guard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tests.doubles.mturk import errors
from tests.doubles.mturk.fees import MASTERS
from tests.doubles.mturk.rows import HitType, Worker

if TYPE_CHECKING:
    from tests.doubles.mturk.world import World

PERCENT_APPROVED, NUMBER_APPROVED = "000000000000000000L0", "00000000000000000040"
LOCALE, ADULT = "00000000000000000071", "00000000000000000060"
FEW_SUBMITTED = 100  # below this many, a worker's approval rate counts as 100 %
MOST_REQUIREMENTS, MOST_INTEGERS, MOST_LOCALES = 10, 15, 30

GUARDED = {
    "Accept": frozenset({"accept"}),
    "PreviewAndAccept": frozenset({"accept", "preview"}),
    "DiscoverPreviewAndAccept": frozenset({"accept", "preview", "discover"}),
}
"""``ActionsGuarded``: what a worker who does not meet the requirement cannot do."""

COMPARISONS = {
    "LessThan": lambda have, want: have < want[0],
    "LessThanOrEqualTo": lambda have, want: have <= want[0],
    "GreaterThan": lambda have, want: have > want[0],
    "GreaterThanOrEqualTo": lambda have, want: have >= want[0],
    "EqualTo": lambda have, want: have == want[0],
    "NotEqualTo": lambda have, want: have != want[0],
    "In": lambda have, want: have in want,
    "NotIn": lambda have, want: have not in want,
}


def check(world: World, requirements: list[dict[str, Any]]) -> None:
    """Refuse what MTurk refuses in requirements; the shapes have been checked by then."""
    if len(requirements) > MOST_REQUIREMENTS:
        raise errors.invalid_value("QualificationRequirements", f"{len(requirements)} requirements")
    for wanted in requirements:
        _check_type(world, wanted["QualificationTypeId"])
        _check_values(wanted)
        if "ActionsGuarded" in wanted and "RequiredToPreview" in wanted:
            raise errors.invalid_value("RequiredToPreview", wanted["RequiredToPreview"])


def _check_type(world: World, identifier: str) -> None:
    known = {PERCENT_APPROVED, NUMBER_APPROVED, LOCALE, ADULT, MASTERS[world.environment]}
    if identifier not in known and world.qualification_types.get(identifier) is None:
        message = f"QualificationType {identifier} does not exist."
        raise errors.request_error("QualificationTypeDoesNotExist", message)


def _check_values(wanted: Mapping[str, Any]) -> None:
    comparator = wanted["Comparator"]
    integers, locales = wanted.get("IntegerValues") or [], wanted.get("LocaleValues") or []
    values, most, fitting = integers, MOST_INTEGERS, set(COMPARISONS)
    if wanted["QualificationTypeId"] == LOCALE:
        values, most, fitting = locales, MOST_LOCALES, {"EqualTo", "NotEqualTo", "In", "NotIn"}
        wrong_kind = integers
    else:
        wrong_kind = locales
    if comparator in ("Exists", "DoesNotExist"):
        wrong = bool(integers or locales)
    else:
        upper = most if comparator in ("In", "NotIn") else 1
        wrong = comparator not in fitting or bool(wrong_kind) or not 1 <= len(values) <= upper
    if wrong:
        raise errors.invalid_value("QualificationRequirement", f"{comparator} {integers or locales}")


def may(world: World, worker: Worker, action: str, hit_type: HitType) -> bool:
    """Whether a worker may ``discover``, ``preview`` or ``accept`` the HITs of a type."""
    return all(
        meets(world, worker, wanted)
        for wanted in hit_type.requirements
        if action in GUARDED[wanted.get("ActionsGuarded", "Accept")]
    )


def meets(world: World, worker: Worker, wanted: Mapping[str, Any]) -> bool:
    """Whether a worker meets one requirement. Without the qualification only DoesNotExist is met."""
    has, value = qualification(world, worker, wanted["QualificationTypeId"])
    comparator = wanted["Comparator"]
    if comparator in ("Exists", "DoesNotExist"):
        return bool(has == (comparator == "Exists"))
    if not has or value is None:
        return False
    if wanted["QualificationTypeId"] == LOCALE:
        return _meets_locale(worker, comparator, wanted["LocaleValues"])
    return bool(COMPARISONS[comparator](value, wanted["IntegerValues"]))


def _meets_locale(worker: Worker, comparator: str, locales: list[dict[str, str]]) -> bool:
    inside = any(
        place["Country"] == worker.country and place.get("Subdivision") in (None, worker.subdivision)
        for place in locales
    )
    return inside == (comparator in ("EqualTo", "In"))


def qualification(world: World, worker: Worker, identifier: str) -> tuple[bool, int | None]:
    """Whether a worker has a qualification, and its value."""
    approved, rejected = record(world, worker)
    if identifier == PERCENT_APPROVED:
        total = approved + rejected
        return True, 100 if total < FEW_SUBMITTED else approved * 100 // total
    system: dict[str, tuple[bool, int]] = {
        NUMBER_APPROVED: (True, approved),
        LOCALE: (True, 0),
        ADULT: (worker.adult, 1),
        MASTERS[world.environment]: (worker.masters, 1),
    }
    if identifier in system:
        return system[identifier]
    grant = world.grants.get(f"{identifier} {worker.worker_id}")
    return (False, None) if grant is None or grant.status != "Granted" else (True, grant.value)


def record(world: World, worker: Worker) -> tuple[int, int]:
    """How many of a worker's assignments were approved and rejected, those of before included."""
    own = [row.state for row in world.assignments.values() if row.worker_id == worker.worker_id]
    return worker.approved + own.count("Approved"), worker.rejected + own.count("Rejected")
